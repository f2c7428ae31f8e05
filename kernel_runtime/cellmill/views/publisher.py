"""Frames for the views of one executor: counters always, sections while a view watches them.

A publisher knows no transport. It is given a function that sends a frame to all views, and it answers a view's
commands with the frames meant for that view alone. The panel's transport is `comm`, the widget's is in
``cellmill_widgets``. Frames leave from a background thread, so they flow while a cell runs. However many publishers
are heard in a kernel, together they send at most ten pictures a second, and fewer where no core is idle (`pace`).

Nothing here ever fails into user code: errors go to the logger ``cellmill.views.comm``.
"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from importlib import metadata
from typing import Any, cast

from cellmill import run_registry
from cellmill.executor import Executor
from cellmill.telemetry import schema
from cellmill.telemetry.progress import ProgressFold
from cellmill.views import commands
from cellmill.views.cells import CellFold
from cellmill.views.pace import INTERVAL, Pace
from cellmill.views.samples import left_of, take_run_samples, take_sample
from cellmill.views.scope import scope_of
from cellmill.views.section_set import SectionSet, check, wishes_of
from cellmill.views.sections import FOR_RECORDINGS, SECTIONS
from cellmill.views.sections.runs import counters
from cellmill.views.subscribers import Listeners, Wish

# Seconds between frames while no view has spoken: one that was just opened may listen and cannot speak yet, and is to
# show numbers within a second.
UNHEARD_INTERVAL = 0.6
PULSE = 2.0  # between frames while tasks run and nothing changes, for the page that was just reloaded
IDLE_LOOK = 1.0  # seconds between looks at the counters while nothing runs

_log = logging.getLogger("cellmill.views.comm")
_heard: weakref.WeakSet[Publisher] = weakref.WeakSet()


class Progress:
    """The counters of an executor, folded for one publisher or several; ``lock`` is held to use ``fold``."""

    def __init__(self) -> None:
        self.fold = ProgressFold()
        self.lock = threading.Lock()


class Publisher:
    """Sends the views frames of the executor that `executor_of` returns; None: there is none yet.

    ``send`` takes a frame for every view, in the publisher's thread. ``rest`` is called there when a piece of work
    and its cell are over, and ``ended`` once, when the executor was shut down and its last task is done.
    """

    def __init__(
        self,
        ip: Any,
        executor_of: Callable[[], Executor | None],
        send: Callable[[schema.Frame], None],
        *,
        rest: Callable[[], None] | None = None,
        ended: Callable[[], None] | None = None,
        progress: Progress | None = None,
        cells: CellFold | None = None,
    ) -> None:
        """``progress``: of another publisher of the same executor, whose pieces of work this one's are then.
        ``cells``: for views that are beside their cells.
        """
        self._ip = ip
        self._executor_of = executor_of
        self._deliver = send
        self._taps: list[Callable[[schema.Frame], None]] = []  # recorders of what views are sent
        self._rest, self._ended = rest, ended
        self._rested: tuple[int, schema.Counts] | None = None  # what was seen when nothing moved
        self._listeners = Listeners()
        self._pace = Pace()
        self.progress = progress or Progress()
        self._sections = SectionSet(self.progress.fold)
        self._cells = cells
        self._last: schema.Snapshot | None = None
        self._sent_at = 0.0
        self._in_cell = True  # made by a magic or a call, that is inside a cell
        self._closed = False
        self._wake = threading.Event()
        self._hooks = (("pre_run_cell", self._cell_started), ("post_run_cell", self._cell_ended))
        for name, callback in self._hooks:
            ip.events.register(name, callback)
        self._forget_runs = run_registry.on_run_started(lambda _: self._wake.set())
        self._thread = threading.Thread(target=self._publish, name="cellmill-frames", daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def close(self) -> None:
        """End the thread, take back every registration. The thread itself may call it, too."""
        self._closed = True
        self._wake.set()
        if self._cells is not None:
            self._cells.close()
        self._forget_runs()
        for name, callback in self._hooks:
            try:
                self._ip.events.unregister(name, callback)
            except ValueError:
                _log.debug("%s was unregistered already", name)
        _heard.discard(self)
        if threading.current_thread() is not self._thread and self._thread.is_alive():
            self._thread.join(timeout=2)

    # Views, on the main thread or on a subshell's.

    def joined(self, listener: str) -> list[schema.Frame]:
        """A view spoke for the first time; what it is told."""
        self._listeners.heard(listener)
        _heard.add(self)
        state = self.state()
        self._record(state[1:])
        return [*state, *self._course()]

    def left(self, listener: str) -> None:
        """A view is gone."""
        self._listeners.left(listener)
        self._forget_unheard()

    def obey(self, listener: str, command: Mapping[str, Any]) -> list[schema.Frame]:
        """Do what a view asks; the frames for it alone: none for one that only says again what it watches."""
        stranger = listener not in self._listeners
        try:
            answer = commands.obey(command, self._executor_of())
            if not self._spoke(listener, command):
                return []
            kind = command.get("kind")
            if answer is not None and kind in commands.QUESTIONS:
                return [answer]
            if kind not in ("watch", "refresh"):
                self._pace.hurry()
        except Exception as error:
            kind, answer = "", commands.refused(command, error)
        self._wake.set()  # the other views' news
        state = self.state()
        self._record(state[1:])  # views fold it into what they show
        if kind == "refresh" or stranger:
            state += self._course()
        if kind in ("watch", "refresh"):
            state += self._of_runs(listener)
        return [*([] if answer is None else [answer]), *state]

    def _course(self) -> list[schema.Frame]:
        """Return the counters of the present work so far, and the cells, for a view that may have missed them."""
        with self.progress.lock:
            course = self.progress.fold.course()
        cells = self._cells.all() if self._cells is not None else None
        return [frame for frame in (course, cells) if frame is not None]

    def _of_runs(self, listener: str) -> list[schema.Frame]:
        """Return the counters up to now of the runs that a view shows by themselves."""
        executor, frames = self._executor_of(), list[schema.Frame]()
        for run in sorted({run for _, run in self._listeners.sections_of(listener) if run is not None}):
            scope = None if executor is None else scope_of(executor, run)
            now = None if scope is None or executor is None else counters(executor, scope)
            if now is not None:
                with self.progress.lock:
                    course = self.progress.fold.course_of(run, now["began"])
                frames += [now] if course is None else [now, course]
        return frames

    def state(self) -> list[schema.Frame]:
        """A greeting and the counters of now."""
        snapshot = self.snapshot()
        return [hello(), *([] if snapshot is None else [snapshot])]

    def snapshot(self) -> schema.Snapshot | None:
        """The present state; None before there is an executor."""
        executor = self._executor_of()
        if executor is None:
            return None
        sample, runs = take_sample(executor), take_run_samples(executor)
        with self.progress.lock:
            frame = self.progress.fold.snapshot(sample, runs)
        frame["left"] = left_of(executor)
        return frame

    def tap(self, take: Callable[[schema.Frame], None]) -> Callable[[], None]:
        """Hand it every frame that is sent, of all sections; what is returned sends the present state and ends that."""
        listener = f"tap {id(take)}"
        for frame in self.state():
            take(frame)
        self._taps.append(take)
        self._watch(listener, frozenset((name, None) for name in SECTIONS), lasting=True)
        self._wake.set()

        def leave() -> None:
            self._sections.hurry()
            last = self.snapshot()
            if last is not None:
                self._send(last)
            self._publish_sections()
            self._taps.remove(take)
            self.left(listener)

        return leave

    def _spoke(self, listener: str, command: Mapping[str, Any]) -> bool:
        """Record a command as a sign of life of its view; return False only where it repeats what the view watches
        already.
        """
        kind = command.get("kind")
        if kind == "watch":
            return self._watch(listener, wishes_of(command))
        before = self._listeners.heard(listener)
        _heard.add(self)
        if kind == "refresh":
            self._sections.restart(before or ())
        return True

    def _watch(self, listener: str, wanted: frozenset[Wish], *, lasting: bool = False) -> bool:
        """Record what a view watches; return whether that changed."""
        check(self._listeners.sections(but=listener) | wanted)
        before = self._listeners.heard(listener, wanted, lasting=lasting)
        _heard.add(self)
        if wanted == before:
            return False
        self._sections.restart(wanted)
        return True

    def _forget_unheard(self) -> None:
        if not len(self._listeners):
            _heard.discard(self)

    def _send(self, frame: schema.Frame) -> None:
        self._record([frame])
        self._listeners.told()
        self._deliver(frame)

    def _record(self, frames: Iterable[schema.Frame]) -> None:
        for frame in frames:
            for take in list(self._taps):
                take(frame)

    # The notebook's events, on the main thread.

    def _cell_started(self, *_: object) -> None:
        try:
            executor = self._executor_of()
            if executor is not None:
                with self.progress.lock:
                    self.progress.fold.cell_started(take_sample(executor))
        except Exception:
            _log.debug("no sample at the start of a cell", exc_info=True)
        self._in_cell = True
        if self._cells is not None:
            self._cells.cell_started()
        self._wake.set()

    def _cell_ended(self, *_: object) -> None:
        self._in_cell = False
        if self._cells is not None:
            self._cells.cell_ended()
        self._listeners.cell_ended()
        self._wake.set()

    # The thread.

    def _publish(self) -> None:
        while not self._closed:
            self._wake.clear()
            try:
                waiting = self._look()
            except Exception:
                _log.debug("no frame", exc_info=True)
                waiting = False
            if waiting or self._in_cell:
                # Not the event: what wakes an idle publisher must not make a busy one faster.
                time.sleep(INTERVAL)
            else:
                self._wake.wait(IDLE_LOOK)

    def _look(self) -> bool:
        """Send what is due to the present subscribers; return whether more may be due soon."""
        if self._listeners.drop_silent(self._in_cell):
            self._forget_unheard()
        waiting = self._publish_once()
        self._publish_sections()
        more = self._cells is not None and self._cells.news(self._deliver)  # a recording has no cells
        self._tell_rest(waiting)
        return waiting or more

    def _interval(self) -> float:
        """Seconds between frames: active publishers share the frames that a browser is sent."""
        return self._pace.interval() * max(1, len(_heard))

    def _publish_once(self) -> bool:
        """Send a frame when it is due; say whether another one may be due soon."""
        frame = self.snapshot()
        if frame is None:
            return False
        age = time.monotonic() - self._sent_at
        busy = frame["counts"]["done"] < frame["counts"]["total"]
        news = self._is_news(frame)
        if (news and age >= (self._interval() if len(self._listeners) else UNHEARD_INTERVAL)) or (
            busy and age >= PULSE
        ):
            self._last, self._sent_at = frame, time.monotonic()
            self._send(frame)
            news = False
        return busy or news

    def _publish_sections(self) -> None:
        """Send what views show beside the counters, each section at its own pace."""
        executor = self._executor_of()
        wanted = self._listeners.sections()
        if executor is None or not wanted:
            return
        for name, frame in self._sections.frames(wanted, executor, self._interval()):
            if name in FOR_RECORDINGS:
                self._record([frame])
            else:
                self._send(frame)

    def _tell_rest(self, waiting: bool) -> None:
        """Say that nothing moves any more, for what outlives the run."""
        if waiting or self._in_cell:
            return
        counts = None if self._last is None else (self._last["work"], self._last["counts"])
        if counts != self._rested:
            self._rested = counts
            if self._rest is not None:
                self._rest()
        if self._ended is not None:
            executor = self._executor_of()
            if executor is None or executor.closed:
                self._ended()

    def _is_news(self, frame: schema.Snapshot) -> bool:
        """Whether the frame differs from the one sent last in more than its time and what follows from it."""
        last = self._last
        return last is None or {**frame, "time": 0.0, "left": None} != {**last, "time": 0.0, "left": None}


def release() -> str:
    """The version that is installed."""
    try:
        return metadata.version("cellmill")
    except metadata.PackageNotFoundError:
        return "unknown"


def hello() -> schema.Hello:
    """The frame with which a view is greeted."""
    return {"cellmill": schema.VERSION, "kind": "hello", "release": release()}


def packed(frame: schema.Frame) -> tuple[dict[str, Any], list[Any] | None]:
    """A frame as messages carry it: JSON, and buffers."""
    data = cast(dict[str, Any], frame)
    binary = schema.BUFFERS.get(frame["kind"], ())
    if not binary:
        return data, None
    return {k: v for k, v in data.items() if k not in binary}, [data[name] for name in binary]
