"""The kernel's side of the panel: its publisher's frames out, commands in.

Frames travel on a comm that is never opened towards the front end: views recognise them on IOPub by their
``cellmill`` field, which also works for a page that was reloaded in the middle of a cell and cannot speak yet.
Commands arrive on comms which the front end opens (target ``cellmill.control``); on those the kernel sends from its
own handlers only, so that JupyterLab's subshells keep carrying them while the main thread is busy.

Nothing here ever fails into user code: errors go to the logger ``cellmill.views.comm``.
"""

from __future__ import annotations

import itertools
import logging
import threading
from typing import Any

from cellmill import executor as executors
from cellmill.telemetry import schema
from cellmill.views.cells import CellFold
from cellmill.views.publisher import Publisher, hello, packed

_log = logging.getLogger("cellmill.views.comm")
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


def publisher() -> Publisher | None:
    """Return the publisher for this kernel's panels; None where there are none."""
    return _link._publisher if _link is not None else None


def show_panel(timeout: float) -> bool:
    """Ask the pages to open their panels; whether one says within ``timeout`` seconds that it did."""
    return _link is not None and _link.show(timeout)


class Link:
    """One kernel's connection to its panels."""

    def __init__(self, ip: Any) -> None:
        import comm

        self.ip = ip
        self._manager = comm.get_comm_manager()
        self._requests = itertools.count(1)
        self._shown: dict[int, threading.Event] = {}
        self._order = threading.Lock()  # held to send: nothing follows the goodbye
        self._closed = False
        self._publisher = Publisher(
            ip,
            lambda: executors.peek_default_executor(),
            lambda frame: self._send(self._frames, frame),
            cells=CellFold(),
        )
        # Registered with the kernel, so that comm_info_request shows it, but never opened towards a page.
        self._frames: Any = comm.create_comm(target_name=schema.FRAME_TARGET, primary=False)
        self._manager.register_comm(self._frames)
        self._manager.register_target(schema.CONTROL_TARGET, self._opened)
        self._send(self._frames, hello())
        self._publisher.start()

    def close(self) -> None:
        """End the publisher, say goodbye, take back every registration."""
        self._manager.unregister_target(schema.CONTROL_TARGET, self._opened)
        self._publisher.close()
        self._send(self._frames, {"cellmill": schema.VERSION, "kind": "goodbye"}, last=True)
        self._manager.unregister_comm(self._frames)

    def show(self, timeout: float) -> bool:
        """See `show_panel`. The answer comes on a subshell's thread while the cell that asks runs."""
        request = next(self._requests)
        answered = self._shown[request] = threading.Event()
        try:
            self._send(self._frames, {"cellmill": schema.VERSION, "kind": "show", "request": request})
            return answered.wait(timeout)
        finally:
            del self._shown[request]

    # Front end to kernel; these run on the main thread or on a subshell's.

    def _opened(self, control: Any, message: dict[str, Any]) -> None:
        listener = control.comm_id
        control.on_close(lambda _: self._publisher.left(listener))
        control.on_msg(lambda received: self._commanded(control, received))
        for frame in self._publisher.joined(listener):
            self._send(control, frame)

    def _commanded(self, control: Any, message: dict[str, Any]) -> None:
        command = message.get("content", {}).get("data", {})
        if command.get("kind") == "shown":
            answered = self._shown.get(command.get("request"))
            if answered is not None:
                answered.set()
            return
        for frame in self._publisher.obey(control.comm_id, command):
            self._send(control, frame)

    def _send(self, channel: Any, frame: schema.Frame, *, last: bool = False) -> None:
        """A page that is just joining, on another thread, hears no word after the ``last`` one."""
        data, buffers = packed(frame)
        with self._order:
            if self._closed:
                return
            self._closed = last
            try:
                channel.send(data=data, buffers=buffers)
            except Exception:
                _log.debug("a %s frame was not sent", frame["kind"], exc_info=True)
