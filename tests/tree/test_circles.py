"""No file of the scheduler in C, or of the panel in TypeScript, needs another one that needs it.

In C a file needs those whose functions it calls; in TypeScript those that it imports. For Python see `test_imports`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
Arrows = dict[str, set[str]]
_DEFINED = re.compile(
    r"^(?!static|typedef|enum|struct)[a-zA-Z_][\w \*]*?\b(\w+)\([^;{]*\)\s*\n\{", re.MULTILINE
)
_IMPORTED = re.compile(r"(?:from|import)\s+'(\.[^']*)'")


def calls(folder: Path) -> Arrows:
    """Which C files call functions of which."""
    texts = {
        path.name: re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL) for path in folder.glob("*.c")
    }
    homes = {name: file for file, text in texts.items() for name in _DEFINED.findall(text)}
    return {
        file: {homes[name] for name in re.findall(r"\b(\w+)\s*\(", text) if name in homes} - {file}
        for file, text in texts.items()
    }


def imports(folder: Path) -> Arrows:
    """Which TypeScript files import which."""
    files = {str(path.relative_to(folder).with_suffix("")): path for path in folder.rglob("*.ts")}
    arrows: Arrows = {}
    for name, path in files.items():
        targets = [(path.parent / each).resolve() for each in _IMPORTED.findall(path.read_text())]
        near = [str(each.relative_to(folder)) for each in targets if each.is_relative_to(folder)]
        arrows[name] = {each if each in files else f"{each}/index" for each in near} & files.keys()
    return arrows


def circles(arrows: Arrows) -> list[set[str]]:
    """The sets of files that need each other, directly or not."""
    reached = {file: _reached(arrows, file) for file in arrows}
    found = {frozenset(other for other in reached[file] if file in reached[other]) for file in arrows}
    return [set(each) for each in found if each]


def _reached(arrows: Arrows, start: str) -> set[str]:
    found, pending = set[str](), [start]
    while pending:
        new = arrows[pending.pop()] - found
        found |= new
        pending += new
    return found


def test_of_the_scheduler() -> None:
    arrows = calls(ROOT / "csched" / "src")
    assert "task.c" in arrows["drain.c"]
    assert circles(arrows) == []


def test_of_the_panel() -> None:
    arrows = imports(ROOT / "labextension" / "src")
    assert "protocol/messages" in arrows["model/kernelModel"]
    assert circles(arrows) == []


def test_of_the_panels_folders() -> None:
    arrows: Arrows = {}
    for file, needed in imports(ROOT / "labextension" / "src").items():
        room = file.split("/")[0]
        arrows.setdefault(room, set()).update({each.split("/")[0] for each in needed} - {room})
    assert arrows["model"] == {"protocol"}
    assert circles(arrows) == []


@pytest.mark.parametrize(
    ("arrows", "found"),
    [
        ({"a": {"b"}, "b": set()}, []),
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}, [{"a", "b", "c"}]),
        ({"a": {"a"}}, [{"a"}]),
    ],
)
def test_the_check_itself(arrows: Arrows, found: list[set[str]]) -> None:
    assert circles(arrows) == found
