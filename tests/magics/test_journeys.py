"""`%journeys` in a real kernel."""

from __future__ import annotations

from tests.support.notebook import Notebook

DEFINE = """%%parallel
def halve(x):
    return x / 2

def third(x):
    if x == 7:
        raise ValueError(x)
    return x / 3
"""


def test_the_table_of_all_and_of_one_run(notebook: Notebook) -> None:
    notebook.run(DEFINE).ok()
    notebook.run("for f in [halve(x) for x in range(50)]: f.result()").ok()
    notebook.run("done = list(third.map(range(20), return_exceptions=True))").ok()
    everything = notebook.run("%journeys").ok()
    assert everything.result is not None
    for text in (everything.text, everything.result["text/html"]):
        assert "halve: 50 tasks" in text
        assert "third: 20 tasks" in text
        assert "The latest work:" in text  # is what the first line is about: the table is about all
        for word in ("wait-for-inputs", "queue", "run", "collect", "pickle", "median", "p99"):
            assert word in text
    one = notebook.run("%journeys third").ok().text
    assert "third: 20 tasks" in one
    assert "halve" not in one
    assert "latest" not in one
    assert "halve" in notebook.complete("%journeys ha")
    assert (
        "Show where the time"
        in notebook.run("print(get_ipython().find_line_magic('journeys').__doc__)").ok().stdout
    )


def test_attempts_that_others_follow_are_no_tasks(notebook: Notebook) -> None:
    """Two that came right in the end, and one that failed: neither six tasks nor four failures."""
    notebook.run(
        "%%parallel --retries 1\ndef first_fails(folder):\n    import os\n"
        "    if not folder or not os.path.exists(folder):\n"
        "        if folder: os.mkdir(folder)\n        raise OSError\n    return 1"
    ).ok()
    notebook.run(
        "import tempfile\nfolder = tempfile.mkdtemp()\n"
        "done = list(first_fails.map([folder + '/a', folder + '/b', ''], return_exceptions=True))"
    ).ok()
    text = notebook.run("%journeys first_fails").ok().text
    assert "first_fails: 3 tasks, 1 failed" in text
    assert "The newest" not in text


def test_a_wrong_line_is_pointed_at(notebook: Notebook) -> None:
    notebook.run(DEFINE).ok()
    notebook.run("halve(1).result()").ok()
    unknown = notebook.run("%journeys halv")
    assert "did you mean halve?" in unknown.traceback
    assert unknown.pointed_at() == "halv"
    assert notebook.run("%journeys halve third").pointed_at() == "third"


def test_it_says_of_how_many_tasks_it_has_the_journeys(notebook: Notebook) -> None:
    notebook.run(DEFINE).ok()
    notebook.run("done = sum(halve.map(range(300_000)))").ok()
    everything, one = notebook.run("%journeys").ok(), notebook.run("%journeys halve").ok()
    for output, words in (
        (everything, "300,0"),
        (one, "300,000 tasks:"),
    ):  # the kernel is that of other tests, too
        assert output.result is not None
        for text in (output.text, output.result["text/html"]):
            assert f"The newest 262,144 of {words}" in text
            assert "halve: 262,144 tasks" in text
