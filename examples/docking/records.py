"""The data the docking workflow passes around: plain, frozen, picklable."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MAX_BOX_EDGE = 80.0
"""Longest edge of a docking box, in angstrom: grid maps grow with its cube."""


ACQUISITIONS = ("greedy", "ucb", "thompson")
"""Ways to choose what a round docks: the best predicted, with a bonus for doubt, or by a draw from what is believed."""


class DockingInputError(ValueError):
    """Something the user gave cannot be used; the message says what and what to do instead."""


@dataclass(frozen=True, slots=True)
class Box:
    """The search space of a docking run: ``center`` and edge lengths ``size``, both in angstrom."""

    center: tuple[float, float, float]
    size: tuple[float, float, float]

    def __post_init__(self) -> None:
        if len(self.center) != 3 or len(self.size) != 3:
            raise DockingInputError("A box is six numbers: centre x y z and size x y z, in angstrom.")
        if not all(math.isfinite(v) for v in (*self.center, *self.size)):
            raise DockingInputError(f"The box has a coordinate that is not a number: {self}.")
        if min(self.size) <= 0:
            raise DockingInputError(f"Every box edge must be longer than 0 angstrom, got {self.size}.")
        if max(self.size) > MAX_BOX_EDGE:
            raise DockingInputError(
                f"A box edge of {max(self.size):g} angstrom is too long (at most {MAX_BOX_EDGE:g}): "
                "give the pocket, not the protein."
            )

    @classmethod
    def around(cls, coordinates: NDArray[np.float64], padding: float = 5.0, minimum: float = 18.0) -> Box:
        """The box around ``coordinates`` (n, 3) with ``padding`` angstrom on each side, edges >=
        ``minimum``."""
        low, high = coordinates.min(axis=0), coordinates.max(axis=0)
        center = (low + high) / 2.0
        size = np.maximum(high - low + 2.0 * padding, minimum)
        return cls(_triple(center.round(2)), _triple(size.round(1)))

    def contains(self, coordinates: NDArray[np.float64], margin: float = 0.0) -> NDArray[np.bool_]:
        """Which of ``coordinates`` (n, 3) lie inside the box grown by ``margin`` angstrom: (n,) booleans."""
        half = np.asarray(self.size) / 2.0 + margin
        inside: NDArray[np.bool_] = (np.abs(coordinates - np.asarray(self.center)) <= half).all(axis=1)
        return inside

    def __str__(self) -> str:
        return "centre ({:.2f}, {:.2f}, {:.2f}) size {:.1f} x {:.1f} x {:.1f} A".format(
            *self.center, *self.size
        )


def _triple(values: Iterable[float]) -> tuple[float, float, float]:
    x, y, z = (float(v) for v in values)
    return x, y, z


@dataclass(frozen=True, slots=True)
class Selection:
    """What of a file is the receptor: ``chains`` (all when empty), the ``model``, and what else to ``keep`` or
    ``leave_out``: a name (``ZN``), a place (``A:301``), both (``HOH:A:402``), or ``waters`` for those at the
    pocket."""

    chains: tuple[str, ...] = ()
    model: int = 1
    keep: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of a library: its 1-based ``row``, ``smiles`` (canonical when it parsed), ``name`` and why
    not; a ``note`` on what was changed, and a ``caution`` when its score cannot be compared with others."""

    row: int
    smiles: str
    name: str = ""
    reason: str = ""
    note: str = ""
    caution: str = ""

    @property
    def usable(self) -> bool:
        """Whether the row holds a molecule that can be docked."""
        return not self.reason


@dataclass(frozen=True, slots=True)
class Search:
    """Which search of a molecule: its ``number``, the ``exhaustiveness`` (0: that of the settings), and how many
    different ``poses`` it keeps."""

    number: int = 0
    exhaustiveness: int = 0
    poses: int = 1


@dataclass(frozen=True, slots=True)
class Final:
    """The final round: the best ``top`` molecules are searched again at a higher ``exhaustiveness``, each by so many
    ``searches`` with a seed and a conformer of its own, and keep up to so many different ``poses``."""

    top: int = 5
    exhaustiveness: int = 8
    searches: int = 3
    poses: int = 3

    def __post_init__(self) -> None:
        if min(self.exhaustiveness, self.searches, self.poses) < 1:
            raise DockingInputError(
                "The final round needs an exhaustiveness, searches and poses of at least 1."
            )

    def each(self) -> list[Search]:
        """The searches of a molecule."""
        return [Search(number, self.exhaustiveness, self.poses) for number in range(self.searches)]


@dataclass(frozen=True, slots=True)
class Docked:
    """One search, or the best of several: ``score`` in kcal/mol (nan when ``reason`` says why there is none), ``pose``
    as PDBQT text; the ``form`` that docked best, as SMILES with its charges and stereo, and a ``note`` on the others.

    ``mean`` and ``spread`` (standard deviation) are of the scores of so many ``searches``; nan for a single one.
    ``poses`` are (score, PDBQT text), best first, where more than one was asked for.
    """

    smiles: str
    score: float = math.nan
    pose: str = ""
    reason: str = ""
    seconds: float = 0.0
    form: str = ""
    note: str = ""
    mean: float = math.nan
    spread: float = math.nan
    searches: int = 1
    poses: tuple[tuple[float, str], ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the molecule docked."""
        return not self.reason


@dataclass(frozen=True, slots=True)
class Verdict:
    """What redocking a known ligand says of a screen: ``state`` is ``reproduced``, ``seldom`` (by more searches than
    each molecule has), ``failed`` or ``unchecked``, and ``words`` say it in a line. ``doubt`` goes with every claim
    of the screen; it is empty where the known pose was reproduced."""

    state: str
    words: str
    doubt: str = ""

    def on(self, claim: str) -> str:
        """``claim``, and the doubt about it in parentheses."""
        return f"{claim} ({self.doubt})" if self.doubt else claim


def unchecked(reason: str) -> Verdict:
    """The verdict where nothing was redocked."""
    return Verdict("unchecked", f"NOT redocked: {reason}", "unchecked: no known pose was redocked")


@dataclass(frozen=True, slots=True)
class DockSettings:
    """How to dock: Vina's ``exhaustiveness``, the ``seed`` of the campaign, grid ``spacing`` (A).

    ``evaluations`` ends each of Vina's searches after so many evaluations of the score; 0: by Vina's own rule, which
    looks at the size of the molecule. Molecules are protonated as at ``ph`` (None: docked as given), and of stereo
    that is open at most so many ``isomers`` are docked, of which the best counts (0: the conformer decides); of each at
    most so many ``tautomers``, the one that is given first (1: that alone).
    """

    exhaustiveness: int = 1
    seed: int = 42
    spacing: float = 0.375
    evaluations: int = 0
    ph: float | None = 7.4
    isomers: int = 4
    tautomers: int = 2
