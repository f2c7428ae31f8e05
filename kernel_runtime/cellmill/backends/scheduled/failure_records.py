"""One failure as it is kept: what it says, and its call as the bytes that were sent. Groups of alike failures."""

from __future__ import annotations

import io
import pickle
from dataclasses import dataclass, field
from typing import Any

from ...by_value import pickling
from ...by_value.references import constants_of
from ...diagnostics.literals import call_literal
from ...diagnostics.short_text import short_arguments, without_hidden
from ...errors import DependencyError, UsageError
from ...futures import Future
from ...serialization import payload
from ...serialization.awaited import ElementInput
from ...serialization.preview import preview
from ...serialization.unpacked import function_of

KEPT_BYTES = 16_384  # of one call's arguments
LOOKED_AT_BYTES = 1 << 20  # larger arguments are only counted


@dataclass(slots=True)
class Group:
    """Failures of one type with one traceback."""

    id: int
    type: str
    function: str
    message: str  # of the first
    traceback: str  # of the first
    count: int = 0
    first: list[tuple[int, int]] = field(default_factory=list)  # tasks and their elements
    latest: float = 0.0
    by_run: dict[int, int] = field(default_factory=dict)  # numbers of failures, of the latest runs


@dataclass(slots=True)
class Rerun:
    """A later run of a failed call. Its result is not kept here."""

    task: int
    state: str = "running"  # or how it ended: done, failed, cancelled

    def ended(self, future: Future) -> None:
        """Note how its future ended."""
        cancelled = future.cancelled()
        self.state = "cancelled" if cancelled else "done" if future.exception() is None else "failed"


@dataclass(slots=True)
class Failure:
    """One task or element that failed for good."""

    task: int
    element: int
    run: int
    function: str
    type: str
    message: str
    traceback: str
    attempts: int
    worker: int
    at: float
    group: Group
    output: str = ""
    peak_rss: int | None = None
    shown: str | None = None  # its arguments, where they are not kept
    data: bytes | None = None  # its arguments as they were sent
    form: str = "call"  # what `data` is: call, element, star or batch
    code: Any = None
    inputs: tuple[Any, ...] = ()  # weak references to the futures whose results it took
    late: bool = False  # `data` was made after the call: what can be changed may have been changed by it
    again: list[Rerun] = field(default_factory=list)  # later runs of this call

    @property
    def arguments(self) -> str:
        """Arguments as short text; none of their code is run."""
        if self.shown is None and self.data is not None:
            try:
                self.shown = _shown(preview(memoryview(self.data)), self.form)
            except Exception:
                self.shown = "<arguments that cannot be shown>"
        return self.shown or ""

    @property
    def size(self) -> int:
        """Bytes that it takes, about."""
        own = len(self.traceback) if self.traceback is not self.group.traceback else 0
        return len(self.data or b"") + own + len(self.message)

    def source(self) -> tuple[str, str] | None:
        """Return the arguments as `call_literal` writes them; None where they are not kept or have no such source.
        None of their code is run.
        """
        if not self.is_kept or self.data is None:
            return None
        constants = constants_of(self.code) if self.form != "call" else {}
        try:
            args, kwargs = _parts_of(preview(memoryview(self.data)), self.form)
            found = call_literal(without_hidden(args), kwargs, mutable=not self.late)
            # constants of a map are objects of the kernel, which may have changed since
            fixed = call_literal((), constants, mutable=False)
        except Exception:
            return None
        if found is None or fixed is None:
            return None
        return (found[0], fixed[1]) if constants else found

    @property
    def is_kept(self) -> bool:
        """Whether the call can be made again."""
        return self.data is not None and (
            self.code is not None or self.form == "call"
        )  # else it is in the data

    def call(self) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        """Function, arguments and keyword arguments, unpickled here: code of theirs may run. Raises `UsageError`."""
        if not self.is_kept:
            call = f"the call {self.function}({self.arguments})"
            if self.type == DependencyError.__name__:
                raise UsageError(
                    f"{call} did not run, since its input failed: make that call again, then this one"
                )
            raise UsageError(
                f"{call} is not kept: only arguments of up to {KEPT_BYTES:,} bytes are; call the function here yourself"
            )
        assert self.data is not None
        payload.inputs.loading = self._input
        try:
            body = pickle.loads(self.data)
        finally:
            payload.inputs.loading = None
        if self.form == "call":
            if type(body) is list:
                args, kwargs = body[-2:]
                function = function_of(body)
                return (self.code if function is None else function), args, kwargs
            return self.code, body, {}
        if self.form == "batch":
            return self.code, ([body],), {}
        return self.code, (tuple(body) if self.form == "star" else (body,)), {}

    def _input(self, position: int, common: bool = False) -> Any:
        future = self.inputs[position]() if position < len(self.inputs) else None
        if future is None:
            raise UsageError(
                f"the call {self.function}(...) took the result of another task, which is gone: keep its future in a "
                "variable, or make the call here yourself"
            )
        return future.result()


def cut(text: str, most: int) -> str:
    """Its beginning and its end, where it is long."""
    if len(text) <= most:
        return text
    part = most // 2
    return f"{text[:part]}\n… {len(text) - 2 * part:,} characters …\n{text[-part:]}"


def keep_bytes(failure: Failure, view: memoryview) -> None:
    if len(view) <= KEPT_BYTES and not payload.has_buffers(view):
        failure.data = bytes(view)
    elif len(view) <= LOOKED_AT_BYTES or payload.has_buffers(view):
        try:
            failure.shown = _shown(preview(view), "call")
        except Exception:
            failure.shown = "<arguments that cannot be shown>"
    else:
        failure.shown = f"<{len(view):,} bytes>"


class _Full(Exception):
    pass


class _Few(io.BytesIO):
    """A buffer that raises `_Full` beyond `KEPT_BYTES`."""

    def write(self, data: Any) -> int:
        if self.tell() + len(memoryview(data)) > KEPT_BYTES:
            raise _Full
        return super().write(data)


def keep_item(failure: Failure, item: Any) -> None:
    """An element as bytes, if they are few; it was pickled before, so that works, or nearly."""
    for pickler in (pickle.Pickler, pickling.Pickler):
        file = _Few()
        try:
            pickler(file, 5).dump(item)
        except _Full:
            break
        except BaseException:
            continue
        if pickler is pickling.Pickler or b"__main__" not in file.getvalue():
            failure.data = file.getvalue()
            return
    kind = "result" if type(item) is ElementInput else type(item).__qualname__
    failure.shown = f"<{kind} of more than {KEPT_BYTES:,} bytes>"


def _shown(body: Any, form: str) -> str:
    return short_arguments(*_parts_of(body, form))


def _parts_of(body: Any, form: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the positional and keyword arguments in what is kept of a call."""
    if form == "call":
        return (tuple(body[-2]), body[-1]) if type(body) is list else (body, {})
    return (tuple(body) if form == "star" else (body,)), {}
