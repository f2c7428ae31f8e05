"""`%cellmill compare` in a real kernel: before and after an edit."""

from __future__ import annotations

import re

from tests.support.notebook import Notebook

DEFINE = """%%parallel
def f(x):
    import time
    time.sleep({seconds})
    return x

def g(x):
    return {value}
"""
BOTH = "print(len(list(f.map(range(12), chunksize=1))), len(list(g.map(range(50)))), len(In) - 1)"


def test_two_cells_before_and_after_an_edit(notebook: Notebook) -> None:
    notebook.run(DEFINE.format(seconds=0.03, value="x")).ok()
    before = notebook.run(BOTH).ok().stdout.split()[-1]
    notebook.run(DEFINE.format(seconds=0.01, value="x")).ok()
    after = notebook.run(BOTH).ok().stdout.split()[-1]
    output = notebook.run(f"%cellmill compare In[{before}] In[{after}]").ok()
    assert output.result is not None
    sentence = output.text.splitlines()[0]
    assert sentence.startswith(f"In [{after}] took ")
    assert f"than In [{before}] (" in sentence
    # it sleeps a third as long; on a busy machine either cell wakes late
    assert re.search(r"f [2-9]\.\d+x faster per task \(95 % interval", sentence), sentence
    code = [line.split()[-1] for line in output.text.splitlines() if line.startswith("its code")]
    assert code == ["differs", "same"]
    assert "<table>" in output.result["text/html"]
    assert sentence in output.result["text/html"]


def test_two_runs_by_number_and_what_is_wrong(notebook: Notebook) -> None:
    notebook.run("%%parallel\ndef h(x):\n    return x").ok()
    notebook.run("import cellmill\nfor _ in range(2): list(h.map(range(20)))").ok()
    first, second = notebook.value("[run.id for run in cellmill.runs()[-2:]]").strip("[]").split(", ")
    output = notebook.run(f"%cellmill compare {first} {second}").ok()
    assert output.text.startswith(f"run {second} (h) took ")
    assert f"run {first} (h)" in output.text
    assert notebook.run(f"%cellmill compare {first} 123456").pointed_at() == f"{first} 123456"
    assert notebook.run("%cellmill compare").pointed_at() == "compare"
    assert notebook.run("%cellmill compare 1 2 3").pointed_at() == "3"
    assert "compare" in notebook.complete("%cellmill com")
