"""What the pages for people refer to is there, and the files for the forge are what it reads."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import yaml

import cellmill

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("benchmarks/*.md"),
        *ROOT.glob("examples/**/*.md"),
    ]
)
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")


def _anchors(page: Path) -> set[str]:
    """Of its headings, as forges make them."""
    titles = re.findall(r"^#+ +(.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in (one or other for one, other in LINK.findall(page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = unquote(target).partition("#")
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), target
        if anchor and found.suffix == ".md":
            assert anchor in _anchors(found), target


def _read(name: str) -> dict[Any, Any]:
    found = yaml.safe_load((ROOT / name).read_text())
    assert isinstance(found, dict)
    return found


def test_workflows_run_what_there_is() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    workflows = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    assert {path.stem for path in workflows} >= {"test", "wheels", "docs"}
    for path in workflows:
        jobs = _read(str(path.relative_to(ROOT)))["jobs"]
        for step in (step for job in jobs.values() for step in job["steps"] if "run" in step):
            for command in step["run"].splitlines():
                words = command.split()
                if words[0] == "make":
                    assert words[1] in targets, command
                if words[0] == ".venv/bin/pytest":
                    assert (ROOT / words[1]).exists(), command


def test_forms_and_citation() -> None:
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        form = _read(str(path.relative_to(ROOT)))
        assert path.name == "config.yml" or all(field["attributes"]["label"] for field in form["body"])
    assert str(_read("CITATION.cff")["version"]) == cellmill.__version__
