"""The kernel's settings (`settings.py`): which of them workers have, and what a call's own are, at a glance of 50 ns.

Workers have the base. Calls under other settings take them along: they go the long way, and what runs before them,
after them or beside them is as it was. What holds when a cell begins and nothing is outstanding becomes the base.
"""

from __future__ import annotations

import ctypes
import decimal
import sys
import threading
from typing import Any

from ...process_context import library_settings, settings
from ...process_context.settings import Settings
from .scheduler import ffi, with_gil

WORD = 4
_GET = ctypes.cast(ctypes.pythonapi.PyContextVar_Get, ctypes.c_void_p).value
_VARIABLES = (("_core.umath", "_extobj_contextvar"), ("_core.printoptions", "format_options"))


def _words() -> list[int]:
    """Find the positions of the 32-bit words of a decimal context that hold its settings, by comparing contexts; empty
    where it is not the one in C.
    """
    names = [getattr(decimal, name) for name in settings.DecimalContext().traps]
    plain: tuple[Any, ...] = (28, "ROUND_HALF_EVEN", -999999, 999999, 1, 0, [], names)
    size = decimal.Context().__sizeof__()
    kept: list[decimal.Context] = []  # at addresses of their own, or what refers to them would look the same

    def content(*fields: Any) -> memoryview:
        kept.append(decimal.Context(*fields))
        return memoryview(ctypes.string_at(id(kept[-1]), size)).cast("I")

    def differing(*fields: Any) -> set[int]:
        one, other = content(*plain), content(*fields)
        return {i for i in range(len(one)) if one[i] != other[i]}

    addresses = differing(*plain)  # whose upper halves may be the same by chance
    noise = addresses | {i | 1 for i in addresses} | differing(*plain[:6], names, names)
    others = [
        (decimal.MAX_PREC, *plain[1:]),
        (28, "ROUND_UP", *plain[2:]),
        (*plain[:2], decimal.MIN_EMIN, *plain[3:]),
        (*plain[:3], decimal.MAX_EMAX, *plain[4:]),
        (*plain[:4], 0, *plain[5:]),
        (*plain[:5], 1, *plain[6:]),
        (*plain[:7], []),
    ]
    found = [differing(*each) - noise for each in others]
    return sorted(set().union(*found)) if all(found) else []


class _Seen:
    """One state of the settings, as C compares it with the present one."""

    def __init__(self) -> None:
        self.form = ffi.new("csched_settings_t *")
        self._digits, self._modules = sys.get_int_max_str_digits, sys.modules
        self._kept: list[Any] = []  # what C refers to
        self._noting = threading.RLock()
        self.blind = False  # a decimal context that cannot be compared

    def __del__(self) -> None:
        with_gil.csched_settings_forget(self.form)

    def note(self) -> None:
        """Record the present settings."""
        form = self.form
        form.get, form.digits = ffi.cast("void *", _GET), _pointer(self._digits)
        form.modules = _pointer(self._modules)
        found: list[Any] = [
            getattr(sys.modules.get(f"numpy.{module}"), name, None) for module, name in _VARIABLES
        ]
        found += [settings.decimal_variable(), library_settings.option_values(), library_settings.probes()]
        with self._noting:
            self._kept = [*self._kept, *found]  # an interrupt may come before C refers to all of the new ones
            for i in range(2):
                form.variables[i] = _pointer(found[i])
            form.decimal, form.options, form.probes = map(_pointer, found[2:])
            self.blind = found[2] is not None and not WORDS
            form.words[0 : len(WORDS)] = WORDS
            form.word_count = len(WORDS)
            with_gil.csched_settings_note(form)
            self._kept = found

    def changed(self) -> bool:
        return self.blind or bool(with_gil.csched_settings_changed(self.form, 0))


def _pointer(thing: Any) -> Any:
    return ffi.NULL if thing is None else ffi.cast("void *", id(thing))


WORDS = _words()


class SettingsWatch:
    """Watches the settings for one backend. C compares `form` with the present ones before each plain call."""

    def __init__(self) -> None:
        self._seen, self._own = _Seen(), _Seen()
        self._left: dict[str, Any] = {}
        self.base = self._latest = self._read()
        self._seen.note()
        self._own.note()
        self.form = self._seen.form

    def leave_those_of_others(self) -> None:
        """Some settings stay what workers have of their own: processes of others."""
        self._left = dict.fromkeys(settings.OF_OTHERS, ...)
        self.base = self._latest = self._read()

    def _read(self) -> Settings:
        return settings.read()._replace(**self._left)

    def now(self) -> Settings:
        """Return the settings of the calling thread; the object `base` itself where they equal it."""
        if not self._seen.changed():
            return self.base
        if self._own.changed():
            self._latest = self._read()
            self._own.note()
        if not self._is_base(self._latest):
            return self._latest
        self._seen.note()
        return self.base

    def _is_base(self, found: Settings) -> bool:
        """Whether they are the same, also where `tempfile` has only looked meanwhile where its files go."""
        if self.base.files is None and library_settings.is_usual_folder(found.files):
            found = found._replace(files=None)
        return found == self.base

    def own(self) -> Settings | None:
        """Return the settings that a call must carry; None where they are the base."""
        now = self.now()
        return None if now is self.base else now

    def rebase(self) -> bool:
        """Make the present settings the base; return whether it changed."""
        now = self.now()
        if now is self.base:
            return False
        self.base = now
        self._seen.note()
        return True
