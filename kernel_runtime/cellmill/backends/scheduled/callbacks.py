"""Done-callbacks run in a thread of their own: what waits in one does not hold up other threads."""

from __future__ import annotations

import threading
import weakref
from queue import Empty, SimpleQueue

from ...futures import Future

_ending: weakref.WeakSet[threading.Thread] = weakref.WeakSet()


def join_all() -> None:
    """Return when all callbacks of executors that have ended have run."""
    for thread in list(_ending):
        thread.join()


class Callbacks:
    """Runs the callbacks of futures in the order in which they were settled.

    Not the resolver's thread: `concurrent.futures.wait` in a callback sleeps until the resolver wakes it. Not the
    thread that waits for a result: Stop must not hit code that others hung there.
    """

    def __init__(self) -> None:
        self._settled: SimpleQueue[Future | threading.Event | None] = SimpleQueue()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="cellmill-callbacks", daemon=True)
        self._thread.start()

    def add(self, future: Future) -> None:
        """Have the callbacks of a future run that was settled; at once, and from any thread."""
        self._settled.put(future)

    def _run(self) -> None:
        while True:
            try:
                future = self._settled.get(block=not self._stopped)
            except Empty:
                return
            if isinstance(future, threading.Event):
                future.set()
            elif future is not None:
                # also of sys.exit() in a callback, which would end this thread and with it every `await` to come
                future.run_callbacks(logged=BaseException)
            del future  # not kept until the next one comes

    def drain(self, seconds: float) -> None:
        """Return when the callbacks of all futures settled so far have run, or the time is over."""
        if not self.is_caller() and not self._stopped:
            reached = threading.Event()
            self._settled.put(reached)
            reached.wait(seconds)

    def is_caller(self) -> bool:
        """Whether a callback calls this."""
        return threading.current_thread() is self._thread

    def stop(self) -> None:
        """No more come: those that wait are run; the thread is joined unless it is the caller."""
        self._stopped = True
        _ending.add(self._thread)
        self._settled.put(None)
        if not self.is_caller():
            self._thread.join(2)
