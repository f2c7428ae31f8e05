"""Tracebacks end at the user's line: which frames are left out of them, and how those of cells read."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import sysconfig
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from ..errors import OWN_FOLDER, InternalError, UsageError, did_you_mean

__all__ = ["as_shown", "in_cells", "shorten", "traceback"]

LENGTHS = ("full", "short")
_HERE = OWN_FOLDER + os.sep
_STANDARD = tuple(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib"))
_INSTALLED = tuple(sysconfig.get_path(name) + os.sep for name in ("purelib", "platlib"))
_PICKLER = os.path.join(sysconfig.get_path("purelib"), "cloudpickle", "")
_SHELL = os.path.join("IPython", "core", "interactiveshell.py")
_GET_CAUSE: Any = BaseException.__dict__["__cause__"]
_GET_CONTEXT: Any = BaseException.__dict__["__context__"]
_TRACEBACK: Any = BaseException.__dict__["__traceback__"]
_OURS = rf'(?:{re.escape(_HERE)}|[^"\n]*[\\/]site-packages[\\/]cellmill[\\/])'
_OWN = re.compile(rf'^([ |]*)File "{_OURS}[^"\n]*", line .*\n(?:\1  .*\n)*', re.MULTILINE)
_FRAME = re.compile(r'^([ |]*)File "([^"]+)", line (\d+)', re.MULTILINE)

_full = os.environ.get("CELLMILL_TRACEBACK", "short").strip().lower() == "full"
_ours = [_HERE]  # folders of code whose frames are left out


def traceback(length: str | None = None) -> str:
    """``cellmill.traceback("full")``: errors show Cellmill's own lines, too; ``"short"``: they end at the user's line.

    Returns what holds from now on. The environment variable ``CELLMILL_TRACEBACK`` sets it from the start.
    """
    global _full
    if length is not None:
        if length not in LENGTHS:
            meant = did_you_mean(length, LENGTHS)
            raise UsageError(f'traceback takes "full" or "short", not {length!r}{meant}')
        _full = length == "full"
    return "full" if _full else "short"


def add_folder(folder: str) -> None:
    """Frames of code below this folder are left out, too."""
    _ours.append(os.path.join(os.path.abspath(folder), ""))


def shorten(error: BaseException | None) -> None:
    """Leave Cellmill's own frames out of an error on its way to the user, and out of those that it came from.

    An error in Cellmill itself keeps them: they are what a report of it needs.
    """
    if error is None or _full or issubclass(type(error), InternalError):
        return
    with contextlib.suppress(Exception):  # code of the exception's own
        seen: set[int] = set()
        todo: list[Any] = [error]
        while todo:
            each = todo.pop()
            if each is None or id(each) in seen:
                continue
            seen.add(id(each))
            _TRACEBACK.__set__(each, _of_others(_TRACEBACK.__get__(each)))
            todo += [_GET_CAUSE.__get__(each), _GET_CONTEXT.__get__(each)]
            if issubclass(type(each), BaseExceptionGroup):
                todo += each.exceptions


def _of_others(traceback: TracebackType | None) -> TracebackType | None:
    """The entries of other code. What code of ours calls in the standard library is left out with it, and the way to a
    magic of ours that runs the user's lines.
    """
    kept: list[TracebackType] = []
    within, way = False, 0  # entries that lead to a magic
    for entry in _entries(traceback):
        name = entry.tb_frame.f_code.co_filename
        if name.startswith(tuple(_ours)):
            way = way if within else _way_to_magic(kept)
            within = True
        elif not (within and _is_standard(name)):
            del kept[len(kept) - way :]
            within, way = False, 0
            kept.append(entry)
    made = None
    for entry in reversed(kept):
        made = TracebackType(made, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return made


def _way_to_magic(entries: list[TracebackType]) -> int:
    """Return how many of the last entries are the shell's call of a cell magic, and the line it makes of ``%%name``."""
    codes = [entry.tb_frame.f_code for entry in entries[-2:]]
    if not codes or codes[-1].co_name != "run_cell_magic" or not codes[-1].co_filename.endswith(_SHELL):
        return 0
    made = codes[0].co_name == "<module>" and {line for *_, line in codes[0].co_lines() if line} == {1}
    return 2 if made else 1


def _is_standard(name: str) -> bool:
    if name.startswith(("<frozen", _PICKLER)):
        return True
    return name.startswith(_STANDARD) and not name.startswith(_INSTALLED)


def _entries(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def as_shown(text: str) -> str:
    """A traceback that came as text, as people read it: without frames of ours, with the numbers of cells."""
    return in_cells(text if _full else _OWN.sub("", text))


def in_cells(text: str) -> str:
    """The text of a traceback with the numbers of cells in the places of the file names that the kernel gives them."""
    name_of = _names_of_cells()
    if name_of is None:
        return text

    def named(match: re.Match[str]) -> str:
        words = name_of(match[2])
        return f"{match[1]}{' '.join(words)}, line {match[3]}" if words else match[0]

    return _FRAME.sub(named, text)


def cell_of(file: str) -> str:
    """Return the cell that a file name of the shell's belongs to, such as "In[3]"; "" for other files."""
    name_of = _names_of_cells()
    words = name_of(file) if name_of is not None else None
    return words[-1] if words else ""


def _names_of_cells() -> Any:
    """Return the look-up of the shell's cells by file name ("Cell", "In[3]"); None where there is no shell."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(getattr(shell, "compile", None), "format_code_name", None)
