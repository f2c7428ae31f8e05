"""Errors in cells end at the user's line: frames of Cellmill's own code are left out of what is shown."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from types import TracebackType

import cellmill
import cellmill_widgets

_OURS = tuple(
    os.path.dirname(os.path.abspath(str(package.__file__))) + os.sep
    for package in (cellmill, cellmill_widgets)
)


class Tracebacks:
    """Of one kernel. ``full``: all frames are shown."""

    def __init__(self) -> None:
        self.full = False

    def shorten(self, error: BaseException | None) -> None:
        """Take the frames out of an error that is about to be shown, and of those that it came from.

        An error in Cellmill itself keeps them: they are what a report of it needs.
        """
        if error is None or self.full or isinstance(error, cellmill.errors.InternalError):
            return
        with contextlib.suppress(Exception):  # code of the exception's own
            seen: set[int] = set()
            todo: list[BaseException | None] = [error]
            while todo:
                each = todo.pop()
                if each is None or id(each) in seen:
                    continue
                seen.add(id(each))
                each.__traceback__ = _of_others(each.__traceback__)
                todo += [each.__cause__, each.__context__, *getattr(each, "exceptions", ())]


def _of_others(traceback: TracebackType | None) -> TracebackType | None:
    """The entries of other code; all of them, where there is no other."""
    kept = None
    for entry in reversed(list(_entries(traceback))):
        if not entry.tb_frame.f_code.co_filename.startswith(_OURS):
            kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept or traceback


def _entries(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


tracebacks = Tracebacks()
