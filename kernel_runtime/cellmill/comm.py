"""The kernel's side of the panel: frames out while something changes, commands in.

Frames leave from a background thread, so they flow while a cell runs, at most ten a second. They travel on
a comm that is never opened towards the front end: views recognise them on IOPub by their ``cellmill``
field, which also works for a page that was reloaded in the middle of a cell and cannot speak yet. Commands
arrive on comms which the front end opens (target ``cellmill.control``); on those the kernel sends from its
own handlers only, so that JupyterLab's subshells keep carrying them while the main thread is busy.

Nothing here ever fails into user code: errors go to the logger ``cellmill.comm``.
"""

from __future__ import annotations

import logging
import threading
import time
from importlib import metadata
from typing import Any, cast

from cellmill import commands, runs, schema
from cellmill import executor as executors
from cellmill.sections import SECTIONS
from cellmill.telemetry.progress import ProgressFold, RunSample, Sample

INTERVAL = 0.1  # seconds between frames, and between looks at the counters while something runs
UNHEARD_INTERVAL = 1.0  # between frames while no view has spoken: one may listen that cannot speak yet
PULSE = 2.0  # between frames while tasks run and nothing changes, for the page that was just reloaded
IDLE_LOOK = 1.0  # seconds between looks at the counters while nothing runs

_log = logging.getLogger("cellmill.comm")
_link: Link | None = None


def attach(ip: Any) -> None:
    """Tell this kernel's views about the default executor from now on; without a kernel this does nothing."""
    global _link
    if getattr(ip, "kernel", None) is None:
        return
    if _link is not None:
        if _link.ip is ip:
            return
        detach()
    try:
        _link = Link(ip)
    except Exception:
        _log.debug("the panel's comms could not be set up", exc_info=True)


def detach(ip: Any = None) -> None:
    """Undo `attach`: views hear a goodbye, the thread ends."""
    global _link
    link, _link = _link, None
    if link is not None:
        link.close()


class Link:
    """One kernel's connection to its views."""

    def __init__(self, ip: Any) -> None:
        import comm

        self.ip = ip
        self._manager = comm.get_comm_manager()
        self._listeners: dict[str, frozenset[str]] = {}  # by their comm: the sections each one shows
        self._sections = {name: make() for name, make in SECTIONS.items()}
        self._section_lock = threading.Lock()
        self._section_due = dict.fromkeys(SECTIONS, 0.0)
        self._fold = ProgressFold()
        self._fold_lock = threading.Lock()
        self._last: schema.Snapshot | None = None
        self._sent_at = 0.0
        self._in_cell = True  # attached by %load_ext, that is inside a cell
        self._closed = False
        self._wake = threading.Event()
        # Registered with the kernel, so that comm_info_request shows it, but never opened towards a page.
        self._frames: Any = comm.create_comm(target_name=schema.FRAME_TARGET, primary=False)
        self._manager.register_comm(self._frames)
        self._manager.register_target(schema.CONTROL_TARGET, self._opened)
        ip.events.register("pre_run_cell", self._cell_started)
        ip.events.register("post_run_cell", self._cell_ended)
        self._forget_runs = runs.on_run_started(self._run_started)
        self._send(self._frames, self._hello())
        self._thread = threading.Thread(target=self._publish, name="cellmill-frames", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread, say goodbye, take back every registration."""
        self._closed = True
        self._wake.set()
        self._forget_runs()
        for name, callback in (("pre_run_cell", self._cell_started), ("post_run_cell", self._cell_ended)):
            try:
                self.ip.events.unregister(name, callback)
            except ValueError:
                _log.debug("%s was unregistered already", name)
        self._manager.unregister_target(schema.CONTROL_TARGET, self._opened)
        self._thread.join(timeout=2)
        self._send(self._frames, {"cellmill": schema.VERSION, "kind": "goodbye"})
        self._manager.unregister_comm(self._frames)

    # Front end to kernel; these run on the main thread or on a subshell's.

    def _opened(self, control: Any, message: dict[str, Any]) -> None:
        self._listeners[control.comm_id] = frozenset()
        control.on_close(lambda _: self._listeners.pop(control.comm_id, None))
        control.on_msg(lambda received: self._commanded(control, received))
        self._answer(control)

    def _commanded(self, control: Any, message: dict[str, Any]) -> None:
        command = message.get("content", {}).get("data", {})
        try:
            answer = commands.obey(command)
            if command.get("kind") == "watch":
                self._watch(control.comm_id, command)
        except Exception as error:
            answer = commands.refused(command, error)
        if answer is not None:
            self._send(control, answer)
        self._answer(control)
        self._wake.set()  # the other views' news

    def _watch(self, listener: str, command: dict[str, Any]) -> None:
        wanted = frozenset(command.get("sections", ())) & SECTIONS.keys()
        self._listeners[listener] = wanted
        with self._section_lock:
            for name in wanted:
                self._sections[name].restart()
                self._section_due[name] = 0.0

    def _answer(self, control: Any) -> None:
        self._send(control, self._hello())
        frame = self._snapshot()
        if frame is not None:
            self._send(control, frame)

    # The notebook's events, on the main thread.

    def _cell_started(self, *_: object) -> None:
        try:
            executor = executors.peek_default_executor()
            if executor is not None:
                with self._fold_lock:
                    self._fold.cell_started(take_sample(executor))
        except Exception:
            _log.debug("no sample at the start of a cell", exc_info=True)
        self._in_cell = True
        self._wake.set()

    def _cell_ended(self, *_: object) -> None:
        self._in_cell = False
        self._wake.set()

    def _run_started(self, run: runs.Run) -> None:
        self._wake.set()

    # Kernel to front end.

    def _publish(self) -> None:
        while not self._closed:
            self._wake.clear()
            try:
                waiting = self._publish_once()
                self._publish_sections()
            except Exception:
                _log.debug("no frame", exc_info=True)
                waiting = False
            if waiting or self._in_cell:
                # Not the event: what wakes an idle publisher must not make a busy one faster.
                time.sleep(INTERVAL)
            else:
                self._wake.wait(IDLE_LOOK)

    def _publish_once(self) -> bool:
        """Send a frame when it is due; say whether another one may be due soon."""
        frame = self._snapshot()
        if frame is None:
            return False
        age = time.monotonic() - self._sent_at
        busy = frame["counts"]["done"] < frame["counts"]["total"]
        news = self._is_news(frame)
        if (news and age >= (INTERVAL if self._listeners else UNHEARD_INTERVAL)) or (busy and age >= PULSE):
            self._last, self._sent_at = frame, time.monotonic()
            self._send(self._frames, frame)
            news = False
        return busy or news

    def _publish_sections(self) -> None:
        """Send what views show beside the counters, each section at its own pace."""
        executor = executors.peek_default_executor()
        wanted = frozenset[str]().union(*list(self._listeners.values()))
        if executor is None or not wanted:
            return
        now = time.monotonic()
        with self._section_lock:
            for name in wanted:
                section = self._sections[name]
                if now < self._section_due[name]:
                    continue
                self._section_due[name] = (
                    now + section.interval - INTERVAL / 2
                )  # a look may come a little early
                frame = section.frame(executor)
                if frame is not None:
                    self._send(self._frames, frame)

    def _is_news(self, frame: schema.Snapshot) -> bool:
        """Whether anything but the time differs from the frame sent last."""
        last = self._last
        return last is None or {**frame, "time": 0.0} != {**last, "time": 0.0}

    def _snapshot(self) -> schema.Snapshot | None:
        """The present state; None before there is a default executor."""
        executor = executors.peek_default_executor()
        if executor is None:
            return None
        with self._fold_lock:
            return self._fold.snapshot(take_sample(executor), take_run_samples(executor))

    def _hello(self) -> schema.Hello:
        try:
            release = metadata.version("cellmill")
        except metadata.PackageNotFoundError:
            release = "unknown"
        return {"cellmill": schema.VERSION, "kind": "hello", "release": release}

    def _send(self, channel: Any, frame: schema.Frame) -> None:
        data = cast(dict[str, Any], frame)
        binary = schema.BUFFERS.get(frame["kind"], ())
        buffers = [data[name] for name in binary] if binary else None
        try:
            channel.send(data={k: v for k, v in data.items() if k not in binary}, buffers=buffers)
        except Exception:
            _log.debug("a %s frame was not sent", frame["kind"], exc_info=True)


def take_sample(executor: executors.Executor) -> Sample:
    """An executor's counters."""
    stats = executor.stats()
    return Sample(
        executor=id(executor),
        time=stats.time_ns / 1e9,
        backend=executor.backend,
        workers=stats.workers,
        wanted=executor.max_workers,
        paused=executor.paused,
        submitted=stats.submitted,
        running=stats.running,
        succeeded=stats.succeeded,
        failed=stats.failed,
        cancelled=stats.cancelled,
    )


def take_run_samples(executor: executors.Executor) -> list[RunSample]:
    """The counters of this executor's runs in progress, oldest first."""
    samples = []
    for run in runs.active_runs():
        if run._backend is not executor._backend:
            continue
        counts = run.counts()
        done = counts.succeeded + counts.failed + counts.cancelled
        samples.append(RunSample(run.id, run.name, run.expected, counts.submitted, done, counts.failed))
    return samples
