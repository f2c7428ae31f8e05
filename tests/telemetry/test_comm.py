"""The kernel's side of the panel: in a real kernel, and on its own with everything around it failing."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient

from cellmill.telemetry import schema
from cellmill.views import comm as cellmill_comm
from tests.support.notebook import Notebook

LOAD = "%load_ext cellmill"
RUN = """
import pathlib, time
import cellmill

@cellmill.parallel
def hold(gate):
    while not pathlib.Path(gate).exists():
        time.sleep(0.01)

list(hold.map([{gate!r}] * {tasks}))
"""


@pytest.fixture
def kernel() -> Iterator[BlockingKernelClient]:
    notebook = Notebook()
    yield notebook.client
    notebook.close()


def messages(client: BlockingKernelClient, timeout: float = 60) -> Iterator[dict[str, Any]]:
    while True:
        try:
            yield client.get_iopub_msg(timeout=timeout)
        except queue.Empty:
            pytest.fail(f"the kernel was silent for {timeout} s")


def frames(client: BlockingKernelClient) -> Iterator[dict[str, Any]]:
    for message in messages(client):
        if message["msg_type"] == "comm_msg" and message["content"]["data"].get("cellmill") == 1:
            yield message["content"]["data"]
        assert message["msg_type"] != "error", message["content"]["traceback"]


def finish(client: BlockingKernelClient, request: str) -> list[dict[str, Any]]:
    """Everything until the kernel is idle after a request."""
    seen = []
    for message in messages(client):
        seen.append(message)
        ours = message["parent_header"].get("msg_id") == request
        if ours and message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            return seen
    return seen


def cell(client: BlockingKernelClient, request: str) -> Iterator[dict[str, Any]]:
    """The states of one execution of a cell."""
    for frame in frames(client):
        if frame["kind"] == "cells":
            yield from (state for state in frame["cells"] if state["request"] == request)


def test_a_cell_knows_its_runs_by_its_request(kernel: BlockingKernelClient, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    finish(kernel, kernel.execute(LOAD))
    first = kernel.execute(RUN.format(gate=str(gate), tasks=6))
    state = next(s for s in cell(kernel, first) if s["total"] == 6)
    assert (state["done"], state["over"], state["seconds"]) == (0, False, None)
    gate.touch()
    last = next(s for s in cell(kernel, first) if s["over"])
    assert (last["total"], last["done"], last["failed"], last["cancelled"]) == (6, 6, 0, 0)
    assert last["seconds"] >= 0
    assert len(last["runs"]) == 1
    # A failure, a cell with two runs, and calls of their own, whose cell is over as soon as they are.
    bad = kernel.execute(
        "list(hold.map([None] * 2, return_exceptions=True)), list(hold.map([1, 2], return_exceptions=True))"
    )
    last = next(s for s in cell(kernel, bad) if s["over"])
    assert (last["total"], last["done"], last["failed"], len(last["runs"])) == (4, 4, 4, 2)
    (line,) = last["lines"]  # of the cell that defines the function
    assert (line["request"], line["line"], line["error"], line["count"]) == (
        first,
        6,
        "TypeError",
        4,
    )  # no empty first line
    assert line["text"] == "while not pathlib.Path(gate).exists():"
    single = kernel.execute(f"made = [hold({str(gate)!r}) for _ in range(3)]")
    last = next(s for s in cell(kernel, single) if s["over"])
    assert (last["total"], last["done"], last["cell"], state["cell"]) == (3, 3, "In[4]", "In[2]")
    # A page that joins is told of all.
    finish(kernel, kernel.execute("made = None"))
    content = {"comm_id": "late", "target_name": schema.CONTROL_TARGET, "data": {"cellmill": 1}}
    opened = kernel.session.msg("comm_open", content)
    kernel.shell_channel.send(opened)
    answers = [
        m["content"]["data"]
        for m in finish(kernel, opened["header"]["msg_id"])
        if m["msg_type"] == "comm_msg"
    ]
    told = next(frame for frame in answers if frame["kind"] == "cells")
    assert [state["request"] for state in told["cells"]] == [first, bad, single]
    assert all(state["over"] for state in told["cells"])


OTHER = """
import cellmill
other = cellmill.Executor(1)
mine = cellmill.default_executor().submit(pow, 2, 3)
mine.result()
stream = other.map(abs, range(100000))
next(stream)
"""


def test_frames_flow_while_a_cell_runs_and_do_not_count_another_executor(
    kernel: BlockingKernelClient, tmp_path: Path
) -> None:
    finish(kernel, kernel.execute(LOAD))
    kernel.execute(OTHER)
    frame = next(f for f in frames(kernel) if f["kind"] == "snapshot" and f["counts"]["done"] >= 1)
    assert frame["counts"]["total"] == 1
    finish(kernel, kernel.execute("stream.close(); other.shutdown(cancel_futures=True)"))
    gate = tmp_path / "gate"
    kernel.execute(RUN.format(gate=str(gate), tasks=6))
    running = next(f for f in frames(kernel) if f["kind"] == "snapshot" and f["counts"]["total"] == 6)
    assert running["counts"]["done"] == 0
    assert [run["name"] for run in running["runs"]] == ["hold"]
    gate.touch()
    last = next(f for f in frames(kernel) if f["kind"] == "snapshot" and f["counts"]["done"] == 6)
    assert last["counts"] == {
        "total": 6,
        "done": 6,
        "failed": 0,
        "lost": 0,
        "cancelled": 0,
        "running": 0,
        "queued": 0,
    }


def test_loading_says_hello_opens_nothing_and_a_view_is_answered(kernel: BlockingKernelClient) -> None:
    def listed() -> int:
        reply = kernel.comm_info(target_name=schema.FRAME_TARGET, reply=True, timeout=60)
        return len(reply["content"]["comms"])

    assert listed() == 0
    seen = finish(kernel, kernel.execute(LOAD))
    data = [message["content"]["data"] for message in seen if message["msg_type"] == "comm_msg"]
    assert [frame["kind"] for frame in data] == ["hello"]
    assert [message for message in seen if message["msg_type"] == "comm_open"] == []
    assert listed() == 1
    content = {"comm_id": "view", "target_name": schema.CONTROL_TARGET, "data": {"cellmill": 1}}
    opened = kernel.session.msg("comm_open", content)
    kernel.shell_channel.send(opened)
    answers = [m for m in finish(kernel, opened["header"]["msg_id"]) if m["msg_type"] == "comm_msg"]
    kinds = [m["content"]["data"]["kind"] for m in answers]
    assert kinds[:1] == ["hello"]
    assert set(kinds[1:]) <= {"snapshot"}  # on a slow machine the first one comes as soon
    assert {m["content"]["comm_id"] for m in answers} == {"view"}
    finish(kernel, kernel.execute("%unload_ext cellmill"))
    assert listed() == 0


def test_without_a_kernel_attach_does_nothing() -> None:
    before = threading.active_count()
    cellmill_comm.attach(SimpleNamespace(kernel=None))
    cellmill_comm.attach(SimpleNamespace())
    cellmill_comm.detach()
    assert threading.active_count() == before


class BrokenChannel:
    """A comm whose kernel is gone."""

    comm_id = "broken"

    def send(self, data: object) -> None:
        raise RuntimeError("no kernel")


class FakeEvents:
    def __init__(self) -> None:
        self.registered: list[tuple[str, Any]] = []

    def register(self, name: str, callback: Any) -> None:
        self.registered.append((name, callback))

    def unregister(self, name: str, callback: Any) -> None:
        self.registered.remove((name, callback))


def test_errors_stay_in_the_log(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    import comm

    def broken_executor() -> None:
        raise RuntimeError("no counters")

    monkeypatch.setattr(comm, "create_comm", lambda **_: BrokenChannel())
    monkeypatch.setattr(cellmill_comm.executors, "peek_default_executor", broken_executor)
    events = FakeEvents()
    ip = SimpleNamespace(kernel=object(), events=events)
    with caplog.at_level(logging.DEBUG, logger="cellmill.views.comm"):
        cellmill_comm.attach(ip)
        cellmill_comm.attach(ip)
        assert [name for name, _ in events.registered] == ["pre_run_cell", "post_run_cell"]
        for _, callback in list(events.registered):
            callback(None)
        cellmill_comm.detach(ip)
    assert events.registered == []
    assert "a hello frame was not sent" in caplog.text
    assert "no sample at the start of a cell" in caplog.text
