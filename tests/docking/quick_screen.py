"""A screen whose docking answers at once, for tests of all that is not docking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from typing import Any

from docking.features import heavy_atoms
from docking.library import couple, pairs
from docking.records import Docked, Entry, Search
from docking.screen import Screen


class QuickDock:
    """Answers like the parallel function ``dock``: the score is size, some molecules fail."""

    def __init__(self, failing: frozenset[str] = frozenset(), pose: str = "") -> None:
        self.failing, self.pose = failing, pose
        self.asked: list[str] = []

    def map(
        self, smiles: Iterable[str], searches: Iterable[Search], *, return_exceptions: bool
    ) -> Iterator[Any]:
        assert return_exceptions
        for text, search in zip(smiles, searches, strict=True):
            call = self(text, search)
            yield call.exception() or call.result()

    def __call__(self, text: str, search: Search) -> Future[Docked]:
        self.asked.append(text)
        call: Future[Docked] = Future()
        if text in self.failing:
            call.set_exception(RuntimeError("worker lost"))
        else:
            better = search.number + search.exhaustiveness
            call.set_result(Docked(text, round(-0.3 * float(heavy_atoms([text])[0]) - better, 4), self.pose))
        return call


class Inline:
    """Answers like a batched parallel function."""

    def __init__(self, scores: Any) -> None:
        self.scores = scores

    def map(self, smiles: list[str]) -> Iterator[Any]:
        return iter(self.scores(smiles))


def molecules() -> list[Entry]:
    return [Entry(row, smiles, f"m{row}") for row, smiles in enumerate(couple(pairs(150, seed=2)), start=1)]


def screened(library: list[Entry], check: bool = True, **options: Any) -> Screen:
    """A screen of two rounds; without ``check`` its models are not validated, which takes most of the time."""
    screen = Screen(library, QuickDock(**options), seed=4)
    screen.dock_start(30)
    for _ in range(2):
        model = screen.train(check=check)
        screen.infer(Inline(model.scores))
        screen.dock_best(6)
    return screen
