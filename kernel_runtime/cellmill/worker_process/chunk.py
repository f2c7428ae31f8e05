"""Chunks in the worker: many elements of a map, or one batch, each with an outcome of its own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

from ..backends.scheduled.scheduler import NO_ELEMENT, ffi, with_gil
from ..by_value.watched import bare, look
from ..errors import is_a
from ..randomness.generators import prepared
from ..serialization.chunk_outcomes import Outcomes, Teller, Unsent, run_batch
from ..serialization.exceptions import encode_error
from .protocol import FLUSH_NS

MOST_MARKED = 4096
PAST_LIMIT = b""  # in the place of an element's error: it was stopped for its limit of time


@functools.cache
def _loop() -> Callable[[int, Any, list[Any], list[Any], bool, int], bool]:
    """Return the loop over elements; see csched/python/elements.h."""
    made: list[Any] = []
    with_gil.csched_elements(ffi.cast("void *", id(made)))
    loop: Callable[[int, Any, list[Any], list[Any], bool, int], bool] = made[0]
    return loop


class Runner(Teller, Protocol):
    """A worker, as far as its chunks need it."""

    handle: Any
    in_user_code: bool
    unsent: Unsent | None

    def encode_error(self, error: BaseException, name: str) -> Any: ...

    def publish(self, status: int, failures: int, encoded: Any) -> None: ...


def run_chunk(worker: Runner, function: Any, name: str, count: int, arguments: dict[str, Any]) -> None:
    """Run ``{"items": [...], "batch": bool, "star": bool}`` and publish its outcomes."""
    with_gil.csched_worker_started(worker.handle)
    worker.in_user_code = True
    # the items are popped, so that nothing refers to them any more when the outcomes are published
    looked_at, function = function, bare(function)
    if "draws" in arguments:
        function = prepared(function, arguments)
    if arguments["batch"]:
        outcomes = Outcomes(0)
        outcomes.values = run_batch(
            function, name, arguments.pop("items"), 0, outcomes.errors, worker.encode_error
        )
        failures = len(outcomes.errors)
    else:
        run = _run_limited if "limited" in arguments else _run_elements
        worker.unsent = unsent = Unsent(worker, name)
        try:
            failures = run(worker, unsent, function, name, arguments.pop("items"), arguments["star"])
        finally:
            worker.unsent = None
            outcomes = unsent.close()
        failures += unsent.refused
    worker.in_user_code = False
    look(looked_at)
    with_gil.csched_worker_finished(worker.handle)
    worker.end_output()
    raised = len(outcomes.errors)
    encoded = worker.encode_outcomes(outcomes, name)  # which makes errors of values that cannot be pickled
    worker.publish(with_gil.CSCHED_VALUE, failures + len(outcomes.errors) - raised, encoded)


def _run_elements(
    worker: Runner, unsent: Unsent, function: Any, name: str, items: list[Any], star: bool
) -> int:
    """Run them; how many failed."""
    handle, run, count = worker.handle, _loop(), len(items)
    address = int(ffi.cast("uintptr_t", handle))
    values, errors = unsent.values, unsent.errors
    failures = 0
    while len(values) < count:
        try:
            to_send = run(address, function, items, values, star, FLUSH_NS)
        except BaseException as error:
            if (i := len(values)) == count:
                raise  # an interrupt after the last one
            if is_a(error, StopIteration):
                error = RuntimeError(f"{name} raised StopIteration")
            errors[i] = worker.encode_error(error, name)
            values.append(None)
            failures += 1
            if is_a(error, KeyboardInterrupt) and with_gil.csched_worker_interrupted(handle):
                rest = range(i + 1, count)  # Stop is meant for all of them
                errors.update(dict.fromkeys(rest, errors[i]))
                values.extend([None] * len(rest))
                return failures + len(rest)
        else:
            if to_send:
                with_gil.csched_worker_element(handle, NO_ELEMENT)
                unsent.send()
    with_gil.csched_worker_element(handle, NO_ELEMENT)
    return failures


def _run_limited(
    worker: Runner, unsent: Unsent, function: Any, name: str, items: list[Any], star: bool
) -> int:
    """Run elements with a time limit for each: one that is interrupted for it fails alone. How many failed.

    Its interrupt may come a moment late, or twice. One sign tells how far this has come, the number of values; an
    existing outcome is kept.
    """
    handle = worker.handle
    values, errors = unsent.values, unsent.errors
    failures = 0
    while (i := len(values)) < len(items):
        error = PAST_LIMIT
        try:
            error = _limited(handle, i, function, name, items[i] if star else (items[i],), values)
        except KeyboardInterrupt:
            with_gil.csched_worker_element(handle, NO_ELEMENT)
        if len(values) == i:
            ended = (
                1 if error == PAST_LIMIT or not with_gil.csched_worker_interrupted(handle) else len(items) - i
            )
            errors.update(dict.fromkeys(range(i, i + ended), error))  # Stop is meant for all of them
            values.extend([None] * ended)
            failures += ended
        elif i + 1 < len(items) and with_gil.csched_worker_since_flush(handle) > FLUSH_NS:
            with_gil.csched_worker_element(handle, NO_ELEMENT)
            unsent.send()
    return failures


def _limited(handle: Any, i: int, function: Any, name: str, arguments: Any, values: list[Any]) -> bytes:
    """Run one element: add its value to the others, or return its error. Between elements nothing is interrupted
    for a limit.
    """
    try:
        with_gil.csched_worker_element(handle, i)
        values.append(function(*arguments))
        with_gil.csched_worker_element(handle, NO_ELEMENT)
        return PAST_LIMIT
    except BaseException as raised:
        error = PAST_LIMIT if with_gil.csched_worker_overdue(handle) else encode_error(raised, name)
        with_gil.csched_worker_element(handle, NO_ELEMENT)
        return error
