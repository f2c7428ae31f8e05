"""Worker processes behind multiprocessing's queues: one that they share, or one of each. The control of `queues`."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from typing import Any

from cellmill.bench.rivals import Calls, Runtime


class PlainQueues(Runtime):
    """Runs calls on forked processes, all of them at once; results come back through one queue."""

    def __init__(self, *, shared: bool) -> None:
        self._shared = shared

    def start(self, workers: int) -> None:
        context = multiprocessing.get_context("fork")
        self._results: Any = context.Queue()
        first: Any = context.Queue()
        self._queues: list[Any] = [first if self._shared else context.Queue() for _ in range(workers)]
        self._processes = [
            context.Process(target=_serve, args=(queue, self._results), daemon=True) for queue in self._queues
        ]
        for process in self._processes:
            process.start()

    def submit_all(self, function: Callable[..., Any], calls: Calls) -> list[Any]:
        """All results, in the order of the calls; calls go to the queues in turn."""
        queues, count = self._queues, len(self._queues)
        for number, call in enumerate(calls):
            queues[number % count].put((number, function, call))
        results: list[Any] = [None] * len(calls)
        for _ in calls:
            number, result = self._results.get()
            results[number] = result
        return results

    def map_all(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        return self.submit_all(function, [(item,) for item in items])

    def stop(self) -> None:
        for queue in self._queues:
            queue.put(None)
        for process in self._processes:
            process.join()


def _serve(queue: Any, results: Any) -> None:
    while (order := queue.get()) is not None:
        number, function, call = order
        results.put((number, function(*call)))
