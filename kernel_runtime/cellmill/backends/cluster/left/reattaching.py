"""Brings what an executor with a name has left on its cluster."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from ....diagnostics.short_text import counted
from ....errors import BackendError, UsageError, in_words
from ....serialization.exceptions import load_error
from ....task import size_text
from .keeping import ERROR, RUN, Block, Store


class LeftRun:
    """What is known of one map: its elements by their places, from 0."""

    def __init__(self) -> None:
        self.name = "?"  # of the function
        self.began: datetime | None = None
        self.total: int | None = None  # elements; None: not known
        self.values: dict[int, Any] = {}
        self.errors: dict[int, BaseException] = {}

    @property
    def missing(self) -> list[int]:
        """Places without an outcome: never run, or under way or on their way when their kernel ended, or found in a
        cache (``memo``, ``checkpoint``). Of a map of unknown length those before the last one that is known.
        """
        known = self.values.keys() | self.errors.keys()
        total = self.total if self.total is not None else max(known, default=-1) + 1
        return [place for place in range(total) if place not in known]

    def __repr__(self) -> str:
        of = "" if self.total is None else f" of {self.total:,}"
        parts = [f"{len(self.values):,}{of} done", f"{len(self.errors):,} failed"]
        parts.append(f"{len(self.missing):,} without an outcome")
        return f"<left of a map of {self.name}: {', '.join(parts)}>"


class LeftRuns(list[LeftRun]):
    """The maps of an executor's name, in the order in which they began. ``lost``: number of outcomes that the cluster
    has lost.
    """

    lost = 0


class LeftBehind:
    """What is left under one name on a cluster."""

    def __init__(self, name: str, blocks: Sequence[Block]) -> None:
        self.name = name
        self.values = sum(block.ended for block in blocks)
        self.errors = sum(block.failed for block in blocks)
        self.size = sum(block.size for block in blocks)
        self.expires = datetime.fromtimestamp(
            min(block.expires for block in blocks)
        )  # of the first that goes

    def __repr__(self) -> str:
        return (
            f"<left by {self.name!r}: {counted(self.values, 'value')} and {counted(self.errors, 'error')}, "
            f"{size_text(self.size)}, all of it until {self.expires:%Y-%m-%d %H:%M}>"
        )


def left_behind(store: Store) -> list[LeftBehind]:
    """Return what there is on a cluster, by name."""
    found: dict[str, list[Block]] = {}
    for block in store.blocks():
        found.setdefault(block.name, []).append(block)
    return [LeftBehind(name, found[name]) for name in sorted(found)]


def reattach(store: Store, name: str) -> LeftRuns:
    """Bring what was left under a name, and remove what no living kernel adds to.

    What a kernel has left stays there where a part of it cannot be read here: it can be brought again.

    Raises:
        UsageError: nothing is there.
    """
    blocks = [block for block in store.blocks() if block.name == name]
    if not blocks:
        known = ", ".join(repr(left.name) for left in left_behind(store)) or "nothing"
        raise UsageError(f"nothing is left of an executor {name!r} on this cluster; there is: {known}")
    first = {block.session: block.expires for block in sorted(blocks, key=_newest_first)}
    runs: dict[tuple[float, str, int], LeftRun] = {}
    lost = 0
    unread: set[str] = set()
    for block in sorted(blocks, key=lambda block: block.number):
        data = store.get(block)
        if data is None:
            lost += block.ended + block.failed
            continue
        for kind, number, places, body in pickle.loads(data):
            run = runs.setdefault((first[block.session], block.session, number), LeftRun())
            if not _take(run, kind, places, body):
                unread.add(block.session)
    stay = store.alive() | unread
    store.drop([block for block in blocks if block.session not in stay])
    found = LeftRuns(runs[key] for key in sorted(runs))
    found.lost = lost
    return found


def _newest_first(block: Block) -> float:
    return -block.expires


def _take(run: LeftRun, kind: int, places: Sequence[int], body: bytes) -> bool:
    """Note an entry; whether it could be read."""
    if kind == RUN:
        run.name, run.total, began = pickle.loads(body)
        run.began = datetime.fromisoformat(began)
    elif kind == ERROR:
        run.errors[places[0]] = load_error(body)
    else:
        try:
            run.values.update(zip(places, pickle.loads(body), strict=True))
        except Exception as error:  # a class that is not here, say
            for place in places:
                run.errors[place] = _unread(place, error)
            return False
    return True


def _unread(place: int, error: Exception) -> BackendError:
    found = BackendError(
        f"element {place} has a value that cannot be read here: {in_words(error)}. It is still on the cluster: make "
        "sure that what it is made of can be imported, and call reattach again."
    )
    found.__cause__ = error
    return found
