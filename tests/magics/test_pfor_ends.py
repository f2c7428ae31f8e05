"""How a `%%pfor` loop ends: failures, Stop, retries, `break`; what is done of it then, and what names are left."""

from __future__ import annotations

import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from cellmill.magics.body import ITEM
from cellmill.magics.loop_body import LoopBody, Terms, last_look
from tests.magics.test_stop import MOMENT
from tests.support.helpers import Gate
from tests.support.notebook import Notebook


def test_the_effects_before_the_first_failure_are_done(notebook: Notebook) -> None:
    notebook.run("total, seen, y = 0, [], 'old'").ok()
    output = notebook.run(
        "%%pfor x in range(50) -> out\nseen.append(x)\ny = 1 / (x - 7) / (x - 9)\ntotal += 1"
    )
    assert "2 of 50 items failed" in output.traceback
    assert notebook.value("total, seen, y, 'x' in globals()") == "(7, [0, 1, 2, 3, 4, 5, 6], 'old', False)"
    assert notebook.value("[i for i, v in enumerate(out) if not v and v is not None]") == "[7, 9]"


@pytest.mark.parametrize("backend", ["local", "threads", "inline"])
@pytest.mark.parametrize(
    "error",
    ["SystemExit(3)", "KeyboardInterrupt()", "asyncio.CancelledError()", "GeneratorExit()", "End('x')"],
)
def test_what_is_no_exception_ends_the_loop_as_the_plain_one(
    notebook: Notebook, backend: str, error: str
) -> None:
    notebook.run(f"%cellmill backend {backend}").ok()
    try:
        notebook.run("import asyncio\nclass End(BaseException): pass\nseen, out = [], None").ok()
        output = notebook.run(f"%%pfor x in range(9) -> out\nseen.append(x)\nif x == 4: raise {error}")
        assert output.error is not None
        assert output.error["ename"] == error.partition("(")[0].removeprefix("asyncio.")
        assert "TypeError" not in output.traceback
        assert notebook.value("seen") == "[0, 1, 2, 3]"
        if backend != "inline":
            assert "item 4 (4)" in output.traceback
            assert notebook.value("len(out), out[3], out[4].index") == "(9, None, 4)"
    finally:
        notebook.run("%cellmill backend local").ok()


def test_failures_that_are_exceptions_and_others_are_told_together(notebook: Notebook) -> None:
    notebook.run("import sys\nseen = []").ok()
    output = notebook.run(
        "%%pfor x in range(9)\nseen.append(x)\nif x == 2: raise ValueError(x)\nif x == 4: sys.exit(3)"
    )
    assert "BaseExceptionGroup: " in output.traceback
    assert "2 of 9 items failed" in output.traceback
    assert "ValueError: 2" in output.traceback
    assert "SystemExit: 3" in output.traceback
    assert notebook.value("seen") == "[0, 1]"
    output = notebook.run("%%pfor x in range(9)\nif x == 4: raise ValueError(x)\nif x == 2: sys.exit(3)")
    assert output.error is not None
    assert output.error["ename"] == "SystemExit"
    assert "1 more of 9 items failed" in output.traceback


def test_an_effect_that_fails_ends_the_loop_there(notebook: Notebook) -> None:
    notebook.run("table, seen = {i: [] for i in range(5)}, []").ok()
    output = notebook.run("%%pfor x in range(9) -> out\n\nseen.append(x)\ntable[x].append(x)\nx")
    assert output.error is not None
    assert "1 of 9 items failed" in output.traceback
    assert "KeyError: 5" in output.traceback
    assert "line 4" in output.traceback
    assert "table[x].append(x)" in output.traceback
    assert notebook.value("seen, table[4]") == "([0, 1, 2, 3, 4, 5], [4])"
    assert notebook.value("out[:5], bool(out[5]), out[5].index") == "([0, 1, 2, 3, 4], False, 5)"


def test_what_the_body_notes_on_an_error_is_shown(notebook: Notebook) -> None:
    body = "try: 1 / x\nexcept ZeroDivisionError as error:\n    error.add_note('see the manual'); raise"
    output = notebook.run(f"%%pfor x in range(3)\n{body}")
    assert "\n  see the manual" in output.traceback
    assert "in element" not in output.traceback


def test_an_effect_that_fails_after_its_item_has_changed_itself(notebook: Notebook) -> None:
    """Other statements may look into the item, which is as at its end by then: that is said with the error."""
    notebook.run("table = {i: [] for i in range(3)}\nrows = [[i] for i in range(6)]").ok()
    output = notebook.run("%%pfor row in rows\ndel table[row[0]]\nrow.append('done')")
    assert output.error is not None
    assert "KeyError: 3" in output.traceback
    assert (
        "What this item changes in itself is done, also what would come after this line." in output.traceback
    )
    assert notebook.value("rows") == str([*([i, "done"] for i in range(4)), [4], [5]])


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ("finally:\n    seen.append(-x)", "The changes in the finally of line 3 are not made for this item."),
        ("except Exception:\n    seen.append(-x)", "goes on after this error: line 3 handles it."),
        ("except:\n    seen.append(-x)", "goes on after this error: line 3 handles it."),
        ("except ValueError:\n    seen.append(-x)", ""),
        ("finally:\n    y = x", ""),
    ],
)
def test_an_effect_that_fails_where_its_body_would_go_on(notebook: Notebook, ends: str, said: str) -> None:
    """What comes after it in a plain loop is not done, and that is said with the error."""
    notebook.run("seen, d = [], {}").ok()
    output = notebook.run(
        f"%%pfor x in range(1, 5)\nd.update(a=3)\ntry:\n    seen.append(x)\n"
        f"    d.setdefault('a', []).append(x)\n{ends}"
    )
    assert "AttributeError: 'int' object has no attribute 'append'" in output.traceback
    assert said in output.traceback
    assert bool(said) == any(word in output.traceback for word in ("plain loop", "finally of"))
    assert notebook.value("seen") == "[1]"


def test_an_iterable_that_raises(notebook: Notebook) -> None:
    notebook.run("total = 0\ndef numbers():\n    yield 1\n    yield 2\n    raise KeyError('no more')").ok()
    output = notebook.run("%%pfor x in numbers()\ny = x * x\ntotal += y")
    assert output.error is not None
    assert output.error["ename"] == "KeyError"
    assert notebook.value("total, x, y") == "(5, 2, 4)"


def test_stop_does_what_comes_before_the_first_unfinished_item(notebook: Notebook, gate: Gate) -> None:
    notebook.run("total, seen, out = 0, [], 'old'").ok()
    cell = notebook.start(
        "%%pfor --chunksize 1 x in range(20) -> out\nimport os, time\n"
        f"if x == 5:\n    os.write(os.open({gate.folder + '/started'!r}, os.O_WRONLY), b'x')\n    time.sleep(600)\n"
        "seen.append(x)\ntotal += 0.1"
    )
    gate.wait_started()
    time.sleep(MOMENT)
    notebook.manager.interrupt_kernel()
    notebook.finish(cell)
    assert cell.error is not None
    assert cell.error["ename"] == "KeyboardInterrupt"
    done = int(notebook.value("len(seen)"))
    assert done in (4, 5)  # item 4 may have been under way
    assert f"the effects of its first {done} items are done" in cell.stderr
    plain = f"seen == list(range({done})), total == sum([0.1] * {done}), out"
    assert notebook.value(plain) == "(True, True, 'old')"


@pytest.mark.parametrize("how", ["raise OSError", "os._exit(1)"])
def test_a_retried_item_counts_once(notebook: Notebook, tmp_path: Path, how: str) -> None:
    notebook.run("import os\ntotal, seen = 0.0, []").ok()
    notebook.run(
        f"%%pfor --retries 3 x in range(12)\nseen.append(x)\ntotal += 0.1\n"
        f"if x % 5 == 0:\n    try: os.mkdir({str(tmp_path)!r} + f'/{{x}}')\n    except FileExistsError: pass\n"
        f"    else: {how}\ntotal += 0.2"
    ).ok()
    assert notebook.value("seen") == str(list(range(12)))
    notebook.run("plain = 0.0\nfor x in range(12):\n    plain += 0.1\n    plain += 0.2").ok()
    assert notebook.value("plain == total") == "True"


def test_out_ends_with_the_item_that_breaks(notebook: Notebook) -> None:
    notebook.run("total = 0").ok()
    notebook.run(
        "%%pfor x in range(100) -> out\nif x == 3: break\nif x == 1: continue\ntotal += x\nx * x"
    ).ok()
    assert notebook.value("total, out, x") == "(2, [0, None, 4, None], 3)"


@pytest.mark.parametrize("inner", ["if x % 3 == 1: continue", "for y in 'ab': continue", "pass"])
def test_a_break_that_a_finally_takes_back(notebook: Notebook, inner: str) -> None:
    loop = f"try:\n    if x == 4: break\nfinally:\n    seen.append(x)\n    {inner}\nseen.append('end')"
    plain = "\n".join(f"    {line}" for line in loop.splitlines())
    notebook.run(f"seen = []\nfor x in range(9):\n{plain}\nexpected, ended, seen = seen, x, []").ok()
    notebook.run(f"%%pfor x in range(9)\n{loop}").ok()
    assert notebook.value("seen == expected, x == ended, len(seen) > 8") == "(True, True, True)"


CHANGING = """
number = 3
def rise(v):
    global number
    number += v
class Kind:
    number = 3
    def rise(self):
        Kind.number += 1
"""


def test_a_worker_that_items_behind_the_break_have_changed() -> None:
    """What these leave is not read, so an item that is run there after them tells of it as well."""
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(CHANGING, space)
    terms = Terms("token", frozenset(), (), (), frozenset(), False, frozenset())

    def body(source: str, **variables: Any) -> LoopBody:
        return LoopBody("body", compile(source, "<body>", "exec"), variables, source, terms)

    rises = body(f"rise({ITEM})", rise=space["rise"])
    assert [rises(x).changed for x in (6, 3, 0)] == ["number"] * 3
    rises = body(f"{ITEM}.rise()")
    assert [rises(space["Kind"]()).called for _ in range(3)] == ["Kind"] * 3


def test_an_item_tells_where_changes_were_not_looked_for() -> None:
    """As that would have cost much: the loop looks once more at its end."""
    terms = Terms("token", frozenset(), (), (), frozenset(), False, frozenset())
    code = compile("len(table)", "<body>", "exec")
    body = LoopBody("body", code, {"table": {i: [i] for i in range(20_000)}}, "len(table)", terms)
    left = []
    for x in range(6):
        left.append(body(x))
        body._look._due = float("inf")
    assert [getattr(each, "unseen", False) for each in left] == [False] * 3 + [True] * 3
    assert last_look("token") is None


def test_names_that_do_not_come_are_said(notebook: Notebook) -> None:
    output = notebook.run("%%pfor x in range(5)\nimport threading\nlock = threading.Lock()\ny = x").ok()
    assert "lock has not the loop's last value here; it cannot be sent" in output.stderr
    assert notebook.value("y, x, 'lock' in globals()") == "(4, 4, False)"
    output = notebook.run("%%pfor x in range(5)\nif x == 1: big = list(range(10_000))\ny = x").ok()
    assert "big has not the loop's last value here" in output.stderr
    output = notebook.run("%%pfor x in (i for i in range(5))\nbig = list(range(10_000 + x))\ny = x").ok()
    assert "big has not the loop's last value here" in output.stderr
    assert notebook.value("'big' in globals(), y") == "(False, 4)"
    notebook.run("%%pfor x in range(5)\nbig = list(range(10_000 + x))\ny = x").ok()
    assert notebook.value("len(big)") == "10004"


def test_functions_and_classes_of_the_body_are_the_notebooks_afterwards(notebook: Notebook) -> None:
    notebook.run("scale = 2").ok()
    notebook.run(
        "%%pfor x in range(3)\ndef g(y): return y * scale + x\nclass P:\n    def get(self): return g(1)\nNone"
    ).ok()
    notebook.run("scale = 10").ok()
    assert notebook.value("g(1)") == "12"


def test_the_loop_sees_what_was_changed_in_place_before(notebook: Notebook) -> None:
    notebook.run("seen, rows = [], [[1], [2]]").ok()
    for step in range(3):
        notebook.run("%%pfor i in range(2)\nseen.append(sum(rows[i]))").ok()
        notebook.run(f"rows[0].append({step})").ok()
    assert notebook.value("seen") == "[1, 2, 1, 2, 2, 2]"


def test_futures_among_the_items(notebook: Notebook) -> None:
    notebook.run(
        "import cellmill\nex = cellmill.default_executor()\nfs = [ex.submit(abs, -i) for i in range(4)]"
    ).ok()
    notebook.run("total = 0").ok()
    notebook.run("%%pfor x in fs\ny = x + 1\ntotal += x").ok()
    assert notebook.value("total, y") == "(6, 4)"


def test_the_help_tells_of_it(notebook: Notebook) -> None:
    assert "recorded by the items" in notebook.inspect("%%pfor")


@pytest.mark.parametrize(
    "block",
    [
        "with contextlib.suppress(ZeroDivisionError):\n    y = i\n    1 / (i % 2)\n    del y",
        "try:\n    y = i\n    1 / (i % 2)\n    del y\nexcept ZeroDivisionError:\n    pass",
        "for _ in range(1):\n    y = i\n    if i % 2 == 0: break\n    del y",
        "while True:\n    y = i\n    if i % 2 == 0: break\n    del y\n    break",
    ],
)
@pytest.mark.parametrize("count", [3, 4])
def test_a_name_that_some_items_leave_is_gone_where_the_last_deletes_it(
    notebook: Notebook, block: str, count: int
) -> None:
    """Before the block it is deleted in any case, and so it is after it, but for items that leave it early."""
    body = f"y = 1\ndel y\n{block}"
    notebook.run(
        f"import contextlib\ndef plain(i):\n{textwrap.indent(body, '    ')}\n    return locals().get('y')"
    ).ok()
    notebook.run(f"%%pfor i in range({count})\n{body}").ok()
    assert notebook.value("globals().get('y')") == notebook.value(f"plain({count - 1})")


def test_stop_between_the_effects_of_many_items_says_of_which_they_are_done(notebook: Notebook) -> None:
    notebook.run(
        "import contextlib\nfrom cellmill.magics import harvest\n"
        "@contextlib.contextmanager\ndef stopped():\n    entered.append(1)\n"
        "    if len(entered) == 2: raise KeyboardInterrupt\n    yield\n"
        "kept, entered, seen = (harvest.uninterrupted, harvest.ITEMS_AT_ONCE), [], []\n"
        "harvest.uninterrupted, harvest.ITEMS_AT_ONCE = stopped, 2"
    ).ok()
    output = notebook.run("%%pfor x in range(5)\nseen.append(x)")
    notebook.run("harvest.uninterrupted, harvest.ITEMS_AT_ONCE = kept").ok()
    assert output.error is not None
    assert "was stopped; the effects of its first 2 items are done, of no others\n" in output.stderr
    assert notebook.value("seen") == "[0, 1]"
