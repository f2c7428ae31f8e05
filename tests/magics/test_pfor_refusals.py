"""What a `%%pfor` loop cannot do as the plain loop does it: refused at its column, and nothing is done."""

from __future__ import annotations

import pytest

from tests.magics.loops import NUMPY, PREPARE
from tests.support.notebook import Notebook

BEFORE = """
import heapq, random, os
heap = [5, 9]
alias = seen
def count(): return len(seen)
def push(x): heapq.heappush(heap, x)
def mine(x, to=[]): to.append(x); return x
def over(): yield from seen
class Counter:
    made = 0
ran = []
"""

READS = {  # body: what is pointed at, and a part of what is said
    "total += x\nif total > 3: seen.append(x)": ("total", "total = max(total, x)"),
    "if total > 3: seen.append(x)\ntotal += x": ("total", "return what is needed (-> out)"),
    "seen.append(x)\nlen(seen)": ("seen", "enumerate"),
    "if x not in table:\n    table[x] = f(x)": ("table", "table.setdefault(k, v)"),
    "if x in s: pass\ns.add(x)": ("s", "s.add(k) of a set"),
    "y = table.get(x)\ntable[x] = y": ("table", "old = table.copy()"),
    "row[x] = row[x - 1] + 1": ("row", "the items before"),
    "del row[0]\nlen(row)": ("row", "line 2"),
    "y = row[x]\ndel row[x]": ("row", "line 3"),
    "del d[x]\nlen(d)": ("d", "line 2"),
    "table[x % 3] = table[x % 2] + 1": ("table", "line 2"),
    "for each in seen: pass\nseen.append(x)": ("seen", "run at the same time"),
    "seen.append(x)\nseen[-1]": ("seen", "line 2"),
    "seen.append(len(seen) + x)": ("seen", "line 2"),
    "state['n'] += state['n'] * x": ("state", "line 2"),
    "state[x] = state['n']": ("state", "line 2"),
    "stats.n += stats.n": ("stats", "line 2"),
    "total += x\ndef g(): return total\ng()": ("total", "line 2"),
    "total += x\nf'{total}'": ("total", "line 2"),
    "seen.append(x)\nprint(*seen)": ("seen", "line 2"),
    "seen.append(x)\ncount()": ("count", "count reads seen, which the loop changes (line 2)"),
    "seen.append(x)\nalias[-1]": ("alias", "alias reads seen"),
    "groups[x].append(x)\nlen(groups)": ("groups", "line 2"),
    "y = row.pop()": ("row.pop()", "the value of row.pop() depends on the items before"),
    "y = d.setdefault(x, [])\ny.append(1)": ("d.setdefault(x, [])", "depends on the items before"),
    "if x > best:\n    best = x": ("best", "best = max(best, x)"),
    "seen.append(prev)\nprev = x": ("prev", "prev is read here before this item binds it (line 3)"),
    "n += 1\nn = x": ("n", "n += x"),
    "missing += x": ("missing += x", "missing has no value before the loop; give it one, e.g. missing = 0"),
    "missing.add(x)": (
        "missing.add(x)",
        "missing has no value before the loop; give it one, e.g. missing = set()",
    ),
    "missing[x] = 1": (
        "missing[x] = 1",
        "missing has no value before the loop; give it one, e.g. missing = {}",
    ),
    "missing.append(x)": (
        "missing.append(x)",
        "missing has no value before the loop; give it one, e.g. missing = []",
    ),
    "os.environ['A'] = 'b'": ("os.environ['A'] = 'b'", "os is a module"),
    "y, row[0] = x, x": ("row[0]", "one of several targets"),
    "é = 'ä'; é = table.get(é); table[é] = x": ("table", "old = table.copy()"),
}


@pytest.mark.parametrize("body", READS)
def test_what_reads_what_it_changes_is_refused_before_anything_runs(notebook: Notebook, body: str) -> None:
    notebook.run(PREPARE + BEFORE).ok()
    notebook.run("before = repr((total, seen, table, s, row, groups, d, best))").ok()
    output = notebook.run(f"%%pfor x in range(9) -> out\n{body}\nprint('it ran')")
    place, words = READS[body]
    assert output.error is not None
    assert output.error["ename"] == "UsageError", output.traceback
    assert output.pointed_at() == place
    assert words in output.traceback
    assert output.stdout == ""
    assert notebook.value("before == repr((total, seen, table, s, row, groups, d, best))") == "True"
    assert notebook.value("'out' in globals()") == "False"


@pytest.mark.parametrize("head", ["x in seen", "i, x in enumerate(seen)", "x in over()"])
def test_what_runs_over_what_it_changes_is_refused(notebook: Notebook, head: str) -> None:
    notebook.run(PREPARE + BEFORE).ok()
    output = notebook.run(f"%%pfor {head}\nseen.append(x)")
    assert output.error is not None
    assert output.error["ename"] == "UsageError", output.traceback
    assert output.pointed_at() == ("over" if "over" in head else "seen")


@pytest.mark.parametrize(
    "loop",
    [
        "x in box\nrow.append(len(x))",
        "x in cs\nrow.append(len(x.row))",
        "i, x in enumerate(list(rec))\nrec.append(len(str(x)))",
        "x in twice\nbox[1].append(len(x))",
        "x in twice\nrow += x",
        "i, x in enumerate(flat)\nflat[i] += [1]\nkept.append(len(x))",
        "x in grid\nview[0] += x.sum()",
        "x in box[:3]\nby[len(x)] = x\nby.setdefault(len(x) + 1, []).append(7)",
    ],
)
def test_items_that_lead_to_what_the_loop_changes_are_refused(notebook: Notebook, loop: str) -> None:
    before = "import numpy as np\ngrid, by, flat = np.ones((3, 2)), {}, [[1], [2]]\nview = grid[2]\n"
    before += "row, rec = [1, 2], [1]\ntwice = [row, row]\n"
    before += "box = [[7], row, row, [5]]\nrec += [rec, rec]\nclass C: pass\nc = C()\n"
    notebook.run(before + "c.row = row\ncs = [c, c]\nkept = []").ok()
    output = notebook.run("%%pfor " + loop)
    assert output.error is not None
    assert (
        "which the loop changes: it would not see the changes that a plain loop has made by then"
        in output.traceback
    )
    assert notebook.value("(row, len(rec))") == "([1, 2], 3)"
    notebook.run("%%pfor x in box\nkept.append(len(x))").ok()  # none of them leads there
    assert notebook.value("kept") == "[1, 2, 2, 1]"


@pytest.mark.parametrize(
    "loop", ["i, x in enumerate(row)\ndel row[i]", "x in d\ndel d[x]", "k, v in d.items()\ndel d[k]"]
)
def test_what_takes_out_what_it_runs_over_is_refused(notebook: Notebook, loop: str) -> None:
    """The items of a list move up, and a dict does not let itself be run over."""
    notebook.run("row, d = [3, 4, 5], {1: 2, 3: 4}").ok()
    output = notebook.run("%%pfor " + loop)
    assert "a plain loop would meet the changes. Run over a copy: list(" in output.traceback
    assert notebook.value("(row, d)") == "([3, 4, 5], {1: 2, 3: 4})"
    notebook.run("%%pfor k in list(d)\nrow.append(d[k])\ndel d[k]").ok()
    assert notebook.value("(row, d)") == "([3, 4, 5, 2, 4], {})"


@pytest.mark.parametrize("also", ["", "\nrow[i] = 1"])
def test_what_runs_over_what_it_changes_as_a_part_of_another_is_refused(
    notebook: Notebook, also: str
) -> None:
    notebook.run("row = list(range(6))\nbox = [row, {'in': row}]").ok()
    output = notebook.run("%%pfor i, x in enumerate(row)\nif i % 2: box[1]['in'].append(x)" + also)
    assert "the loop runs over row, and changes it as a part of box (line 2)" in output.traceback
    assert "Run over a copy: list(row)" in output.traceback
    assert output.pointed_at() == "row"
    assert notebook.value("row") == "[0, 1, 2, 3, 4, 5]"


ITERATORS = {  # loop: the iterator, and a part of what is said
    "x in it\nif x == 3: break": ("it", "`break` (line 3) ends the loop: a plain loop leaves the rest in it"),
    "i, x in enumerate(it)\nif x == 3: break": ("it", "leaves the rest in it"),
    "x in (y for y in it)\nfor y in [x]:\n    if y: continue\nelse: break": ("it", "`break` (line 5)"),
    "x in doubled(it)\nif x == 4: break": ("it", "leaves the rest in it"),
    "x in box['it']\nif x > 2: raise ValueError(x)": ("box['it']", "`raise` (line 3) ends the loop"),
    "x in stats.it\nif x > 2: break": ("stats.it", "leaves the rest in stats.it"),
    "x in lines\nif not x.strip(): break": ("lines", "(rows = list(lines))"),
    "x in csv.reader(lines)\nif not x: break": ("lines", "leaves the rest in lines"),
    "x in it\ny = next(it)": ("it", "which the body reads as well (line 3)"),
    "x in it\ny = more()": ("it", "which the body reads as well (line 3)"),
}
OF_ITERATORS = """
import csv, io
it, lines = iter(range(6)), io.StringIO("a\\n\\nb\\n")
box, stats.it = {"it": iter(range(6))}, iter(range(6))
def doubled(xs):
    for x in xs: yield 2 * x
def more(): return next(it)
"""


@pytest.mark.parametrize("loop", ITERATORS)
def test_an_iterator_of_which_a_plain_loop_leaves_the_rest_is_refused(notebook: Notebook, loop: str) -> None:
    notebook.run(PREPARE + OF_ITERATORS).ok()
    head, _, body = loop.partition("\n")
    output = notebook.run(f"%%pfor {head}\nprint('it ran')\n{body}")
    place, words = ITERATORS[loop]
    assert output.error is not None
    assert output.error["ename"] == "UsageError", output.traceback
    assert output.pointed_at() == place
    assert words in output.traceback
    assert output.stdout == ""
    left = "list(it), list(box['it']), list(stats.it), lines.read()"
    assert notebook.value(left) == f"({', '.join([str(list(range(6)))] * 3)}, 'a\\n\\nb\\n')"


@pytest.mark.parametrize(
    "loop",
    [
        "x in it -> out\nfor y in 'ab':\n    break\ntry:\n    raise ValueError\nexcept ValueError: pass\nx",
        "x in iter(list(range(6))) -> out\nif x == 6: break\nx",
        "x in doubled(range(6)) -> out\nif x == 12: break\nx // 2",
        "x in list(it) -> out\nif x == 6: break\nx",
    ],
)
def test_an_iterator_of_which_nothing_is_left_is_taken(notebook: Notebook, loop: str) -> None:
    notebook.run(PREPARE + OF_ITERATORS).ok()
    notebook.run(f"%%pfor {loop}").ok()
    assert notebook.value("out") == "[0, 1, 2, 3, 4, 5]"


UNSEEN = {
    "heapq.heappush(heap, x)": ("heap", "items change heap"),
    "if x == 7: heapq.heappush(heap, x)": ("heap", "items change heap"),
    "random.shuffle(row)": ("row", "items change row"),
    "push(x)": ("push", "items change heap (through push)"),
    "mine(x)": ("mine", "items change mine"),
    "inner = grid[x % 4]\ninner.append(x)": ("grid", "items change grid"),
    "vars(stats).update(n=x)": ("stats", "items change stats"),
    "Counter.made = Counter.made + x if x else 0\nvars(stats)['n'] = x": ("Counter", "Counter"),
    "getattr(seen, 'append')(x)": ("seen", "items change seen"),
}


@pytest.mark.parametrize("body", UNSEEN)
def test_changes_by_other_ways_fail_the_loop_and_nothing_is_done(notebook: Notebook, body: str) -> None:
    notebook.run(PREPARE + BEFORE).ok()
    state = "repr((total, heap, row, grid, vars(stats), seen, mine.__defaults__, 'x' in globals()))"
    notebook.run(f"before = {state}").ok()
    output = notebook.run(f"%%pfor x in range(20) -> out\ntotal += x\n{body}")
    place, words = UNSEEN[body]
    assert output.error is not None
    assert output.error["ename"] == "UsageError", output.traceback
    assert words in output.traceback
    assert output.pointed_at() == place
    assert notebook.value(f"before == {state}") == "True"
    assert notebook.value("'out' in globals()") == "False"
    again = notebook.run(f"%%pfor x in range(20) -> out\ntotal += x\n{body}")
    assert words in again.traceback


def test_a_rare_change_of_what_costs_much_to_compare_is_found(notebook: Notebook) -> None:
    notebook.run("heap = list(range(100_000))\ntotal = 0\nimport heapq").ok()
    output = notebook.run("%%pfor x in range(300)\ntotal += heap[0]\nif x == 299: heapq.heappop(heap)")
    assert "items change heap" in output.traceback
    assert notebook.value("total, len(heap)") == "(0, 100000)"


def test_a_name_that_some_items_bind_later_than_they_read_it(notebook: Notebook) -> None:
    notebook.run("total, scale = 0, 2").ok()
    output = notebook.run("%%pfor x in range(9)\nif x % 2 == 0: scale = x\ntotal += scale")
    assert output.error is not None
    assert output.error["ename"] == "UsageError", output.traceback
    assert output.pointed_at() == "scale"
    assert "line 3: this item reads scale before it has bound it" in output.traceback
    assert notebook.value("total, scale") == "(0, 2)"
    notebook.run("%%pfor x in range(9)\nif x % 2 == 0: scale = x\nif x % 2 == 0: total += scale").ok()
    assert notebook.value("total, scale") == "(20, 8)"


def test_an_array_that_is_changed_by_other_ways(notebook: Notebook) -> None:
    notebook.run(PREPARE + NUMPY).ok()
    output = notebook.run("%%pfor i in range(5)\nb = a\nb[i] = 1\nseen.append(i)")
    assert output.error is not None
    assert "read-only" in output.traceback
    assert notebook.value("a.tolist() == np.arange(40.0).tolist(), seen") == "(True, [])"


@pytest.mark.parametrize(
    ("body", "line"), [("for y in x:\n    continue\nelse:\n    return", 5), ("def g():\n    break", 3)]
)
def test_a_jump_that_no_loop_has_is_a_syntax_error(notebook: Notebook, body: str, line: int) -> None:
    output = notebook.run(f"%%pfor x in range(3)\n{body}")
    assert output.error is not None
    assert output.error["ename"] == "SyntaxError"
    assert f"line {line}" in output.traceback.lower()


def test_what_is_printed_into_a_file_in_memory_is_to_be_written(notebook: Notebook) -> None:
    notebook.run("import io\nbuf = io.StringIO()").ok()
    output = notebook.run("%%pfor x in range(3)\nprint(x, file=buf)")
    assert "Write the change in the cell as a statement (buf.write(text))" in output.traceback
    notebook.run("%%pfor x in range(3)\nbuf.write(f'{x} ')").ok()
    assert notebook.value("buf.getvalue()") == "'0 1 2 '"


@pytest.mark.parametrize(
    ("body", "cure"),
    [
        ("try:\n    d[x] += 1\nexcept KeyError:\n    d[x] = 1", "d[k] = d.get(k, 0) + x"),
        (
            "try:\n    d[x].append(1)\nexcept (TypeError, KeyError):\n    d[x] = [1]",
            "d.setdefault(k, []).append(x)",
        ),
        ("try:\n    if x: del d[x]\nexcept LookupError:\n    pass", "d.pop(k, None)"),
        (
            "try:\n    rows[x].append(1)\nexcept IndexError:\n    pass",
            "Write an `if` that asks rows in front of it",
        ),
        ("with suppress(KeyError):\n    seen.remove(x)", "seen.discard(x)"),
        ("try:\n    rows.pop()\nexcept IndexError:\n    pass", "(line 2). Return what is needed (-> out)"),
        (
            "try:\n    del d[x]\nfinally:\n    out.append(x)",
            "does not run its finally (line 2). Write d.pop(k, None)",
        ),
        (
            "try:\n    pass\nexcept OSError:\n    del d[x]\nfinally:\n    for y in range(2): out.append(x)",
            "does not run its finally (line 2)",
        ),
    ],
)
def test_errors_that_a_handler_waits_for_are_refused(notebook: Notebook, body: str, cure: str) -> None:
    """What raises them is done after the items, where no handler is."""
    notebook.run("from contextlib import suppress\nd, seen, out, rows = {}, set(), [], [[]]").ok()
    output = notebook.run(f"%%pfor x in range(3)\n{body}")
    assert cure in output.traceback
    notebook.run(
        "%%pfor x in range(3)\ntry:\n    out.append(1 / x)\nexcept ArithmeticError:\n    seen.add(x)\n"
        "finally:\n    d[x] = 1"
    ).ok()
    assert notebook.value("(out, seen, d)") == "([1.0, 0.5], {0}, {0: 1, 1: 1, 2: 1})"
