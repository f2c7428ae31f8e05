"""`%%pfor` in a real kernel."""

from __future__ import annotations

import pytest

from tests.support.notebook import Notebook


def test_the_last_expression_is_the_value(notebook: Notebook) -> None:
    notebook.run("offset = 100").ok()
    notebook.run("%%pfor x in range(4) -> out\ny = x * x\ny + offset").ok()
    assert notebook.value("out") == "[100, 101, 104, 109]"


def test_none_without_a_last_expression(notebook: Notebook) -> None:
    notebook.run("%%pfor x in range(2) -> out\ny = x").ok()
    assert notebook.value("out") == "[None, None]"


def test_without_out_values_go_nowhere_and_a_line_says_so(notebook: Notebook) -> None:
    for body in ("x", "y = x", "abs(x)"):
        output = notebook.run(f"%%pfor x in range(2)\n{body}").ok()
        assert output.result is None
        assert "the values of the items go nowhere" in output.stderr
    notebook.run("total = 0").ok()
    for head, body in (("-> out", "x"), ("", "total += x"), ("", "print(x)"), ("", "None if x else None")):
        output = notebook.run(f"%%pfor x in range(2) {head}\n{body}").ok()
        assert "go nowhere" not in output.stderr
    assert "go nowhere" not in notebook.run("%%pfor x in []\nx").ok().stderr
    notebook.run("rows = [{'a': i} for i in range(3)]\ndef stamp(r): r['c'] = 1; return r['a']").ok()
    for body in ("r['b'] = r['a'] ** 2", "r['b'] += 1", "stamp(r)"):
        assert "go nowhere" not in notebook.run(f"%%pfor r in rows\n{body}").ok().stderr


def test_names_of_the_items_may_be_futures_in_the_notebook(notebook: Notebook) -> None:
    notebook.run("from concurrent.futures import Future\nx = y = Future()").ok()
    notebook.run("%%pfor x in range(3) -> out\ny = x + 1\n2 * y").ok()
    assert notebook.value("out, x, y") == "([2, 4, 6], 2, 3)"


def test_tuple_targets(notebook: Notebook) -> None:
    notebook.run("pairs = {'a': (1, [2, 3]), 'b': (4, [5])}").ok()
    notebook.run("%%pfor name, (n, (first, *rest)) in pairs.items() -> out\nname, n, first, rest").ok()
    assert notebook.value("out") == "[('a', 1, 2, [3]), ('b', 4, 5, [])]"


def test_the_line_is_split_on_tokens(notebook: Notebook) -> None:
    line = "x in (lambda ys: [y for y in ys if y in 'a in b -> c'])(['a', ' -> ', 'q']) -> out  # x -> y"
    notebook.run(f"%%pfor {line}\nx").ok()
    assert notebook.value("out") == "['a', ' -> ']"


def test_helpers_classes_and_imports(notebook: Notebook) -> None:
    notebook.run(
        "import math\nclass P:\n    def __init__(self, x): self.x = x\ndef root(p): return math.sqrt(p.x)"
    )
    notebook.run(
        "%%pfor p in [P(4), P(9)] -> out\nfrom math import *\nroot(p), floor(p.x), [root(q) for q in [p]]"
    ).ok()
    assert notebook.value("out") == "[(2.0, 4, [2.0]), (3.0, 9, [3.0])]"
    notebook.run("def root(p):\n    return -p.x").ok()
    notebook.run("%%pfor p in [P(4)] -> out\nroot(p)").ok()
    assert notebook.value("out") == "[-4]"


def test_notebook_objects_come_back_as_themselves(notebook: Notebook) -> None:
    notebook.run("class P:\n    pass").ok()
    notebook.run("%%pfor p in [P()] -> out\np").ok()
    assert notebook.value("isinstance(out[0], P)") == "True"


def test_parallel_functions_run_inline_in_the_body(notebook: Notebook) -> None:
    notebook.run("%%parallel\ndef f(x):\n    return x + 1").ok()
    notebook.run("%%pfor x in range(3) -> out\nf(x), list(f.map([x]))").ok()
    assert notebook.value("out") == "[(1, [1]), (2, [2]), (3, [3])]"


def test_empty_input(notebook: Notebook) -> None:
    notebook.run("%%pfor x in [] -> out\nx").ok()
    assert notebook.value("out") == "[]"


def test_generator_input(notebook: Notebook) -> None:
    notebook.run("def numbers():\n    for n in range(5):\n        yield n").ok()
    notebook.run("%%pfor x in numbers() -> out\nx * x").ok()
    assert notebook.value("out") == "[0, 1, 4, 9, 16]"


def test_a_generator_that_binds_what_the_body_reads(notebook: Notebook) -> None:
    notebook.run(
        "k, out = 0, []\ndef numbers():\n    global k\n    for n in range(5):\n        k = 10 * n\n        yield n"
    ).ok()
    notebook.run("%%pfor x in numbers()\nout.append(x + k)").ok()
    assert notebook.value("out, k") == "([0, 11, 22, 33, 44], 40)"


def test_an_iterable_whose_length_is_another_one(notebook: Notebook) -> None:
    notebook.run(
        "class Six:\n    said = None\n    def __len__(self): return len('x' * self.said)\n"
        "    def __iter__(self): return iter(range(6))"
    ).ok()
    for said in ("3", "6", "None"):  # None: its __len__ raises
        notebook.run(f"Six.said, y = {said}, -1").ok()
        output = notebook.run("%%pfor x in Six() -> out\ny = x").ok()
        assert notebook.value("x, y, len(out)") == "(5, 5, 6)"
        assert "last value" not in output.stderr
    notebook.run("Six.said = 30").ok()
    output = notebook.run("%%pfor x in Six() -> out\ny = x").ok()
    assert (
        "y has not the loop's last value here; the iterable has a length of 30, and gave 6" in output.stderr
    )


def test_a_generator_that_raises_half_way_keeps_what_came_before(notebook: Notebook) -> None:
    notebook.run("def numbers():\n    yield 1\n    yield 2\n    raise KeyError('no more')").ok()
    output = notebook.run("%%pfor x in numbers() -> out\nx * x")
    assert output.error is not None
    assert output.error["ename"] == "KeyError"
    assert "raised this after 2 items" in output.traceback
    assert notebook.value("out") == "[1, 4]"


def test_failures_leave_their_places_and_one_group_names_them(notebook: Notebook) -> None:
    output = notebook.run("%%pfor x in [1, 0, 2, 0] -> out\nhalf = 1\nhalf / x")
    assert output.error is not None
    assert output.error["ename"] == "ExceptionGroup"
    assert "2 of 4 items failed" in output.traceback
    assert "half / x" in output.traceback
    assert output.traceback.count("ZeroDivisionError: division by zero") == 1
    assert "item 1 (0), item 3 (0)" in output.traceback
    assert notebook.value("[v for v in out if v]") == "[1.0, 0.5]"
    assert notebook.value("[(type(v).__name__, v.index, v.item) for v in out if not v]") == (
        "[('TaskFailure', 1, '0'), ('TaskFailure', 3, '0')]"
    )
    code = "try:\n    get_ipython().run_cell_magic('pfor', 'x in [0]', '1 / x')\n"
    output = notebook.run(f"{code}except* ZeroDivisionError as group:\n    print(len(group.exceptions))")
    assert output.ok().stdout == "1\n"


def test_values_that_are_false_or_errors_are_no_failures(notebook: Notebook) -> None:
    notebook.run("%%pfor x in [0, ''] -> out\nKeyError(x) if x == 0 else x").ok()
    assert notebook.value("out") == "[KeyError(0), '']"


def test_the_cell_run_again_has_its_new_code(notebook: Notebook) -> None:
    for factor in (2, 3):
        notebook.run(f"%%pfor x in range(3) -> out\nx * {factor}").ok()
        assert notebook.value("out") == str([x * factor for x in range(3)])


def test_a_syntax_error_points_at_its_line(notebook: Notebook) -> None:
    output = notebook.run("%%pfor x in range(3)\n\n\ny = x\ny +")
    assert output.error is not None
    assert output.error["ename"] == "SyntaxError"
    assert "line 5" in output.traceback.lower()


def test_return_outside_a_function_is_a_syntax_error(notebook: Notebook) -> None:
    output = notebook.run("%%pfor x in range(3)\nreturn x")
    assert output.error is not None
    assert output.error["ename"] == "SyntaxError"
    assert "line 2" in output.traceback.lower()


def test_an_error_in_the_iterable_points_at_the_line_of_the_magic(notebook: Notebook) -> None:
    output = notebook.run("%%pfor x in missing_name -> out\nx")
    assert output.error is not None
    assert output.error["ename"] == "NameError"
    assert "%%pfor x in missing_name -> out" in output.traceback


@pytest.mark.parametrize(
    ("line", "message", "place"),
    [
        ("", "TARGET in ITERABLE is missing", None),
        ("x", "no `in` after the target", None),
        ("x of xs", "no `in` after the target", None),
        ("in xs", "a target is missing", None),
        ("x in", "an iterable is missing", None),
        ("x in -> out", "an iterable is missing", None),
        ("x in [1] -> 2", "-> takes one variable name, not '2'", "2"),
        ("x in [1] ->", "a variable name is missing after ->", "->"),
        ("x in [1] -> a, b", "-> takes one variable name", "a, b"),
        ("x in [1] -> class", "-> takes one variable name, not 'class'", "class"),
        ("a.b in [1]", "the target is a name or a tuple of names", "a.b"),
        ("f(x) in [1]", "the target is a name or a tuple of names", "f(x)"),
        ("x in [1", "a bracket is not closed", None),
        ("x in [1] [", "a bracket is not closed", None),
        ("x in 3 4", "not an iterable", None),
        ("x in 3 + 4", "cannot loop over int", "3 + 4"),
        ("--chunk 2 x in [1]", "did you mean --chunksize?", "--chunk"),
        ("--timeout soon x in [1]", "a number of seconds above 0, not 'soon'", "soon"),
        ("x in 'abc", "", None),
    ],
)
def test_a_wrong_line_is_pointed_at(notebook: Notebook, line: str, message: str, place: str | None) -> None:
    output = notebook.run(f"%%pfor {line}\nx")
    assert output.error is not None
    assert output.error["ename"] == "UsageError", output.traceback
    assert message in output.traceback
    assert len(output.traceback.splitlines()) <= 4
    assert f"%%pfor {line}".rstrip() in output.traceback
    assert place is None or output.pointed_at() == place


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("await x", "await cannot stand at the top level of a %%pfor cell"),
        ("[y async for y in x]", "await cannot stand"),
        ("!ls", "magics and shell commands (%, !) cannot run inside a task"),
        ("later.result()", "later is a future and cannot go into a task"),
    ],
)
def test_what_a_body_cannot_hold(notebook: Notebook, body: str, message: str) -> None:
    notebook.run("from concurrent.futures import Future\nlater = Future()").ok()
    output = notebook.run(f"%%pfor x in [1]\n\n{body}")
    assert output.error is not None
    assert output.error["ename"] == "UsageError"
    assert message in output.traceback
    assert "line 3" in output.traceback


def test_await_inside_a_function_of_the_body(notebook: Notebook) -> None:
    notebook.run(
        "%%pfor x in range(3) -> out\nimport asyncio\nasync def g():\n    await asyncio.sleep(0)\n"
        "    return x\nasyncio.run(g())"
    ).ok()
    assert notebook.value("out") == "[0, 1, 2]"


def test_stop_leaves_out_as_it_was_and_the_workers_usable(notebook: Notebook) -> None:
    notebook.run("out = 'old'").ok()
    cell = notebook.start("%%pfor x in range(100) -> out\nimport time\ntime.sleep(1)")
    notebook.wait(lambda message: message["header"]["msg_type"] == "display_data")
    notebook.manager.interrupt_kernel()
    notebook.finish(cell)
    assert cell.error is not None
    assert cell.error["ename"] == "KeyboardInterrupt"
    assert notebook.value("out") == "'old'"
    notebook.run("%%pfor x in range(4) -> out\nx").ok()
    assert notebook.value("out") == "[0, 1, 2, 3]"


def test_a_worker_that_dies_takes_only_its_item_along(notebook: Notebook) -> None:
    output = notebook.run("%%pfor x in range(6) -> out\nimport os\nif x == 3:\n    os._exit(7)\nx")
    assert "1 of 6 items failed" in output.traceback
    assert "WorkerLostError" in output.traceback
    assert (
        notebook.value("[v if v or v == 0 else (v.index, v.item) for v in out]")
        == "[0, 1, 2, (3, '3'), 4, 5]"
    )


def test_an_error_of_a_change_names_its_item_by_its_place(notebook: Notebook) -> None:
    notebook.run("total = None").ok()
    output = notebook.run("%%pfor x in [5, 6] -> out\ntotal += x")
    assert output.traceback.count("item 0\n") == 1
    assert "(?)" not in output.traceback
    assert notebook.value("out[0].index, out[0].item") == "(0, '')"


def test_an_error_that_cannot_be_pickled_is_shown(notebook: Notebook) -> None:
    notebook.run("class Odd(Exception):\n    def __init__(self, a, b):\n        super().__init__(a)").ok()
    output = notebook.run("%%pfor x in [1] -> out\nraise Odd('here', x)")
    assert "1 of 1 item failed" in output.traceback
    assert "raise Odd('here', x)" in output.traceback


def test_a_variable_that_cannot_be_sent_is_named(notebook: Notebook) -> None:
    notebook.run("import threading\nlock = threading.Lock()").ok()
    output = notebook.run("%%pfor x in [1] -> out\nwith lock:\n    x")
    assert output.error is not None
    assert output.error["ename"] == "PayloadError"
    assert "line 2: the cell uses lock, which cannot be sent" in output.error["evalue"]
    notebook.run("%%pfor x in [1] -> out\nx").ok()


def test_a_value_that_cannot_be_sent_fails_its_item(notebook: Notebook) -> None:
    output = notebook.run("%%pfor x in [1, 2] -> out\nimport threading\nthreading.Lock() if x == 2 else x")
    assert "1 of 2 items failed" in output.traceback
    assert notebook.value("out[0], bool(out[1])") == "(1, False)"


def test_a_failure_whose_text_raises(notebook: Notebook) -> None:
    notebook.run("class Mute(Exception):\n    def __str__(self): raise KeyError(1)").ok()
    output = notebook.run("%%pfor i in range(3) -> out\nif i == 1: raise Mute()\ni")
    assert "Mute: <its str() raises KeyError>" in output.traceback
    assert "During handling" not in output.traceback
    assert notebook.value("out[::2]") == "[0, 2]"


def test_the_body_sees_what_was_changed_in_place_before_the_cell(notebook: Notebook) -> None:
    notebook.run("import numpy as np\nrow, table, big = [0], {'a': [0]}, np.zeros(300_000)").ok()
    body = "%%pfor r in range(4) -> found\n(row[0], table['a'][0], big[r])"
    for step in range(1, 4):
        notebook.run(f"row[0] = {step}\ntable['a'][0] = {10 * step}\nbig[:] = {100 * step}").ok()
        notebook.run(body).ok()
        assert notebook.value("[tuple(map(int, each)) for each in found]") == str(
            [(step, 10 * step, 100 * step)] * 4
        )


def test_the_first_in_ends_the_target(notebook: Notebook) -> None:
    notebook.run("names = [1, 2]").ok()
    notebook.run("%%pfor x in names if 1 in names else [] -> out\nx").ok()
    assert notebook.value("out") == "[1, 2]"
