"""Dashboards inside notebooks, in a real kernel: what they are told, what they answer, what they leave."""

from __future__ import annotations

import json
import re
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter

import cellmill
from cellmill_widgets.dashboard import STATIC, VIEW, still
from tests.support.notebook import Notebook, Output

LEFT = """
import comm, threading
print(len(comm.get_comm_manager().comms), sum(t.name == "cellmill-frames" for t in threading.enumerate()))
print("cellmill.widget" in comm.get_comm_manager().targets)
"""


def opened(output: Output) -> dict[str, Any]:
    """The state of the anywidget that a cell opened."""
    [state] = [
        message["content"]["data"]["state"]
        for message in output.messages
        if message["header"]["msg_type"] == "comm_open"
        and message["content"]["data"].get("state", {}).get("_model_module") == "anywidget"
    ]
    return dict(state)


def is_still(message: dict[str, Any]) -> bool:
    """An update that leaves no widget."""
    content = message["content"]
    return message["header"]["msg_type"] == "update_display_data" and VIEW not in content["data"]


def test_a_still_tells_succeeded_failed_lost_and_cancelled_apart() -> None:
    counts = {
        "total": 200,
        "done": 200,
        "failed": 6,
        "lost": 2,
        "cancelled": 164,
        "running": 0,
        "queued": 0,
    }
    snapshot: Any = {"counts": counts, "elapsed": 2.0, "workers": 2, "backend": "local"}
    html = still("Tasks", snapshot)["text/html"]
    cells = re.findall(r"<td[^>]*>(?:<b>)?([^<]*)", html)
    told = dict(zip(cells[:10], cells[10:], strict=True))
    numbers = [told[name] for name in ("Tasks", "Done", "Failed", "Lost", "Cancelled")]
    assert numbers == ["200", "30", "4", "2", "164"]
    assert still("Tasks", snapshot)["text/plain"].startswith(
        "Tasks: 36 done in 2.0 s (18.0/s), 4 failed, 2 lost, 164"
    )


def say(notebook: Notebook, comm_id: str, kind: str, data: dict[str, Any]) -> None:
    """What a page sends on a comm of its own."""
    content = {"comm_id": comm_id, "target_name": "cellmill.widget", "data": data}
    client = notebook.client
    client.shell_channel.send(client.session.msg(kind, content))


def test_an_executor_of_ones_own_is_shown_obeyed_and_leaves_a_table(notebook: Notebook) -> None:
    before = notebook.run(LEFT).ok().stdout
    shown = notebook.run("import cellmill\nown = cellmill.Executor(1)\nown.dashboard()\nown.dashboard()").ok()
    assert [VIEW in data for data in shown.displays.values()] == [True]  # twice the same display
    state = opened(shown)
    assert state["title"] == "Tasks of Executor, 1 local"
    assert "cellmill-inline" in state["_css"]
    say(notebook, "page", "comm_open", {"widget": state["key"]})
    command = {"cellmill": 1, "kind": "set-workers", "count": 2}
    say(notebook, "page", "comm_msg", {"view": "v", "serial": 7, "command": command})
    answers: list[dict[str, Any]] = []

    def acknowledged(message: dict[str, Any]) -> bool:
        if message["header"]["msg_type"] == "comm_msg" and message["content"]["comm_id"] == "page":
            answers.append(message["content"]["data"])
        return bool(answers) and answers[-1].get("ack") == 7

    notebook.wait(acknowledged)
    assert [answer["frame"]["kind"] for answer in answers[:-1]] == ["hello", "snapshot"]
    assert answers[1]["frame"]["wanted"] == 2
    assert notebook.run("own.max_workers, cellmill.default_executor().max_workers").ok().text == "(2, 2)"
    since = len(notebook.published)
    notebook.run(
        "list(own.map(lambda n: 1 / (n % 3), range(9), return_exceptions=True))\nown.shutdown()"
    ).ok()

    def is_its_still(
        message: dict[str, Any],
    ) -> bool:  # a bar under the cell leaves one, too, where it took long
        return is_still(message) and message["content"]["data"]["text/plain"].startswith("Tasks of Executor")

    still = notebook.find(is_its_still, since)["content"]["data"]
    assert still["text/plain"].startswith("Tasks of Executor, 1 local: 9 done in ")
    assert "<table" in still["text/html"]
    assert still["image/svg+xml"].startswith("<svg")
    notebook.find(lambda message: message["header"]["msg_type"] == "comm_close", since)
    assert notebook.run(LEFT).ok().stdout == before


def test_the_default_executor_inline_until_the_extension_is_unloaded() -> None:
    notebook = Notebook()
    try:
        notebook.run("%load_ext cellmill").ok()
        shown = notebook.run("%dashboard --inline").ok()
        assert opened(shown)["title"] == "Tasks"
        notebook.run("%dashboard --inline").ok()
        notebook.run("%unload_ext cellmill").ok()
        assert notebook.run(LEFT).ok().stdout.split() == ["0", "0", "False"]
        assert VIEW not in next(iter(shown.displays.values()))
    finally:
        notebook.close()


def test_the_magic_says_what_it_takes(notebook: Notebook) -> None:
    assert "exclude each other" in notebook.run("%dashboard --inline --panel").traceback
    assert "unknown option --inlin; did you mean --inline?" in notebook.run("%dashboard --inlin").traceback
    assert "takes options only" in notebook.run("%dashboard now").traceback


def test_without_a_page_the_panel_is_shown_inline(notebook: Notebook) -> None:
    output = notebook.run("%dashboard --panel").ok()
    assert VIEW in next(iter(output.displays.values()))
    assert "No page with Cellmill's panel answered" in output.stdout


def test_outside_of_notebooks_it_says_what_to_do() -> None:
    with cellmill.Executor(1) as executor, pytest.raises(cellmill.UsageError, match="open JupyterLab"):
        executor.dashboard()


def test_without_anywidget_a_table_is_shown_and_the_reason() -> None:
    notebook = Notebook()
    try:
        notebook.run("import sys\nsys.modules['anywidget'] = None\n%load_ext cellmill").ok()
        [data] = notebook.run("%dashboard --inline").ok().displays.values()
        assert VIEW not in data
        assert "pip install anywidget" in data["text/plain"]
    finally:
        notebook.close()


def test_a_saved_notebook_shows_picture_and_table_without_a_kernel() -> None:
    cells = [
        "%load_ext cellmill\n%cellmill workers 2",
        "%dashboard --inline",
        "%%pfor --name nap x in range(8)\nimport time\ntime.sleep(0.2)\n1 / (x % 4)",
        "%unload_ext cellmill",
    ]
    document = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = NotebookClient(document, kernel_name="python3", timeout=60, allow_errors=True)
    client.store_widget_state = False
    client.execute()
    [bundle] = [output.data for output in document.cells[1].outputs]
    assert VIEW not in bundle
    page, _ = HTMLExporter().from_notebook_node(document)
    assert "Loading widget" not in page
    assert page.count("█") > 20
    assert "<b>First message</b>" in page
    assert "<b>Workers</b>" in page
    assert len(json.dumps(document.cells[1].outputs)) < 10_000


def test_the_view_is_small_and_asks_no_other_host() -> None:
    script, style = (STATIC / "dashboard.js").read_text(), (STATIC / "dashboard.css").read_text()
    assert len(script) + len(style) < 300_000
    assert "export" in script
    for text in (script, style):
        assert "https://" not in text
        assert "import(" not in text
