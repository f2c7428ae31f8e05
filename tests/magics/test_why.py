"""`%why` and `%cellmill debug` in a real kernel."""

from __future__ import annotations

from tests.support.notebook import Notebook


def test_why_a_task_waits(notebook: Notebook) -> None:
    notebook.run("%%parallel\ndef f(x):\n    return x").ok()
    notebook.run("%cellmill pause").ok()
    notebook.run("futures = [f(1), f(2)]\nlast = f(futures[0])").ok()
    assert "%cellmill resume" in notebook.run("%why futures[1]").ok().stdout
    assert "waits for the results of 1 task: f #" in notebook.run("%why last").ok().stdout
    number = int(notebook.value("last._ticket >> 32"))
    assert "waits for the results" in notebook.run(f"%why #{number}").ok().stdout
    notebook.run("%cellmill resume").ok()
    assert notebook.value("last.result(60)") == "1"
    assert "it is done" in notebook.run("%why last").ok().stdout


def test_why_a_task_of_a_cell_waits(notebook: Notebook) -> None:
    notebook.run("%cellmill pause").ok()
    notebook.run("%%task prepare\nprint('made')\nready = 1").ok()
    notebook.run("%%task fit after prepare\nready + 1").ok()
    assert "waits for the results of 1 task: prepare #" in notebook.run("%why fit").ok().stdout
    assert "%cellmill resume" in notebook.run("%why prepare").ok().stdout
    notebook.run("%cellmill resume").ok()
    assert notebook.value("fit.result(60)") == "2"
    assert "it is done" in notebook.run("%why fit").ok().stdout
    notebook.run("import cellmill\nrows = [*cellmill.journey_rows()][-2:]").ok()
    assert notebook.value("[row['function'] for row in rows]") == "['prepare', 'fit']"
    notebook.run("%%task bad\n1 / 0").ok()
    assert "failed with ZeroDivisionError" in notebook.run("bad.exception(60)\n%why bad").ok().stdout
    assert notebook.value("__import__('cellmill').output(prepare)") == repr("made\n")


def test_why_points_at_what_is_wrong(notebook: Notebook) -> None:
    notebook.run("x = 3").ok()
    for line, words in (
        ("%why", "which task?"),
        ("%why nothing", "names no task here (NameError"),
        ("%why x", "of type int"),
        ("%cellmill debug x", "takes the number of a task"),
        ("%cellmill debug 99999", "no failure is kept"),
    ):
        assert words in notebook.run(line).traceback


def test_debug_makes_the_call_here(notebook: Notebook) -> None:
    notebook.run("import os\nhere = os.getpid()").ok()
    notebook.run(
        "%%parallel\ndef once(x, where):\n    import os\n"
        "    if os.getpid() != where:\n        raise ValueError(f'no {x}')\n    return x"
    ).ok()
    assert notebook.value("type(once(7, here).exception(60)).__name__") == "'ValueError'"
    output = notebook.run("%cellmill debug").ok()
    assert output.stdout.startswith("once(7, ")
    assert "it did not fail here: 7" in output.stdout
