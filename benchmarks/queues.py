"""What does it cost to give each worker a queue of its own, and who should choose the worker?

Workload: figures 5 and 6 of the Parsl paper: no-ops through one queue that all workers share, or through a queue of
each worker. Cellmill has a ring for each; its policies choose the worker. The two forms of the paper are beside it as
plain Python over multiprocessing's queues. Tasks of uneven lengths show what a bad choice costs.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cellmill.bench import bodies, granularity, measure
from cellmill.bench.harness import Benchmark, Metric, Settings
from cellmill.bench.rivals import Runtime, running
from cellmill.bench.turn import Sizes, Turn
from cellmill.task import POLICIES

from .plain_queues import PlainQueues

SHARED, OWN = "shared-queue", "own-queues"
LONG_SHARE, LONG = 0.1, 20
"""One task in ten is twenty times as long as the others."""


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    found = [Metric(f"noop_{n}", f"no-ops, workers: {n}", "tasks/s") for n in sizes["workers"]]
    short = int(sizes["short_us"])
    return [
        *found,
        Metric("even", f"tasks of {short} us", "of bare processes"),
        Metric("uneven", f"tasks of {short} us, one in ten of {LONG * short:,} us", "of bare processes"),
    ]


def missing(key: str) -> str | None:
    """What the scheduler says to a policy's name."""
    from cellmill.backends.scheduled.scheduler import Scheduler, with_gil

    kind, _, policy = key.partition(":")
    if kind != "policy":
        return None
    scheduler = Scheduler()
    known = with_gil.csched_set_policy(scheduler.handle, policy.encode()) == 0
    return None if known else "the scheduler has no such policy"


def prepare(settings: Settings, sizes: dict[str, Any], folder: Path) -> None:
    """How much work a microsecond is."""
    granularity.prepare(settings, sizes, folder)


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """One way to the workers: no-ops over more and more of them, then uneven work over ``workers``."""
    values: dict[str, float] = {}
    for count in sizes["workers"]:
        with _started(runtime, int(count)) as pool:
            rate, _tasks = measure.submit_rate(pool, float(sizes["seconds"]), int(sizes["most"]))
            values[f"noop_{count}"] = rate
    short = max(1, round(int(sizes["short_us"]) * sizes["rounds_per_us"]))
    tasks = int(sizes["uneven_tasks"])
    chance = random.Random(1)
    works = {
        "even": [short] * tasks,
        "uneven": [short * (LONG if chance.random() < LONG_SHARE else 1) for _ in range(tasks)],
    }
    bare = granularity.Bare(workers)
    try:
        with _started(runtime, workers) as pool:
            for name, rounds in works.items():
                alone = 1 / bare.rate(sum(rounds) // workers, workers) * workers
                took, _results = measure.timed(pool.submit_all, bodies.busy, [(r,) for r in rounds])
                values[name] = alone / took
    finally:
        bare.stop()
    return Turn(values)


@contextmanager
def _started(runtime: str, workers: int) -> Iterator[Runtime]:
    """Cellmill with one of its policies, or plain queues."""
    if runtime in (SHARED, OWN):
        queues = PlainQueues(shared=runtime == SHARED)
        queues.start(workers)
        try:
            yield queues
        finally:
            queues.stop()
        return
    _, _, policy = runtime.partition(":")
    with running("cellmill", workers) as pool:
        if policy:
            pool.pool.policy = policy
        yield pool


BENCHMARK = Benchmark(
    name="queues",
    module=__name__,
    metrics=metrics,
    runtimes=("cellmill", *(f"policy:{policy}" for policy in POLICIES), SHARED, OWN),
    full={
        "workers": [1, 2, 4, 8, 16],
        "seconds": 0.5,
        "most": 400_000,
        "short_us": 100,
        "uneven_tasks": 10_000,
    },
    quick={"workers": [1, 2, 8], "seconds": 0.1, "most": 20_000, "short_us": 100, "uneven_tasks": 500},
    own={
        "cellmill": "cellmill, its default policy",
        **{f"policy:{policy}": f"cellmill, {policy}" for policy in POLICIES},
        SHARED: "multiprocessing, one queue for all",
        OWN: "multiprocessing, one queue each, in turn",
    },
    prepare=prepare,
    missing=missing,
    notes=(
        "Cellmill has a ring for each worker under every policy; the plain queues know no futures and no failures.",
        "of bare processes: their time for the same work in equal parts, over that of the tasks.",
    ),
)
