"""Of much output the kernel shows a part, and how much not."""

from __future__ import annotations

import re
from collections.abc import Callable


def test_repeated_lines(said: Callable[..., tuple[str, str]]) -> None:
    task = "def task():\n    for _ in range(3000):\n        print('again')\n    print('other')\n"
    assert said(task)[0] == "again\n" * 20 + "... 2,980 more lines like this\nother\n"


def test_a_few_equal_lines_come_as_they_are_printed(said: Callable[..., tuple[str, str]]) -> None:
    """Before the results: none is held back to be counted."""
    task = "def task():\n    print('again')\n"
    loop = "for _ in range(4):\n    f().result()\n    print('over', flush=True)"
    lines = f"f = cellmill.parallel(executor=ex)(task)\n{loop}"
    assert said(task, lines)[0] == "again\nover\n" * 4


def test_lines_repeated_by_many_tasks(said: Callable[..., tuple[str, str]]) -> None:
    out, _ = said("", "list(ex.map(print, ['same'] * 2000))", "2")
    lines = out.splitlines()
    assert lines[:20] == ["same"] * 20
    assert len(lines) < 220  # told again and again while it goes on
    told = sum(int(line.split()[1].replace(",", "")) for line in lines if "..." in line)
    assert lines.count("same") + told == 2000


def test_a_task_with_many_lines(said: Callable[..., tuple[str, str]]) -> None:
    task = "def task():\n    for i in range(5000):\n        print('line', i)\n"
    lines = "f = ex.submit(task)\nf.result()\nprint(len(cellmill.output(f).splitlines()))"
    out = said(task, lines)[0].splitlines()
    assert out[:1000] == [f"line {i}" for i in range(1000)]
    assert out[1000].startswith("... 4,000 more lines (40,000 bytes) of task #")
    assert out[1000].endswith("; cellmill.output(future) has the last of it")
    assert out[1001:] == ["5000"]


def test_as_many_lines_as_asked_for(said: Callable[..., tuple[str, str]]) -> None:
    task = "def task():\n    for i in range(5000):\n        print('line', i)\n"
    out = said(task, how="1, output_lines=10")[0].splitlines()
    assert out[:10] == [f"line {i}" for i in range(10)]
    assert out[10].startswith("... 4,990 more lines")
    assert len(out) == 11


def test_a_run_with_many_lines(said: Callable[..., tuple[str, str]]) -> None:
    out = said("", "list(ex.map(print, range(500)))", "2, output_lines=10")[0].splitlines()
    assert len(out) == 101
    assert re.match(
        r"\.\.\. 400 more lines are not shown; cellmill\.output\(\d+\) has the last of them", out[-1]
    )


def test_many_bytes_without_lines(said: Callable[..., tuple[str, str]]) -> None:
    out, _ = said("def task():\n    for _ in range(100):\n        os.write(1, b'x' * 100_000)\n")
    assert out.count("x") < 2_000_000
    note = out.splitlines()[-1]
    assert note.startswith("... more (")
    assert int(note.split("(")[1].split()[0].replace(",", "")) + out.splitlines()[0].count("x") == 10_000_000


def test_a_flood(said_alone: Callable[..., tuple[str, str]]) -> None:
    """Neither the kernel's memory nor the worker's grows with it, whether Python or native code writes it."""
    task = """
import resource
def task(n, native):
    line = "a line of the flood, which has number %d in it and goes on for a while after that\\n"
    for i in range(n):  # less than 4096 bytes at once, which come as one piece
        os.write(1, (line % i * 40).encode()) if native else print(line % i * 40, end="")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
"""
    lines = """for native in (False, True):
    before = ex.submit(task, 2_000, native).result()
    kernel = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    after = ex.submit(task, 9_000, native).result()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - kernel
    print(after - before < 20_000 and grown < 20_000 or (after - before, grown))"""
    out = said_alone(task, lines)[0].splitlines()
    ends = [at for at, line in enumerate(out) if line == "True"]
    assert len(ends) == 2
    assert ends[-1] == len(out) - 1
    for end in ends:
        assert f"{(9_000 - 1000) * 40:,} more lines" in out[end - 1]
