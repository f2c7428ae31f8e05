"""What the methods of `Pool` return: a result that comes later, and an iterator over results."""

from __future__ import annotations

import multiprocessing
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, wait
from concurrent.futures import Future as BaseFuture
from concurrent.futures._base import LOGGER
from typing import Any, NamedTuple

from ..process_context.interrupts import uninterrupted


class Raised(NamedTuple):
    """Among the results of a map: the error of a call, and not one that it has returned."""

    error: BaseException


class Callbacks:
    """Runs the callbacks of a pool one after another, in a thread that is there as long as any is to come."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._due: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._to_come = 0
        self._thread: threading.Thread | None = None

    @property
    def run_here(self) -> bool:
        """Whether this is their thread."""
        return threading.current_thread() is self._thread

    def expect(self) -> None:
        """One is to come, by `run`."""
        with self._lock:
            if not self._to_come:
                self._thread = threading.Thread(
                    target=self._run_all, name="cellmill-pool-callbacks", daemon=True
                )
                self._thread.start()
            self._to_come += 1

    def run(self, callback: Callable[[], object]) -> None:
        """Run it after those before it; its error is logged."""
        self._due.put(callback)

    def _run_all(self) -> None:
        while True:
            try:
                self._due.get()()
            except BaseException:  # sys.exit() too: the others have to run
                LOGGER.exception("exception calling a callback of a cellmill.Pool")
            with self._lock:
                self._to_come -= 1
                if not self._to_come:
                    return


class AsyncResult:
    """A result that comes later, as `multiprocessing.pool.AsyncResult`: it is there when its callback has run."""

    def __init__(
        self,
        future: BaseFuture[Any],
        callbacks: Callbacks,
        callback: Callable[[Any], object] | None = None,
        error_callback: Callable[[BaseException], object] | None = None,
    ) -> None:
        self._future = self.over = future
        if callback is None and error_callback is None:
            return
        told: BaseFuture[None] = BaseFuture()
        self.over = told

        def tell() -> None:
            error = CancelledError() if future.cancelled() else future.exception()
            try:
                if error is None and callback is not None:
                    callback(future.result())
                elif error is not None and error_callback is not None:
                    error_callback(error)
            finally:
                told.set_result(None)

        with (
            uninterrupted()
        ):  # what is expected comes, or their thread would stay, and another one run beside it
            callbacks.expect()
            future.add_done_callback(lambda _: callbacks.run(tell))

    def get(self, timeout: float | None = None) -> Any:
        """Return the value, or raise the error. Raises `multiprocessing.TimeoutError` after ``timeout`` seconds."""
        self.wait(timeout)
        if not self.ready():
            raise multiprocessing.TimeoutError
        return self._future.result()

    def wait(self, timeout: float | None = None) -> None:
        """Return when it is there, or after ``timeout`` seconds."""
        wait([self.over], timeout)

    def ready(self) -> bool:
        """Whether the call is over, and its callback."""
        return self.over.done()

    def successful(self) -> bool:
        """Whether it raised no error. Raises `ValueError` while it is not over."""
        if not self.ready():
            raise ValueError(f"{self!r} not ready")
        return not self._future.cancelled() and self._future.exception() is None


class ResultIterator:
    """Results one after another, as of `multiprocessing.pool.Pool.imap`; an error is raised in its place, and the next
    results follow.
    """

    def __init__(self, results: Iterator[Any]) -> None:
        self._results = results
        self._turns = threading.Condition()
        self._reading = False  # a thread waits for the next result
        self._kept: deque[Any] = deque()  # results that `run_out` has read
        self._error: Exception | None = None  # of the input, met by it
        self._coming: BaseFuture[Any] | None = None  # the next one, while another thread waits for it

    def __iter__(self) -> ResultIterator:
        return self

    def __next__(self) -> Any:
        return self.next()

    def next(self, timeout: float | None = None) -> Any:
        """Return the next result. Raises `multiprocessing.TimeoutError` after ``timeout`` seconds: ask again then."""
        if timeout is None and self._coming is None:
            found = self._next()
        else:
            if self._coming is None:
                self._coming = in_thread(lambda: (self._next(),))
            wait([self._coming], timeout)
            if not self._coming.done():
                raise multiprocessing.TimeoutError
            coming, self._coming = self._coming, None
            (found,) = coming.result()
        if found is _END:
            raise StopIteration
        if type(found) is Raised:
            raise found.error
        return found

    def run_out(self) -> None:
        """Have all calls made, to the end of the input: results that nothing has read by then are kept."""
        while self._read(keep=True) is not _END:
            pass

    def _next(self) -> Any:
        """The next result; `_END` behind the last one."""
        return self._read(keep=False)

    def _read(self, *, keep: bool) -> Any:
        """The next result, or with ``keep`` one behind those that are kept, and keep it. One thread at a time waits."""
        mine = False
        try:
            with self._turns:
                self._turns.wait_for(lambda: not self._reading or (self._kept and not keep))
                if self._kept and not keep:
                    return self._kept.popleft()
                self._raise_error()
                self._reading = mine = True
            found = next(self._results, _END)
            if keep and found is not _END:
                self._kept.append(found)
            return found
        except Exception as error:
            if not keep:
                raise
            self._error = error
            return _END
        finally:
            if mine:
                with self._turns:
                    self._reading = False
                    self._turns.notify_all()

    def _raise_error(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error


_END = object()


def in_thread(call: Callable[[], Any]) -> BaseFuture[Any]:
    """Make a call that waits in a thread of its own; return its future."""
    future: BaseFuture[Any] = BaseFuture()

    def run() -> None:
        try:
            value = call()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(value)

    threading.Thread(target=run, name="cellmill-pool", daemon=True).start()
    return future


def all_of(results: Iterator[Any]) -> list[Any]:
    """Return all results; where calls have failed, raise the error of the first one, when all are over."""
    found = list(results)
    for each in found:
        if type(each) is Raised:
            raise each.error
    return found
