"""Threads in a notebook: whose output is whose, and Stop."""

from __future__ import annotations

import pytest

from tests.support.notebook import Notebook


@pytest.fixture(scope="module", autouse=True)
def threads(kernel: Notebook) -> None:
    assert "threads" in kernel.run("%cellmill backend threads").ok().stdout
    kernel.run("import cellmill, concurrent.futures, threading, time, sys").ok()


def test_a_function_of_a_cell_and_the_output_of_its_tasks(kernel: Notebook) -> None:
    output = kernel.run("%%parallel\ndef double(x):\n    print('doubling', x)\n    return 2 * x\n").ok()
    output = kernel.run("print(sorted(double.map([1, 2, 3])))").ok()
    assert sorted(output.stdout.splitlines()) == ["[2, 4, 6]", "doubling 1", "doubling 2", "doubling 3"]


def test_a_background_task_speaks_in_the_cell_that_submitted_it(kernel: Notebook) -> None:
    first = kernel.run(
        "gate = threading.Event()\n"
        "def late():\n"
        "    gate.wait(60)\n"
        "    print('late', flush=True)\n"
        "    print('and wrong', file=sys.stderr)\n"
        "f = cellmill.default_executor().submit(late)"
    ).ok()
    second = kernel.run("print('mine')\ngate.set()\nf.result(60)\nprint('mine too')").ok()
    kernel.run("pass").ok()
    assert second.stdout == "mine\nmine too\n"
    assert (first.stdout, first.stderr) == ("late\n", "and wrong\n")
    assert kernel.run("print(cellmill.output(f))").ok().stdout == "late\nand wrong\n\n"


def test_stop_ends_the_tasks_of_the_cell(kernel: Notebook) -> None:
    kernel.run(
        "shell = get_ipython().InteractiveTB\n"
        "make, left = shell.structured_traceback, []\n"
        "def look(*args, **how):\n"
        "    left.append(len(concurrent.futures.wait(fs, 60).not_done))\n"
        "    return make(*args, **how)\n"
        "shell.structured_traceback = look"
    ).ok()
    kernel.run("def spin(n):\n    began.set()\n    while True:\n        pass\nbegan = threading.Event()").ok()
    output = kernel.start(
        "ex = cellmill.default_executor()\n"
        "fs = [ex.submit(spin, n) for n in range(20)]\n"
        "began.wait(60)\n"
        "print('be' + 'gun')\n"
        "fs[0].result()"
    )
    kernel.wait(lambda message: "begun" in str(message["content"]))
    kernel.manager.interrupt_kernel()
    kernel.finish(output)
    kernel.run("shell.structured_traceback = make").ok()
    # All ended before the traceback was made, which they would have slowed down.
    output = kernel.run("print({*left}, {f.cancelled() for f in fs}, ex.submit(abs, -1).result(60))").ok()
    assert output.stdout == "{0} {True} 1\n"
