"""Functions of the main script in children of `multiprocessing`, where they are those of ``__mp_main__``."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SCRIPT = """
import functools, multiprocessing, sys
from cellmill import Executor, parallel, set_default_executor

factor = 10

@functools.cache
def cached(x): return x * factor

def helper(x): return x + 1

def task(x): return helper(x) + cached(x)

class Point:
    def __init__(self, x): self.x = x

@parallel
def top(x): return task(x)

def child(_):
    with Executor(2) as ex:
        set_default_executor(ex)
        point = ex.submit(Point, 3).result(60)
        return (
            ex.submit(task, 1).result(60), list(ex.map(task, range(3))), ex.submit(cached, 2).result(60),
            list(ex.map(lambda x: helper(x), [1])), top(4).result(60), list(top.map([1])),
            type(point) is Point and point.x, ex.submit(lambda p: p.x, point).result(60),
        )

if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
        print(pool.map_async(child, [0]).get(50))
"""


@pytest.mark.parametrize("method", ["spawn", pytest.param("forkserver", marks=pytest.mark.long), "fork"])
def test_the_functions_of_the_main_script(script: Callable[..., str], method: str) -> None:
    assert script(SCRIPT, method) == "[(12, [1, 12, 23], 20, [2], 45, [12], 3, 3)]\n"
