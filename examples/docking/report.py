"""One page about a screen that needs nothing beside it: hits, poses in three dimensions, controls and settings.

It holds its pictures, its data and 3Dmol.js, and loads nothing.
"""

from __future__ import annotations

import base64
import html
import io
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rdkit import Chem

from docking import controls, plots
from docking.filters import as_text
from docking.folder import replace_file
from docking.interactions import COLORS, LABELS, Contact, contacts, diagram
from docking.intervals import Interval
from docking.noise import Effort
from docking.outputs import hit_row, rejected_rows, stage_table
from docking.pose3d import SCRIPT
from docking.receptor import Receptor
from docking.redock import SUCCESS_RMSD, Redocked
from docking.reference import Reference
from docking.screen import Hit, Screen

STATIC = Path(__file__).with_name("static")
GRID, TABLE, POSES, REASONS = 12, 50, 8, 20
"""How many hits are drawn, listed and shown in the pocket, and how many reasons are told."""
COLUMNS = {
    "rank": "rank", "name": "name", "score": "score (kcal/mol)", "spread": "spread", "searches": "searches",
    "final_score": "final score", "final_spread": "spread", "final_searches": "searches",
    "predicted": "predicted", "round": "round",
    "efficiency": "efficiency", "heavy_atoms": "heavy atoms", "weight": "weight (g/mol)", "logp": "logP",
    "tpsa": "TPSA (Å²)", "rotatable_bonds": "rotatable bonds", "contacts": "contacts but hydrophobic ones",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Subject:
    """What a report is about: a ``screen`` into a ``receptor``, on so many ``workers``; the known ``reference`` ligand
    and how it was ``redocked``, where there is one; ``effort``: how many searches a molecule has, and why."""

    screen: Screen
    receptor: Receptor
    workers: int
    reference: Reference | None = None
    redocked: Redocked | None = None
    effort: Effort | None = None


def write_report(
    screen: Screen,
    receptor: Receptor,
    path: Path,
    *,
    workers: int,
    reference: Reference | None = None,
    redocked: Redocked | None = None,
    effort: Effort | None = None,
) -> None:
    """Write the page about ``screen`` to ``path``; it loads nothing from anywhere."""
    subject = Subject(screen, receptor, workers, reference, redocked, effort)
    shown = screen.ranked()[:POSES]
    parts = {
        "title": _text(f"Docking screen of {receptor.name}"),
        "subtitle": _subtitle(screen),
        "warning": _warning(screen, redocked) + _pocket(receptor),
        "tiles": _tiles(subject),
        "grid": _picture_of_hits(screen),
        "hits_table": _hits_table(screen, len(shown)),
        "poses": _poses(screen, shown, reference),
        "controls": _controls(subject),
        "course": _course(screen),
        "failures": _failures(screen),
        "making": _making(subject),
        "scripts": _scripts(subject, shown),
    }
    page = (STATIC / "report.html").read_text()
    replace_file(path, re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], page))


def _subtitle(screen: Screen) -> str:
    usable = sum(entry.usable for entry in screen.library)
    rounds = max((hit.round for hit in screen.hits), default=0)
    predicted = sum(not math.isnan(value) for value in screen.predictions)
    told = f"{len(screen.hits):,} of {usable:,} molecules were docked: a random start"
    if rounds:
        told += f" and {rounds} {'round' if rounds == 1 else 'rounds'} of the most promising"
    again = sum(hit.rescored for hit in screen.hits)
    if again:
        those = f"{again} were" if again > 1 else "one was"
        told += f"; the best {those} docked again at a higher exhaustiveness, and ranked by the best of both"
    return told + (f". A surrogate predicted {predicted:,}." if predicted else ".")


def _warning(screen: Screen, redocked: Redocked | None) -> str:
    if redocked is None:
        doubt = screen.verdict.doubt
        return f"<p class='warning'>{_text(screen.verdict.words)}. Every score and pose is {doubt}.</p>"
    if redocked.state == "reproduced":
        return ""
    if redocked.state == "seldom":
        return (
            f"<p class='warning'>By as many searches as each molecule had ({redocked.searches}), the known pose of the "
            f"reference ligand is found in {100 * redocked.share:.0f} % of the checks; the best of all "
            f"{len(redocked.dockings)} searches is it (RMSD {redocked.lowest_rmsd:.2f} Å). Take scores and poses below "
            "as unsure; more searches of each molecule (--searches, SEARCHES) make them surer.</p>"
        )
    return (
        f"<p class='warning'>The known pose of the reference ligand was NOT found again (RMSD {redocked.rmsd:.2f} Å; "
        f"at most {SUCCESS_RMSD:g} Å would do). Distrust every score and pose below.</p>"
    )


def _pocket(receptor: Receptor) -> str:
    """What is missing, changed or left out where molecules were docked."""
    told = "".join(f"<li>{_text(warning)}</li>" for warning in receptor.warnings)
    said = (
        f"<div class='warning'>At the pocket of the receptor; read this before a score:<ul>{told}</ul></div>"
    )
    return said if told else ""


def _tiles(subject: Subject) -> str:
    screen, ranked = subject.screen, subject.screen.ranked()
    facts: list[tuple[str, str]] = [(f"{sum(hit.docked.ok for hit in screen.hits):,}", "docked")]
    if screen.require:
        facts.append((f"{len(ranked):,}", f"with {' and '.join(each.text for each in screen.require)}"))
    if ranked:
        facts.append((f"{ranked[0].best.score:.2f}", screen.verdict.on("best score, kcal/mol")))
    if screen.validation is not None:
        known = screen.validation
        facts.append((f"{known.spearman:+.2f}", f"held-out rank correlation {_range(known.surrogate)}"))
        facts.append((f"{known.baseline:+.2f}", f"of size alone {_range(known.size)}"))
    if subject.redocked is not None:
        facts.append((f"{subject.redocked.rmsd:.2f} Å", "RMSD of the redocked ligand"))
    return "".join(f"<li><b>{_text(value)}</b><span>{_text(name)}</span></li>" for value, name in facts)


def _picture_of_hits(screen: Screen) -> str:
    count = min(GRID, len(screen.ranked()))
    if not count:
        return _no_hits(screen)
    return plots.top_grid(screen, count) + (
        "<p>A score is the best of so many independent searches; the spread (kcal/mol, after +/-) is the standard "
        "deviation of these. The final score is the best of all rounds, its spread and searches are of the "
        "final one.</p>"
    )


def _no_hits(screen: Screen) -> str:
    required = " and ".join(each.text for each in screen.require)
    if required and any(hit.docked.ok for hit in screen.hits):
        return f"<p>No molecule that docked has {_text(required)}.</p>"
    return "<p>Nothing docked.</p>"


def _hits_table(screen: Screen, shown: int) -> str:
    ranked, head, rows = screen.ranked(), [*COLUMNS.values()], []
    for rank, hit in enumerate(ranked[:TABLE], start=1):
        facts = hit_row(rank, hit)
        specific = [contact for contact in hit.contacts or () if contact.kind != "Hydrophobic"]
        facts["contacts"] = as_text(specific)
        for name in ("score", "spread", "final_score", "final_spread", "predicted"):
            facts[name] = "" if facts[name] == "" else f"{facts[name]:.2f}"
        cells = [_text(facts[name]) for name in COLUMNS]
        if rank <= shown:
            cells[0] = (
                f"<button data-hit='{rank - 1}' aria-label='Show the pose of hit {rank}'>{rank}</button>"
            )
        rows.append(cells)
    more = f"The best {TABLE} of {len(ranked):,}: hits.csv has all" if len(ranked) > TABLE else "All of them"
    caption = f"{screen.verdict.on(more)}. Efficiency is the score per heavy atom. A number in front shows the pose."
    return _table(head, rows, caption)


def _poses(screen: Screen, shown: Sequence[Hit], reference: Reference | None) -> str:
    if not shown:
        return _no_hits(screen)
    options = "".join(
        f"<option>{rank}. {_text(hit.entry.name)} ({hit.best.score:.2f} kcal/mol)</option>"
        for rank, hit in enumerate(shown, start=1)
    )
    known = ""
    if reference is not None:
        name = _text(reference.name)
        known = f"<label><input type='checkbox' id='reference' checked> known pose of {name} (green)</label>"
    return (
        "<p>Orange: the docked molecule. Dashed: its contacts, in the colours of the diagram. "
        "Drag to turn, scroll to zoom.</p>"
        f"<div class='bar'><label for='hit'>Hit</label> <select id='hit'>{options}</select>"
        "<button id='previous'>Previous</button><button id='next'>Next</button>"
        f"<label><input type='checkbox' id='labels' checked> residue labels</label>{known}</div>"
        "<div class='pose'><div id='viewer' role='img' aria-label='The pose in its pocket, in three dimensions'></div>"
        "<div><div id='diagram'></div><table><caption>Contacts, as ProLIF finds them</caption><thead><tr>"
        "<th scope='col'>residue</th><th scope='col'>interaction</th><th scope='col'>distance (Å)</th></tr></thead>"
        "<tbody id='contacts'></tbody></table></div></div>"
    )


def _controls(subject: Subject) -> str:
    return _of_scores(subject) + _of_surrogate(subject.screen)


def _of_scores(subject: Subject) -> str:
    """Whether the known pose is found, and what single searches differ by."""
    redocked, effort = subject.redocked, subject.effort
    parts = []
    if redocked is None:
        parts.append(
            "<p>The pose of a known ligand was not docked again: nothing says that poses here are right.</p>"
        )
    else:
        known = _text(subject.reference.name) if subject.reference else "the known ligand"
        draws = ""
        if len(redocked.dockings) > redocked.searches:
            several = f"{redocked.searches} out of {len(redocked.dockings)} searches"
            draws = f" Of all draws of {several} {100 * redocked.share:.0f} % reproduce it."
        parts.append(
            f"<p>Redocking of {known} by the screen's own protocol, the best of {redocked.searches}: the pose "
            f"({redocked.pose.score:.2f} kcal/mol) lies {redocked.rmsd:.2f} Å from the known one, which is "
            f"{'a' if redocked.success else 'NOT a'} reproduced pose by the usual limit of {SUCCESS_RMSD:g} Å."
            f"{draws}</p>"
        )
        parts.append(_image(plots.redocking(redocked), "Energy and RMSD of the searches of the known ligand"))
    if effort is not None:
        parts.append(f"<p>{_text(effort.sentence)}</p>")
    if effort is not None and effort.noise.probes:
        alternative = "Scores of single searches of some molecules, and the spread of the best of several"
        parts.append(_image(plots.noise(effort), alternative))
    return "".join(parts)


def _of_surrogate(screen: Screen) -> str:
    """What its predictions are worth."""
    if screen.validation is None:
        return "<p>No surrogate was trained.</p>"
    parts = [f"<p>{_text(str(screen.validation))}. {_text(controls.NOTE)}</p>"]
    parts.append(
        _image(
            plots.predicted_against_docked(screen),
            "Predictions, and the number of heavy atoms, against docked scores",
        )
    )
    told = [
        [claim.what, f"{claim.n:,}", f"{claim.figure.told(claim.form)} {claim.unit}", claim.reading]
        for claim in controls.claims(screen)
    ]
    head = ["claim, or its control", "molecules", "value [95 % interval]", "reading"]
    caption = screen.verdict.on("What is claimed, each beside its control")
    claims = _table(head, [[_text(cell) for cell in row] for row in told], caption)
    parts.append(f"<div class='scroll' tabindex='0'>{claims}</div>")
    parts += [f"<p>{_text(line)}.</p>" for line in controls.missing(screen)]
    outside = sum(not inside for inside in screen.inside)
    if outside:
        parts.append(
            f"<p>{outside:,} of {len(screen.inside):,} molecules are larger than all that the surrogate was trained on "
            "or otherwise unlike it. They are predicted as if they were at the edge of it, and chosen last.</p>"
        )
    return "".join(parts)


def _course(screen: Screen) -> str:
    if not any(hit.docked.ok for hit in screen.hits):
        return "<p>Nothing docked.</p>"
    return _image(plots.score_distributions(screen), "Scores of each round beside the random start") + _image(
        plots.progress_curves(screen), "Best score so far, and enrichment, against molecules docked"
    )


def _failures(screen: Screen) -> str:
    rows = rejected_rows(screen)
    if not rows:
        return "<p>Every row of the library could be used, and every docking ended with a pose.</p>"
    counted = Counter(_without_numbers(row["reason"]) for row in rows)
    first = {_without_numbers(row["reason"]): row for row in reversed(rows)}
    cells = [
        [f"{count:,}", _text(reason), _text(first[reason]["name"])]
        for reason, count in counted.most_common(REASONS)
    ]
    return _table(["rows", "reason", "the first"], cells, "hits.csv has each of them.")


def _making(subject: Subject) -> str:
    screen = subject.screen
    parts = []
    by = screen.acquisition
    bound = f"at most {by.per_scaffold} of a scaffold" if by.per_scaffold else "any number of a scaffold"
    parts.append(f"<p>Molecules were chosen by {by.name} acquisition, {bound} over all rounds.</p>")
    if screen.ledger is not None:
        facts = [[_text(name), _text(value)] for name, value in _flat(screen.ledger.facts)]
        parts.append(
            f"<div class='scroll' tabindex='0'>{_table(['setting', 'value'], facts, 'Settings and versions')}</div>"
        )
    notes = "".join(f"<li>{_text(note)}</li>" for note in subject.receptor.notes)
    if notes:
        parts.append(f"<p>The receptor as it was prepared:</p><ul>{notes}</ul>")
    stages = stage_table(screen.clock, subject.workers)
    if len(stages):
        cells = [
            [_text(name), *(_text(value) for value in row)]
            for name, row in zip(stages.index, stages.values, strict=True)
        ]
        timed = _table(["stage", *stages.columns], cells, "Where the time of this run went")
        parts.append(f"<div class='scroll' tabindex='0'>{timed}</div>")
    return "".join(parts)


def _scripts(subject: Subject, shown: Sequence[Hit]) -> str:
    if not shown:
        return ""
    reference = subject.reference.molblock if subject.reference else ""
    data = {
        "receptor": subject.receptor.pdb,
        "reference": reference,
        "hits": [_pose(subject.receptor, hit) for hit in shown],
    }
    text = json.dumps(data).replace("</", "<\\/")
    library = SCRIPT.read_text().replace("</script", "<\\/script")
    return (
        f"<script type='application/json' id='poses-data'>{text}</script>\n"
        f"<script>{library}</script>\n"
        f"<script>{(STATIC / 'poses.js').read_text()}</script>"
    )


def _pose(receptor: Receptor, hit: Hit) -> dict[str, Any]:
    ligand, found = contacts(receptor, hit.best)
    return {
        "mol": Chem.MolToMolBlock(_polar(ligand)),
        "diagram": diagram(ligand, found, width=560, height=440),
        "contacts": [_contact(contact) for contact in found],
    }


def _polar(mol: Chem.Mol) -> Chem.Mol:
    """``mol`` without the hydrogens of carbons, which hide the rest."""
    kept = Chem.RWMol(mol)
    Chem.Kekulize(kept, clearAromaticFlags=True)
    for atom in reversed(list(mol.GetAtoms())):
        if atom.GetAtomicNum() == 1 and all(near.GetAtomicNum() == 6 for near in atom.GetNeighbors()):
            kept.RemoveAtom(atom.GetIdx())
    return kept


def _contact(contact: Contact) -> dict[str, Any]:
    name, _, chain = contact.residue.partition(".")
    number = re.search(r"-?\d+$", name)
    return {
        "residue": name,
        "chain": chain,
        "number": int(number[0]) if number else 0,
        "kind": LABELS[contact.kind],
        "color": COLORS[contact.kind],
        "distance": contact.distance,
        "ends": contact.ends,
    }


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> str:
    top = "".join(f"<th scope='col'>{_text(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><caption>{_text(caption)}</caption><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _image(figure: Any, alternative: str) -> str:
    figure.savefig(data := io.BytesIO(), format="png")
    encoded = base64.b64encode(data.getvalue()).decode("ascii")
    return f"<figure><img alt='{_text(alternative)}' src='data:image/png;base64,{encoded}'></figure>"


def _flat(facts: Any, name: str = "") -> Iterable[tuple[str, Any]]:
    if isinstance(facts, dict):
        for key, value in facts.items():
            yield from _flat(value, f"{name} {key}".strip())
    else:
        sign = ", " if name.endswith("center") else " x "
        yield name, sign.join(map(str, facts)) if isinstance(facts, list) else facts


def _without_numbers(reason: str) -> str:
    """A reason without what differs from row to row, so that alike ones count together."""
    return re.sub(r"[+-]?\d+(\.\d+)?", "…", reason)


def _text(value: Any) -> str:
    return html.escape(str(value))


def _range(figure: Interval) -> str:
    return f"[{figure.low:+.2f}, {figure.high:+.2f}]" if figure.known else "(too few for an interval)"
