"""`%%speedup` in a real kernel: what can be tasks gives the plain cell's values as tasks; the rest is told apart."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

import pytest

from tests.support.notebook import Notebook

PREPARE = """
import collections, heapq, itertools, math, random, re
import numpy as np
from concurrent.futures import Future
xs = [0.1 * i for i in range(12)]
words = "a bee sees a sea a bee is at sea".split()
total, best, text, calls, memo, seen, table = 0.0, 0.0, "", 0, {}, [], {}
groups = collections.defaultdict(list)
a, same = np.arange(12.0), [1.0] * 12
rows = [{"x": i} for i in range(6)]
lines = iter(range(100))
rng = random.Random(5)
class Tally:
    def __init__(self): self.n = 0
    def hit(self, x): self.n += x; return self.n
    def scaled(self, x): return x * 2
tally = Tally()
def f(x): return math.sin(x) ** 2
def count(x):
    global calls
    calls += 1
    return x
def fib(n):
    if n not in memo:
        memo[n] = n if n < 2 else fib(n - 1) + fib(n - 2)
    return memo[n]
def note(x): seen.append(x); return x
def squares():
    for x in xs: yield x * x
def marked(r):
    r["y"] = r["x"] + 1
    return r
def marked_late(r):
    if r["x"] > 99: r["y"] = 1
    return r
tallies = [Tally() for _ in range(3)]
waited = [Future() for _ in xs]
for w in waited: w.set_result(1)
named = dict(zip(xs, waited))
"""


@dataclass(frozen=True, slots=True)
class Case:
    """A cell, and the expression that tells what it left."""

    cell: str
    left: str


RIGHT = {
    "numerics": Case("out = []\nfor x in xs:\n    y = f(x)\n    out.append(y)", "out, x, y"),
    "a comprehension": Case("out = [f(x) for x in xs]", "out"),
    "an expression with outer names": Case("offset = 3\nout = [f(x) * offset + x for x in xs]", "out"),
    "a filter": Case("out = [f(x) for x in xs if x > 0.5]", "out"),
    "two targets": Case("out = [k * f(x) for k, x in enumerate(xs)]", "out"),
    "a sum": Case("for x in xs:\n    total += f(x)\ntotal", "total"),
    "a sum of a generator": Case("out = sum(f(x) for x in xs) + 1", "out"),
    "a class and a built-in function": Case("out = [str(x) for x in xs], [abs(x) for x in xs]", "out"),
    "map": Case("out = list(map(f, xs)); top = max(map(f, xs))", "out, top"),
    "text": Case("out = {w: re.sub('e+', 'E', w).title() for w in words}", "out"),
    "a set": Case("out = {w.upper() for w in words}", "out"),
    "a dict built": Case("for w in words:\n    table[w] = len(w)", "table"),
    "grouped": Case("for w in words:\n    groups[len(w)].append(w)", "dict(groups)"),
    "the largest": Case("for x in xs:\n    best = max(best, f(x))", "best"),
    "nested loops": Case(
        "for i in range(4):\n    s = 0\n    for j in range(i):\n        s += i * j\n    seen.append(s)",
        "seen",
    ),
    "early exit": Case(
        "for x in xs:\n    if x > 0.6:\n        hit = x\n        break\n    total += x", "hit, total"
    ),
    "over a generator": Case("for x in squares():\n    total += x", "total"),
    "rows": Case("for r in rows:\n    r['y'] = f(r['x'])", "rows"),
    "its own place in an array": Case("for i in range(len(a)):\n    a[i] = a[i] * 2 + 1", "a.tolist()"),
    "text over several lines": Case("for w in words:\n    seen.append('''<\n  ''' + w)", "seen"),
    "one line": Case("for x in xs: total += x; seen.append(x)", "total, seen"),
    "backslashes": Case("seen.clear()\nfor w in words:\n    # a note\n    seen.append(w + '\\n')", "seen"),
    "functions that read it at once": Case(
        "out = [sorted(xs, key=lambda y: (y - x) ** 2) for x in xs]", "out"
    ),
    "functions with a value each": Case("fs = [lambda x=x: x for x in xs]", "[f() for f in fs]"),
    "items changed in a for loop": Case("for r in rows:\n    seen.append(marked(r))", "rows, seen"),
    "a method that only reads": Case("out = [tally.scaled(x) for x in xs]", "out"),
    "between statements": Case("before = 1\nfor x in xs:\n    total += x\nafter = total + before", "after"),
}
IMPOSSIBLE = {  # cell: what is said of it
    "prev = 0\nfor x in xs:\n    prev = prev * 0.5 + f(prev)": "line 4: prev is read here",
    "p, q = 0, 1\nfor i in range(9):\n    p, q = q, p + q": "line 4: q is read here",
    "for i in range(1, len(a)):\n    a[i] = a[i - 1] + 1": "line 3: a is read here and changed by the loop (line 3)",
    "for i in range(1, len(same)):\n    same[i] = same[i] + same[i - 1]": "line 3: same is read here",
    "n = m = 0\nfor x in xs:\n    n += 1\n    m += (x - m) / n": "line 5: ",
    "for x in xs:\n    if x not in seen:\n        seen.append(x)": "line 3: seen is read here",
    "for x in xs:\n    seen.append(x)\n    y = seen[-1]": "line 4: seen is read here and changed by the loop (line 3)",
    "out = [count(x) for x in xs]": "count changes calls (its line 3: calls += 1)",
    "out = [fib(i) for i in range(9)]": "fib changes memo",
    "for x in xs:\n    y = note(x)": "note changes seen (its line 1: seen.append(x))",
    "out = [tally.hit(x) for x in xs]": "tally.hit changes tally (its line 1: self.n += x)",
    "out = [random.random() for x in xs]": "draw from one generator of random numbers",
    "out = [np.random.rand() + x for x in xs]": "draw from one generator of random numbers",
    "out = [rng.random() for x in xs]": "draw from one generator of random numbers",
    "out = [next(lines) + x for x in xs]": "lines",
    "for x in lines:\n    if x > 3: break": "line 2: the items come from the iterator lines, and `break` (line 3)",
    "heap = [3]\nfor x in xs:\n    heapq.heappush(heap, x)": "heap",
    "while total < 3:\n    total += 1": "depends on the rounds before",
    "for x in seen:\n    seen.append(x)": "line 2: the loop runs over seen and changes it (line 3)",
    "for x in xs:\n    total += x\nelse:\n    total = -total": "%%pfor has no else",
    "for x in xs:\n    y = table.setdefault(x, [])\n    y.append(x)": "line 3: the value of table.setdefault()",
    "out = [i * j for i in range(3) for j in range(3)]": "several `for` in one expression",
    "out = [seen.append(x) for x in xs]": "write it as a for loop",
    "out = [marked(r) for r in rows]": "line 2: this changes the items of rows. Tasks of a map change copies",
    "out = list(map(marked, rows))": "those of rows would stay as they are. Write it as a for loop",
    "out = [r.setdefault('y', 1) for r in rows]": "this changes the items of rows",
    "out = [t.hit(3) for t in tallies]": "this changes the items of tallies",
    "out = [w.result() for w in waited]": "line 2: the items of waited are futures",
    "for x, w in zip(xs, waited): total += w.result()": "gets its value in its place",
    "out = list(map(lambda pair: pair[1].result(), named.items()))": "the items of named",
    "out = [lambda: x for x in xs]": "line 2: the functions that are made here read x when they are called",
    "out = {i: (lambda: x) for i, x in enumerate(xs)}": "write lambda x=x",
}
UNPROVEN = {
    "for x in xs:\n    print(x)": "the order of what it prints does not matter",
    "import os\nout = [os.path.exists(w) for w in words]": "what it calls of os changes nothing that items share",
    "import logging\nlog = logging.getLogger('x')\nfor x in xs:\n    log.debug(x)": (
        "the order of its log records does not matter"
    ),
    "out = [marked_late(r) for r in rows]": "the items themselves need not have what marked_late changes in r",
    "out = [len(open('/dev/null').read()) + x for x in xs]": "no two items write one file",
}


@pytest.mark.parametrize("case", RIGHT.values(), ids=RIGHT.keys())
def test_as_tasks_it_gives_the_plain_cells_values(notebook: Notebook, case: Case) -> None:
    notebook.run(PREPARE).ok()
    plain = notebook.run(case.cell).ok()
    left = notebook.value(f"({case.left})")
    notebook.reset()
    notebook.run(PREPARE).ok()
    looked = notebook.run(f"%%speedup -> report\n{case.cell}").ok()
    assert notebook.value(f"({case.left})") == left
    assert looked.text == plain.text
    assert notebook.value("{each.verdict for each in report.findings}") == "{'independent'}"
    possible = notebook.value("report.possible")
    notebook.reset()
    notebook.run(PREPARE).ok()
    notebook.run(_text(possible)).ok()
    assert notebook.value(f"({case.left})") == left


def _text(value: str) -> str:
    text: str = ast.literal_eval(value)
    assert "pfor" in text or "cellmill.parallel" in text
    return text


@pytest.mark.parametrize("cell", IMPOSSIBLE)
def test_what_cannot_be_tasks_is_told_with_its_line(notebook: Notebook, cell: str) -> None:
    notebook.run(PREPARE).ok()
    notebook.run(f"%%speedup -> report\n{cell}").ok()
    assert notebook.value("[each.verdict for each in report.findings]") == "['impossible']", notebook.value(
        "report"
    )
    reason = notebook.value("report.findings[0].reason")
    assert IMPOSSIBLE[cell] in reason
    assert notebook.value("report.rewritten + report.possible") == "''"


@pytest.mark.parametrize("cell", UNPROVEN)
def test_what_is_not_proved_is_said_as_such(notebook: Notebook, cell: str) -> None:
    notebook.run(PREPARE).ok()
    notebook.run(f"%%speedup -> report\n{cell}").ok()
    assert notebook.value("[each.verdict for each in report.findings]") == "['unproven']", notebook.value(
        "report"
    )
    assert UNPROVEN[cell] in notebook.value("report.findings[0].reason")
    assert f"# if {UNPROVEN[cell]}" in notebook.value("report.possible")


def test_the_cell_runs_once_as_the_plain_one(notebook: Notebook) -> None:
    body = "import builtins\nfor i in range(3):\n    names = set(globals())\nelse:\n    ended = True\n'last'"
    output = notebook.run(f"%%speedup\n{body}").ok()
    assert output.text == "'last'"
    assert notebook.value(
        "ended, [n for n in names if 'cellmill' in n], hasattr(builtins, '__cellmill_timed__')"
    ) == ("(True, [], False)")
    assert not notebook.run("%%speedup\n1 + 1;").ok().text


def test_errors_are_those_of_the_plain_cell_at_their_line(notebook: Notebook) -> None:
    output = notebook.run("%%speedup\nn = 0\nfor x in [1, 0]:\n    n += 1\n    1 / x")
    assert output.error is not None
    assert output.error["ename"] == "ZeroDivisionError"
    assert "----> 5     1 / x" in output.traceback
    assert "timed_loops" not in output.traceback
    assert notebook.value("n, x") == "(2, 0)"
    broken = notebook.run(
        "%%speedup\ndef g():\n    yield 1\n    raise KeyError('k')\nfor x in g():\n    pass"
    )
    assert broken.error is not None
    assert broken.error["ename"] == "KeyError"
    assert "timed_loops" not in broken.traceback
    wrong = notebook.run("%%speedup\nfor x in 3: pass")
    assert "'int' object is not iterable" in wrong.traceback


def test_changes_of_items_are_told_before_the_cell_has_run(notebook: Notebook) -> None:
    notebook.run(PREPARE).ok()
    notebook.run(
        "%%speedup --dry -> report\nout = [t.hit(3) for t in tallies], [t.scaled(3) for t in tallies]"
    ).ok()
    assert notebook.value("[each.verdict for each in report.findings]") == "['unproven', 'independent']"
    assert "what Tally.hit changes in them (self.n += x)" in notebook.value("report.findings[0].reason")


def test_dry_runs_nothing(notebook: Notebook) -> None:
    notebook.run(PREPARE).ok()
    notebook.run(
        "%%speedup --dry -> report\nq = [1]\nout = [f(x) for x in xs]\nfor i in q:\n    total += i"
    ).ok()
    assert notebook.value("'q' in globals(), total, report.wall") == "(False, 0.0, None)"
    assert notebook.value("[each.verdict for each in report.findings]") == "['independent', 'unknown']"
    assert "line 2 gives q its value" in notebook.value("report.findings[1].reason")
    assert "list(cellmill.parallel(f).map(xs))" in notebook.value("report.rewritten")


def test_a_short_loop_is_told_to_be_short_with_figures(notebook: Notebook) -> None:
    notebook.run("%%speedup -> report\nout = [x + 1 for x in range(10)]").ok()
    said = notebook.value("str(report)")
    assert "too short to be worth it: a loop of tasks costs" in said
    assert notebook.value("report.rewritten") == "''"


def test_the_line_magic_puts_the_rewritten_cell_below(notebook: Notebook) -> None:
    notebook.run("import time").ok()
    notebook.run("%%speedup --dry\nfor i in range(8):\n    time.sleep(0.1)").ok()
    notebook.run(
        "ip = get_ipython()\nip.run_line_magic('speedup', '')\npayload = ip.payload_manager.read_payload()"
    ).ok()
    assert notebook.value("[(p['text'], p['replace']) for p in payload]") == (
        r"[('%%pfor i in range(8)\ntime.sleep(0.1)', False)]"
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("%%speedup --dri", "did you mean --dry?"),
        ("%%speedup twice", "%%speedup takes options and -> NAME, not twice"),
        ("%%speedup -> 3", "-> takes one variable name, not '3'"),
        ("%%speedup ->", "a variable name is missing after ->"),
    ],
)
def test_a_wrong_line_is_told_and_nothing_runs(notebook: Notebook, line: str, said: str) -> None:
    output = notebook.run(f"{line}\nran = True")
    assert said in output.traceback
    assert notebook.value("'ran' in globals()") == "False"


def test_completion_and_help(notebook: Notebook) -> None:
    assert notebook.complete("%%speedup --d") == ["--dry"]
    assert notebook.complete("%%speedup ") == ["->"]
    assert "what each would bring" in notebook.inspect("%%speedup")


# What header, map, table, Journey and the status tell: counters, the next place in the map, the account of the work.
TOLD = (
    "(cellmill.default_executor().stats().submitted, cellmill.default_executor()._backend.observer.next_position, "
    "cellmill.account().tasks, len(list(cellmill.journey_rows())))"
)


def test_what_it_measures_is_no_run_of_the_users(notebook: Notebook) -> None:
    notebook.run("import cellmill\ncellmill.magics.speedup._measured.cache_clear()").ok()
    notebook.run("list(cellmill.default_executor().map(abs, [1, 2]))").ok()
    before, told = notebook.value("len(cellmill.runs())"), notebook.value(TOLD)
    output = notebook.run("%%speedup\nout = [sum(range(200_000)) for x in range(12)]").ok()
    assert "independent" in "".join(output.texts())
    assert notebook.value("len(cellmill.runs())") == before
    assert notebook.value(TOLD) == told
    notebook.run("list(cellmill.default_executor().map(lambda x: x, [1]))").ok()
    assert int(notebook.value("len(cellmill.runs())")) == int(before) + 1


THREAD = """
import threading
from random import random as draw
ended = threading.Event()
def other():
    while not ended.wait(0.0005):
        draw()
drawing = threading.Thread(target=other)
drawing.start()
"""


def test_on_a_cluster_it_tells_what_it_measures_by_and_takes_no_draws_of_its_client_for_those_of_items(
    notebook: Notebook,
) -> None:
    notebook.run("import cellmill\n%cellmill backend dask").ok()
    try:
        before = int(notebook.value("cellmill.default_executor().stats().submitted"))
        runs = notebook.value("len(cellmill.runs())")
        output = notebook.run("%%speedup\nout = [sum(range(200_000)) for x in range(12)]").ok()
        said = re.search(r"measured once, by ([\d,]+) items on the cluster", "".join(output.texts()))
        assert said, output.texts()
        count = int(notebook.value("cellmill.default_executor().stats().submitted")) - before
        assert count == int(said[1].replace(",", ""))
        assert notebook.value("len(cellmill.runs())") == runs

        cell = "%%speedup -> report\nout = [sum(range(400_000)) for x in range(12)]"
        notebook.run(THREAD).ok()
        notebook.run(cell).ok()
        assert notebook.value("report.findings[0].verdict") == "'unproven'"
        assert "which the cluster's client in this kernel may have done" in notebook.value("repr(report)")
        notebook.run(cell.replace("sum(", "draw() + sum(")).ok()
        assert notebook.value("report.findings[0].verdict") == "'impossible'"
    finally:
        notebook.run("if 'ended' in globals(): ended.set(); drawing.join()").ok()
        notebook.run("%cellmill backend local").ok()
        notebook.run("%cellmill workers 2").ok()
