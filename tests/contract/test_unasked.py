"""Failures whose results were not asked for: told once on stderr when a script ends."""

from __future__ import annotations

from pathlib import Path

from tests.contract.abilities import same_on_clusters
from tests.support.helpers import run_script

HEAD = """
import asyncio, concurrent.futures, sys
import cellmill

def odd(x, *more):
    if x % 2:
        raise ValueError(f"{x} is odd")
    return x

def chained():
    raise OSError("the first")

def main():
    ex = cellmill.Executor(2, backend=sys.argv[1])
    f = cellmill.parallel(odd).options(executor=ex)
"""
TAIL = """
if __name__ == "__main__":
    main()
"""


def told(folder: Path, backend: str, body: str) -> list[str]:
    """What the script says of tasks that failed."""
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    _, err = run_script(folder, HEAD + lines + TAIL, backend)
    return [line for line in err.splitlines() if line.startswith("cellmill: ")]


@same_on_clusters
def test_a_failure_not_asked_for_is_told_once_and_no_other(tmp_path: Path, shared: str) -> None:
    """Of one function 7 were not asked for, and several were asked for or handled."""
    body = """
try: f(1).result()
except ValueError: pass
f(3).exception()
async def go():
    try: await f(5)
    except ValueError: pass
asyncio.run(go())
for each in concurrent.futures.as_completed([f(7), f(9)]): each.exception()
f(11).add_done_callback(lambda future: None)
late = f(13)
concurrent.futures.wait([late])
late.add_done_callback(lambda future: None)
list(f.map([1, 3], return_exceptions=True))
first = f(1)
end = f(2, first)
try: end.result()
except cellmill.DependencyError: pass

def alone(x, name): raise KeyError(name)
def halves(items): return [1 // x for x in items]
cellmill.parallel(alone, executor=ex)(3, "a.csv")
kept = [f(2 * i + 1) for i in range(5)]
for i in range(5): ex.submit(odd, i)
concurrent.futures.wait([kept[0]])
assert kept[0].done()
chain = f(2, f(2, cellmill.parallel(chained, executor=ex)()))
concurrent.futures.wait([chain])
batch = cellmill.parallel(halves, batch=True, executor=ex)
batch(0)
assert batch(1).result() == 1
"""
    lines = told(tmp_path, shared, body)
    (alone,) = [line for line in lines if "alone(3, 'a.csv')" in line]
    assert "failed, and its result was not asked for: KeyError: 'a.csv'." in alone
    assert ".result()" in alone
    (several,) = [line for line in lines if "of odd failed" in line]
    assert several.startswith(
        "cellmill: 7 tasks of odd failed, and their results were not asked for; first odd("
    )
    assert sum("the first" in line for line in lines) == 1
    assert sum("ZeroDivisionError" in line for line in lines) == 1
    assert len(lines) == 4
