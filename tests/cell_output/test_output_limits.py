"""Of much output the kernel shows a part, and how much not."""

from __future__ import annotations

from collections.abc import Callable

import pytest


def test_repeated_lines(said: Callable[..., tuple[str, str]]) -> None:
    task = "def task():\n    for _ in range(10_000):\n        print('again')\n    print('other')\n"
    assert said(task)[0] == "again\nagain\n... 9,998 more lines like this\nother\n"


def test_lines_repeated_by_many_tasks(said: Callable[..., tuple[str, str]]) -> None:
    out, _ = said("", "list(ex.map(print, ['same'] * 5000))", "2")
    lines = out.splitlines()
    assert lines[:2] == ["same", "same"]
    assert len(lines) < 200  # told again and again while it goes on
    assert (
        lines.count("same") + sum(int(li.split()[1].replace(",", "")) for li in lines if "..." in li) == 5000
    )


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
    assert out[-1].startswith("... 400 more lines are not shown; cellmill.output(1) has the last of them")


def test_many_bytes_without_lines(said: Callable[..., tuple[str, str]]) -> None:
    out, _ = said("def task():\n    for _ in range(100):\n        os.write(1, b'x' * 100_000)\n")
    assert out.count("x") < 2_000_000
    note = out.splitlines()[-1]
    assert note.startswith("... more (")
    assert int(note.split("(")[1].split()[0].replace(",", "")) + out.splitlines()[0].count("x") == 10_000_000


@pytest.mark.parametrize("native", [False, True])
def test_a_flood(said: Callable[..., tuple[str, str]], native: bool) -> None:
    """Neither the kernel's memory nor the worker's grows with it."""
    task = f"""
import resource
def task(n):
    line = b"a line of the flood, %d\\n"
    for i in range(n):
        os.write(1, line % i * 50) if {native} else print("a line of the flood,", i)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
"""
    lines = """before, kernel = ex.submit(task, 10_000).result(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
after = ex.submit(task, 100_000).result()
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - kernel
print(after - before < 20_000 and grown < 20_000 or (after - before, grown))"""
    out = said(task, lines)[0].splitlines()
    assert out[-1] == "True"
    assert f"{(100_000 - 1000) * (50 if native else 1):,} more lines" in out[-2]
