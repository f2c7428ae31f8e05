"""`%load_ext cellmill`, `%cellmill`, help and completion in a real kernel."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.support.notebook import Notebook


def test_status_as_text_and_html(notebook: Notebook) -> None:
    notebook.run("__import__('cellmill').default_executor().run_on_workers(int)").ok()  # until all are ready
    output = notebook.run("%cellmill").ok()
    assert output.result is not None
    for word in ("backend", "local", "policy", "pid", "idle", "done"):
        assert word in output.text
        assert word in output.result["text/html"]
    assert len([line for line in output.text.splitlines() if line.strip()[:1].isdigit()]) == 2


def test_workers(notebook: Notebook) -> None:
    assert notebook.run("%cellmill workers 3").ok().stdout == "3 workers (local)\n"
    assert notebook.value("__import__('cellmill').default_executor().max_workers") == "3"
    assert notebook.run("%cellmill workers 2").ok().stdout == "2 workers (local)\n"


def test_dask(notebook: Notebook) -> None:
    notebook.run("import os\nfrom dask import delayed\nwhere = delayed(os.getpid)").ok()
    asked = "where().compute() in cellmill.default_executor().run_on_workers(os.getpid)"
    notebook.run("import cellmill").ok()
    assert notebook.value(asked) == "False"
    assert notebook.run("%cellmill dask on").ok().stdout == "Dask computes with Cellmill's workers\n"
    assert notebook.value(asked) == "True"
    assert notebook.run("%cellmill dask off").ok().stdout == "Dask computes as before\n"
    assert notebook.value(asked) == "False"


def test_pause_resume_restart_and_stop(notebook: Notebook) -> None:
    notebook.run("%%parallel\ndef f(x):\n    return x").ok()
    notebook.run("%cellmill pause").ok()
    notebook.run("later = f(1)").ok()
    assert notebook.value("later.done()") == "False"
    notebook.run("%cellmill resume").ok()
    assert notebook.value("later.result(60)") == "1"
    assert "restarted" in notebook.run("%cellmill restart").ok().stdout
    assert notebook.value("f(2).result(60)") == "2"
    notebook.run("%cellmill pause").ok()
    notebook.run("never = [f(3), f(4)]").ok()
    assert "0 running, 2 waiting" in notebook.run("%cellmill").ok().text
    assert notebook.run("%cellmill stop").ok().stdout == "cancelled 2 tasks that had not begun\n"
    notebook.run("%cellmill resume").ok()
    assert notebook.value("never[0].cancelled(), f(3).result(60)") == "(True, 3)"


def test_cancelled_tasks_are_told_apart_from_those_that_are_done(notebook: Notebook) -> None:
    notebook.run("import cellmill, re\n%cellmill pause").ok()
    notebook.run(
        "for each in [cellmill.default_executor().submit(abs, -i) for i in range(3)]: each.cancel()"
    ).ok()
    notebook.run("%cellmill resume").ok()
    notebook.run("told = repr(get_ipython().run_line_magic('cellmill', ''))").ok()
    done, cancelled = "int(re.search(r'(\\d+) of', told)[1])", "int(re.search(r'(\\d+) cancelled', told)[1])"
    assert notebook.value(
        f"{cancelled} >= 3, {done} + {cancelled} == cellmill.default_executor().stats().submitted"
    ) == ("(True, True)")


def test_preload_and_policy_show_in_the_status(notebook: Notebook) -> None:
    assert notebook.run("%cellmill preload json csv").ok().stdout == "preloaded json, csv\n"
    assert notebook.run("%cellmill policy random").ok().stdout == "policy random\n"
    text = notebook.run("%cellmill").ok().text
    assert "json csv" in text
    assert "random" in text
    notebook.run("%cellmill policy least-loaded").ok()


def test_resources(notebook: Notebook) -> None:
    assert (
        "to give out: gpu 1, licence 0.5" in notebook.run("%cellmill resources gpu=1 licence=0.5").ok().stdout
    )
    notebook.run(
        "%%parallel --resources gpu=1,licence=0.5 --memory 1MB\ndef alone(x):\n    return 2 * x"
    ).ok()
    assert notebook.value("alone(4).result(60), list(alone.map(range(3)))") == "(8, [0, 2, 4])"
    notebook.run("%%pfor --resources gpu=1 x in range(3) -> out\nx").ok()
    notebook.run("%%task --resources gpu=1 --memory 1MB late\n7").ok()
    assert notebook.value("out, late.result(60)") == "([0, 1, 2], 7)"
    assert "gpu 1, licence 0.5" in notebook.run("%cellmill").ok().text
    assert "gpu 1, licence 0.5, memory 3 GB" in notebook.run("%cellmill resources memory=3GB").ok().stdout
    for line, words in (
        ("%cellmill resources", "needs names and numbers"),
        ("%cellmill resources gpu", "such as gpu=2, not 'gpu'"),
        ("%cellmill resources gpu=-1", "such as gpu=2, not 'gpu=-1'"),
        ("%cellmill resources memory=much", "resources['memory'] must be a number of bytes"),
        ("%%parallel --resources gpu f\ndef f(x): return x", "and numbers, such as gpu=1"),
        ("%%parallel --resources gpu=0 f\ndef f(x): return x", "and numbers, such as gpu=1"),
        ("%%parallel --resources memory=1 f\ndef f(x): return x", "memory is an option of its own"),
        ("%%parallel --memory lots f\ndef f(x): return x", "a size such as 2GB, not 'lots'"),
        ("alone.options(resources={'tpu': 1})(1)", "of which this executor has none"),
    ):
        assert words in notebook.run(line).traceback
    assert notebook.complete("%%parallel --resources li") == ["licence="]


def test_backend(notebook: Notebook) -> None:
    notebook.run("%%parallel\ndef pid(x):\n    import os\n    return os.getpid()").ok()
    assert "backend inline" in notebook.run("%cellmill backend inline").ok().stdout
    assert notebook.value("pid(1).result() == __import__('os').getpid()") == "True"
    assert "backend local" in notebook.run("%cellmill backend local").ok().stdout
    assert notebook.value("pid(1).result(60) == __import__('os').getpid()") == "False"
    notebook.run("%cellmill workers 2").ok()


@pytest.mark.parametrize(
    ("line", "message", "place"),
    [
        ("workers 0", "a whole number, 1 or more, not '0'", "0"),
        ("workers many", "a whole number, 1 or more, not 'many'", "many"),
        ("workers", "workers needs a number of workers", None),
        ("workers 1 2", "workers takes one argument only", "2"),
        ("worker 3", "unknown command 'worker'; did you mean workers?", "worker"),
        ("fly", "unknown command 'fly'", "fly"),
        ("why 3", "unknown command 'why'; use %why", "why"),
        ("tasks", "unknown command 'tasks'; use %dashboard, or cellmill.journeys()", "tasks"),
        ("failures", "unknown command 'failures'; use cellmill.failures()", "failures"),
        ("backend moon", "moon", "moon"),
        ("backend local --ship", "needs the folders of packages", "--ship"),
        ("backend local --ship tests", "only a cluster's backend takes --ship", "--ship"),
        ("backend dask --ship /nowhere", "there is no folder /nowhere", "dask"),
        ("policy moon", "moon", "moon"),
        ("preload no_such_module_x", "no module named 'no_such_module_x'", "no_such_module_x"),
        ("preload", "preload needs the names of modules", None),
        ("wait", "wait needs a number of seconds", None),
        ("wait long", "wait takes a number of seconds, 0 or more, not 'long'", "long"),
        ("wait -1", "wait takes a number of seconds, 0 or more, not '-1'", "-1"),
        ("stop now", "stop takes no argument", "now"),
        ("workers '3", "this quote is not closed", None),
    ],
)
def test_a_wrong_line_is_pointed_at(notebook: Notebook, line: str, message: str, place: str | None) -> None:
    output = notebook.run(f"%cellmill {line}")
    assert output.error is not None
    assert output.error["ename"] == "UsageError", output.traceback
    assert message in output.traceback
    assert place is None or output.pointed_at() == place
    notebook.run("%cellmill").ok()


def test_errors_of_lines_are_our_usage_error_too(notebook: Notebook) -> None:
    notebook.run(
        "import cellmill\ntry:\n    get_ipython().run_line_magic('cellmill', 'workers 0')\n"
        "except cellmill.UsageError as error:\n    print(isinstance(error, ValueError))"
    ).ok()


@pytest.mark.parametrize("magic", ["%cellmill", "%%parallel", "%%pfor", "%%task"])
def test_help(notebook: Notebook, magic: str) -> None:
    shown = notebook.inspect(magic)
    assert magic in shown
    if magic != "%cellmill":
        assert "--retries N" in shown
    assert "%cellmill workers N" in notebook.run("%cellmill help").ok().stdout


def test_help_names_all_magics(notebook: Notebook) -> None:
    listed = (
        "[n for kind in get_ipython().magics_manager.magics.values() for n, f in kind.items() "
        "if 'cellmill' in getattr(f, '__module__', '')]"
    )
    names = ast.literal_eval(notebook.value(listed))
    shown = notebook.run("%cellmill help").ok().stdout
    assert {"speedup", "dashboard", "why"} <= set(names)
    assert [name for name in names if f"%{name}" not in shown] == []


@pytest.mark.parametrize(
    ("code", "found", "absent"),
    [
        ("%cellmill ", ["backend", "help", "pause", "policy", "preload", "workers"], ["--retries"]),
        ("%cellmill wo", ["workers"], ["backend"]),
        ("%cellmill backend ", ["inline", "local", "threads"], []),
        ("%cellmill record o", ["off", "on"], []),
        ("%cellmill output ", ["label", "lines", "plain"], []),
        ("%cellmill policy ", ["least-loaded"], ["workers"]),
        ("%cellmill preload cellmill_w", ["cellmill_widgets"], []),
        ("%cellmill preload json.de", ["json.decoder"], []),
        (
            "%%parallel --",
            ["--batch", "--memory", "--name", "--priority", "--resources", "--retries", "--timeout"],
            [],
        ),
        ("%%parallel --re|\ndef f(x): return x", ["--retries"], ["--batch"]),
        (
            "%%parallel --batch |\ndef first(x): return x\ndef second(x): return x",
            ["first", "second"],
            ["--batch"],
        ),
        ("%%parallel first |\ndef first(x): return x\ndef second(x): return x", ["second"], ["first"]),
        ("%%parallel f|\ndef first(x):\n    return x +", ["first"], []),
        ("%%pfor --c", ["--chunksize"], []),
        ("%%pfor |\nitem * known", ["item"], ["known"]),
        ("%%pfor item |\nitem", ["in"], []),
        ("%%pfor x in kno", ["known"], []),
        ("%%task --t", ["--timeout"], []),
        ("%%task b ", ["after"], []),
        ("%%task b after ", ["earlier"], ["known"]),
        ("%%task b after earlier, ea", ["earlier_too"], ["earlier"]),
    ],
)
def test_completion(notebook: Notebook, code: str, found: list[str], absent: list[str]) -> None:
    notebook.run(
        "from concurrent.futures import Future\nknown = 1\nearlier = Future()\nearlier_too = Future()"
    ).ok()
    matches = notebook.complete(code)
    assert set(found) <= set(matches)
    assert not set(absent) & set(matches)


def test_completion_of_ordinary_code_is_as_before(notebook: Notebook) -> None:
    """Without the completer that reads the sources of modules: its first use takes seconds."""
    notebook.run("%config Completer.use_jedi = False\nknown_name = 1").ok()
    assert "known_name" in notebook.complete("print(known_n")


@pytest.fixture
def fresh() -> Iterator[Notebook]:
    """A kernel of its own."""
    notebook = Notebook()
    try:
        yield notebook
    finally:
        notebook.close()


HEAVY = {
    "anywidget",
    "bokeh",
    "dask",
    "distributed",
    "ipywidgets",
    "numpy",
    "pandas",
    "ray",
    "rdkit",
    "sklearn",
}


def test_loading_is_light_repeatable_and_undone_by_unloading(fresh: Notebook) -> None:
    fresh.run("import sys\nbefore = set(sys.modules)").ok()
    fresh.run("%load_ext cellmill").ok()
    came = fresh.value("sorted({name.partition('.')[0] for name in set(sys.modules) - before})")
    assert not set(ast.literal_eval(came)) & HEAVY
    fresh.run("import cellmill\ncellmill.load_ipython_extension(get_ipython())").ok()
    fresh.run("%%pfor x in [1, 2] -> out\nx").ok()
    fresh.run("%reload_ext cellmill").ok()
    fresh.run("%%pfor x in [1, 2] -> out\n-x").ok()
    assert fresh.value("out") == "[-1, -2]"
    events = "get_ipython().events.callbacks['pre_run_cell']"
    before = fresh.value(f"len({events})")
    fresh.run("%unload_ext cellmill").ok()
    assert "not found" in fresh.run("%cellmill").stderr
    assert fresh.value("'showtraceback' in vars(get_ipython())") == "False"
    assert fresh.complete("%cellmill ") == [] or "workers" not in fresh.complete("%cellmill ")
    assert int(fresh.value(f"len({events})")) < int(before)
    fresh.run("%load_ext cellmill").ok()
    assert fresh.value(f"len({events})") == before


def test_a_restarted_kernel_loads_and_runs_again(fresh: Notebook) -> None:
    for _ in range(2):
        fresh.run("%load_ext cellmill").ok()
        fresh.run("%%parallel\ndef f(x):\n    return x + 1").ok()
        assert fresh.value("list(f.map(range(3)))") == "[1, 2, 3]"
        fresh.restart()
