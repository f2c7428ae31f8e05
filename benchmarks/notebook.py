"""A real kernel, driven as a notebook drives it, and everything it started, found again by a mark."""

from __future__ import annotations

import contextlib
import os
import signal
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from types import TracebackType
from typing import Any

from jupyter_client.manager import KernelManager

START_S = 60.0
_MARK = "CELLMILL_BENCH_NOTEBOOK"  # in the environment of the kernel, and so of all below it, adopted or not


@dataclass(slots=True)
class Cell:
    """What a cell left. ``status`` is "ok", "error" or "hangs"; ``answer`` the repr of what was asked, else ""."""

    msg_id: str
    status: str = "hangs"
    answer: str = ""
    error: str = ""  # name of the exception
    stdout: str = ""
    displays: dict[str, str] = field(default_factory=dict)  # the last text and HTML of each, by its id

    @property
    def output(self) -> str:
        """All output below the cell."""
        return "\n".join([self.stdout, *self.displays.values()])


class Notebook:
    """Cells run one after another; every wait is bounded."""

    def __enter__(self) -> Notebook:
        self._mark = uuid.uuid4().hex
        self._cells: dict[str, Cell] = {}
        self._manager = KernelManager(kernel_name="python3")
        self._manager.start_kernel(env={**os.environ, _MARK: self._mark})
        self._client = self._manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=START_S)
        self.pid = int(self.run("import os", START_S, ask="os.getpid()").answer)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.stop_channels()
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._manager.shutdown_kernel(now=True)

    def start(self, code: str, ask: str = "") -> Cell:
        """Send a cell and return at once."""
        cell = Cell(self._client.execute(code, user_expressions={"asked": ask} if ask else None))
        self._cells[cell.msg_id] = cell
        return cell

    def finish(self, cell: Cell, limit: float) -> Cell:
        """Wait for its end, ``limit`` seconds at most."""
        end = time.monotonic() + limit
        while cell.status == "hangs" and time.monotonic() < end:
            self._listen_once()
            with contextlib.suppress(Empty):
                self._take_reply(self._client.get_shell_msg(timeout=0.02))
        return cell

    def run(self, code: str, limit: float, ask: str = "") -> Cell:
        """Run a cell to its end."""
        return self.finish(self.start(code, ask), limit)

    def listen(self, seconds: float) -> None:
        """Take what comes late."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._listen_once()
            time.sleep(0.01)

    def shown(self) -> str:
        """The output below all cells."""
        return "\n".join(cell.output for cell in self._cells.values())

    def interrupt(self) -> None:
        """Press Stop."""
        self._manager.interrupt_kernel()

    def kill(self) -> None:
        """SIGKILL to the kernel, and to nothing else."""
        os.kill(self.pid, signal.SIGKILL)

    def processes(self) -> list[int]:
        """The kernel and all that it started, and they started, as far as they live."""
        found = []
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                with contextlib.suppress(OSError):
                    marked = f"{_MARK}={self._mark}".encode() in Path("/proc", entry, "environ").read_bytes()
                    if (
                        marked
                        and Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()[0] != "Z"
                    ):
                        found.append(int(entry))
        return found

    def _take_reply(self, message: dict[str, Any]) -> None:
        cell = self._cells.get(message["parent_header"].get("msg_id", ""))
        if cell is None or message["header"]["msg_type"] != "execute_reply":
            return
        content = message["content"]
        cell.error = content.get("ename", "")
        asked = content.get("user_expressions", {}).get("asked", {})
        cell.answer = asked.get("data", {}).get("text/plain", "")
        cell.status = str(content["status"])

    def _listen_once(self) -> None:
        with contextlib.suppress(Empty):
            while True:
                message = self._client.get_iopub_msg(timeout=0)
                cell = self._cells.get(message["parent_header"].get("msg_id", ""))
                kind, content = message["header"]["msg_type"], message["content"]
                if cell is not None and kind == "stream":
                    cell.stdout += content["text"]
                elif cell is not None and kind in ("display_data", "update_display_data"):
                    shown = content.get("transient", {}).get("display_id", message["header"]["msg_id"])
                    data = content["data"]
                    cell.displays[shown] = "\n".join(
                        data.get(each, "") for each in ("text/plain", "text/html")
                    )
