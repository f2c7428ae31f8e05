"""What the methods of `Pool` return: a result that comes later, and an iterator over results."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, wait
from concurrent.futures import Future as BaseFuture
from typing import Any

from ..errors import CellmillError, is_a
from ..serialization.exceptions import RemoteTraceback


class AsyncResult:
    """A result that comes later, as `multiprocessing.pool.AsyncResult`."""

    def __init__(
        self,
        future: BaseFuture[Any],
        callback: Callable[[Any], object] | None = None,
        error_callback: Callable[[BaseException], object] | None = None,
    ) -> None:
        self._future = future
        if callback is not None or error_callback is not None:

            def tell(ended: BaseFuture[Any]) -> None:
                error = CancelledError() if ended.cancelled() else ended.exception()
                if error is None and callback is not None:
                    callback(ended.result())
                elif error is not None and error_callback is not None:
                    error_callback(error)

            future.add_done_callback(tell)

    def get(self, timeout: float | None = None) -> Any:
        """Return the value, or raise the error. Raises `multiprocessing.TimeoutError` after ``timeout`` seconds."""
        self.wait(timeout)
        if not self._future.done():
            raise multiprocessing.TimeoutError
        return self._future.result()

    def wait(self, timeout: float | None = None) -> None:
        """Return when it is there, or after ``timeout`` seconds."""
        wait([self._future], timeout)

    def ready(self) -> bool:
        """Whether the call is over."""
        return self._future.done()

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
        self._coming: BaseFuture[Any] | None = None  # the next one, while another thread waits for it

    def __iter__(self) -> ResultIterator:
        return self

    def __next__(self) -> Any:
        return self.next()

    def next(self, timeout: float | None = None) -> Any:
        """Return the next result. Raises `multiprocessing.TimeoutError` after ``timeout`` seconds: ask again then."""
        if timeout is None and self._coming is None:
            found = next(self._results)
        else:
            if self._coming is None:
                self._coming = in_thread(lambda: (*[next(self._results, _END)],))
            wait([self._coming], timeout)
            if not self._coming.done():
                raise multiprocessing.TimeoutError
            coming, self._coming = self._coming, None
            (found,) = coming.result()
            if found is _END:
                raise StopIteration
        if was_raised(found):
            raise found
        return found


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


def was_raised(value: Any) -> bool:
    """Whether a result is the error of a task, and not an exception that a task has returned."""
    if not is_a(value, BaseException):
        return False
    return is_a(value, CellmillError) or is_a(value, CancelledError) or is_a(value.__cause__, RemoteTraceback)
