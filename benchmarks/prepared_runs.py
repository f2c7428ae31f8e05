"""Runs whose advice is tested: each with the changes of code that may be advised, and what is tried where none is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PREPARE = """
%load_ext cellmill
import sys, time
import cellmill, numpy
from cellmill import default_executor
"""

FUNCTIONS = """
%%parallel
def nap(seconds, *after):
    import time
    time.sleep(seconds)
    return seconds

def burn(seconds):
    import time
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

def touch(array, seconds, offset=0):
    import time
    time.sleep(seconds)
    return float(array[offset])

def tiny(number):
    return number + 1

def steps(number):
    for step in range(20):
        number += step
    return number

def crowd(folder, number):
    import pathlib, time
    own = pathlib.Path(folder, f"{number}.here")
    own.touch()
    time.sleep(0.05 * len(list(own.parent.glob("*.here"))) ** 2)
    own.unlink()

def pair(first, second):
    return first < second

def importing(modules, seconds):
    import importlib, time
    for module in modules:
        importlib.import_module(module)
    time.sleep(seconds)
"""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A cell, run by so many workers that are there already."""

    name: str
    workers: int
    cell: str
    changed: Mapping[str, str] = field(
        default_factory=dict
    )  # the cell after a change of code, by kind of advice; "": where nothing is advised
    earlier: int = 0  # workers with which the same cell ran before; 0: it did not
    renewed: bool = False  # each time by new workers, which have not imported the two names in `modules`
    tried: str = ""  # nothing helps, and this, the best try, shows it


def _map(seconds: str, function: str = "nap") -> str:
    return f"list({function}.map({seconds}, chunksize=1))"


_CHAIN = """
chain = nap(0.15)
for _ in range(3):
    chain = nap(0.15, chain)
beside = [nap(0.15) for _ in range(8)]
chain.result(), [call.result() for call in beside]
"""
_TREE = """
leaves = [nap(0.1) for _ in range(16)]
pairs = [nap(0.1, *leaves[at : at + 2]) for at in range(0, 16, 2)]
last = nap(0.1, *pairs)
last.result()
"""
_LOOP = """%%pfor seconds in [0.1] * 10
import time
time.sleep(seconds)
"""
_DIAMOND = """
first = nap(0.1)
middle = [nap(0.1, first) for _ in range(12)]
nap(0.1, *middle).result()
"""
_SINGLE = "calls = [nap(seconds) for seconds in {0}]\n[call.result() for call in calls]"
_LINE = """
call = nap(0.1)
for _ in range(7):
    call = nap(0.1, call)
call.result()
"""
_ARRAY = "array = numpy.ones({0})\n"
_TOUCH = "calls = [touch({0}, {2}) for _ in range({1})]\n[call.result() for call in calls]"
_EACH = "list(touch.map(({0} for _ in range(30)), [0.005] * 30))"
_SHARED = "shared = cellmill.share(array)\n"
_WAITED = "for _ in range({1}):\n    {0}.result()"
_BATCH = """%%parallel --batch
def all_steps(numbers):
    found = []
    for number in numbers:
        for step in range(20):
            number += step
        found.append(number)
    return found

list(all_steps.map(range({0})))
"""
_IMPORTING = "list(importing.map([modules{1}] * {0}, [0.05] * {0}, chunksize=1))"
_TIMED = "began = time.monotonic()\n{0}\ntook = time.monotonic() - began"

RUNS = (
    Prepared("16 equal tasks", 2, _map("[0.1] * 16")),
    Prepared("12 single calls", 2, _SINGLE.format("[0.15] * 12")),
    Prepared("20 tasks of five lengths", 2, _map("[0.05 * (1 + at % 5) for at in range(20)]")),
    Prepared("a chain beside others", 2, _CHAIN),
    Prepared("16 tasks, in pairs to one", 2, _TREE),
    Prepared("one task, then 12, then one", 3, _DIAMOND),
    Prepared("24 tasks on three workers", 3, _map("[0.1] * 24")),
    Prepared("a loop on one worker", 1, _LOOP),
    Prepared(
        "a slow task at the end",
        2,
        _map("[0.05] * 8 + [0.8]"),
        {"split": _map("[0.05] * 8 + [0.4] * 2"), "order": _map("[0.8] + [0.05] * 8")},
    ),
    Prepared(
        "a slow task in the middle",
        3,
        _map("[0.05] * 9 + [0.9] + [0.05] * 6"),
        {
            "split": _map("[0.05] * 9 + [0.3] * 3 + [0.05] * 6"),
            "order": _map("[0.9] + [0.05] * 15"),
        },
    ),
    Prepared(
        "a slow single call",
        4,
        _SINGLE.format("[0.1] * 8 + [1.0]"),
        {"split": _SINGLE.format("[0.1] * 8 + [0.25] * 4"), "order": _SINGLE.format("[1.0] + [0.1] * 8")},
    ),
    Prepared(
        "a slow task that another one takes",
        2,
        "slow, fast = nap(0.6), [nap(0.05) for _ in range(4)]\nnap(0.05, slow, *fast).result()",
        {
            "split": "slow, fast = [nap(0.3) for _ in range(2)], [nap(0.05) for _ in range(4)]\n"
            "nap(0.05, *slow, *fast).result()"
        },
    ),
    Prepared("a slow import in each worker", 2, _IMPORTING.format(10, "[:1]"), renewed=True),
    Prepared("two slow imports in each worker", 2, _IMPORTING.format(10, ""), renewed=True),
    Prepared(
        "a slow import in three workers",
        3,
        "calls = [importing(modules[:1], 0.05) for _ in range(9)]\n[call.result() for call in calls]",
        renewed=True,
    ),
    Prepared(
        "40 MB in each of 30 calls",
        2,
        _ARRAY.format(5_000_000) + _TOUCH.format("array", 30, 0.005),
        {
            "share": _ARRAY.format(5_000_000) + _SHARED + _TOUCH.format("shared", 30, 0.005),
            "loop": _ARRAY.format(5_000_000)
            + _TIMED.format("for _ in range(30): touch.__wrapped__(array, 0.005)"),
        },
    ),
    Prepared(
        "80 MB in each of 12 calls",
        2,
        _ARRAY.format(10_000_000) + _TOUCH.format("array", 12, 0.01),
        {
            "share": _ARRAY.format(10_000_000) + _SHARED + _TOUCH.format("shared", 12, 0.01),
            "loop": _ARRAY.format(10_000_000)
            + _TIMED.format("for _ in range(12): touch.__wrapped__(array, 0.01)"),
        },
    ),
    Prepared(
        "40 MB in each of 30 elements of a map",
        2,
        _ARRAY.format(5_000_000) + _EACH.format("array"),
        {
            "share": _ARRAY.format(5_000_000) + _SHARED + _EACH.format("shared"),
            "loop": _ARRAY.format(5_000_000)
            + _TIMED.format("for _ in range(30): touch.__wrapped__(array, 0.005)"),
        },
    ),
    Prepared(
        "30,000 single calls",
        2,
        "calls = [tiny(at) for at in range(30_000)]\n[call.result() for call in calls]",
        {
            "map": "list(tiny.map(range(30_000)))",
            "loop": _TIMED.format("[tiny.__wrapped__(at) for at in range(30_000)]"),
        },
    ),
    Prepared(
        "15,000 calls with two arguments",
        2,
        "calls = [pair(at, 3) for at in range(15_000)]\n[call.result() for call in calls]",
        {
            "map": "list(pair.map(range(15_000), [3] * 15_000))",
            "loop": _TIMED.format("[pair.__wrapped__(at, 3) for at in range(15_000)]"),
        },
    ),
    Prepared(
        "short calls, each waited for",
        2,
        _WAITED.format("nap(0.0002)", 1_000),
        {"loop": _TIMED.format("for _ in range(1_000): nap.__wrapped__(0.0002)")},
    ),
    Prepared(
        "8 MB in each of 60 calls, each waited for",
        2,
        _ARRAY.format(1_000_000) + _WAITED.format("touch(array, 0.003)", 60),
        {
            "loop": _ARRAY.format(1_000_000)
            + _TIMED.format("for _ in range(60): touch.__wrapped__(array, 0.003)")
        },
    ),
    Prepared(
        "tasks in each other's way", 3, "list(crowd.map([sys.path[0]] * 9, range(9), chunksize=1))", earlier=1
    ),
    Prepared("two tasks on two workers", 2, _map("[0.6] * 2"), tried="%cellmill workers 4"),
    Prepared("a chain", 2, _LINE, tried="%cellmill workers 4"),
    Prepared(
        "computing on all processors",
        2,
        _map("[0.1] * 12", "burn"),
        tried="%cellmill workers 4",
    ),
    Prepared(
        "2,000,000 short elements of a map",
        2,
        "list(steps.map(range(2_000_000)))",
        {"": _BATCH.format("2_000_000")},
        tried="pass",
    ),
    Prepared(
        "calls with pauses in the cell",
        2,
        "for _ in range(6):\n    nap(0.05).result()\n    time.sleep(0.1)",
        tried="%cellmill workers 4",
    ),
)
