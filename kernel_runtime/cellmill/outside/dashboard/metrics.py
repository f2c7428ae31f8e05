"""The figures of all kernels in the text format of Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ..kernel import Kernel
from ..top.text import states
from .kernels import Kernels

__all__ = ["text"]

LABELS = ("pid", "title")
ENDED = {"d": "done", "f": "failed", "l": "lost", "c": "cancelled"}


def text(kernels: Kernels) -> bytes:
    """Return the latest figures of each."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Kernels(kernels))
    return generate_latest(registry)


class _Kernels(Collector):
    def __init__(self, kernels: Kernels) -> None:
        self._kernels = kernels

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        found = [self._kernels.latest(each) for each in self._kernels.known()]
        kernels = [kernel for kernel in found if kernel is not None]
        ended = CounterMetricFamily(
            "cellmill_tasks_ended", "Tasks that are over, by how they ended.", labels=(*LABELS, "state")
        )
        present = GaugeMetricFamily("cellmill_tasks", "Tasks that are not over.", labels=(*LABELS, "state"))
        workers = GaugeMetricFamily("cellmill_workers", "Workers by what they do.", labels=(*LABELS, "state"))
        memory = GaugeMetricFamily(
            "cellmill_worker_memory_bytes",
            "Memory of a worker's own.",
            labels=(*LABELS, "executor", "worker"),
        )
        paused = GaugeMetricFamily("cellmill_paused", "Whether no more tasks begin.", labels=LABELS)
        age = GaugeMetricFamily("cellmill_figures_age_seconds", "Age of these figures.", labels=LABELS)
        for kernel in kernels:
            labels = _labels(kernel)
            ever = {name: kernel.gone.get(name, 0) + count for name, count in kernel.counts.items()}
            for letter, number in states(ever).items():
                if letter in ENDED:
                    ended.add_metric((*labels, ENDED[letter]), number)
            for name in ("running", "queued", "waiting"):
                present.add_metric((*labels, name), kernel.counts[name])
            for state, number in sorted(Counter(worker["state"] for worker in kernel.workers).items()):
                workers.add_metric((*labels, state), number)
            for worker in kernel.workers:
                if worker["memory"] is not None:
                    place = (str(worker["executor"]), str(worker["worker"]))
                    memory.add_metric((*labels, *place), worker["memory"])
            paused.add_metric(labels, float(kernel.paused))
            age.add_metric(labels, kernel.age)
        yield from (ended, present, workers, memory, paused, age)


def _labels(kernel: Kernel) -> tuple[str, str]:
    return str(kernel.served.pid), kernel.served.title
