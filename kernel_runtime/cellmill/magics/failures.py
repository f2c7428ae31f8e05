"""The failed items of a `%%pfor`, as one ExceptionGroup that is shown on a page instead of a hundred."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from cellmill.diagnostics.short_text import counted, notes_of
from cellmill.diagnostics.tracebacks import as_shown
from cellmill.errors import text_of
from cellmill.serialization.exceptions import remote_traceback

_SHOWN = 5
_LISTED = 8
_PLACE = "%%pfor: "
_PLACES = (_PLACE, "in element ")  # begin the notes that say which item it was


class LoopErrors(ExceptionGroup[Exception]):
    """An ExceptionGroup of what the items raised; failures of one kind are shown once."""

    def derive(self, excs: Sequence[Exception]) -> LoopErrors:  # type: ignore[override]
        """The same group with other members, for `except*` and `split`."""
        return LoopErrors(self.message, excs)


class LoopEnds(BaseExceptionGroup[BaseException]):
    """The same where an item raised what is no Exception: SystemExit, KeyboardInterrupt and their like."""

    def derive(self, excs: Sequence[BaseException]) -> BaseExceptionGroup[Any]:  # type: ignore[override]
        """See `LoopErrors.derive`."""
        return group_of(self.message, excs)


LoopErrors.__name__ = LoopErrors.__qualname__ = "ExceptionGroup"
LoopEnds.__name__ = LoopEnds.__qualname__ = "BaseExceptionGroup"
_GROUPS = (LoopErrors, LoopEnds)


def group_of(message: str, errors: Sequence[Any]) -> BaseExceptionGroup[Any]:
    """Make an exception group of the kind that may hold all of these errors."""
    if all(isinstance(error, Exception) for error in errors):
        return LoopErrors(message, errors)
    return LoopEnds(message, errors)


def place(error: BaseException, where: str) -> None:
    """Note on an error which item it belongs to."""
    error.__dict__["_cellmill_place"] = where
    error.add_note(f"{_PLACE}{where}")


def show_in(ip: InteractiveShell) -> bool:
    """Have the shell show these groups briefly; not where other code shows exceptions its own way."""
    if ip.custom_exceptions:
        return False
    ip.set_custom_exc(_GROUPS, _shown_by_ipython)  # type: ignore[no-untyped-call]
    return True


def hide_from(ip: InteractiveShell) -> None:
    """Undo `show_in`."""
    if ip.custom_exceptions == _GROUPS:
        ip.set_custom_exc((), None)  # type: ignore[no-untyped-call]


def _shown_by_ipython(
    shell: Any, kind: Any, group: BaseExceptionGroup[Any], tb: Any, tb_offset: Any = None
) -> list[str]:
    lines = render(group)
    shell._showtraceback(kind, group, lines)
    return lines


def render(group: BaseExceptionGroup[BaseException]) -> list[str]:
    """The message, then each kind of failure with its places and the traceback of its first."""
    kinds: dict[tuple[str, str], list[BaseException]] = {}
    for error in group.exceptions:
        kinds.setdefault((type(error).__name__, text_of(error)), []).append(error)
    lines = [f"{type(group).__name__}: {group.message}"]
    for (name, words), errors in list(kinds.items())[:_SHOWN]:
        places = [error.__dict__.get("_cellmill_place", "the iterable") for error in errors]
        more = f" and {len(places) - _LISTED:,} more" if len(places) > _LISTED else ""
        lines += ["", f"{name}: {words}", f"  {', '.join(places[:_LISTED])}{more}"]
        lines += [f"  {line}" for line in [*_where(errors[0]), *_notes(errors[0])]]
    if len(kinds) > _SHOWN:
        rest = sum(len(errors) for errors in list(kinds.values())[_SHOWN:])
        are = "is" if rest == 1 else "are"
        others = counted(len(kinds) - _SHOWN, "other kind")
        lines += ["", f"{counted(rest, 'failure')} of {others} {are} not shown here"]
    return lines


def _notes(error: BaseException) -> list[str]:
    """What the user's code, or the loop, has noted on an error, but for the item."""
    notes = [note for note in notes_of(error) if type(note) is str and not note.startswith(_PLACES)]
    return [line for note in notes for line in note.splitlines()]


def _where(error: BaseException) -> list[str]:
    """The traceback of the worker, without its first and last line."""
    remote = remote_traceback(error)
    text = remote if remote is not None else "".join(traceback.format_tb(error.__traceback__))
    lines = as_shown(text.strip("\n") + "\n").splitlines()
    if lines and lines[0].startswith("Traceback"):
        lines = lines[1:]
    while lines and not lines[-1].startswith(" "):
        lines.pop()
    return lines
