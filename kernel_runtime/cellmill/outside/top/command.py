"""The command `cellmill top`."""

from __future__ import annotations

import sys
import time

from ...errors import CellmillError
from ..attached import attach
from ..kernel import SPAN
from .text import plain
from .watch import Frame, Watch

__all__ = ["run"]


def run(pid: int | None, interval: float, *, once: bool) -> int:
    """Look until the person quits, or ``once``; the exit code. Raises `CellmillError`."""
    if pid is not None:
        attach(pid).close()  # says why not
    watch = Watch(pid)
    try:
        if once:
            frame = _look(watch)
            print(plain(frame), file=sys.stdout if frame.kernel is not None else sys.stderr)
            return 0 if frame.kernel is not None else 1
        if not sys.stdout.isatty():
            raise CellmillError("this needs a terminal: with --once it prints one look as text")
        try:
            from .app import Top
        except ImportError as error:
            raise CellmillError(
                f"the live view needs textual ({error}): pip install 'cellmill[top]'; --once does without"
            ) from error
        Top(watch, interval).run()
        return 0
    finally:
        watch.close()


def _look(watch: Watch) -> Frame:
    """Look twice, so that throughput is known."""
    frame = watch.look()
    if frame.kernel is not None:
        time.sleep(SPAN / 4)
        frame = watch.look()
    return frame
