"""Object references of Ray among the arguments of tasks, and what tasks start on Ray themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.helpers import run_script
from tests.support.rays import OwnRay

ray: Any = pytest.importorskip("ray", reason="pip install 'cellmill[ray]'")

# In a program: a process that is connected to Ray ends with it, and has signal handlers of Ray's.
PROGRAM = """
import sys
import time

import ray

import cellmill
from cellmill import Executor

ray.init(address=sys.argv[1], log_to_driver=False, configure_logging=False)


@ray.remote(num_cpus=0)
def later(x):
    time.sleep(0.1)
    return x + 1


@ray.remote(num_cpus=0)
def fail():
    raise LookupError("as asked")


@ray.remote(num_cpus=0)
def never():
    time.sleep(1000)


def give(*args, **kwargs):
    return args, kwargs


def inside(x):
    references = [later.remote(x), ray.put(x)]
    return ray.get(references)


with Executor(1, backend="ray") as ex:  # Ray starts a process for each task of its own that runs at the same time
    one, two = later.remote(1), ray.put(2)
    assert ex.submit(give, one, [two], last={"three": ray.put(4)}).result(60) == ((2, [2]), {"last": {"three": 4}})
    assert list(ex.map(lambda x: 2 * x, [later.remote(0), ray.put(2), one, two])) == [2, 4, 4, 4]
    assert ex.submit(lambda pair: sum(pair), (one, ex.submit(abs, -5))).result(60) == 7
    del one, two

    failed = ex.submit(abs, fail.remote()).exception(60)
    assert type(failed) is cellmill.DependencyError, failed
    assert "failed with LookupError: as asked" in str(failed)
    assert isinstance(failed.__cause__, LookupError)
    first, middle, last = ex.map(abs, [-1, fail.remote(), -3], return_exceptions=True)
    assert (first, last) == (1, 3)
    assert isinstance(middle, cellmill.DependencyError)

    assert ex.submit(inside, 5).result(60) == [6, 5]
    assert ray.get(later.remote(ray.put(1))) == 2  # Ray's own pickling is as it was

    late = ex.options(timeout=0.5).submit(abs, never.remote()).exception(60)
    assert isinstance(late, cellmill.TaskTimeoutError), late

with Executor(1) as other:
    try:
        other.submit(abs, ray.put(1)).result(60)
    except cellmill.PayloadError as error:
        assert "an ObjectRef of Ray" in str(error), error
    else:
        raise AssertionError
print("as it should be")
"""


def test_references_are_inputs(own_ray: OwnRay, tmp_path: Path) -> None:
    out, err = run_script(tmp_path, PROGRAM, own_ray.backend.removeprefix("ray:"))
    assert out == "as it should be\n", err
