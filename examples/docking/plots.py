"""Pictures of a screen: matplotlib figures and a grid of structures as SVG."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from rdkit.Chem import MolFromSmiles
from rdkit.Chem.Draw import rdMolDraw2D

from docking.controls import enrichment
from docking.interactions import ATOMS
from docking.noise import TOLERANCE, Effort
from docking.outputs import properties
from docking.redock import SUCCESS_RMSD, Redocked
from docking.screen import Hit, Screen

INK, MODEL, PLAIN, ACCENT = "#1f2933", "#1f6feb", "#8a94a0", "#d9480f"
ROUND_COLORS = ("#8a94a0", "#6fa8dc", "#1f6feb", "#0b3d91", "#061f4a")
SCORE_LABEL = "docking score (kcal/mol)"


def redocking(result: Redocked) -> Any:
    """Energy against RMSD of the searches of the reference, with the 2 angstrom criterion; those that are the check are
    dark."""
    figure, axes = _figure(5.2, 3.4)
    for index, (docking, rmsd) in enumerate(zip(result.dockings, result.rmsds, strict=True)):
        best = index == result.best
        color = ACCENT if best else INK if index < result.searches else PLAIN
        axes.scatter(rmsd, docking.score, s=90 if best else 45, color=color, zorder=3)
    axes.axvline(SUCCESS_RMSD, color=INK, linewidth=1, linestyle="--")
    axes.set_xlim(0, max(5.0, np.nanmax(result.rmsds) + 0.5))
    axes.margins(y=0.15)
    axes.set_xlabel("RMSD to the known pose (Å)")
    axes.set_ylabel(SCORE_LABEL)
    axes.set_title(f"Redocking the known ligand: best of {result.searches} at {result.rmsd:.2f} Å")
    return figure


def noise(effort: Effort) -> Any:
    """Left: the scores of single searches of each probe, against its best one. Right: the spread of the best of n."""
    measured = effort.noise
    figure, (left, right) = _figure(9.6, 1.2 + 0.34 * max(5, len(measured.probes)), columns=2)
    for place, probe in enumerate(measured.probes):
        above = [score - probe.scores[0] for score in probe.scores]
        left.scatter(
            above,
            [place] * len(above),
            s=34,
            color=ACCENT if probe is measured.reference else MODEL,
            alpha=0.75,
        )
    names = [f"{probe.name[:24]} ({probe.scores[0]:.1f})" for probe in measured.probes]
    left.set_yticks(range(len(names)), names)
    left.set_ylim(len(names) - 0.5, -0.5)
    left.set_xlabel("single searches: kcal/mol above the best one")
    left.set_title(f"One search: {measured.spread():.2f} kcal/mol (standard deviation)")
    numbers = range(1, max(8, effort.searches) + 1)
    right.plot(
        numbers, [measured.spread(n) for n in numbers], color=MODEL, linewidth=2, marker="o", markersize=4
    )
    right.axhline(TOLERANCE, color=INK, linewidth=1, linestyle="--")
    right.scatter([effort.searches], [measured.spread(effort.searches)], s=90, color=ACCENT, zorder=3)
    right.set_ylim(bottom=0)
    right.set_xlabel("searches of a molecule, of which the best counts")
    right.set_ylabel("spread (kcal/mol)")
    right.set_title(f"Best of {effort.searches} here; dashed: {TOLERANCE:g}")
    return figure


def predicted_against_docked(screen: Screen) -> Any:
    """Held-out predictions of the start and the later rounds' predictions against scores; the size
    baseline beside."""
    validation = screen.validation
    if validation is None:
        raise ValueError("train the screen first: there are no predictions to draw")
    start = [hit for hit in screen.hits if hit.docked.ok and hit.round == 0][: validation.n]
    scores = [hit.docked.score for hit in start]
    figure, (left, right) = _figure(9.6, 4.0, columns=2)
    left.scatter(
        validation.predictions[: len(scores)], scores, s=28, color=MODEL, alpha=0.8, label="random start"
    )
    later = [hit for hit in screen.hits if hit.docked.ok and not math.isnan(hit.predicted)]
    if later:
        x, y = [hit.predicted for hit in later], [hit.docked.score for hit in later]
        left.scatter(x, y, s=34, marker="D", color=ACCENT, alpha=0.9, label="chosen by the model")
    low, high = _span(left)
    left.plot([low, high], [low, high], color=PLAIN, linewidth=1, linestyle="--", zorder=0)
    left.set_xlabel("predicted, held out (kcal/mol)")
    left.set_ylabel(SCORE_LABEL)
    left.set_title(f"{validation.chosen}: ρ = {validation.surrogate}")
    left.legend(frameon=False, fontsize=9)
    sizes = [properties(hit.entry.smiles)["heavy_atoms"] for hit in start]
    right.scatter(sizes, scores, s=28, color=PLAIN, alpha=0.9)
    right.set_xlabel("heavy atoms")
    right.set_title(f"size alone: ρ = {validation.size}")
    figure.suptitle(
        f"What the surrogate knows (n = {validation.n}; published KNN: ρ = {validation.published:.2f})"
    )
    return _doubted(figure, screen)


def score_distributions(screen: Screen) -> Any:
    """Scores of each round against the random start."""
    rounds = sorted({hit.round for hit in screen.hits if hit.docked.ok})
    groups = [[hit.docked.score for hit in screen.hits if hit.docked.ok and hit.round == r] for r in rounds]
    figure, axes = _figure(6.2, 0.9 + 0.75 * len(rounds))
    spread = np.random.default_rng(0)
    for position, (number, values) in enumerate(zip(rounds, groups, strict=True)):
        color = ROUND_COLORS[min(number, len(ROUND_COLORS) - 1)]
        heights = position + spread.uniform(-0.16, 0.16, len(values))
        axes.scatter(values, heights, s=20, color=color, alpha=0.75)
        median = float(np.median(values))
        axes.plot([median, median], [position - 0.32, position + 0.32], color=INK, linewidth=2)
    labels = ["random" if r == 0 else f"round {r}" for r in rounds]
    axes.set_yticks(range(len(rounds)), [f"{a} (n={len(v)})" for a, v in zip(labels, groups, strict=True)])
    axes.set_ylim(len(rounds) - 0.5, -0.5)
    axes.set_xlabel(SCORE_LABEL)
    axes.set_title("Scores by round (line: median)")
    return _doubted(figure, screen)


def progress_curves(screen: Screen) -> Any:
    """Best score so far, and how many molecules beat the random start's best tenth, against dockings
    spent."""
    done = [hit for hit in screen.hits if hit.docked.ok]
    scores = np.array([hit.docked.score for hit in done])
    start = sum(hit.round == 0 for hit in done)
    figure, (left, right) = _figure(9.6, 3.6, columns=2)
    spent = np.arange(1, len(scores) + 1)
    left.step(spent, np.minimum.accumulate(scores), where="post", color=MODEL, linewidth=2)
    left.set_ylabel("best score so far (kcal/mol)")
    left.set_title("Best so far")
    threshold = float(np.quantile(scores[:start], 0.1)) if start else float(scores.min())
    found = np.cumsum(scores <= threshold)
    expected = (scores[:start] <= threshold).mean() if start else 0.0
    right.step(spent, found, where="post", color=MODEL, linewidth=2, label="this screen")
    right.plot(spent, spent * expected, color=PLAIN, linewidth=1.5, linestyle="--", label="docking at random")
    right.set_ylabel(f"molecules at or below {threshold:.1f}")
    right.set_title(f"Enrichment, times random: {enrichment(screen).told('.1f')}")
    right.legend(frameon=False, fontsize=9, loc="upper left")
    for axes in (left, right):
        axes.axvline(start + 0.5, color=PLAIN, linewidth=1, linestyle=":")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel("molecules docked")
    return _doubted(figure, screen)


def top_grid(screen: Screen, count: int = 12, columns: int = 3) -> str:
    """The ``count`` best molecules as one SVG text: structure, score, prediction and properties."""
    hits = screen.ranked()[:count]
    legends = []
    for rank, hit in enumerate(hits, start=1):
        facts = properties(hit.entry.smiles)
        predicted = "chosen at random" if math.isnan(hit.predicted) else f"predicted {hit.predicted:.2f}"
        size = f"{facts['weight']:.0f} g/mol, logP {facts['logp']:.1f}, TPSA {facts['tpsa']:.0f}"
        legends.append((f"{rank}. {_score(hit)} kcal/mol", predicted, size))
    return _grid([hit.entry.smiles for hit in hits], legends, columns, screen.verdict.doubt)


def _score(hit: Hit) -> str:
    """A score, and what searches of the molecule differ by, where several tell it."""
    spread = "" if math.isnan(hit.best.spread) else f" +/- {hit.best.spread:.2f}"
    return f"{hit.best.score:.2f}{spread}"


def _grid(
    smiles: Sequence[str],
    legends: Sequence[Sequence[str]],
    columns: int,
    doubt: str,
    width: int = 290,
    height: int = 250,
) -> str:
    """Molecules in rows of so many ``columns``, each with its lines below it, in one size of text for all."""
    foot = 30 if doubt else 0
    rows = max(1, math.ceil(len(smiles) / columns))
    drawer = rdMolDraw2D.MolDraw2DSVG(width * columns, height * rows + foot, width, height)
    options = drawer.drawOptions()
    options.legendFraction = 0.26
    options.padding = 0.08
    options.updateAtomPalette(ATOMS)
    mols = [rdMolDraw2D.PrepareMolForDrawing(MolFromSmiles(text)) for text in smiles]
    drawer.DrawMolecules(mols, legends=[" "] * len(mols))  # room for the lines
    drawer.FinishDrawing()
    text = str(drawer.GetDrawingText())
    said = []
    for place, lines in enumerate(legends):
        x, y = (place % columns + 0.5) * width, (place // columns + 1) * height - 46
        said += [_line(x, y + 18 * number, line, INK) for number, line in enumerate(lines)]
    if doubt:
        said.append(_line(width * columns / 2, height * rows + 20, doubt, ACCENT, weight="bold"))
    return text[text.index("<svg") :].replace("</svg>", "".join(said) + "</svg>")


def _line(x: float, y: float, text: str, color: str, weight: str = "normal") -> str:
    """A line of an SVG picture."""
    return (
        f"<text x='{x:g}' y='{y:g}' text-anchor='middle' font-family='sans-serif' font-size='14' "
        f"font-weight='{weight}' fill='{color}'>{html.escape(text)}</text>"
    )


def _doubted(figure: Any, screen: Screen) -> Any:
    """``figure``, with the doubt about all that it shows where the known pose was not found again."""
    if screen.verdict.doubt:
        figure.supxlabel(screen.verdict.doubt, color=ACCENT, fontsize=10, fontweight="bold")
    return figure


def _figure(width: float, height: float, columns: int = 1) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=110, layout="constrained")
    axes = figure.subplots(1, columns)
    for one in np.atleast_1d(axes):
        one.spines[["top", "right"]].set_visible(False)
        one.grid(color="#e4e7eb", linewidth=0.6)
        one.set_axisbelow(True)
    return figure, axes


def _span(axes: Any) -> tuple[float, float]:
    (a, b), (c, d) = axes.get_xlim(), axes.get_ylim()
    return min(a, c), max(b, d)
