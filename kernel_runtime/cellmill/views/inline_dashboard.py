"""Dashboards inside notebooks: for each executor one publisher and one widget, shown as often as is wanted.

Frames go out over the widget's own comm. Commands come on comms which the page opens (target ``cellmill.widget``),
and those are heard while a cell runs; where a page cannot open one they come over the widget's comm, when the running
cell ends. A dashboard ends with its executor and leaves a picture and a table in its place.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from cellmill import executor as executors
from cellmill.errors import UsageError
from cellmill.executor import Executor
from cellmill.telemetry import schema
from cellmill.views import comm
from cellmill.views.publisher import Progress, Publisher, packed
from cellmill_widgets import dashboard
from cellmill_widgets.notebook import LIVE, close_widget, publish

TARGET = "cellmill.widget"
REDRAWN = 1.0  # seconds between pictures where there is no widget

_log = logging.getLogger("cellmill.views.comm")
_open: dict[str, Inline] = {}  # by the widget's key
_lock = threading.Lock()


def show(executor: Executor | None = None) -> None:
    """Draw the dashboard of an executor (None: of the default one, whichever it is) in the output of this cell.

    Raises `UsageError` where there is no notebook.
    """
    ip = _shell()
    if executor is not None and executor.closed:
        raise UsageError("this executor was shut down: there is nothing left to show")
    with _lock:
        found = [inline for inline in _open.values() if inline.shows(executor)]
        inline = found[0] if found else Inline(ip, executor)
        _open[inline.key] = inline
    inline.display()


def close_all() -> None:
    """End every dashboard; a picture and a table stay."""
    for inline in list(_open.values()):
        inline.close()


def _shell() -> Any:
    """The notebook's shell."""
    try:
        from IPython import get_ipython

        ip = get_ipython()
    except ImportError:
        ip = None
    if getattr(ip, "kernel", None) is None or executors.in_worker():
        raise UsageError(
            "a dashboard is drawn in a notebook, and this is none: open JupyterLab or Notebook and run "
            "%load_ext cellmill and %dashboard there; without one, executor.stats() has the figures"
        )
    return ip


def _progress_of(executor: Executor | None) -> Progress | None:
    """Return what the panel's publisher knows of the same executor from before; None where it knows nothing."""
    known = comm.publisher()
    same = executor is None or executor is executors.peek_default_executor()
    return known.progress if known is not None and same else None


class Inline:
    """The dashboard of one executor."""

    def __init__(self, ip: Any, executor: Executor | None) -> None:
        self._ip = ip
        self._pinned = None if executor is None else weakref.ref(executor)
        self._title = (
            "Tasks" if executor is None else f"Tasks of Executor, {executor.max_workers} {executor.backend}"
        )
        self._display_id = f"cellmill-{uuid.uuid4().hex}"
        self._last: schema.Snapshot | None = None
        self._drawn_at = 0.0
        self._closed = False
        self._note = ""
        self._widget: Any = None
        try:
            self._widget = dashboard.make(self._title, self._heard)
        except Exception as error:
            self._note = str(error) if isinstance(error, ImportError) else "the live view could not be made"
            _log.debug("no widget", exc_info=True)
        self.key: str = self._widget.key if self._widget is not None else self._display_id
        self._publisher = Publisher(
            ip,
            self._executor,
            self._send,
            rest=self._redraw,
            ended=self.close if executor is not None else None,
            progress=_progress_of(executor),
        )
        _controls.open()
        self._publisher.start()

    def shows(self, executor: Executor | None) -> bool:
        """Whether it is this executor's."""
        return self._executor() is executor if self._pinned is not None else executor is None

    def display(self) -> None:
        """Show it in the output of the present cell, beside other places where it is shown already."""
        self._last = self._publisher.snapshot()
        publish(
            self._ip.kernel, "display_data", self._bundle(), self._display_id, self._ip.kernel.get_parent()
        )

    def close(self) -> None:
        """End it: a picture and a table stay in the notebook, no thread and no comm in the kernel."""
        with _lock:
            if self._closed:
                return
            self._closed = True
            _open.pop(self.key, None)
            last = not _open
        self._publisher.close()
        _controls.forget(self.key)
        if last:
            _controls.close()
        self._guarded(self._settle)

    def _settle(self) -> None:
        if self._executor() is not None:
            self._last = self._publisher.snapshot() or self._last
        widget, self._widget, self._note = self._widget, None, ""
        publish(self._ip.kernel, "update_display_data", self._bundle(), self._display_id, None)
        if widget is not None:
            close_widget(widget)

    def _executor(self) -> Executor | None:
        return executors.peek_default_executor() if self._pinned is None else self._pinned()

    # What views say; on the main thread or on a subshell's.

    def obey(self, message: Mapping[str, Any], answer: Callable[[schema.Frame | None, int], None]) -> None:
        """Do what a view asks; each frame of the answer is handed on, and at last that it was heard."""
        view = str(message.get("view"))
        if message.get("closed"):
            self._publisher.left(view)
            return
        serial = int(message.get("serial", 0))
        for frame in self._publisher.obey(view, message.get("command", {})):
            answer(frame, serial)
        answer(None, serial)

    def left(self, view: str) -> None:
        """A view is gone."""
        self._publisher.left(view)

    def _heard(self, message: Mapping[str, Any]) -> None:
        """Over the widget's own comm."""
        view = str(message.get("view"))

        def answer(frame: schema.Frame | None, serial: int) -> None:
            if frame is None:
                self._widget.send({"ack": serial, "view": view})
            else:
                data, buffers = packed(frame)
                self._widget.send({"frame": data, "view": view}, buffers)

        self._guarded(lambda: self.obey(message, answer))

    # What views are told; in the publisher's thread.

    def _send(self, frame: schema.Frame) -> None:
        if frame["kind"] == "snapshot":
            self._last = frame
        if self._closed:
            return
        if self._widget is not None:
            data, buffers = packed(frame)
            self._guarded(lambda: self._widget.send({"frame": data}, buffers))
        elif time.monotonic() - self._drawn_at >= REDRAWN:
            self._redraw()

    def _redraw(self) -> None:
        """Keep the still of the dashboard in the saved notebook up to date."""
        self._drawn_at = time.monotonic()
        self._guarded(
            lambda: publish(self._ip.kernel, "update_display_data", self._bundle(), self._display_id, None)
        )

    def _bundle(self) -> dict[str, Any]:
        content = dashboard.still(self._title, self._last, self._note)
        if self._widget is not None:
            model = self._widget.model_id
            content[LIVE] = {"version": schema.VERSION}
            content[dashboard.VIEW] = {"version_major": 2, "version_minor": 0, "model_id": model}
        return content

    @staticmethod
    def _guarded(act: Callable[[], object]) -> None:
        try:
            act()
        except Exception:
            _log.debug("a widget was not told", exc_info=True)


class _Controls:
    """The comms which pages open to be heard while a cell runs; registered while there is a dashboard."""

    def __init__(self) -> None:
        self._registered = False
        self._comms: dict[str, list[Any]] = {}

    def open(self) -> None:
        if not self._registered:
            from comm import get_comm_manager

            get_comm_manager().register_target(TARGET, self._opened)
            self._registered = True

    def close(self) -> None:
        if self._registered:
            from comm import get_comm_manager

            get_comm_manager().unregister_target(TARGET, self._opened)
            self._registered = False

    def forget(self, key: str) -> None:
        """A dashboard ended: its comms are closed."""
        for control in self._comms.pop(key, []):
            Inline._guarded(control.close)

    def _opened(self, control: Any, message: dict[str, Any]) -> None:
        inline = _open.get(str(message["content"]["data"].get("widget")))
        if inline is None:
            control.close()
            return
        views: set[str] = set()
        comms = self._comms.setdefault(inline.key, [])
        comms.append(control)

        def heard(received: dict[str, Any]) -> None:
            said = received["content"]["data"]
            views.add(str(said.get("view")))
            Inline._guarded(lambda: inline.obey(said, answer))

        def answer(frame: schema.Frame | None, serial: int) -> None:
            if frame is None:
                control.send(data={"ack": serial})
            else:
                data, buffers = packed(frame)
                control.send(data={"frame": data}, buffers=buffers)

        def closed(_: object) -> None:
            for view in views:
                inline.left(view)
            if control in comms:
                comms.remove(control)

        control.on_msg(heard)
        control.on_close(closed)


_controls = _Controls()
atexit.register(close_all)
