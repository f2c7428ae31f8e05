"""The kernel's side of a bridge: its process, the wire to it, and what it tells."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import site
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .....errors import BackendError
from . import head
from .wire import Wire

MAIN = "from cellmill.backends.cluster.engines.raybridge.process import main; main()"
CLOSE_SECONDS = 10.0
TAIL_BYTES = 2000
TAIL_LINES = 6


class Link:
    """One bridge process, from its start to its end. ``hear`` is called from the reading thread; ``over`` is called
    last, with the bridge's own account of its end, or None.
    """

    def __init__(
        self,
        hear: Callable[[tuple[Any, ...], list[memoryview]], None],
        over: Callable[[Link, str | None], None],
    ) -> None:
        self._hear = hear
        self._over = over
        self.closing = False
        self.folder = head.folder(tempfile.gettempdir())
        try:
            self._start()
        except BaseException:
            head.remove(self.folder)
            raise

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        try:
            with theirs, self._said.open("wb") as said:
                self.process = subprocess.Popen(
                    [sys.executable, "-P", "-c", MAIN, str(theirs.fileno()), str(os.getpid()), self.folder],
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,  # Ctrl-C in a terminal is not for it
                    env=os.environ | {"PYTHONPATH": os.pathsep.join(search_path())},
                )
        except OSError as error:
            ours.close()
            raise BackendError(f"the process that drives Ray cannot be started: {error}.") from error
        self.wire = Wire(ours)
        self._reader = threading.Thread(target=self._read, name="cellmill-ray", daemon=True)
        self._reader.start()

    @property
    def _said(self) -> Path:
        return Path(self.folder) / "bridge.txt"

    def last_words(self) -> str:
        """Return the last lines that Ray's driver printed, for the end of an error message; "" if there are none."""
        with contextlib.suppress(OSError):
            said = self._said.read_bytes()[-TAIL_BYTES:].decode(errors="replace").strip()
            if said:
                return " The last it printed:\n" + "\n".join(said.splitlines()[-TAIL_LINES:])
        return ""

    def _read(self) -> None:
        reason = None
        while (message := self.wire.receive()) is not None:
            what, buffers = message
            if what[0] == "broken":
                reason = str(what[1])
            else:
                self._hear(what, buffers)
        if not self.closing:
            self._end_group()
            self._over(self, reason)

    def _end_group(self) -> None:
        """Kill the process group of a bridge: Ray's servers and their agents are in it. The group's number is not
        reused until the bridge has been waited for.
        """
        with contextlib.suppress(OSError):
            if self.process.returncode is None:
                os.killpg(self.process.pid, signal.SIGKILL)

    def close(self) -> None:
        """An own Ray has no process left afterwards, a borrowed one nothing of ours. Bounded."""
        self.closing = True
        self.wire.send(("close",))
        try:
            self.process.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._end_group()  # workers end with their server
            self.process.wait()
        self.wire.close()
        if self._reader is not threading.current_thread():
            self._reader.join(CLOSE_SECONDS)
        head.remove(self.folder)


def search_path() -> list[str]:
    """Return the folders where Ray's processes look for modules beside Python's own: PYTHONPATH, and where Ray and
    Cellmill are.

    Not where the kernel looks: a notebook's folder may have a ``grpc`` or a ``logging.py``. What tasks import is found
    as in the kernel, once they run.
    """
    told = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
    found = importlib.util.find_spec("ray")
    homes = [Path(__file__).parents[5]]
    if found is not None and found.origin:
        homes.append(Path(found.origin).parents[1])
    installed = {sysconfig.get_path(name) for name in ("purelib", "platlib")} | {site.getusersitepackages()}
    return list(dict.fromkeys([*told, *(str(home) for home in homes if str(home) not in installed)]))
