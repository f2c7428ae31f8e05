"""What a screen leaves behind: ``hits.csv``, ``hits.sdf``, ``predictions.csv``, ``summary.json``, a table to look at,
and how long each stage took."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rdkit import Chem
from rdkit.Chem import Crippen, Descriptors
from rdkit.Chem import rdMolDescriptors as descriptors

from docking import controls
from docking.clock import Stopwatch
from docking.filters import as_text
from docking.folder import replace_file
from docking.noise import Effort
from docking.poses import distinct_poses
from docking.records import Entry
from docking.screen import Hit, Screen

ENOUGH = 0.8  # of the workers' time: less is said with what would help
COLUMNS = (
    "rank", "name", "smiles", "score", "mean", "spread", "searches", "predicted", "round", "efficiency",
    "final_score", "final_mean", "final_spread", "final_searches",
    "heavy_atoms", "weight", "logp", "tpsa", "rotatable_bonds", "docked_as", "contacts",
    "redock", "note", "row", "reason",
)  # fmt: skip
"""Columns of ``hits.csv``: score, the best of so many independent searches, their mean and spread (standard deviation,
empty for one search) and predicted in kcal/mol. The final ones are of the final round, but the final score is the best
of all rounds. Efficiency = -score / heavy atoms, of the final score where there is one; weight in g/mol. Contacts are
of the best pose, as ``--require`` names them; ``redock`` is the verdict on the whole screen."""


def properties(smiles: str) -> dict[str, float]:
    """Size and drug-likeness of a molecule: heavy atoms, weight (g/mol), logP, TPSA (A^2), rotatable
    bonds."""
    mol = Chem.MolFromSmiles(smiles)
    return {
        "heavy_atoms": mol.GetNumHeavyAtoms(),
        "weight": round(Descriptors.MolWt(mol), 1),
        "logp": round(Crippen.MolLogP(mol), 2),
        "tpsa": round(descriptors.CalcTPSA(mol), 1),
        "rotatable_bonds": descriptors.CalcNumRotatableBonds(mol),
    }


def hit_row(rank: int, hit: Hit, verdict: str = "") -> dict[str, Any]:
    """One ranked hit as a row of ``hits.csv``, with the ``verdict`` on its screen."""
    facts = properties(hit.entry.smiles)
    return {
        "rank": rank,
        "name": hit.entry.name,
        "smiles": hit.entry.smiles,
        "score": hit.docked.score,
        "mean": _told(hit.docked.mean),
        "spread": _told(hit.docked.spread),
        "searches": hit.docked.searches,
        "predicted": _told(hit.predicted),
        "round": hit.round,
        "efficiency": round(-hit.best.score / facts["heavy_atoms"], 3),
        **facts,
        **_final(hit),
        "docked_as": hit.best.form,
        "contacts": as_text(hit.contacts or ()),
        "redock": verdict,
        "note": "; ".join(filter(None, (hit.entry.caution, hit.entry.note, hit.best.note, _lost(hit)))),
        "row": hit.entry.row,
        "reason": "",
    }


def _final(hit: Hit) -> dict[str, Any]:
    """What the final round found, where the molecule was in it."""
    final = hit.final
    if final is None or not final.ok:
        return dict.fromkeys(("final_score", "final_mean", "final_spread", "final_searches"), "")
    return {
        "final_score": final.score,
        "final_mean": _told(final.mean),
        "final_spread": _told(final.spread),
        "final_searches": final.searches,
    }


def _lost(hit: Hit) -> str:
    return f"final round: {hit.final.reason}" if hit.final is not None and not hit.final.ok else ""


def _told(value: float) -> float | str:
    """A figure of a table; empty where there is none."""
    return "" if math.isnan(value) else value


def rejected_rows(screen: Screen) -> list[dict[str, Any]]:
    """Rows for what could not be docked, with the reason: library rows first, then dockings that failed,
    then what lacks a contact that is required."""
    rows = [_rejected(entry, entry.reason, "") for entry in screen.library if not entry.usable]
    rows += [_rejected(hit.entry, hit.docked.reason, hit.round) for hit in screen.hits if not hit.docked.ok]
    lacking = [hit for hit in sorted(screen.hits, key=Hit.key) if hit.lacking]
    rows += [
        hit_row(0, hit, screen.verdict.state) | {"rank": "", "reason": f"lacks {hit.lacking}"}
        for hit in lacking
    ]
    return rows


def table(screen: Screen, top: int | None = None) -> Any:
    """The ``top`` hits (all by default) as a pandas DataFrame to look at; ``hits.csv`` has more."""
    import pandas

    state = screen.verdict.state
    rows = [hit_row(rank, hit, state) for rank, hit in enumerate(screen.ranked()[:top], start=1)]
    return (
        pandas.DataFrame(rows, columns=COLUMNS)
        .drop(columns=["smiles", "docked_as", "row", "reason"])
        .set_index("rank")
    )


def write_csv(screen: Screen, path: Path) -> None:
    """Write the ranked hits, then the rows that failed with their reason."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    state = screen.verdict.state
    writer.writerows(hit_row(rank, hit, state) for rank, hit in enumerate(screen.ranked(), start=1))
    writer.writerows(rejected_rows(screen))
    replace_file(path, text.getvalue())


def write_sdf(screen: Screen, path: Path) -> None:
    """Write the docked poses, best first, in the receptor's frame with score and properties as SD fields.

    What the final round searched has several: ``pose`` is the place of each, ``pose_score`` its own score.
    """
    text = io.StringIO()
    writer = Chem.SDWriter(text)
    for rank, hit in enumerate(screen.ranked(), start=1):
        row = hit_row(rank, hit, screen.verdict.state)
        name = row.pop("name")
        for place, (score, mol) in enumerate(distinct_poses(hit.best), start=1):
            mol.SetProp("_Name", name)
            for key, value in (row | {"pose": place, "pose_score": score}).items():
                if value != "":
                    mol.SetProp(key, str(value))
            writer.write(mol)
    writer.close()
    replace_file(path, text.getvalue())


def write_predictions(screen: Screen, path: Path) -> None:
    """Write the last prediction of every library row that has one, with its spread where the acquisition asks for it,
    whether it is within what the surrogate was trained on, and the score of those that docked."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("row", "name", "smiles", "predicted", "spread", "in_domain", "score"))
    scores = {hit.entry.row: hit.docked.score for hit in screen.hits if hit.docked.ok}
    told = zip(screen.library, screen.predictions, screen.spreads, screen.inside, strict=True)
    for entry, value, spread, inside in told if screen.predictions else ():
        if not math.isnan(value):
            doubt = f"{spread:.4f}" if screen.acquisition.needs_spread else ""
            place, score = "yes" if inside else "no", scores.get(entry.row, "")
            writer.writerow((entry.row, entry.name, entry.smiles, f"{value:.4f}", doubt, place, score))
    replace_file(path, text.getvalue())


def write_results(screen: Screen, folder: Path) -> None:
    """Write all of ``screen`` into ``folder``: the hits as a table and as poses, and every prediction."""
    write_csv(screen, folder / "hits.csv")
    write_sdf(screen, folder / "hits.sdf")
    write_predictions(screen, folder / "predictions.csv")


def write_summary(
    screen: Screen,
    path: Path,
    *,
    redock_rmsd: float | None,
    effort: Effort | None = None,
    warnings: Sequence[str],
    tasks: int,
    seconds: float,
) -> dict[str, Any]:
    """Write the figures of ``screen`` in a line's worth of JSON, and return them; what there is none of is "none".

    ``warnings``: of the receptor; ``effort``: how many searches a molecule has, and why.
    """
    ranked, validation = screen.ranked(), screen.validation
    facts = {
        "docked": len(ranked),
        "scored": sum(not math.isnan(value) for value in screen.predictions),
        "best": ranked[0].entry.smiles if ranked else "none",
        "score": ranked[0].best.score if ranked else "none",
        "spearman": round(validation.spearman, 2) if validation else "none",
        "baseline": round(validation.baseline, 2) if validation else "none",
        "claims": controls.facts(screen),
        "redock": screen.verdict.state,
        "redock_in_words": screen.verdict.words,
        "required_contacts": [each.text for each in screen.require],
        "redock_rmsd": "none" if redock_rmsd is None else round(redock_rmsd, 2),
        "searches": screen.searches,
        "noise": _known(effort.noise.spread() if effort else math.nan),
        "why_so_many_searches": effort.sentence if effort else "none",
        "warnings": list(warnings),
        "tasks": tasks,
        "seconds": round(seconds),
    }
    replace_file(path, json.dumps(facts, indent=1) + "\n")
    return facts


def _known(value: float) -> float | str:
    return "none" if math.isnan(value) else round(value, 2)


def stage_table(clock: Stopwatch, workers: int) -> Any:
    """How long each stage took, tasks a second, and a remark on what would have made it faster."""
    import pandas

    rows = [
        {
            "stage": stage.name,
            "seconds": round(stage.seconds, 1),
            "tasks": stage.tasks or "",
            "tasks/s": round(stage.tasks / stage.seconds, 1) if stage.tasks and stage.seconds else "",
            "what would be faster": stage.remark or _advice(stage.name, stage.tasks, stage.seconds, workers),
        }
        for stage in clock.stages
    ]
    columns = ["stage", "seconds", "tasks", "tasks/s", "what would be faster"]
    return pandas.DataFrame(rows, columns=columns).set_index("stage")


def busy_line(screen: Screen, workers: int) -> str:
    """How busy the rounds kept the workers, in a line."""
    share = screen.busy_share(workers)
    if math.isnan(share):
        return "the rounds docked nothing: all of it was on disk"
    overlap = f"overlap {screen.overlap}" if screen.overlap else "no overlap"
    few = share < ENOUGH and screen.overlap * screen.searches < workers
    wanted = -(-workers // screen.searches)
    more = f"; --per-round {wanted} --overlap {wanted}, or more, keep so many busy" if few else ""
    return (
        f"from the first docking to the last of the rounds, docking took {100 * share:.0f} % of the time of "
        f"{workers} {'worker' if workers == 1 else 'workers'} ({overlap}){more}"
    )


def _advice(name: str, tasks: int, seconds: float, workers: int) -> str:
    if name.startswith("dock") or name == "redock":
        if not tasks:
            return ""
        if tasks <= workers:
            return "nothing: one molecule per worker"
        return f"more workers: {2 * workers} would take about {seconds / 2:.0f} s"
    if tasks >= 1000:
        return f"more workers: {1e6 * seconds * workers / tasks:.0f} us of work a molecule"
    return ""


def _rejected(entry: Entry, reason: str, where: int | str) -> dict[str, Any]:
    row = {"name": entry.name, "smiles": entry.smiles, "round": where, "row": entry.row, "reason": reason}
    return row | {"note": entry.note}


def best_rows(screen: Screen, top: int = 10) -> Sequence[str]:
    """The ``top`` hits as lines for a terminal."""
    return [
        f"{rank:4d}  {hit.best.score:8.3f}  {hit.entry.name:<16} {hit.entry.smiles}"
        + (f"  ({hit.entry.caution})" if hit.entry.caution else "")
        for rank, hit in enumerate(screen.ranked()[:top], start=1)
    ]


def final_line(screen: Screen, hits: Sequence[Hit]) -> str:
    """What the final round of ``screen`` found, in a line."""
    good = [hit for hit in hits if hit.rescored]
    if not good:
        return f"final round: none of {len(hits)} docked"
    best = good[0].best
    spread = "" if math.isnan(best.spread) else f", its {best.searches} searches differ by {best.spread:.2f}"
    return screen.verdict.on(
        f"final round: {len(good)} of {len(hits)} docked again, best {best.score:.2f} kcal/mol{spread}"
    )
