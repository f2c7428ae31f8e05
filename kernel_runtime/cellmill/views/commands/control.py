"""Commands that change the course of tasks: cancel, pause, resume, more or fewer workers, advice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cellmill import run_registry
from cellmill.errors import UsageError
from cellmill.executor import Executor

MOST_WORKERS = 256


def cancel_run(executor: Executor, command: Mapping[str, Any]) -> None:
    wanted = command.get("run")
    ours = [run for run in run_registry.active_runs() if run._backend is executor._backend]
    found = [run for run in ours if wanted is None or run.id == wanted]
    for run in found:
        run.stop()
    if wanted is None:
        executor.stop()  # calls of submit are part of no run
    elif not found:
        raise UsageError("that run is over already")


def pause(executor: Executor, command: Mapping[str, Any]) -> None:
    executor.pause()


def resume(executor: Executor, command: Mapping[str, Any]) -> None:
    executor.resume()


def set_workers(executor: Executor, command: Mapping[str, Any]) -> None:
    count = command.get("count")
    if type(count) is not int or not 1 <= count <= MOST_WORKERS:
        raise UsageError(f"the number of workers is a whole number from 1 to {MOST_WORKERS}, not {count!r}")
    executor.set_workers(count)


def replace_worker(executor: Executor, command: Mapping[str, Any]) -> None:
    index = command.get("worker")
    if index not in [info.index for info in executor.workers()]:
        raise UsageError("that worker is gone already")
    executor._backend.replace_worker(index)


def apply_advice(executor: Executor, command: Mapping[str, Any]) -> None:
    observer = executor._backend.observer
    advice = () if observer is None else observer.account(None, advice=True).advice
    found = next((each for each in advice if each.what == command.get("what")), None)
    if found is None:
        raise UsageError("that advice was about earlier work; it is not made any more")
    found.apply()


def set_profile(executor: Executor, command: Mapping[str, Any]) -> None:
    on = command.get("on")
    if not isinstance(on, bool):
        raise UsageError(f"a profile is switched on or off by true or false, not {on!r}")
    if executor._backend.profiling is None:
        raise UsageError(f"workers of the {executor.backend} backend cannot be sampled")
    executor._backend.profiling.switch(on)
