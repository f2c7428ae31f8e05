"""The report: one page with all of a screen, whole without a network, and its poses in a real browser."""

from __future__ import annotations

import html.parser
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from rdkit import Chem

from docking import controls
from docking.ligand import to_pdbqt
from docking.noise import Noise, Probe, choose_effort
from docking.receptor import TUTORIAL_BOX, Receptor, Reference, reference_ligand, tutorial_folder
from docking.records import Docked, Entry
from docking.redock import judge
from docking.report import POSES, write_report
from docking.screen import Hit, Screen
from tests.docking.quick_screen import QuickDock, screened


@pytest.fixture(scope="module")
def known() -> tuple[Receptor, Reference, str]:
    """The pocket of the tutorial's receptor as its file is, its ligand, and the known pose as if it had been docked."""
    folder = tutorial_folder()
    template = next(iter(Chem.SDMolSupplier(str(folder / "vina_output.sdf"))))
    reference = reference_ligand(folder / "lig.pdb", template=template, name="dihydroergotamine")
    lines = [line for line in (folder / "rec.pdb").read_text().splitlines() if line.startswith("ATOM")]
    atoms = np.array([[float(line[at : at + 8]) for at in (30, 38, 46)] for line in lines])
    ligand = reference.mol().GetConformer().GetPositions()
    near = np.linalg.norm(atoms[:, None] - ligand, axis=2).min(axis=1) < 7.0
    pocket = {line[21:27] for line, inside in zip(lines, near, strict=True) if inside}
    text = "\n".join(line for line in lines if line[21:27] in pocket)
    said = ("left out within 8 A of the reference: GOL 403 A (2.1 A) & 1 water",)
    receptor = Receptor("5-HT1B", text, "", TUTORIAL_BOX, ("a note",), said)
    return receptor, reference, to_pdbqt(Chem.AddHs(reference.mol(), addCoords=True))


class Links(html.parser.HTMLParser):
    """What a page loads, and the options of its choice of hits."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loads += [
            value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "srcset")
        ]


def test_the_report_tells_the_screen_and_loads_nothing(
    known: tuple[Receptor, Reference, str], library: list[Entry], screen: Screen, tmp_path: Path
) -> None:
    receptor, reference, pose = known
    odd = Entry(0, "<b>", "<script>alert(1)</script>", "SMILES does not parse")
    shared = screen
    screen = screened([odd, *library], check=False, pose=pose, failing=frozenset([library[3].smiles]))
    screen.validation, screen.splits = shared.validation, shared.splits  # which takes most of the time
    wrong = judge([Docked("x", -9.0, _moved(pose))], reference)
    effort = choose_effort(Noise(Probe("known", (-9.0, -8.0), 2.0), ()), 10, 60.0)
    path = tmp_path / "report.html"
    screen.verdict = wrong.verdict("known")
    write_report(screen, receptor, path, workers=2, reference=reference, redocked=wrong, effort=effort)
    page = path.read_text()
    seen = Links()
    seen.feed(page)
    assert all(load.startswith("data:image/png;base64,") for load in seen.loads)
    assert not re.search(r"@import|url\(", page.split("<body>")[0])
    assert "{{" not in page.split("<script")[0]
    assert seen.tags.count("option") == POSES
    assert "was NOT found again" in page
    before = page.split("<h2>")[0]
    assert "<li>left out within 8 A of the reference: GOL 403 A (2.1 A) &amp; 1 water</li>" in before
    assert "best score, kcal/mol (distrust: the known pose was NOT found again)" in page
    assert "differ by 0.71 kcal/mol" in page
    assert "Scores of single searches" in page
    assert str(screen.validation).split(";")[0] in page
    told = controls.claims(screen)
    assert len(told) > 10
    for claim in told:
        row = f"<td>{claim.what}</td><td>{claim.n}</td><td>{claim.figure.told(claim.form)} {claim.unit}</td>"
        assert f"{row}<td>{claim.reading}</td>" in page
    assert "What is claimed, each beside its control (distrust: the known pose was NOT found again)" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert" not in page
    data = json.loads(page.split("id='poses-data'>")[1].split("</script>")[0])
    assert len(data["hits"]) == POSES
    assert {"ASP129", "PHE330"} <= {contact["residue"] for contact in data["hits"][0]["contacts"]}
    assert Chem.MolFromMolBlock(data["hits"][0]["mol"]).GetNumConformers() == 1


def test_a_report_of_a_screen_in_which_nothing_docked(
    known: tuple[Receptor, Reference, str], library: list[Entry], tmp_path: Path
) -> None:
    hits = [Hit(library[0], Docked(library[0].smiles, reason="no pose fits the box (score +3.1)"), 0)]
    screen = Screen(library, QuickDock(), hits=hits)
    write_report(screen, known[0], tmp_path / "report.html", workers=2)
    page = (tmp_path / "report.html").read_text()
    assert "no pose fits the box (score …)" in page
    assert "No surrogate was trained" in page
    assert "Every score and pose is unchecked" in page
    assert "<script" not in page


@pytest.fixture
def page() -> Iterator[Any]:
    from tests.browser import chromium  # which needs Playwright

    # Three dimensions, drawn without a graphics card: a page so narrow that the pose has half of it, and time.
    with chromium.own_page({"width": 820, "height": 600}, timeout_s=120, hosts=set()) as made:
        made.add_init_script(COUNT_CLEARED)
        yield made


COUNT_CLEARED = """
window.cleared = 0;
const clear = WebGL2RenderingContext.prototype.clear;
WebGL2RenderingContext.prototype.clear = function (mask) {
  window.cleared += 1;
  return clear.call(this, mask);
};
"""
"""Counts how often the viewer begins a picture: three buffers are cleared for each."""


@pytest.mark.browser
def test_poses_are_stepped_through_in_a_browser(
    known: tuple[Receptor, Reference, str], page: Any, tmp_path: Path
) -> None:
    from tests.browser.axe import grave_findings

    receptor, reference, pose = known
    hits = [
        Hit(Entry(row, reference.smiles, name), Docked(reference.smiles, score, text), 0)
        for row, (name, score, text) in enumerate([("first", -9.0, pose), ("second", -8.0, _moved(pose))])
    ]
    screen = Screen([hit.entry for hit in hits], QuickDock(), hits=hits)
    write_report(screen, receptor, tmp_path / "report.html", workers=2, reference=reference)
    page.goto((tmp_path / "report.html").as_uri())
    table = page.locator("#contacts")
    assert "ASP129" in table.inner_text()
    assert page.locator("#diagram svg").count() == 1
    assert page.locator("#previous").is_disabled()
    page.get_by_role("button", name="Next").press("Enter")
    assert page.get_by_label("Hit", exact=True).evaluate("choice => choice.selectedIndex") == 1
    assert "ASP129" not in table.inner_text()
    before = page.evaluate("cleared")
    page.get_by_role("button", name="Show the pose of hit 1").click()
    assert "ASP129" in table.inner_text()
    assert 0 < page.evaluate("cleared") - before < 15, "drawn once for all contacts, not for each"
    assert table.locator("tr").count() > 5
    assert grave_findings(page, "body") == []
    light = _paper(page)
    page.emulate_media(color_scheme="dark")
    assert _paper(page) == ("rgb(20, 20, 20)", [20, 20, 20])
    assert light == ("rgb(255, 255, 255)", [255, 255, 255])
    assert grave_findings(page, "body") == []


def _paper(page: Any) -> tuple[str, list[int]]:
    """The colour behind the text, and that in a corner of the pose."""
    behind = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    picture = Image.open(io.BytesIO(page.locator("#viewer").screenshot()))
    return behind, list(picture.convert("RGB").getpixel((6, 6)))


def _moved(pose: str) -> str:
    """The pose 12 angstrom away."""
    return "\n".join(
        f"{line[:30]}{float(line[30:38]) + 12.0:8.3f}{line[38:]}" if line.startswith("ATOM") else line
        for line in pose.splitlines()
    )
