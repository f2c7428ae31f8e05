"""Recording what views show: every frame that one could be sent, in a file that `cellmill replay` shows again.

In a notebook these are the very frames that its views are sent. Elsewhere a thread makes the same ones.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from ..diagnostics import notices
from ..errors import UsageError, in_words
from ..executor import peek_default_executor
from ..records import recorder
from ..records.recorder import RunRecorder
from ..task import memory_of
from ..telemetry import schema
from ..telemetry.journal import JournalFull, JournalWriter
from ..telemetry.progress import ProgressFold
from . import comm, pace, publisher, samples
from .sections import SECTIONS, FollowsWork, SectionOfWork

__all__ = ["Recording", "record", "stop_recording"]

LIMIT = 256 * 10**6  # bytes of a recording, if nothing else is said
_current: Recording | None = None
_lock = threading.Lock()


class Recording:
    """A recording under way; `stop` ends it, and so does the end of a ``with`` block."""

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self.problem = ""  # why it ended before it was stopped
        started = datetime.now(UTC).isoformat(timespec="seconds")
        self._writer = JournalWriter(path, {"release": publisher.release(), "started": started}, limit)
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._open = True
        views = comm.publisher()
        self._leave = views.tap(self._take) if views is not None else _Watcher(self._take).leave

    @property
    def frames(self) -> int:
        """Frames so far."""
        return self._writer.frames

    @property
    def size(self) -> int:
        """Bytes so far."""
        return self._writer.written

    def stop(self) -> Path:
        """End it with the present state; the file's path."""
        global _current
        executor = peek_default_executor()
        if executor is not None:
            executor._backend.settle(0)  # the last stamp of a row tells when its result was taken
        self._leave()
        self._close()
        with _lock:
            if _current is self:
                _current = None
        return self.path

    def _take(self, frame: schema.Frame) -> None:
        with self._lock:
            if not self._open:
                return
            try:
                self._writer.add(time.monotonic() - self._began, frame)
                return
            except JournalFull:
                self.problem = "it has reached the size it may have; give record(limit=...) for a larger one"
            except OSError as error:
                self.problem = in_words(error)
            self._open = False
            self._writer.close()
        notices.warn(f"the recording {self.path} ends here: {self.problem}")

    def _close(self) -> None:
        with self._lock:
            self._open = False
            self._writer.close()

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = "recording" if self._open else "ended"
        return f"<cellmill.Recording {self.path}, {self.frames} frames, {state}>"


class _Watcher:
    """Records frames where no kernel has views: a thread that takes those a view would be sent."""

    def __init__(self, take: Callable[[schema.Frame], None]) -> None:
        self._take = take
        self._fold = ProgressFold()
        self._sections = {name: make() for name, make in SECTIONS.items()}
        for section in self._sections.values():
            if isinstance(section, FollowsWork):
                section.follow(lambda: self._fold.bounds)
        self._due = dict.fromkeys(SECTIONS, 0.0)
        self._last: schema.Snapshot | None = None
        self._over = threading.Event()
        self._take(publisher.hello())
        self._thread = threading.Thread(target=self._run, name="cellmill-recording", daemon=True)
        self._thread.start()

    def leave(self) -> None:
        """The present state, and the end."""
        self._over.set()
        self._thread.join()
        self._due = dict.fromkeys(SECTIONS, 0.0)
        self._look()

    def _run(self) -> None:
        while not self._over.wait(pace.INTERVAL):
            self._look()

    def _look(self) -> None:
        executor = peek_default_executor()
        if executor is None:
            return
        now = time.monotonic()
        frame = self._fold.snapshot(samples.take_sample(executor), samples.take_run_samples(executor))
        if self._last is None or {**frame, "time": 0.0} != {**self._last, "time": 0.0}:
            self._last = frame
            self._take(frame)
        for name, section in self._sections.items():
            if now >= self._due[name]:
                self._due[name] = now + section.interval
                if isinstance(section, SectionOfWork):
                    section.begin(self._fold.work)
                found = section.frame(executor)
                if found is not None:
                    self._take(found)


def record(
    path: str | os.PathLike[str] | None = None, limit: int | str | None = None
) -> Recording | RunRecorder:
    """Record every run from now on in a folder, a file for each run; or what views show in one file.

    A folder is one that is there, or a name that ends with ``/``; without one it is that of ``CELLMILL_RECORD``, or
    ``~/.local/state/cellmill/runs``. `runs` lists what is in it, `open_record` reads it again. With more than
    ``limit`` bytes ("5GB") the oldest of its records go, but for those with a name (`Record.rename`). Without ``limit``
    all stay; of ``~/.local/state/cellmill/runs`` 2 GB do.

    Any other name is a file, into which frames of the views of the default executor go, of at most ``limit`` bytes (256
    MB without it). An older recording of that name is replaced; one that is under way ends. `cellmill replay FILE`
    makes a page of either.
    Files are readable by their owner alone. Raises `UsageError` where the file is another one, and `OSError`.
    """
    global _current
    if path is None or os.fspath(path).endswith(os.sep) or Path(path).expanduser().is_dir():
        return recorder.start(path, memory_of("limit", limit) or None)
    size = memory_of("limit", limit) or LIMIT
    if size < 1 << 16:
        raise UsageError(f"limit must be a number of bytes, at least 65,536, not {limit!r}")
    if _current is not None:
        _current.stop()
    with _lock:
        _current = Recording(Path(path), size)
        return _current


def stop_recording() -> list[Recording | RunRecorder]:
    """End all recording that is under way. Raises `UsageError` when there is none."""
    found = [each for each in (_current, recorder.current()) if each is not None]
    if not found:
        raise UsageError("nothing is being recorded: begin with cellmill.record(path)")
    for each in found:
        each.stop()
    return found


def close_all() -> None:
    """The program ends: a recording that is under way has its last state."""
    if _current is not None:
        _current.stop()


def under_way() -> list[Recording | RunRecorder]:
    """What records now."""
    return [each for each in (_current, recorder.current()) if each is not None]


def _leave_to_parent() -> None:
    global _current, _lock
    _current, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_leave_to_parent)
