"""Futures that cost little: `concurrent.futures.Future` objects whose condition is made only when a thread waits."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Generator
from concurrent.futures import CancelledError, _base
from concurrent.futures import Future as BaseFuture
from concurrent.futures._base import CANCELLED, CANCELLED_AND_NOTIFIED, FINISHED, LOGGER, PENDING, RUNNING
from types import CodeType
from typing import Any, Protocol

from .diagnostics import unasked
from .diagnostics.boundary import bounded, bounded_result
from .process_context.interrupts import acquired, uninterrupted
from .serialization import payload
from .serialization.exceptions import as_new

__all__ = ["FINISHED", "OVER", "PENDING", "SETTLING", "CancelledError", "Future"]

OVER = (CANCELLED, CANCELLED_AND_NOTIFIED, FINISHED)
_REMEDY = (
    "a call of a parallel function gives a future at once, not the value. Ask for the value: `f(x).result()`, or "
    "`await f(x)`; for many items at once, `zip(xs, f.map(xs))`"
)


class FutureOwner(Protocol):
    """The owner of an unfinished future, which answers for it."""

    def wait(self, future: Future, timeout: float | None) -> None:
        """Return when the future is over or the time (seconds) is."""

    def cancel(self, future: Future) -> bool:
        """True when the task will not run."""

    def stop(self, future: Future) -> bool | None:
        """Cancel a task that may run: True when it had not begun, False when it will end as cancelled, None when it is
        over or cannot be stopped."""

    def is_running(self, future: Future) -> bool:
        """Whether user code of the task runs now."""

    def is_stopping(self, future: Future) -> bool:
        """Whether it runs, was cancelled, and is not over yet."""

    def call_text(self, future: Future) -> str:
        """The call in short, `f(3, 'a.csv')`, as far as that is known without having kept anything for it."""


def track(future: Future) -> None:
    """Have the cycle collector look at a future that a backend kept from it: what is stored in it may refer to it.

    A flood of futures that wait would cost the collector a quarter of the time. Replaced by a backend that does so.
    """


class Keeping(Protocol):
    """What keeps the value of a future for elements of maps that wait: see `serialization.awaited`."""

    outside: Any

    def keep(self, value: Any) -> None: ...


class _Followers:
    """The followers of a future, notified of its end."""

    __slots__ = ("callbacks", "condition", "waiters")

    def __init__(self) -> None:
        self.condition = threading.Condition()
        self.waiters: list[Any] = []
        self.callbacks: list[Any] = []


# Held for an instant while a future gets its followers, and while futures without any are settled: who comes to
# follow finds the state before or after, never in between. Taken again by finalizers that run inside.
SETTLING = threading.RLock()
os.register_at_fork(after_in_child=SETTLING._at_fork_reinit)  # type: ignore[attr-defined]


class Future(BaseFuture[Any]):
    """The result of a task. Also an awaitable; as an argument of another call it is a dependency."""

    # The standard library's `wait`, `as_completed` and `add_done_callback` use _condition, _waiters and
    # _done_callbacks: properties here, made for a future that is followed.
    # _of_call is set, to True, where a parallel function was called: code written for its value may get the future.
    __slots__ = ("_followers", "_of_call", "_owner", "_state", "_ticket")
    _of_call: bool

    # Most futures keep these: they are stored where they differ.
    _result = None
    _exception = None
    _inputs: tuple[Future, ...] = ()
    _cancelled: object = None  # its text says what was cancelled, and by whom
    _asks_to_be_seen = True  # its failure, where it is not asked for
    # Whether the value was given to someone who may change it: None; True; or, until then, a weak reference to what
    # keeps the value for elements of maps before it is given (a `Keeping`).
    _given: Any = None

    def __init__(self, owner: FutureOwner) -> None:  # on purpose without the base's, which makes a condition
        self._owner = owner
        self._state = PENDING
        self._followers: _Followers | None = None
        self._ticket = 0

    def _of_task(self) -> Future:
        """The future that the backend made for the task: itself, unless this one follows another."""
        return self

    def why(self) -> str:
        """Return why it waits where it has no task of its own; "" where its backend must be asked."""
        return ""

    def unread(self) -> Any:
        """Return what holds its value where a task of the same backend finds it; None where the value is here."""
        return None

    def keep(self, keeping: Keeping) -> None:
        """Have the value kept as it is, if it has one."""
        if self._state == FINISHED and self._exception is None:
            keeping.keep(self._result)

    def _give(self) -> Any:
        """Return the value, which may be changed from now on."""
        given, self._given = self._given, True
        keeping = given() if given is not None and given is not True else None
        if keeping is not None:
            self.keep(keeping)
        return self._result

    def fetch(self) -> None:
        """Have the value here, if it is not yet."""

    def fetch_within(self, seconds: float) -> bool:
        """Have the value here, if it is not yet; False: it takes longer."""
        return True

    def _follow(self) -> _Followers:
        if self._followers is None:
            with SETTLING:
                if self._followers is None:
                    track(self)
                    self._followers = _Followers()
        return self._followers

    @property
    def _condition(self) -> threading.Condition:  # type: ignore[override]
        return self._follow().condition

    @property
    def _waiters(self) -> list[Any]:  # type: ignore[override]
        return self._follow().waiters

    @property
    def _done_callbacks(self) -> list[Any]:
        return self._follow().callbacks

    @bounded_result(FINISHED)
    def result(self, timeout: float | None = None) -> Any:
        """The task's value; raises its exception, `CancelledError`, or `TimeoutError` after ``timeout`` seconds."""
        end = 0.0 if timeout is None else time.monotonic() + timeout
        if self._state not in OVER:
            self._owner.wait(self, timeout)
        if self._state == FINISHED:
            if timeout is not None and not self.fetch_within(end - time.monotonic()):
                raise TimeoutError
            if self._exception is None:
                return self._give()
            unasked.forget(self, self._exception)
            try:
                raise as_new(self._exception)
            finally:
                self = None  # type: ignore[assignment]  # or the traceback would keep this future alive
        if self._state in OVER:
            raise self._cancelled_error()
        raise TimeoutError

    @bounded
    def exception(self, timeout: float | None = None) -> BaseException | None:
        """The task's exception or None; waits like `result`."""
        if self._state not in OVER:
            self._owner.wait(self, timeout)
        if self._state == FINISHED:
            if self._exception is not None:
                unasked.forget(self, self._exception)
            return self._exception
        if self._state in OVER:
            raise self._cancelled_error()
        raise TimeoutError

    def _cancelled_error(self) -> CancelledError:
        return CancelledError("the task was cancelled" if self._cancelled is None else str(self._cancelled))

    def add_done_callback(self, fn: Callable[[Future], object]) -> None:
        """Have ``fn(future)`` called when the task is over."""
        if self._exception is not None:
            unasked.forget(self, self._exception)
        super().add_done_callback(fn)  # type: ignore[arg-type]

    @bounded
    def cancel(self, force: bool = False) -> bool:
        """Cancel the task; False when it is running or over.

        With ``force`` a running task is stopped as well: KeyboardInterrupt is raised in it, what it started is
        interrupted too, and after half a second the worker is killed if need be. True then says that it will end as
        cancelled; until it has, it is "stopping", and `result` waits. An item of a batch cannot be stopped alone, nor a
        call that took the unfinished future of one, or of another executor.
        """
        if self._state in (CANCELLED, CANCELLED_AND_NOTIFIED):
            return True
        with uninterrupted():
            if self._state == FINISHED:
                return False
            if not self._owner.cancel(self):
                stopped = self._owner.stop(self) if force else None
                if not stopped:
                    return stopped is False
            called = self.settle_cancelled()
        if called:
            self.run_callbacks()
        return True

    def running(self) -> bool:
        """Whether the task's code runs now."""
        return self._state == RUNNING or (self._state == PENDING and self._owner.is_running(self))

    def __await__(self) -> Generator[Any, None, Any]:
        found: Generator[Any, None, Any] = self._in_loop().__await__()
        return found

    def _in_loop(self) -> Any:
        """Wrap the future for asyncio as `asyncio.wrap_future` does; the error also says what was cancelled."""
        import asyncio

        loop = asyncio.get_event_loop()
        waiting = loop.create_future()

        def copy() -> None:
            if not waiting.done() and self.cancelled():
                waiting.cancel(str(self._cancelled_error()))
            elif not waiting.done():
                asyncio.futures._copy_future_state(self, waiting)  # type: ignore[attr-defined]

        def came(_: BaseFuture[Any]) -> None:
            self.fetch()  # in the thread of callbacks: the loop goes on meanwhile
            if not loop.is_closed():
                loop.call_soon_threadsafe(copy)

        waiting.add_done_callback(lambda done: done.cancelled() and self.cancel())
        self.add_done_callback(came)
        return waiting

    def __reduce__(self) -> Any:
        return payload.reduce_future(self)

    # The plain function's value could be asked for its truth or compared. The future of its call says so before the
    # answer is used; one of `Executor.submit` answers as any object does.

    @bounded
    def __bool__(self) -> bool:
        if getattr(self, "_of_call", False):
            raise TypeError(f"the future of a call is neither true nor false: {_REMEDY}")
        return True

    def __eq__(self, other: object) -> bool:
        if self is not other and getattr(self, "_of_call", False) and not isinstance(other, BaseFuture):
            warnings.warn(
                f"the future of a call is compared with a {type(other).__name__}, which it never equals: {_REMEDY}",
                RuntimeWarning,
                stacklevel=2,
            )
        return NotImplemented  # equal to itself alone

    __hash__ = BaseFuture.__hash__

    @bounded
    def __lt__(self, other: object) -> bool:
        if getattr(self, "_of_call", False):
            raise TypeError(
                f"the future of a call cannot be ordered, as in a sort or with < and >: {_REMEDY}"
            )
        return NotImplemented

    __le__ = __gt__ = __ge__ = __lt__

    def __repr__(self) -> str:
        state = "running" if self.running() else self._state.split("_")[0].lower()
        if state == "running" and self._owner.is_stopping(self):
            state = "stopping"
        detail = ""
        if self._state == FINISHED:
            outcome = self._exception if self._exception is not None else self._result
            state = "failed" if self._exception is not None else "finished"
            detail = f" {type(outcome).__name__}"
        call = self._owner.call_text(self) if self._owner is not None else ""
        return f"<cellmill.Future {call}{' ' if call else ''}{state}{detail}>"

    # What the resolver calls. Each settles once; later calls find the future over and do nothing.

    def settle(self, result: Any, exception: BaseException | None = None) -> bool:
        """Store the outcome and wake waiters; True when done-callbacks are to be run by `run_callbacks`."""
        return self._finish(FINISHED, result, exception)

    def settle_cancelled(self) -> bool:
        """Cancelled, and waiters told; True as for `settle`."""
        return self._finish(CANCELLED_AND_NOTIFIED, None, None)

    def disown(self, error: BaseException) -> None:
        """Fail in a forked child without notifying followers, which belong to the parent."""
        self._followers = None
        if self._state not in OVER:
            track(self)
            self._exception = error
            self._state = FINISHED

    def run_callbacks(self, logged: type[BaseException] = Exception) -> None:
        """Run the done-callbacks; what they raise is logged, as the standard library does.

        Exceptions of other types are raised when all callbacks have run: an `await` may be one of those that follow.
        """
        followers = self._follow()
        callbacks, followers.callbacks = followers.callbacks, []
        raised = None
        for callback in callbacks:
            try:
                callback(self)
            except logged:
                LOGGER.exception("exception calling callback for %r", self)
            except BaseException as error:
                raised = raised or error
        if raised is not None:
            raise raised

    def _finish(self, state: str, result: Any, exception: BaseException | None) -> bool:
        if result is not None or exception is not None:
            track(self)
        with SETTLING:
            followers, was = self._followers, self._state
            if followers is None and was not in OVER:
                self._result = result
                self._exception = exception
                self._state = state
        if followers is None:
            if exception is not None and was not in OVER and self._asks_to_be_seen:
                unasked.note(self, exception)
            return False
        followers.condition = condition = acquired(followers.condition, _acquires)
        try:
            if self._state in OVER:
                return False
            self._result = result
            self._exception = exception
            self._state = state
            for waiter in followers.waiters:
                if state == FINISHED and exception is None:
                    waiter.add_result(self)
                elif state == FINISHED:
                    waiter.add_exception(self)
                else:
                    waiter.add_cancelled(self)
            condition.notify_all()
            followed = bool(followers.callbacks)
        finally:
            condition.release()
        if exception is not None and not followed and self._asks_to_be_seen:
            unasked.note(self, exception)
        return followed

    def set_running_or_notify_cancel(self) -> bool:
        """Begin to run, or confirm the cancellation; for futures that belong to no task."""
        with self._condition:
            if self._state == CANCELLED:
                self._state = CANCELLED_AND_NOTIFIED
                return False
            if self._state == PENDING:
                self._state = RUNNING
                return True
        LOGGER.critical("Future %s in unexpected state: %s", id(self), self._state)
        raise RuntimeError("Future in unexpected state")


_ACQUIRE = {Future._finish.__code__, Future.set_running_or_notify_cancel.__code__}


def _acquires(code: CodeType) -> bool:
    """Whether it is code that acquires conditions of futures."""
    return code.co_filename == _base.__file__ or code in _ACQUIRE
