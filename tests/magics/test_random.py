"""Cells whose tasks draw random numbers, in a real kernel."""

from __future__ import annotations

import ast
from typing import Any

from tests.support.notebook import Notebook

SETUP = "import numpy as np, random, cellmill\nrng = np.random.default_rng(7)"


def _value(notebook: Notebook, code: str) -> Any:
    return ast.literal_eval(notebook.value(code))


def test_a_loop_draws_from_children(notebook: Notebook) -> None:
    notebook.run(SETUP).ok()
    notebook.run("%%pfor i in range(8) -> a\nfloat(rng.random())").ok()
    first = _value(notebook, "a")
    assert len(set(first)) == 8
    notebook.run("%%pfor --chunksize 3 i in range(8) -> b\nfloat(rng.random())").ok()
    assert _value(notebook, "b") == first
    notebook.run("%%pfor i in range(8) -> c\nfloat(rng.random()) + 0").ok()
    assert not set(_value(notebook, "c")) & set(first)  # another body is another function
    notebook.run("_ = rng.random()").ok()
    notebook.run("%%pfor i in range(8) -> d\nfloat(rng.random())").ok()
    assert not set(_value(notebook, "d")) & set(first)
    assert _value(notebook, "float(rng.random())") not in first
    notebook.run("%cellmill workers 1").ok()
    try:
        notebook.run("rng = np.random.default_rng(7)").ok()
        notebook.run("%%pfor i in range(8) -> e\nfloat(rng.random())").ok()
        assert _value(notebook, "e") == first
    finally:
        notebook.run("%cellmill workers 2").ok()


def test_what_a_loop_says(notebook: Notebook) -> None:
    notebook.run(SETUP + "\nnoise = rng").ok()
    said = notebook.run("%%pfor k in range(2) -> a\nfloat(noise.random())").ok().stderr
    assert "tasks of pfor k in range(2) draw from children of noise, one per task" in said
    assert "change" not in said  # drawing changes nothing outside the task
    said = notebook.run("%%pfor k in range(2) -> b\nfloat(noise.random())").ok().stderr
    assert "children" not in said
    assert "this map of pfor k in range(2) draws the same numbers as one before it" in said


def test_a_background_cell_draws_from_children(notebook: Notebook) -> None:
    notebook.run(SETUP).ok()
    drawn = []
    for name in ("one", "two"):
        notebook.run(f"%%task {name}\nfloat(rng.random())").ok()
        drawn.append(_value(notebook, f"{name}.result()"))
    again = _value(notebook, "float(np.random.default_rng(7).random())")
    assert len({*drawn, again}) == 3
    assert _value(notebook, "float(rng.random())") == again


def test_parallel_functions(notebook: Notebook) -> None:
    """Single calls in one cell and in the next: no draw comes twice."""
    notebook.run(SETUP).ok()
    notebook.run("%%parallel\ndef draw(i=0):\n    return float(rng.random())").ok()
    code = "[f.result() for f in [draw() for _ in range(3)]]"
    drawn = [*_value(notebook, code), *_value(notebook, code)]
    notebook.run("%%parallel\ndef draw(i=0):\n    return float(rng.random())").ok()
    drawn += _value(notebook, code)
    drawn += _value(notebook, "list(draw.map(range(3)))")
    assert len(set(drawn)) == 12


def test_seeded_cells(notebook: Notebook) -> None:
    notebook.run(SETUP).ok()
    notebook.run("%%parallel\ndef draw(i=0):\n    return random.random(), float(np.random.rand())").ok()
    rows = []
    try:
        for _ in range(2):
            notebook.run("cellmill.seed(3)").ok()
            notebook.run("%%pfor i in range(4) -> a\nrandom.random(), float(np.random.rand())").ok()
            notebook.run(
                "%%task t\n(random.random(), float(np.random.default_rng(cellmill.task_seed()).random()))"
            ).ok()
            rows.append(_value(notebook, "a, [draw().result() for _ in range(3)], t.result()"))
    finally:
        notebook.run("cellmill.seed(None)").ok()
    assert rows[0] == rows[1]
    assert len({*rows[0][0]}) == 4


def test_a_seed_that_does_not_reach_tasks_is_told(notebook: Notebook) -> None:
    """By the cell that uses it, whatever came first: the seed, the function or the call."""
    notebook.run("import random\nimport numpy.random as npr\nrandom.seed(1)").ok()
    notebook.run("%%parallel\ndef of_random(i):\n    return random.random()").ok()
    cell = notebook.run("list(map(of_random, range(3)))").ok()
    assert cell.stderr.count("random.seed() here does not reach them") == 1
    notebook.run("%%parallel\ndef of_numpy(i):\n    return npr.rand()").ok()
    assert not notebook.run("list(map(of_numpy, range(3)))").ok().stderr
    cell = notebook.run("npr.seed(1)\nlist(map(of_numpy, range(3)))").ok()
    assert cell.stderr.count("numpy.random.seed() here does not reach them") == 1
    assert (
        not notebook.run("random.seed(2)\nlist(map(of_random, range(3))), list(map(of_numpy, range(3)))")
        .ok()
        .stderr
    )
    cell = notebook.run("%%pfor i in range(3) -> a\nrandom.gauss(i, 1)").ok()
    assert cell.stderr.count("random.seed() here does not reach them") == 1


def test_a_package_draws_in_a_loop(notebook: Notebook) -> None:
    notebook.run(
        "import pandas as pd, numpy as np\ntable = pd.DataFrame({'a': range(100)})\nnp.random.seed(3)"
    ).ok()
    loop = "%%pfor i in range(2) -> a\nint(table.sample(1, random_state={seed}).a.iloc[0])"
    assert "draw from" not in notebook.run(loop.format(seed="i")).ok().stderr
    said = notebook.run(loop.format(seed="None")).ok().stderr
    assert "tasks of pfor i in range(2) draw from numpy.random, of which each worker has its own" in said
