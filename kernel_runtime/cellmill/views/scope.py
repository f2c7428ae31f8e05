"""One run as views look at it by itself."""

from __future__ import annotations

from dataclasses import dataclass

from cellmill import run_registry
from cellmill.errors import UsageError
from cellmill.executor import Executor


@dataclass(frozen=True, slots=True)
class Scope:
    """A run that an executor's present pool ran or runs."""

    run: int  # its id
    key: int  # the pool's number for it
    began: float  # monotonic seconds
    expected: int | None  # tasks that it was to have; None: not known, or single calls


def scope_of(executor: Executor, run: int) -> Scope | None:
    """Return a run by its id; None where the records of its tasks are gone, with its pool or as one of too many."""
    known = run_registry.known(run)
    if known is None or known.backend() is not executor._backend:
        return None
    return Scope(known.id, known.key, known.started_ns / 1e9, known.expected)


def asked_scope(executor: Executor, run: object) -> Scope | None:
    """Return the run that a question names; None: it is about all tasks. Raises `UsageError`."""
    if run is None:
        return None
    found = scope_of(executor, run) if type(run) is int else None
    if found is None:
        raise UsageError(
            "the records of that run's tasks are gone: they are kept while its workers' pool is the present one, and "
            "its journeys until newer ones take their place; cellmill.runs() still has its counts"
        )
    return found
