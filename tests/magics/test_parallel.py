"""`%%parallel` in a real kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellmill.magics.lines import DEPENDS_ON, RESOURCES, Line, read_options
from tests.support.notebook import Notebook


def test_every_function_of_the_cell_becomes_parallel(notebook: Notebook) -> None:
    notebook.run("%%parallel\ndef f(x):\n    return x + 1\n\ndef g(x):\n    return f(x) * 10").ok()
    assert notebook.value("f(1).result(), g(1).result(), list(g.map(range(3)))") == "(2, 20, [10, 20, 30])"


def test_what_was_defined_when_stop_came_is_parallel(notebook: Notebook) -> None:
    notebook.run(
        "from cellmill.magics import parallel\nmake_parallel = parallel.make_parallel\ncalls = []\n"
        "def interrupted(*given):\n    calls.append(given)\n    if len(calls) == 2: raise KeyboardInterrupt\n"
        "    return make_parallel(*given)\nparallel.make_parallel = interrupted"
    ).ok()
    cell = "%%parallel\ndef f(x): return x\ndef g(x): return f(x)\ndef h(x): return x"
    assert notebook.run(cell).error is not None
    notebook.run("parallel.make_parallel = make_parallel").ok()
    assert notebook.value("list(f.map([1])), list(g.map([1])), 'h' in globals()") == "([1], [1], False)"


def test_only_the_functions_named(notebook: Notebook) -> None:
    notebook.run("%%parallel g\ndef f(x):\n    return x + 1\n\ndef g(x):\n    return f(x) * 10").ok()
    assert notebook.value("f(1), g(1).result()") == "(2, 20)"


def test_functions_in_conditions_and_classes_stay_plain(notebook: Notebook) -> None:
    cell = "%%parallel\nif True:\n    def f(x): return x\nclass A:\n    def g(self): return 1\n"
    notebook.run(f"{cell}def h(x):\n    return f(x) + A().g()").ok()
    assert notebook.value("f(1), A().g(), h(1).result()") == "(1, 1, 2)"


def test_what_can_be_no_task_stays_plain_beside_other_functions(notebook: Notebook) -> None:
    notebook.run(
        "%%parallel\nimport asyncio, contextlib\ndef upto(n):\n    for i in range(n):\n        yield i\n"
        "@contextlib.contextmanager\ndef shifted(n):\n    yield n + 1\n"
        "async def later(n):\n    await asyncio.sleep(0)\n    return n\n"
        "def f(n):\n    with shifted(n) as m:\n        return list(upto(m)), asyncio.run(later(m))"
    ).ok()
    notebook.run("with shifted(1) as two:\n    pass\nlate = await later(5)").ok()
    assert notebook.value("list(upto(2)), two, late, f(2).result()") == "([0, 1], 2, 5, ([0, 1, 2], 3))"


def test_decorated_functions_become_parallel(notebook: Notebook) -> None:
    notebook.run(
        "%%parallel\nimport functools\n\ndef twice(function):\n    @functools.wraps(function)\n"
        "    def both(x): return 2 * function(x)\n    return both\n\n@twice\ndef f(x): return x + 1"
    ).ok()
    assert notebook.value("f(1).result()") == "4"


def test_objects_that_decorators_leave_become_parallel(notebook: Notebook) -> None:
    notebook.run(
        "class Twice:\n    def __init__(self, function): self.function = function\n"
        "    def __call__(self, x): return 2 * self.function(x)"
    ).ok()
    notebook.run("%%parallel\n@Twice\ndef f(x): return x + 1").ok()
    assert notebook.value("f(1).result(), list(f.map([1, 2]))") == "(4, [4, 6])"


def test_instances_of_classes_of_cells_are_pickled_in_tasks(notebook: Notebook, tmp_path: Path) -> None:
    notebook.run("import pickle\nclass Model:\n    def __init__(self, x): self.x = x").ok()
    notebook.run(
        f"%%parallel\ndef save(x):\n    path = {str(tmp_path)!r} + f'/{{x}}'\n    with open(path, 'wb') as file:\n"
        "        pickle.dump(Model(x), file)\n"
        "    with open(path, 'rb') as file:\n        return pickle.load(file).x, path\n"
    ).ok()
    notebook.run("saved = [pickle.load(open(path, 'rb')) for _, path in save.map(range(3))]").ok()
    assert notebook.value("[m.x for m in saved], type(saved[0]) is Model") == "([0, 1, 2], True)"


def test_options_come_first_and_apply(notebook: Notebook) -> None:
    notebook.run(
        "%%parallel --batch --retries 2 --name squares f\ndef f(xs):\n    return [x * x for x in xs]"
    ).ok()
    assert notebook.value("f.name, list(f.map(range(5)))") == "('squares', [0, 1, 4, 9, 16])"


def test_the_cell_runs_in_the_notebook_and_shows_its_value(notebook: Notebook) -> None:
    output = notebook.run("%%parallel\nk = 3\ndef f(x):\n    return x * k\nf(2).result()").ok()
    assert output.text == "6"
    assert notebook.value("k, f(2).result()") == "(3, 6)"


def test_a_function_is_parallel_from_the_line_after_its_definition(notebook: Notebook) -> None:
    cell = "def f(x):\n    return x * 2\nmapped = list(f.map([1, 2]))\nkind = type(f(1)).__name__"
    notebook.run(f"%%parallel\n{cell}").ok()
    assert notebook.value("mapped, kind") == "([2, 4], 'Future')"
    again = (
        "def g(x):\n    return f(x) + 1\ndef f(x):\n    return x * 3\nfound = g(1).result(), f(1).result()"
    )
    notebook.run(f"%%parallel\n{again}").ok()
    assert notebook.value("found") == "(4, 3)"
    only = "def a(x):\n    return x\ndef b(x):\n    return a(x)\nkinds = type(a(1)).__name__, type(b(1)).__name__"
    notebook.run(f"%%parallel b\n{only}").ok()
    assert notebook.value("kinds") == "('int', 'Future')"


def test_the_cell_run_again_has_its_new_code(notebook: Notebook) -> None:
    for factor in (2, 3):
        notebook.run(f"%%parallel\ndef f(x):\n    return x * {factor}").ok()
        assert notebook.value("f(10).result()") == str(10 * factor)


def test_a_helper_defined_anew_is_the_new_one(notebook: Notebook) -> None:
    notebook.run("def helper(x):\n    return x\nscale = 1").ok()
    notebook.run("%%parallel\ndef f(x):\n    return helper(x) * scale").ok()
    assert notebook.value("f(5).result()") == "5"
    notebook.run("def helper(x):\n    return -x").ok()
    assert notebook.value("f(5).result()") == "-5"
    notebook.run("scale = 100").ok()
    assert notebook.value("list(f.map([1, 2]))") == "[-100, -200]"


def test_a_recursive_function_runs_inline_inside_its_task(notebook: Notebook) -> None:
    notebook.run("%%parallel\ndef fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)").ok()
    assert notebook.value("fib(12).result()") == "144"


def test_a_cell_that_raises_half_way_replaces_only_what_ran(notebook: Notebook) -> None:
    notebook.run("def f(x):\n    return 'plain'\ndef g(x):\n    return 'plain'").ok()
    output = notebook.run("%%parallel\ndef f(x):\n    return 'new'\n\n1 / 0\n\ndef g(x):\n    return 'new'")
    assert output.error is not None
    assert output.error["ename"] == "ZeroDivisionError"
    assert "----> 5 1 / 0" in output.traceback or "5 1 / 0" in output.traceback
    assert notebook.value("f(1).result(), g(1)") == "('new', 'plain')"


def test_await_in_a_later_cell(notebook: Notebook) -> None:
    notebook.run("%%parallel\ndef f(x):\n    return x * x").ok()
    output = notebook.run(
        "import asyncio\nprint(await f(7), await asyncio.gather(*[f(i) for i in range(3)]))"
    ).ok()
    assert output.stdout == "49 [0, 1, 4]\n"


def test_an_error_of_a_task_shows_the_line_of_the_cell(notebook: Notebook) -> None:
    notebook.run("%%parallel\ndef f(x):\n    y = x - 1\n    return 1 / y").ok()
    output = notebook.run("f(1).result()")
    assert output.error is not None
    assert output.error["ename"] == "ZeroDivisionError"
    assert "return 1 / y" in output.traceback


def test_a_syntax_error_points_at_the_line_of_the_notebook(notebook: Notebook) -> None:
    output = notebook.run("%%parallel\n\ndef f(x):\n    return x +\n")
    assert output.error is not None
    assert output.error["ename"] == "SyntaxError"
    assert "line 4" in output.traceback.lower()
    assert "return x +" in output.traceback


@pytest.mark.parametrize(
    ("cell", "message", "place"),
    [
        ("%%parallel h\ndef f(x): return x\ndef g(x): return x", "it defines f, g", "h"),
        ("%%parallel ff\ndef f(x): return x\ndef fg(x): return x", "did you mean", "ff"),
        (
            "%%parallel --retry 2\ndef f(x): return x",
            "unknown option --retry; did you mean --retries?",
            "--retry",
        ),
        ("%%parallel --retries\ndef f(x): return x", "--retries needs a value", "--retries"),
        ("%%parallel --retries x f\ndef f(x): return x", "a whole number from 0 to 255, not 'x'", "x"),
        ("%%parallel --retries=-1 f\ndef f(x): return x", "a whole number from 0 to 255, not '-1'", "-1"),
        ("%%parallel --timeout 0 f\ndef f(x): return x", "a number of seconds above 0, not '0'", "0"),
        ("%%parallel --priority 101 f\ndef f(x): return x", "from -100 to 100, not '101'", "101"),
        ("%%parallel --retries 1 --retries 2 f\ndef f(x): return x", "--retries is given twice", "--retries"),
        ("%%parallel --batch --batch\ndef f(x): return x", "--batch is given twice", "--batch"),
        ("%%parallel --resources a=1 --resources b=1,a=2\ndef f(x): return x", "names, each once", "b=1,a=2"),
        ("%%parallel f --batch\ndef f(x): return x", "options come first: %%parallel --batch f", "--batch"),
        ("%%parallel\nx = 1", "defines no function", None),
        ("%%parallel\nasync def f(x):\n    return x", "async def f cannot become", "async def f(x):"),
        (
            "%%parallel\nawait x\ndef f(x): return x",
            "await cannot stand at the top level of a %%parallel cell",
            "await x",
        ),
    ],
)
def test_a_wrong_line_is_pointed_at(notebook: Notebook, cell: str, message: str, place: str | None) -> None:
    output = notebook.run(cell)
    assert output.error is not None
    assert output.error["ename"] == "UsageError"
    assert message in output.traceback
    assert len(output.traceback.splitlines()) <= 4
    assert place is None or output.pointed_at().strip() == place


def test_options_of_several_names_add_up() -> None:
    line = Line("%%parallel", "--resources a=1 --depends-on x,y --resources b=2 --depends-on z f", "")
    values, _ = read_options(line, (RESOURCES, DEPENDS_ON))
    assert values == {"resources": {"a": 1.0, "b": 2.0}, "depends_on": ["x", "y", "z"]}


def test_a_wrong_line_runs_nothing(notebook: Notebook) -> None:
    notebook.run("ran = False").ok()
    assert notebook.run("%%parallel h\nran = True\ndef f(x): return x").status == "error"
    assert notebook.value("ran") == "False"


def test_values_in_braces_are_not_replaced(notebook: Notebook) -> None:
    notebook.run("f = 'g'").ok()
    output = notebook.run("%%parallel {f}\ndef g(x): return x")
    assert "{f}" in output.traceback


def test_cached_functions_become_parallel(notebook: Notebook) -> None:
    notebook.run(
        "%%parallel\nimport functools\n\n@functools.cache\ndef f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)"
    ).ok()
    notebook.run("@functools.lru_cache(maxsize=8)\ndef helper(x):\n    return x * 10").ok()
    notebook.run("%%parallel\ndef g(x):\n    return helper(x) + f(x)").ok()
    assert notebook.value("f(30).result(), list(f.map(range(5)))") == "(832040, [0, 1, 1, 2, 3])"
    assert notebook.value("g(3).result(), list(g.map(range(3)))") == "(32, [0, 11, 21])"


def test_what_belongs_to_ipython_says_what_to_do(notebook: Notebook) -> None:
    notebook.run(
        "%%parallel\ndef asks(x):\n    return get_ipython().user_ns\ndef ends(x):\n    exit()\n"
    ).ok()
    assert "There is no IPython in a worker: use it in a cell" in notebook.run("asks(1).result()").traceback
    assert (
        "leave the function with return, or raise an exception" in notebook.run("ends(1).result()").traceback
    )
