"""Transport of one function: its pickle, the sources of its cells, and its loading in the worker."""

from __future__ import annotations

import contextvars
import linecache
import os
import types
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from ..by_value import package_changes, unsettled
from ..by_value.brought import Brought, Reads
from ..by_value.capture_kinds import Walk
from ..by_value.first_calls import first_calls
from ..by_value.module_reads import leave_out, picklable
from ..by_value.package_changes import Names, Patched, differing
from ..by_value.pickling import dumps
from ..by_value.references import (
    helpers_of,
    named_references,
    unwrapped,
)
from ..by_value.watched import Watched, process_look_of
from ..by_value.worker_data import put_own
from ..diagnostics.short_text import counted, one_line
from ..errors import PayloadError, UsageError, in_words
from ..randomness.generators import Board, Drawing
from . import payload, read_only, remedies
from .shared import ShareError, packing

MOST_NAME = 200  # characters of a function's name


class FunctionBlob(NamedTuple):
    """The data sent to a worker for a function: its pickle and the sources of the cells it comes from."""

    name: str
    function: Any
    sources: dict[str, str]
    reads: Reads = {}  # noqa: RUF012  (data of modules, which is never changed)
    package_names: Names = {}  # noqa: RUF012  (names of packages as the kernel has them)
    watched: bool = False  # it refers to what tasks could change
    board: Board | None = None  # the generators among all that, which came before


def function_name(function: Any) -> str:
    """A short name for people: one line, whatever the function is called."""
    while type(function) is partial:
        function = function.func
    name = str(
        getattr(function, "__qualname__", None)
        or getattr(function, "__name__", None)
        or type(function).__name__
    )
    if len(name) <= MOST_NAME and name.isprintable():
        return name
    line = one_line(name)
    return one_line(line.rpartition("<locals>.")[2], MOST_NAME) or type(function).__name__


def encode_function(
    function: Any,
    refer: Callable[[Any], tuple[Any, tuple[Any, ...]]] | None = None,
    walk: Walk | None = None,
    board: Board | None = None,
) -> payload.Encoded:
    """Pickle a function for workers; raises `PayloadError` with the reason when it cannot be.

    ``refer`` tells what shared objects become that it refers to; ``walk`` is over all that it refers to.
    ``board`` takes the generators of random numbers in that.
    """
    if refer is not None:
        with packing(refer):
            return encode_function(function, None, walk, board)
    board = Board() if board is None else board
    blob = FunctionBlob(function_name(function), function, dict(sources_of(function)), board=board)
    if walk is not None:
        blob = blob._replace(
            reads=walk.reads, package_names=walk.package_names, watched=walk.mutable or bool(walk.stores)
        )
    try:
        return read_only.encode(blob, board)
    except ShareError as error:
        raise PayloadError(
            f"the function {function_name(function)} cannot be sent to a worker: {error}"
        ) from error.__cause__
    except Exception as error:
        if walk is not None and (walk.reads or walk.package_names):
            _keep_picklable(walk)
            board.generators.clear()
            return encode_function(function, None, walk, board)
        culprit, advice = _culprit(function)
        if unsettled.changed_meanwhile(error):
            advice = unsettled.ADVICE
        advice = advice or (
            f"{in_words(error)}. Create such objects inside the function, or once per worker with @cellmill.per_worker."
        )
        raise PayloadError(
            f"the function {function_name(function)} cannot be sent to a worker: {culprit}{advice}"
        ) from error


def _keep_picklable(walk: Walk) -> None:
    """Of the names of modules only those whose values can be sent; the rest stays each process's own. None at all,
    where all of them can be: then they are not what is wrong.
    """
    reads = picklable(walk.reads, leave_out)
    package_names = picklable(walk.package_names, package_changes.leave_out)
    all_can = walk.reads.keys() <= reads.keys() and walk.package_names.keys() <= package_names.keys()
    walk.reads, walk.package_names = ({}, {}) if all_can else (reads, package_names)


def _culprit(function: Any) -> tuple[str, str]:
    """Return (text that names the variable that cannot be pickled, advice); "" where there is none."""
    constants = function.keywords.items() if type(function) is partial else ()
    function = unwrapped(function.func if type(function) is partial else function)
    referred = named_references(function) if isinstance(function, types.FunctionType) else ()
    for says, named in (("is given", constants), ("refers to", referred)):
        for name, value in named:
            if type(value) is types.FunctionType:
                continue
            try:
                dumps(value)
            except Exception:
                return f"it {says} {name!r}, a {type(value).__name__}. ", _advice(name, value)
    return "", ""


def _advice(name: str, value: Any) -> str:
    """Return advice for objects that are of no use where a worker makes its own; "" for others."""
    if type(value) is contextvars.ContextVar:
        return f"Context variables stay in the kernel: pass {name}.get() as an argument."
    owner = type(getattr(value, "__self__", value)).__module__.partition(".")[0]
    if owner not in ("IPython", "ipykernel"):
        return remedies.advice(value)
    if name in ("exit", "quit"):
        return "It ends the notebook's kernel: leave the function with return, or raise an exception."
    return "There is no IPython in a worker: use it in a cell, with the results of the tasks."


def sources_of(function: Any) -> Iterator[tuple[str, str]]:
    """Yield the (file name, source) of every cell that the function or one of its helpers was defined in."""
    seen: set[str] = set()
    for helper in helpers_of(function):
        if type(helper) is not types.FunctionType:
            continue
        name = helper.__code__.co_filename
        if name in seen or os.path.exists(name):
            continue
        seen.add(name)
        lines = linecache.getlines(name)
        if lines:
            yield name, "".join(lines)


def check_batch(name: str, values: Any, count: int) -> Any:
    """Return what a batch function returned; raise UsageError unless it is one result per item."""
    try:
        length = len(values)
    except TypeError:
        length = -1
    no_list = length < 0 or isinstance(values, (str, bytes, dict, set))
    if length != count or no_list:
        what = f"a {type(values).__name__}" if no_list else counted(length, "result")
        raise UsageError(
            f"the batch function {name} was given {counted(count, 'item')} and returned {what}; with batch=True a "
            "function takes a list and returns a list of the same length"
        )
    return values


def load_function(view: memoryview) -> FunctionBlob:
    """Load a function in the worker, and add its sources to `linecache`."""
    blob: FunctionBlob = payload.decode(view)
    for name, source in blob.sources.items():
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    put_own(blob.function)
    function = first_calls(blob.function, blob.name)
    brought = Brought(blob.reads) if blob.reads else None
    if brought is not None:
        function = _WithNames(blob, function, brought)
    patched = differing(blob.package_names)
    if patched:
        function = _WithNames(blob, function, Patched(blob.name, patched))
    if blob.board is not None:
        function = Drawing(function, blob.board)
    process = process_look_of(blob.function)
    if blob.watched or process is not None:
        function = Watched(function, blob.function, blob.name, process, brought)
    return blob._replace(function=function)


class _WithNames:
    """A function that finds names of modules as they were at the call, whatever other functions brought."""

    def __init__(self, blob: FunctionBlob, function: Any, brought: Brought | Patched) -> None:
        self.__qualname__ = self.__name__ = blob.name
        self.__wrapped__ = function
        self._brought = brought

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._brought.call(self.__wrapped__, args, kwargs)
