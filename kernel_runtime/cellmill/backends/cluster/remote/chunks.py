"""Chunks on a remote worker: elements of a map, or one batch, each with an outcome of its own."""

from __future__ import annotations

from array import array
from typing import Any, Protocol

from ....by_value import watched
from ....errors import is_a
from ....randomness.generators import prepared
from ....serialization.chunk_outcomes import Outcomes, run_batch
from ....serialization.exceptions import encode_error
from .. import clocks, pack
from ..pack import TASK, VALUE
from .functions import KnownFunctions

NO_ELEMENT = 2**32 - 1


class Runner(Protocol):
    """The lane whose chunk it is. ``page``: where it is told what runs."""

    known: KnownFunctions
    element: int
    page: Any
    stopped: set[int]

    def packed(self, encoded: Any, *, kept: bool, task: str = "") -> tuple[list[Any], int, int]: ...


def run_chunk(
    runner: Runner, body: dict[str, Any], function: Any, number: int, ticket: int, received: int, started: int
) -> tuple[Any, ...]:
    """Run it; its outcome. ``received``, ``started``: when."""
    function = body.get("function", function)
    name = runner.known.name(number, function)
    looked_at, function = function, watched.bare(function)
    marks = array("Q")
    if "draws" in body:
        function = prepared(function, body)
    items = body.pop("items")
    if body["batch"]:
        outcomes = Outcomes(0)
        outcomes.values = run_batch(function, name, items, 0, outcomes.errors)
    else:
        outcomes = _elements(runner, function, name, items, body["star"], ticket, marks)
    finished = clocks.now()
    watched.look(looked_at)
    runner.element = 0
    # values that cannot be pickled become errors
    data, size, _ = runner.packed(outcomes.encode(name), kept=False)
    if len(marks) > 1:
        data.insert(0, marks.tobytes())
    else:
        del marks[:]
    return TASK, VALUE, len(outcomes.errors), len(marks), ticket, size, received, started, finished, 0, data


def _elements(
    runner: Runner, function: Any, name: str, items: list[Any], star: bool, ticket: int, marks: array[int]
) -> Outcomes:
    outcomes = Outcomes(0)
    values, errors, now = outcomes.values, outcomes.errors, clocks.now
    say, told = pack.PAGE.pack_into, runner.page
    for i, item in enumerate(items):
        runner.element = i
        marks.append(at := now())
        say(told, 0, ticket, i, at)
        try:
            values.append(function(*item) if star else function(item))
        except BaseException as error:
            del values[i:]
            values.append(None)
            errors[i] = encode_error(error, name)
            if is_a(error, KeyboardInterrupt) and ticket in runner.stopped:  # Stop is meant for all of them
                rest = range(i + 1, len(items))
                errors.update(dict.fromkeys(rest, errors[i]))
                values.extend([None] * len(rest))
                marks.extend([now()] * len(rest))
                return outcomes
    say(told, 0, ticket, NO_ELEMENT, now())
    return outcomes
