"""What each backend can do, as a table: the one place where the contract differs between them.

What a backend cannot do it says in words: `Refusal` has the call and what its error must tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest

import cellmill
from cellmill import Executor
from cellmill.telemetry.schema import STAGES

later = pytest.mark.usefixtures("concurrent")  # not for backends where a call is over when submit returns
elsewhere = pytest.mark.usefixtures("apart")  # not for backends whose tasks run in this process

outside = pytest.mark.usefixtures("outside")  # for backends that keep large values outside of their messages

ALL = ("local", "threads", "inline", "dask", "ray")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that this backend does not take: the type of its error and the words in it."""

    what: str
    call: Callable[[Executor], Any]
    error: type[BaseException]
    words: str


@dataclass(frozen=True, slots=True)
class Abilities:
    """Of one backend.

    ``concurrent``: submit returns before the task ran, so tasks can wait, be cancelled, stopped, limited, paused.
    ``apart``: tasks run in other processes: what goes there is pickled, and one that dies takes only its task along.
    ``outside``: large values do not travel in its messages. ``stages``: the stamps that each finished task has.
    """

    package: str | None = None
    concurrent: bool = True
    apart: bool = True
    outside: bool = False
    workers: int = 2
    stages: tuple[str, ...] = STAGES
    refuses: tuple[Refusal, ...] = ()


def _option(name: str, **options: Any) -> Callable[[Executor], Any]:
    return lambda ex: Executor(backend=name, **options)


def _unknown_option(name: str) -> Refusal:
    return Refusal(
        "options of another backend",
        _option(name, cooks=3),
        TypeError,
        rf"{name} .*no option 'cooks'",
    )


def _set_policy(ex: Executor) -> None:
    ex.policy = "random"


# A test that starts a cluster of its own, or loses workers where others do already. Ray takes many seconds for one, and
# several for each worker; what such a test asks of the kernel's side is the same for Dask, so on Ray it is one of the
# long tests.
own_cluster = pytest.mark.own_cluster

# Most of what happens on a cluster is the same code on Dask and on Ray: every day it is asked of Ray, and of Dask only
# where Ray is not installed. Of both are asked the tests of this mark: of what each engine has of its own, as values
# outside of messages, read-only arrays, lost processes, limits of time, and settings of threads.
each_cluster = pytest.mark.each_cluster

# A test that is expensive on clusters and asks there of what is the kernel's alone, or of a way that another test goes
# there: the other backends show it, and on clusters it is one of the long tests.
same_on_clusters = pytest.mark.same_on_clusters


def few_on_clusters(cases: Iterable[Any], most: int = 1) -> list[Any]:
    """Return the cases of a test: the first ones are for clusters every day, others are long tests there."""
    given = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*case, marks=() if at < most else same_on_clusters) for at, case in enumerate(given)]


TABLE = {
    "local": Abilities(refuses=(_unknown_option("local"),)),
    "threads": Abilities(apart=False, refuses=(_unknown_option("threads"),)),
    "inline": Abilities(
        concurrent=False,
        apart=False,
        workers=1,
        stages=(),
        refuses=(
            _unknown_option("inline"),
            Refusal(
                "more workers", lambda ex: ex.set_workers(3), cellmill.UsageError, "always has one worker"
            ),
            Refusal("a pause", lambda ex: ex.pause(), cellmill.UsageError, "cannot pause"),
            Refusal("a policy", _set_policy, cellmill.UsageError, "has no policy"),
        ),
    ),
    "dask": Abilities(package="distributed", outside=True, refuses=(_unknown_option("dask"),)),
    "ray": Abilities(package="ray", outside=True, refuses=(_unknown_option("ray"),)),
}
