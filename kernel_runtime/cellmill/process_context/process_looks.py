"""Detection, in a worker, of what tasks change of their process: directory, environment, module path, locale, settings,
builtins, figures that they draw in.

A plain loop makes such a change in the kernel, and the items after it see it. A task makes it in its worker, where some
of the tasks that follow see it. Looked at are only functions that name what could change it (`os.chdir`, `os.environ`,
`locale.setlocale`, ...): others pay nothing.
"""

from __future__ import annotations

import builtins
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from typing import Any

from . import context, library_settings, settings

_DIRECTORY, _ENVIRONMENT, _PATH, _OF_PROCESS, _SETTINGS, _FIGURES, _FILES, _BUILTINS = range(8)
DRAWING = frozenset(
    ("plt", "pyplot", "pylab", "sns", "seaborn", "plot", "hist", "boxplot")
)  # in figures of pyplot
_BY_NAME = {
    **dict.fromkeys(("chdir", "fchdir"), _DIRECTORY),
    **dict.fromkeys(("environ", "putenv", "unsetenv", "load_dotenv"), _ENVIRONMENT),
    **dict.fromkeys(("setlocale", "tzset", "umask"), _OF_PROCESS),
    **dict.fromkeys(("getcontext", "setcontext", "seterr", "set_printoptions"), _SETTINGS),
    **dict.fromkeys(("setrecursionlimit", "set_int_max_str_digits"), _SETTINGS),
    **dict.fromkeys(("set_option", "rcParams", "set_config"), _SETTINGS),
    **dict.fromkeys(("DisableLog", "EnableLog", "setdefaulttimeout"), _SETTINGS),
    **dict.fromkeys((f"Set{name}" for name in library_settings.FLAGS), _SETTINGS),
    **dict.fromkeys(DRAWING, _FIGURES),
    **dict.fromkeys(("builtins", "__builtins__"), _BUILTINS),
}
_OF_LIBRARIES = "KMP_"  # variables of runtimes of threads, which numeric libraries set as they are imported
FIGURES = "pyplot's open figures"
_BY_PAIR = {
    ("sys", "path"): _PATH,
    ("pd", "options"): _SETTINGS,
    ("pandas", "options"): _SETTINGS,
    ("tempfile", "tempdir"): _FILES,
}
_OF_PROCESS_SHOWN = {"locale": "the locale", "zone": "the time zone", "umask": "the umask"}
_SETTINGS_SHOWN = {
    "recursion": "the recursion limit",
    "digits": "the most digits of numbers in text",
    "decimal": "the decimal context",
    "errors": "numpy's error state",
    "arrays": "numpy's print options",
    "tables": "pandas' options",
    "figures": "matplotlib's parameters",
    "estimators": "scikit-learn's configuration",
    "molecules": "RDKit's logs or switches",
    "sockets": "the time limit of new sockets",
}


class ProcessLook:
    """Compares some of this process's state with what it was at the latest `note`."""

    def __init__(self, kinds: Iterable[int]) -> None:
        self._kinds = sorted(kinds)
        self._before: list[Any] = []

    def note(self) -> None:
        """A task begins, or many that follow each other."""
        self._before = [_READ[kind]() for kind in self._kinds]

    def changed(self) -> list[str]:
        """What has another value than before, in words."""
        found = []
        for kind, before in zip(self._kinds, self._before, strict=True):
            now = _READ[kind]()
            if now != before:
                found += _SHOWN[kind](before, now)
        return found


def look_for(names: Iterable[str]) -> ProcessLook | None:
    """Return what to look at after calls of code that uses these names; None: it changes nothing of its process."""
    names = frozenset(names)
    kinds = {_BY_NAME[name] for name in names & _BY_NAME.keys()}
    kinds.update(kind for pair, kind in _BY_PAIR.items() if names.issuperset(pair))
    return ProcessLook(kinds) if kinds else None


def _directory() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def _open_figures() -> list[tuple[int, int]]:
    """Of each open figure of pyplot's its number, and how many things are drawn in it."""
    managers: Any = sys.modules.get("matplotlib._pylab_helpers")
    if managers is None:
        return []
    return [
        (manager.num, sum(len(axes.get_children()) for axes in manager.canvas.figure.axes))
        for manager in managers.Gcf.get_all_fig_managers()
    ]


def _entries(shown: str) -> Callable[[dict[str, Any], dict[str, Any]], list[str]]:
    def differing(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
        names = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
        return [shown.format(name) for name in names]

    return differing


def _fields(shown: dict[str, str]) -> Callable[[Any, Any], list[str]]:
    return lambda before, now: [
        text for field, text in shown.items() if getattr(before, field) != getattr(now, field)
    ]


_READ: dict[int, Callable[[], Any]] = {
    _DIRECTORY: _directory,
    _ENVIRONMENT: lambda: {
        name: value for name, value in os.environ.items() if not name.startswith(_OF_LIBRARIES)
    },
    _PATH: lambda: list(sys.path),
    _OF_PROCESS: context.read,
    _SETTINGS: settings.read_and_meant,  # a task that imports a library does not change its settings
    _FIGURES: _open_figures,
    _FILES: tempfile.gettempdir,  # which the first file would set
    _BUILTINS: lambda: {name: id(value) for name, value in vars(builtins).items()},
}
_SHOWN: dict[int, Callable[[Any, Any], list[str]]] = {
    _DIRECTORY: lambda *_: ["the working directory"],
    _ENVIRONMENT: _entries("os.environ[{!r}]"),
    _PATH: lambda *_: ["sys.path"],
    _OF_PROCESS: _fields(_OF_PROCESS_SHOWN),
    _SETTINGS: _fields(_SETTINGS_SHOWN),
    _FIGURES: lambda *_: [FIGURES],
    _FILES: lambda *_: ["tempfile.tempdir"],
    _BUILTINS: _entries("builtins.{}"),
}
