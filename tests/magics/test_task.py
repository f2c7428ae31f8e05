"""`%%task` in a real kernel."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.notebook import GATE, Notebook


def delivered(notebook: Notebook, name: str) -> str:
    """Wait for a task in a cell of its own, after which its variables are there; what that cell said."""
    return notebook.run(f"import concurrent.futures\nconcurrent.futures.wait([{name}], 60)").ok().stderr


def test_name_is_the_future_and_the_variables_arrive(notebook: Notebook) -> None:
    notebook.run("k = 2").ok()
    notebook.run("%%task a\nx = k * 21\ny = [x]\nx + 1").ok()
    assert notebook.value("a.result()") == "43"
    assert notebook.value("x, y, k") == "(42, [42], 2)"
    assert (
        notebook.value("isinstance(a, __import__('concurrent.futures').futures.Future), a.done()")
        == "(True, True)"
    )


def test_the_cell_returns_at_once_and_nothing_arrives_in_the_middle_of_a_cell(notebook: Notebook) -> None:
    notebook.run(GATE).ok()
    notebook.run("%%task a\nwait_for_gate()\nx = 1").ok()
    assert notebook.value("a.done(), 'x' in globals()") == "(False, False)"
    cell = "gate.touch()\nwhile a.running() or not a.source.done():\n    pass\nprint('x' in globals())"
    assert notebook.run(cell).ok().stdout == "False\n"
    assert notebook.value("x") == "1"


def test_variables_arrive_where_the_end_of_a_cell_was_not_heard(notebook: Notebook) -> None:
    """Stop may come as it is told."""
    hooks = "get_ipython().events.callbacks['post_run_cell']"
    notebook.run(f"(arrivals,) = [each.__self__ for each in {hooks} if 'Arrivals' in repr(each)]").ok()
    notebook.run("arrivals._cells += 1").ok()
    notebook.run("%%task a\nx = 1").ok()
    notebook.run("value = a.source.result(30)").ok()
    assert notebook.value("x") == "1"


def test_what_has_the_name_of_a_task_brings_its_variables_wherever_stop_comes(notebook: Notebook) -> None:
    notebook.run(
        "import signal\nfrom cellmill.magics.delivery import Arrivals\nexpect = Arrivals.expect\n"
        "def stopped(self, task):\n    signal.raise_signal(signal.SIGINT)\n    expect(self, task)\n"
        "Arrivals.expect = stopped"
    ).ok()
    output = notebook.run("%%task a\nx = 1")
    notebook.run("Arrivals.expect = expect").ok()
    assert output.error is not None
    assert notebook.value("a.arrivals is not None") == "True"


def test_nothing_arrives_in_the_middle_of_a_cell_that_runs_another(notebook: Notebook) -> None:
    notebook.run(GATE).ok()
    notebook.run("%%task a\nwait_for_gate()\nx = 1").ok()
    cell = "gate.touch()\nvalue = a.source.result(30)\nget_ipython().run_cell('1')\nprint('x' in globals())"
    assert notebook.run(cell).ok().stdout.splitlines()[-1] == "False"
    assert notebook.value("x") == "1"


def test_nothing_arrives_in_the_middle_of_a_cell_beside_one_of_a_subshell(notebook: Notebook) -> None:
    notebook.run(GATE + "x = 'old'\nimport threading\nready, go = threading.Event(), threading.Event()").ok()
    notebook.run("%%task a\nwait_for_gate()\nx = 'new'").ok()
    with notebook.subshell() as beside:
        output = notebook.start(
            "gate.touch()\na.source.result(30)\nready.set()\ngo.wait(30)\nprint(x, a.result(), x)"
        )
        notebook.finish(beside("ready.wait(30)"))
        notebook.finish(beside("1"))
        notebook.finish(beside("go.set()"))
        assert notebook.finish(output).ok().stdout == "old None new\n"


def test_nothing_arrives_in_the_middle_of_an_async_cell(notebook: Notebook) -> None:
    notebook.run(GATE).ok()
    notebook.run("%%task a\nwait_for_gate()\nx = 1").ok()
    cell = "import asyncio\ngate.touch()\nawait asyncio.wrap_future(a.source)\n"
    cell += "for _ in range(20):\n    await asyncio.sleep(0)\n"
    assert notebook.run(f"{cell}print('x' in globals())").ok().stdout == "False\n"
    assert notebook.value("x") == "1"


WAITS = {
    "result": "a.result(60)",
    "exception": "a.exception(60)",
    "await": "await a",
    "gather": "import asyncio\nawait asyncio.gather(a)",
    "wrap_future": "import asyncio\nawait asyncio.wrap_future(a)",
    "wait": "import concurrent.futures\nconcurrent.futures.wait([a], 60)",
    "as_completed": "import concurrent.futures\nfor _ in concurrent.futures.as_completed([a], 60): pass",
    "done": "import time\nwhile not a.done(): time.sleep(0.001)",
    "in a function": "def look():\n    a.result()\n    return x\nassert look() == 1",
}


@pytest.mark.parametrize("how", WAITS)
def test_the_cell_that_waits_finds_the_variables(notebook: Notebook, how: str) -> None:
    notebook.run(GATE + "x = 'old'").ok()
    notebook.run("%%task a\nwait_for_gate()\nx = 1\ny = 2").ok()
    output = notebook.run(f"gate.touch()\n{WAITS[how]}\nprint(x, y)").ok()
    assert (output.stdout, output.stderr) == ("1 2\n", "")
    assert notebook.run("print(x, y)").ok().stdout == "1 2\n"


def test_the_cell_that_waits_finds_those_of_the_tasks_before(notebook: Notebook) -> None:
    notebook.run(GATE).ok()
    notebook.run("%%task a\nwait_for_gate()\nx = 1\nz = 0").ok()
    notebook.run("%%task b after a\ny = x + 1\nz = 3").ok()
    assert notebook.value("gate.touch(), b.result(60), x, y, z") == "(None, None, 1, 2, 3)"


def test_a_conflict_is_said_in_the_cell_that_waits(notebook: Notebook) -> None:
    notebook.run(GATE + "x = 0").ok()
    notebook.run("%%task a\nwait_for_gate()\nx = 1\ny = 2").ok()
    output = notebook.run("x = 'newer'\ngate.touch()\na.result(60)\nprint(x, y)").ok()
    assert output.stdout == "newer 2\n"
    assert "task a: x was assigned again while it ran; the newer value is kept" in output.stderr
    assert notebook.run("x").ok().stderr == ""


def test_the_cell_that_waits_for_a_failed_task_gets_its_error(notebook: Notebook) -> None:
    notebook.run("x = 'old'").ok()
    notebook.run("%%task a\nx = 1\nx / 0").ok()
    output = notebook.run("try:\n    a.result(60)\nexcept ZeroDivisionError:\n    print(x)").ok()
    assert output.stdout == "old\n"
    assert notebook.value("x") == "'old'"


def test_the_variables_arrive_without_a_further_cell(notebook: Notebook) -> None:
    notebook.run(
        "class Watched(dict):\n    pass\nclass Loud:\n    def __setstate__(self, state):\n"
        "        import os\n        if os.getpid() == home:\n            print('here', flush=True)\n"
        "    def __getstate__(self):\n        return {'a': 1}\nimport os\nhome = os.getpid()"
    ).ok()
    notebook.run(GATE).ok()
    notebook.run("%%task a\nwait_for_gate()\nx = Loud()").ok()
    before = len(notebook.published)
    notebook.run("gate.touch()").ok()  # they may arrive before its end

    def is_said(message: dict[str, Any]) -> bool:
        return message["header"]["msg_type"] == "stream" and "here" in message["content"]["text"]

    said = notebook.find(is_said, before)
    assert said["content"]["name"] == "stdout"


def test_shared_objects_stay_shared(notebook: Notebook) -> None:
    notebook.run("%%task a\nx = [1]\ny = x").ok()
    delivered(notebook, "a")
    assert notebook.value("x is y") == "True"


def test_functions_classes_and_modules_arrive(notebook: Notebook) -> None:
    notebook.run(
        "%%task a\nimport json as j\nclass P: pass\ndef f(): return later\n"
        "def g(n=1, *, m=2): return f() + n + m"
    ).ok()
    delivered(notebook, "a")
    notebook.run("later = 10").ok()
    assert notebook.value("j.dumps([1]), P.__name__, f(), g(m=3)") == "('[1]', 'P', 10, 14)"


def test_arrays_arrive_writable(notebook: Notebook) -> None:
    notebook.run("%%task a\nimport numpy\nx = numpy.zeros(100_000)").ok()
    delivered(notebook, "a")
    notebook.run("x[0] = 1").ok()


def test_a_newer_assignment_is_kept_and_reported(notebook: Notebook) -> None:
    notebook.run(GATE + "x = 0").ok()
    notebook.run("%%task a\nwait_for_gate()\nx = 1\ny = 2").ok()
    notebook.run("x = 'newer'").ok()
    cells = ["gate.touch()", "a.result(60)", "x"]  # told at the end of whichever finds the task done
    said = "".join([notebook.run(cell).ok().stderr for cell in cells])
    assert "task a: x was assigned again while it ran; the newer value is kept" in said
    assert notebook.value("x, y") == "('newer', 2)"


def test_the_cell_run_again_replaces_what_it_assigned(notebook: Notebook) -> None:
    for number in (1, 2):
        notebook.run(f"%%task a\nx = {number}").ok()
        delivered(notebook, "a")
        output = notebook.run("print(x)").ok()
        assert (output.stdout, output.stderr) == (f"{number}\n", "")


def test_two_runs_under_way_leave_the_later_one(notebook: Notebook) -> None:
    notebook.run(GATE).ok()
    notebook.run("%%task a\nwait_for_gate()\nx = 1").ok()
    notebook.run("first = a").ok()
    notebook.run("%%task a\nx = 2").ok()
    delivered(notebook, "a")
    notebook.run("gate.touch()").ok()
    delivered(notebook, "first")
    assert notebook.value("x") == "2"


def test_after_sees_the_variables_and_results_of_the_tasks_before(notebook: Notebook) -> None:
    notebook.run(GATE + "x = 'old'").ok()
    notebook.run("%%task a\nwait_for_gate()\nx = 5\n'value of a'").ok()
    notebook.run("%%task b\n7").ok()
    notebook.run("%%task c after a, b\nz = x + b.result()\n(z, a.result())").ok()
    notebook.run("%%task d after c\n-z").ok()
    assert notebook.value("gate.touch(), c.result(60), d.result(60)") == "(None, (12, 'value of a'), -12)"
    assert notebook.value("x, z") == "(5, 12)"


def test_variables_arrive_while_a_callback_of_another_task_waits(notebook: Notebook) -> None:
    notebook.run(GATE + "import threading\nfree = threading.Event()\nx = 'old'").ok()
    notebook.run("%%task slow\nwait_for_gate()").ok()
    notebook.run("slow.add_done_callback(lambda _: free.wait(60))\ngate.touch()\nslow.result(60)").ok()
    notebook.run("%%task a\nx = 5").ok()
    notebook.run("%%task b after a\ny = x + 1").ok()
    assert notebook.value("b.result(60)") == "None"
    assert notebook.value("x, y, a.done(), free.is_set()") == "(5, 6, True, False)"
    notebook.run("free.set()").ok()


def test_after_a_finished_task_sees_the_notebook_as_it_is_now(notebook: Notebook) -> None:
    notebook.run("%%task a\nx = 1\ny = 1").ok()
    delivered(notebook, "a")
    notebook.run("x = 100").ok()
    notebook.run("%%task b after a\n(x, y)").ok()
    assert notebook.value("b.result(60)") == "(100, 1)"


def test_a_plain_future_can_come_before(notebook: Notebook) -> None:
    notebook.run("%%parallel\ndef f(x):\n    return x + 1").ok()
    notebook.run("later = f(1)").ok()
    notebook.run("%%task b after later\nlater.result() * 10").ok()
    assert notebook.value("b.result(60)") == "20"


def test_a_task_is_an_argument_of_a_parallel_function(notebook: Notebook) -> None:
    notebook.run("%%parallel\ndef f(x):\n    return x + 1").ok()
    notebook.run("%%task a\n41").ok()
    assert notebook.value("f(a).result(60)") == "42"


def test_an_error_is_noted_at_the_next_cell_and_shown_when_asked_for(notebook: Notebook) -> None:
    notebook.run("%%task a\nx = 1\ny = x / 0").ok()
    delivered(notebook, "a")
    notebook.run("1").ok()
    said = "".join(output.stderr for output in notebook.outputs.values())
    assert said.count("task a failed: ZeroDivisionError: division by zero") == 1
    assert notebook.value("'x' in globals()") == "False"
    output = notebook.run("a.result()")
    assert output.error is not None
    assert output.error["ename"] == "ZeroDivisionError"
    assert "y = x / 0" in output.traceback


def test_an_error_asked_for_is_not_noted_again(notebook: Notebook) -> None:
    notebook.run("%%task a\n1 / 0").ok()
    assert notebook.run("a.result(60)").error is not None
    assert "failed" not in notebook.run("1").ok().stderr


def test_a_task_after_a_failed_one_does_not_run(notebook: Notebook) -> None:
    notebook.run("%%task a\n1 / 0").ok()
    notebook.run("%%task b after a\nx = 1").ok()
    assert notebook.value("type(b.exception(60)).__name__, type(b.exception().__cause__).__name__") == (
        "('DependencyError', 'ZeroDivisionError')"
    )


def test_what_cannot_be_sent_is_named_and_the_rest_arrives(notebook: Notebook) -> None:
    notebook.run("%%task a\nimport threading\nx = 1\nlock = threading.Lock()").ok()
    delivered(notebook, "a")
    notebook.run("1").ok()
    said = "".join(output.stderr for output in notebook.outputs.values())
    assert "task a: lock could not be sent to the notebook" in said
    assert notebook.value("x, lock") == (
        "(1, <lock of task a could not be sent: TypeError: cannot pickle '_thread.lock' object>)"
    )
    for use in (
        "lock.acquire()",
        "with lock:\n    pass",
        "lock == 3",
        "lock + 1",
        "list(lock)",
        "bool(lock)",
    ):
        output = notebook.run(use)
        assert output.error is not None
        assert output.error["ename"] == "PayloadError"
        assert "lock is not here: task a assigned it" in output.error["evalue"]
    notebook.run("%%task a\nimport threading\nlock = threading.Lock()\nx = lock.locked()").ok()
    assert notebook.value("a.result(60), x") == "(None, False)"  # the cell can be run again


def test_an_old_value_does_not_stand_for_one_that_could_not_be_sent(notebook: Notebook) -> None:
    notebook.run("g = 5").ok()
    notebook.run("%%task a\ng = (i for i in range(3))").ok()
    delivered(notebook, "a")
    notebook.run("%%task b after a\ny = g + 1").ok()
    assert notebook.value("type(b.exception(60)).__name__") == "'PayloadError'"
    assert "g is not here: task a assigned it" in notebook.value("str(b.exception())")


def test_a_last_expression_that_cannot_be_sent(notebook: Notebook) -> None:
    notebook.run("%%task t\ny = 1\nz = [y]\n(i for i in range(3))").ok()
    output = notebook.run("t.result(60)")
    assert output.error is not None
    assert output.error["ename"] == "PayloadError"
    assert output.error["evalue"].startswith(
        "the value of the last expression of task t, a generator, cannot be sent back: TypeError: cannot pickle"
    )
    assert notebook.value("y, z") == "(1, [1])"
    notebook.run("%%task b after t\nx = y + 1\nw = t.result()").ok()
    assert notebook.value("type(b.exception(60)).__name__") == "'PayloadError'"
    notebook.run("%%task t\ny = 2\n(i for i in range(3))").ok()
    delivered(notebook, "t")
    notebook.run("1").ok()
    said = notebook.warnings()
    assert "the value of the last expression of task t, a generator, cannot be sent back" in said
    assert notebook.value("y") == "2"


@pytest.mark.parametrize("backend", ["threads", "inline"])
def test_in_the_kernel_itself_everything_arrives(notebook: Notebook, backend: str) -> None:
    notebook.run(f"%cellmill backend {backend}").ok()
    try:
        notebook.run("%%task t\ng = (i for i in range(3))\n(i for i in range(4))").ok()
        assert notebook.value("list(t.result(60)), list(g)") == "([0, 1, 2, 3], [0, 1, 2])"
    finally:
        notebook.run("%cellmill backend local").ok()


def test_a_variable_that_cannot_be_sent_is_named(notebook: Notebook) -> None:
    notebook.run("import threading\nlock = threading.Lock()").ok()
    output = notebook.run("%%task a\nx = 1\nlock.acquire()")
    assert output.error is not None
    assert output.error["ename"] == "PayloadError"
    assert "line 3: the cell uses lock, which cannot be sent" in output.error["evalue"]
    assert notebook.value("'a' in globals()") == "False"


def test_await_a_task(notebook: Notebook) -> None:
    notebook.run("%%task a\n41").ok()
    assert notebook.run("print(await a + 1)").ok().stdout == "42\n"


@pytest.mark.parametrize(
    ("line", "message", "place"),
    [
        ("", "the task needs a name", None),
        ("1a", "'1a' is not a variable name", "1a"),
        ("b before a", "`after` is expected here, not 'before'", "before"),
        ("b aftr a", "did you mean after?", "aftr"),
        ("b after", "a name is missing after 'after'", "after"),
        ("b after a,", "a name is missing after ','", ","),
        ("b after ,a", "a name is missing before this comma", ","),
        ("b after a aa", "a comma is missing before this name", "aa"),
        ("b after c", "c is not known; known are a", "c"),
        ("b after number", "number is not a task or a future", "number"),
        ("b after b", "cannot come after itself", "b"),
        ("b --retries 2", "`after` is expected here", "--retries"),
        ("--retry 2 b", "did you mean --retries?", "--retry"),
    ],
)
def test_a_wrong_line_is_pointed_at(notebook: Notebook, line: str, message: str, place: str | None) -> None:
    notebook.run("number = 3\nfrom concurrent.futures import Future\na = Future()").ok()
    output = notebook.run(f"%%task {line}\nx = 1")
    assert output.error is not None
    assert output.error["ename"] == "UsageError", output.traceback
    assert message in output.traceback
    assert place is None or output.pointed_at() == place


def test_the_name_of_the_task_is_not_a_variable_of_its_cell(notebook: Notebook) -> None:
    output = notebook.run("%%task a\na = 1")
    assert "the cell assigns a, which is the name of the task" in output.traceback


def test_the_body_sees_what_was_changed_in_place_before_the_cell(notebook: Notebook) -> None:
    notebook.run("row, table = [0], {'a': [0]}").ok()
    for step in range(1, 4):
        notebook.run(f"row[0] = {step}\ntable['a'][0] = {10 * step}").ok()
        notebook.run("%%task found\nvalue = (row[0], table['a'][0])").ok()
        notebook.run("row[0] = -1").ok()  # while it may wait or run
        delivered(notebook, "found")
        assert notebook.value("value") == f"({step}, {10 * step})"


def test_what_a_task_changes_in_place_is_said(notebook: Notebook) -> None:
    notebook.run("import copy\nrows, seen, mine, read = [], {}, [1], [2]\ndef add(x): rows.append(x)").ok()
    notebook.run(
        "%%task first\nadd(1)\nseen['a'] = read[0]\nmine = copy.copy(mine)\nmine.append(2)\nmade = [3]"
    ).ok()
    output = notebook.run("first.result(); print(rows, seen, mine, made)").ok()
    assert output.stdout == "[] {} [1, 2] [3]\n"
    assert (
        "task first changed rows, seen in place, in its worker; nothing of that arrives here" in output.stderr
    )
    notebook.run("%%task second after first\nmade.append(4)\nkept = made").ok()
    output = notebook.run("second.result(); print(made, kept)").ok()
    assert output.stdout == "[3] [3, 4]\n"
    assert "task second changed made in place" in output.stderr


def test_a_change_of_the_process_is_said(notebook: Notebook) -> None:
    """A plain cell would change the kernel's own directory and environment."""
    notebook.run("import os\ndef enter(folder):\n    os.chdir(folder)\nrows = [1]").ok()
    cell = "%%task left\nenter('/')\nos.environ['CELLMILL_TASK'] = 'set'\nrows.append(2)"
    notebook.run(cell).ok()
    delivered(notebook, "left")
    said = notebook.warnings()
    assert "tasks of left change the working directory and os.environ['CELLMILL_TASK']." in said
    assert "task left changed rows in place" in said
    assert "change self" not in said
    said = notebook.run("%%pfor i in range(2) -> out\nenter('/usr')\ni").ok().stderr
    assert "change the working directory." in said


def test_a_variable_that_is_another_name_of_one_of_the_notebook_s_is_so_there(notebook: Notebook) -> None:
    notebook.run("given, table, count = [1, 2], {'a': [3]}, 4").ok()
    notebook.run(
        "%%task name_them\nother = given\ninner = table['a']\nmine = list(given)\nmine.append(5)\ntable = dict(table)"
    ).ok()
    delivered(notebook, "name_them")
    assert notebook.value("other is given, inner, mine, table") == "(True, [3], [1, 2, 5], {'a': [3]})"
    notebook.run("%%task change_it\ngiven.append(9)\nchanged = given").ok()
    assert "changed given in place, in its worker" in delivered(notebook, "change_it")
    assert notebook.value("changed, given") == "([1, 2, 9], [1, 2])"


def test_what_variables_refer_to_is_the_notebook_s_too(notebook: Notebook) -> None:
    """In containers, objects and closures, at any depth; in a later task these are copies, as all that it is given."""
    notebook.run("table, rows = {'a': [3]}, [1]\nclass Box: pass").ok()
    notebook.run(
        "%%task pack\nfound = {'x': [table, (rows, 2)]}\nbox = Box()\nbox.rows = rows\n"
        "number = lambda: len(rows)\ntwice = [rows, rows, [1]]"
    ).ok()
    notebook.run(
        "%%task later after pack\nfound['x'][0]['b'] = 5\nkeys = sorted(found['x'][0]), twice[0] is twice[1]"
    ).ok()
    delivered(notebook, "later")
    assert (
        notebook.value("found['x'][0] is table, found['x'][1][0] is rows, box.rows is rows")
        == "(True, True, True)"
    )
    assert notebook.value("twice[0] is rows, twice[1] is rows, twice[2] is rows") == "(True, True, False)"
    assert notebook.value("keys, table") == "((['a', 'b'], True), {'a': [3]})"
    notebook.run("rows.append(2)").ok()
    assert notebook.value("box.rows, found['x'][1], number()") == "([1, 2], ([1, 2], 2), 2)"
    notebook.run("%%task change\nrows.append(9)\nheld = {'rows': rows}").ok()
    assert "change changed rows in place, in its worker" in delivered(notebook, "change")
    assert notebook.value("held, rows") == "({'rows': [1, 2, 9]}, [1, 2])"


def test_a_large_array_is_referred_to_and_not_written_to(notebook: Notebook) -> None:
    notebook.run("import numpy as np\nbig = np.zeros(9_000_000)").ok()
    notebook.run("%%task hold\nheld = [big]").ok()
    delivered(notebook, "hold")
    assert notebook.value("held[0] is big") == "True"
    notebook.run("%%task change\nbig[0] = 1\nheld = {'big': big}").ok()
    assert "In tasks big is read-only" in notebook.run("change.result()").traceback


def test_a_variable_that_a_task_deletes_goes(notebook: Notebook) -> None:
    notebook.run(GATE + "\ngone, kept, spare = 1, 2, 3").ok()
    notebook.run("%%task first\nwait_for_gate()\ndel gone, kept").ok()
    notebook.run("%%task second after first\nfound = spare, 'gone' in globals()\ndel spare").ok()
    notebook.run("kept = 20\ngate.touch()").ok()
    delivered(notebook, "second")
    notebook.run("0").ok()
    said = notebook.warnings()
    assert notebook.value(
        "[name for name in ('gone', 'kept', 'spare') if name in globals()], kept, found"
    ) == ("(['kept'], 20, (3, False))")
    assert "kept was assigned again while it ran; the newer value is kept" in said


def test_after_workers_were_prepared(notebook: Notebook) -> None:
    """The body of a cell is no function with globals that a worker could have of its own."""
    prepare = "def prepare():\n    global ready\n    ready = 3\n"
    notebook.run("import cellmill\nex = cellmill.default_executor()").ok()
    notebook.run(f"ready = None\n{prepare}def use(x): return ready\nex.run_on_workers(prepare)").ok()
    notebook.run("%%task a\nz = 5\nz + 1").ok()
    assert notebook.value("a.result(30)") == "6"
    notebook.run("%%pfor x in range(3) -> out\nx + 1").ok()
    assert notebook.value("out, list(ex.map(use, range(2)))") == "([1, 2, 3], [3, 3])"
