"""The graph of tasks that have inputs or dependents, with their states."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable
from typing import Any

from cellmill.api import questions_of
from cellmill.backends._observing import Picture, TaskQuestions
from cellmill.executor import Executor
from cellmill.telemetry import schema
from cellmill.views.scope import Scope

# Above these a frame would be larger than what a tab may send in a second, and a picture more than eyes can follow.
MOST_TASKS = 4000
MOST_DEPENDENCIES = 12_000
MOST_GROUPS = 1000
MOST_LINKS = 6000
STATES = 8
GROUP_WORDS = 4 + STATES  # function, depth, seconds, 0, tasks by state
MOST_LABELLED = 150  # tasks that a view draws as boxes with text
MOST_CHARACTERS = 40
# What the arguments of a task say of its inputs: the graph's edges tell of these.
_INPUTS = re.compile(
    r"(^|, )(\w+=)?(<input \d+>|\[[^\]]*<input \d+>[^\]]*\]|\([^)]*<input \d+>[^)]*\))(?=, |$)"
)


class GraphSection:
    """The tasks one by one, and after that what changed of their states; above some thousands in groups."""

    interval = 1.0

    def __init__(self, scope: Scope | None = None) -> None:
        self._run = None if scope is None else scope.run
        self._key = None if scope is None else scope.key
        self._executor: Executor | None = None
        self._picture: Picture | None = None
        self._structure = self._changes = -1
        self._texts: dict[int, str] = {}  # the arguments of the tasks that are drawn, by ticket

    def restart(self) -> None:
        self._structure = self._changes = -1

    def frame(self, executor: Executor) -> schema.Graph | schema.GraphStates | None:
        if executor is not self._executor:
            observer = executor._backend.observer
            self._executor, self._picture = executor, observer.dependencies(self._key) if observer else None
            self.restart()
        picture = self._picture
        if picture is None:
            return self._nothing()
        picture.look()
        if picture.changes == self._changes:
            return None
        self._changes = picture.changes
        if picture.tasks > MOST_TASKS or picture.dependencies > MOST_DEPENDENCIES:
            self._structure = -1
            return {**_folded(picture), **self._whose(picture)}
        if picture.structure == self._structure:
            states, seconds = picture.states()
            return {
                "cellmill": schema.VERSION,
                "kind": "graph-states",
                "run": self._run,
                "structure": picture.structure,
                "states": states,
                "seconds": seconds,
            }
        self._structure = picture.structure
        frame: schema.Graph = {**_whole(picture), **self._whose(picture)}
        if picture.tasks <= MOST_LABELLED:
            frame["arguments"] = self._arguments(array("Q", frame["tickets"]), questions_of(executor))
        return frame

    def _arguments(self, tickets: Iterable[int], questions: TaskQuestions) -> list[str]:
        known, self._texts = self._texts, {}
        for ticket in tickets:
            self._texts[ticket] = known.get(ticket) or _own(
                questions.kept_arguments(ticket) or questions.arguments(ticket, None) or ""
            )
        return list(self._texts.values())

    def _whose(self, picture: Picture) -> Any:
        return {} if self._run is None else {"run": self._run, "own": picture.own}

    def _nothing(self) -> schema.Graph | None:
        """Return an empty graph once: where calls run at once, nothing waits."""
        if self._changes == 0:
            return None
        self._changes = 0
        return {**_frame(None, [], array("H"), array("H"), b"", b"", b"", array("H")), "run": self._run}


def _own(arguments: str) -> str:
    """The arguments without those that are results of other tasks."""
    text = _INPUTS.sub("", arguments).removeprefix(", ")
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"


def _whole(picture: Picture) -> schema.Graph:
    tickets, functions, depths, pairs = picture.columns()
    states, seconds = picture.states()
    names, places = _names(picture, memoryview(functions).cast("I"))
    return _frame(
        picture, names, places, _short(memoryview(depths).cast("I")), states, seconds, tickets, _short(pairs)
    )


def _folded(picture: Picture) -> schema.Graph:
    most = MOST_GROUPS
    groups, links, span = picture.fold(most)
    while len(links) > 12 * MOST_LINKS and most > 1:
        most //= 2
        groups, links, span = picture.fold(most)
    words = memoryview(groups).cast("I")
    names, places = _names(picture, words[::GROUP_WORDS])
    counts = array("I")
    for state in range(STATES):
        counts.extend(words[4 + state :: GROUP_WORDS])
    seconds = array("I", words[2::GROUP_WORDS])
    frame = _frame(
        picture,
        names,
        places,
        _short(words[1::GROUP_WORDS]),
        counts.tobytes(),
        seconds.tobytes(),
        b"",
        array("H"),
    )
    return {**frame, "folded": True, "span": span, "edges": links}


def _names(picture: Picture, functions: Iterable[int]) -> tuple[list[str], array[int]]:
    """The names there are, and the place of each task's among them; "" for several."""
    numbers = list(functions)
    places: dict[str, int] = {}
    place = {n: places.setdefault(picture.name(n) or "", len(places)) for n in sorted(set(numbers))}
    return list(places), array("H", map(place.__getitem__, numbers))


def _short(words: bytes | memoryview) -> array[int]:
    """Numbers of 4 bytes as such of 2: below `MOST_TASKS` all fit."""
    return array("H", memoryview(words).cast("I") if isinstance(words, bytes) else words)


def _frame(
    picture: Picture | None,
    names: list[str],
    functions: array[int],
    depths: array[int],
    states: bytes,
    seconds: bytes,
    tickets: bytes,
    edges: array[int],
) -> schema.Graph:
    return {
        "cellmill": schema.VERSION,
        "kind": "graph",
        "run": None,
        "structure": picture.structure if picture else 0,
        "tasks": picture.tasks if picture else 0,
        "own": None,
        "dependencies": picture.dependencies if picture else 0,
        "partial": picture.partial if picture else False,
        "folded": False,
        "span": 1,
        "names": names,
        "arguments": None,
        "functions": functions.tobytes(),
        "depths": depths.tobytes(),
        "states": states,
        "seconds": seconds,
        "tickets": tickets,
        "edges": edges.tobytes(),
    }
