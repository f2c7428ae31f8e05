"""Molecules that are being docked: they land in the order in which they were begun, whichever ends first."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from docking.dock import gather
from docking.ledger import Pick, outcome_of
from docking.records import Docked, Search
from docking.searches import combine


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A molecule chosen for ``round`` and the ``calls`` of its searches, each with whether it was over at once."""

    pick: Pick
    round: int
    calls: Sequence[tuple[Any, bool]]


class Flight:
    """Molecules that are being docked by the parallel function ``dock(smiles, search)``."""

    def __init__(self, dock: Any) -> None:
        self._dock = dock
        self._begun: deque[UnderWay] = deque()
        self.seconds = 0.0
        """Of workers, for what has landed; what was known at once is left out."""

    def __len__(self) -> int:
        return len(self._begun)

    def __iter__(self) -> Iterator[UnderWay]:
        return iter(self._begun)

    def begin(self, picks: Sequence[Pick], number: int, searches: Sequence[Search]) -> None:
        """Have the ``picks`` of round ``number`` docked, each by ``searches``."""
        for pick in picks:
            calls = [self._dock(pick.smiles, search) for search in searches]
            self._begun.append(UnderWay(pick, number, [(call, call.done()) for call in calls]))

    def land(self, most: int = 0) -> Iterator[tuple[UnderWay, Docked]]:
        """Molecules in the order in which they were begun, until ``most`` at most are left; each is waited for."""
        try:
            while len(self._begun) > most:
                first = self._begun[0]
                outcomes = [outcome_of(call) for call, _known in first.calls]
                rows = gather([first.pick.smiles] * len(outcomes), outcomes)
                told = zip(rows, first.calls, strict=True)
                self.seconds += sum(row.seconds for row, (_call, known) in told if not known)
                yield self._begun.popleft(), combine(rows)
        except BaseException:  # an interrupt, or a full disk: what has not begun to dock is not docked
            for each in self._begun:
                for call, _known in each.calls:
                    call.cancel()
            self._begun.clear()
            raise
