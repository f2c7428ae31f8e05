"""A real kernel, driven as a notebook drives it."""

from __future__ import annotations

import contextlib
import itertools
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from typing import Any

from jupyter_client.manager import KernelManager

LIMIT = 60.0
GATE = """
import pathlib, tempfile
gate = pathlib.Path(tempfile.mkdtemp(), "gate")
def wait_for_gate():
    import time
    while not gate.exists():
        time.sleep(0.005)
"""
"""Cells of a test hold a task back until they call `gate.touch()`."""
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@dataclass
class Output:
    """What one cell left: its streams, its displays as the notebook would keep them, its error."""

    msg_id: str
    status: str = ""
    stdout: str = ""
    stderr: str = ""
    result: dict[str, Any] | None = None
    displays: dict[str, dict[str, Any]] = field(default_factory=dict)
    error: dict[str, Any] | None = None
    messages: list[dict[str, Any]] = field(default_factory=list)

    @property
    def traceback(self) -> str:
        """The error as the user reads it."""
        return _COLOURS.sub("", "\n".join(self.error["traceback"])) if self.error else ""

    @property
    def text(self) -> str:
        """The plain text of the cell's value."""
        return str(self.result["text/plain"]) if self.result else ""

    def pointed_at(self) -> str:
        """What the carets of the error stand under."""
        for shown, caret in itertools.pairwise(self.traceback.splitlines()):
            if caret.strip() and set(caret.strip()) == {"^"}:
                return shown[caret.index("^") : caret.rindex("^") + 1]
        raise AssertionError(f"no caret in {self.traceback!r}")

    def texts(self) -> list[str]:
        """The plain text of every display."""
        return [data["text/plain"] for data in self.displays.values()]

    def ok(self) -> Output:
        """The same output; fails when the cell did."""
        assert self.status == "ok", self.traceback or self.stderr
        return self


class Notebook:
    """Cells run one after another in a kernel of their own."""

    def __init__(self) -> None:
        # by sockets with names: a free port may be taken by another process before the kernel binds it
        self._folder = tempfile.TemporaryDirectory(prefix="kernel-")
        where = str(Path(self._folder.name) / "kernel")
        self.manager = KernelManager(kernel_name="python3", transport="ipc", ip=where)
        # No history of cells in the user's folder, whose writing takes a quarter of a short cell's time.
        self.manager.start_kernel(extra_arguments=["--HistoryManager.hist_file=:memory:"])
        self._connect()

    def _connect(self) -> None:
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=LIMIT)
        self.outputs: dict[str, Output] = {}
        self.published: list[dict[str, Any]] = []
        self._replies: dict[
            str, dict[str, Any]
        ] = {}  # of cells that are not finished here yet, by their requests

    def close(self) -> None:
        """End the kernel."""
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self._folder.cleanup()

    def restart(self) -> None:
        """What the notebook's Restart does."""
        self.client.stop_channels()
        self.manager.restart_kernel(now=False)
        self._connect()

    def start(self, code: str) -> Output:
        """Send a cell and return at once."""
        output = Output(self.client.execute(code))
        self.outputs[output.msg_id] = output
        return output

    @contextlib.contextmanager
    def subshell(self) -> Iterator[Callable[[str], Output]]:
        """What sends a cell to a subshell of the kernel, which runs it beside the notebook's."""
        send, control = self.client.session.msg, self.client.control_channel
        control.send(send("create_subshell_request"))
        made = control.get_msg(timeout=LIMIT)["content"]["subshell_id"]

        def start(code: str) -> Output:
            message = send("execute_request", {"code": code, "silent": False, "allow_stdin": False})
            message["header"]["subshell_id"] = made
            output = Output(message["header"]["msg_id"])
            self.outputs[output.msg_id] = output
            self.client.shell_channel.send(message)
            return output

        yield start
        control.send(send("delete_subshell_request", {"subshell_id": made}))
        control.get_msg(timeout=LIMIT)

    def run(self, code: str) -> Output:
        """Run a cell to its end."""
        output = self.start(code)
        self.finish(output)
        return output

    def finish(self, output: Output, limit: float = LIMIT) -> Output:
        """Wait for the end of a cell."""
        if not any(_is_end(message, output.msg_id) for message in output.messages):
            self.wait(lambda message: _is_end(message, output.msg_id), limit)
        while output.msg_id not in self._replies:
            reply = self.client.get_shell_msg(timeout=LIMIT)
            self._replies[reply["parent_header"].get("msg_id", "")] = reply
        reply = self._replies.pop(output.msg_id)
        output.status = reply["content"]["status"]
        if output.status == "error" and output.error is None:
            output.error = reply["content"]
        return output

    def wait(self, wanted: Callable[[dict[str, Any]], bool], limit: float = LIMIT) -> dict[str, Any]:
        """Read what the kernel publishes until a message is wanted; each goes to the cell it belongs to."""
        deadline = time.monotonic() + limit
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError("the message did not come")
            try:
                message = self.client.get_iopub_msg(timeout=left)
            except Empty:
                continue
            self._take(message)
            if wanted(message):
                return message

    def warnings(self) -> str:
        """What all cells wrote to stderr: what comes between two cells belongs to the first, which had ended."""
        return "".join(output.stderr for output in self.outputs.values())

    def find(self, wanted: Callable[[dict[str, Any]], bool], since: int = 0) -> dict[str, Any]:
        """A message that was published already, after the first ``since`` ones, or else the first such that comes."""
        before = next((message for message in self.published[since:] if wanted(message)), None)
        return before or self.wait(wanted)

    def _take(self, message: dict[str, Any]) -> None:
        self.published.append(message)
        content, kind = message["content"], message["header"]["msg_type"]
        if kind == "update_display_data":
            for each in self.outputs.values():
                if content["transient"]["display_id"] in each.displays:
                    each.displays[content["transient"]["display_id"]] = content["data"]
        output = self.outputs.get(message["parent_header"].get("msg_id", ""))
        if output is None:
            return
        output.messages.append(message)
        if kind == "stream":
            if content["name"] == "stdout":
                output.stdout += content["text"]
            else:
                output.stderr += content["text"]
        elif kind == "execute_result":
            output.result = content["data"]
        elif kind == "display_data":
            key = content.get("transient", {}).get("display_id") or f"#{len(output.displays)}"
            output.displays[key] = content["data"]
        elif kind == "error":
            output.error = content

    def ask(self, request: Callable[[], str]) -> dict[str, Any]:
        """The content of the reply to a request other than a cell."""
        msg_id = request()
        while True:
            reply = self.client.get_shell_msg(timeout=LIMIT)
            if reply["parent_header"].get("msg_id") == msg_id:
                content: dict[str, Any] = reply["content"]
                return content

    def complete(self, code: str) -> list[str]:
        """What the Tab key offers where | is (at the end without one)."""
        before, _, after = code.partition("|")
        content = self.ask(lambda: self.client.complete(before + after, len(before)))
        return list(content["matches"])

    def inspect(self, code: str) -> str:
        """What Shift-Tab shows at the end of the code."""
        content = self.ask(lambda: self.client.inspect(code, len(code)))
        return _COLOURS.sub("", content["data"].get("text/plain", ""))

    def reset(self) -> None:
        """Remove the notebook's variables.

        `%reset` collects garbage, which takes ten times as long where modules loaded since may be garbage.
        """
        self.run("import gc; gc.freeze()\n%reset -f").ok()

    def value(self, expression: str) -> str:
        """The repr of an expression, evaluated as a cell."""
        return self.run(f"print(repr(({expression})))").ok().stdout.strip()


def _is_end(message: dict[str, Any], msg_id: str) -> bool:
    return (
        message["header"]["msg_type"] == "status"
        and message["content"]["execution_state"] == "idle"
        and message["parent_header"].get("msg_id") == msg_id
    )
