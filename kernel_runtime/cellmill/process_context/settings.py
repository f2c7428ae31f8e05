"""Settings that values depend on: how decimals, arrays, estimators and molecules compute, how deep calls go, how text,
tables and figures look.

Read in the kernel; put in force in workers: those that held when nothing was outstanding as the worker's own, any
others with the tasks that were submitted under them, and only while these run. ``None`` is what Python or the library
begins with. A library that a worker has not imported gets its settings as soon as it is.
"""

from __future__ import annotations

import contextlib
import contextvars
import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import EllipsisType, ModuleType
from typing import Any, NamedTuple

from .library_settings import LIBRARIES, Pairs, Undo

_LATE = frozenset(library.module for library in LIBRARIES.values())
OF_A_THREAD = ("decimal", "errors", "arrays", "estimators")  # of the settings
OF_OTHERS = ("molecules", "files", "sockets")  # those which processes of others keep as they are


class DecimalContext(NamedTuple):
    """A context of the module decimal; the fields are the arguments of its `Context`, in this order."""

    prec: int = 28
    rounding: str = "ROUND_HALF_EVEN"
    Emin: int = -999999
    Emax: int = 999999
    capitals: int = 1
    clamp: int = 0
    traps: tuple[str, ...] = ("DivisionByZero", "InvalidOperation", "Overflow")


class Settings(NamedTuple):
    """The thread's settings that tasks must see. ``...``: what this process has."""

    recursion: int = 0  # 0: what this process has
    digits: int = -1  # of numbers in text; -1: what this process has
    decimal: DecimalContext | None = None
    errors: Pairs | None = None  # numpy's error state
    arrays: Pairs | None = None  # numpy's print options
    tables: Pairs = ()  # pandas' options that are not as it begins with
    figures: Pairs = ()  # the same of matplotlib's rcParams,
    estimators: Pairs = ()  # of scikit-learn's configuration,
    molecules: Pairs | EllipsisType = ()  # and of RDKit's logs and the switches of its chemistry
    files: str | EllipsisType | None = None  # the folder for temporary files; None: as the environment says
    sockets: float | EllipsisType | None = None  # seconds that new sockets wait; None: without a limit


def read() -> Settings:
    """Read the present settings of this thread."""
    return Settings(
        sys.getrecursionlimit(),
        sys.get_int_max_str_digits(),
        _decimal(),
        *(library.read() for library in LIBRARIES.values()),
    )


def read_and_meant() -> Settings:
    """The present settings of this thread; of a library that is not imported those that it gets when it is."""
    late = {name: getattr(_meant, name) for name, each in LIBRARIES.items() if each.module not in sys.modules}
    return read()._replace(**{name: meant for name, meant in late.items() if meant is not ...})


@contextlib.contextmanager
def under(settings: Settings | None, own_process: bool = True) -> Iterator[None]:
    """Apply these settings in the block; None changes nothing."""
    if settings is None:
        yield
        return
    undo = put(settings, own_process=own_process)
    try:
        yield
    finally:
        for each in reversed(undo):
            each()


class Under:
    """A function that is called with settings of its own."""

    def __init__(self, settings: Settings, function: Callable[..., Any], own_process: bool = True) -> None:
        self._settings = settings
        self._own_process = own_process
        self._function = function
        self.__qualname__ = str(getattr(function, "__qualname__", type(function).__name__))

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        with under(self._settings, self._own_process):
            return self._function(*args, **kwargs)


_UNTOLD = Settings()
_meant = _UNTOLD  # for a library that is imported later


def put(now: Settings, before: Settings | None = None, own_process: bool = True) -> list[Undo]:
    """Put settings in force in this thread; what makes that undone. With ``before``, only what differs from it.

    Not ``own_process``: this is the kernel's, where those that hold for a process are as they should be.
    """
    names = Settings._fields if own_process else OF_A_THREAD
    undo = _put(names, now, before)
    return undo + _remembered(now, before) if own_process else undo


def put_shared(now: Settings, before: Settings) -> list[Undo]:
    """Put those in force that hold for a whole process, where they differ; what makes that undone."""
    names = [name for name in Settings._fields if name not in OF_A_THREAD]
    return _put(names, now, before) + _remembered(now, before)


def _put(names: Iterable[str], now: Settings, before: Settings | None) -> list[Undo]:
    return [
        _PUT[name](getattr(now, name))
        for name in names
        if getattr(now, name) is not ... and (before is None or getattr(now, name) != getattr(before, name))
    ]


def _remembered(now: Settings, before: Settings | None) -> list[Undo]:
    _remember(now)
    was = before or _UNTOLD
    return [lambda: _remember(was)]


def with_shared(settings: Settings, process: Settings) -> Settings:
    """Return the settings with those of ``process`` that hold for all threads."""
    return process._replace(**{name: getattr(settings, name) for name in OF_A_THREAD})


def restore(found: Settings) -> None:
    """Put back those of these settings that hold for the process, and await no library any more."""
    put(found, with_shared(found, read()))
    _remember(_UNTOLD)
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)


def _remember(meant: Settings) -> None:
    global _meant
    _meant = meant
    late = any(
        getattr(meant, name) not in (None, (), ...) and library.module not in sys.modules
        for name, library in LIBRARIES.items()
    )
    if late and _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def _put_recursion(limit: int) -> Undo:
    was = sys.getrecursionlimit()
    if limit:
        with contextlib.suppress(RecursionError):  # it is deeper already
            sys.setrecursionlimit(limit)
    return lambda: _put_recursion(was)


def _put_digits(digits: int) -> Undo:
    was = sys.get_int_max_str_digits()
    if digits >= 0:
        sys.set_int_max_str_digits(digits)
    return lambda: sys.set_int_max_str_digits(was)


# -- decimal


def _decimal() -> DecimalContext | None:
    module: Any = sys.modules.get("decimal")
    if module is None:
        return None
    now = module.getcontext()
    traps = tuple(sorted(signal.__name__ for signal, on in now.traps.items() if on))
    found = DecimalContext(now.prec, now.rounding, now.Emin, now.Emax, now.capitals, now.clamp, traps)
    return None if found == DecimalContext() else found


def _put_decimal(wanted: DecimalContext | None) -> Undo:
    if wanted is None and "decimal" not in sys.modules:
        return int
    import decimal

    was = decimal.getcontext()
    new = wanted or DecimalContext()
    decimal.setcontext(decimal.Context(*new[:6], [], [getattr(decimal, name) for name in new.traps]))
    return lambda: decimal.setcontext(was)


def decimal_variable() -> contextvars.ContextVar[Any] | None:
    """Return the context variable in which decimal keeps a thread's context; None where it is not imported."""
    module: Any = sys.modules.get("decimal")
    if module is None:
        return None
    module.getcontext()
    return next((each for each in contextvars.copy_context() if each.name == "decimal_context"), None)


_decimals: contextvars.ContextVar[Any] | None = None


def context_now() -> contextvars.Context:
    """A copy of this thread's context for another one; its context of decimals, which can change, is a copy, too."""
    global _decimals
    context = contextvars.copy_context()
    if _decimals is None and "decimal" in sys.modules:
        _decimals = decimal_variable()
    if _decimals is not None and _decimals in context:
        context.run(_decimals.set, context[_decimals].copy())
    return context


_PUT: dict[str, Callable[[Any], Undo]] = {
    "recursion": _put_recursion,
    "digits": _put_digits,
    "decimal": _put_decimal,
    **{name: library.put for name, library in LIBRARIES.items()},
}


class _Finder:
    """Finds as others do, and sees to it that the settings of a library are put in force when it has been imported."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if name not in _LATE:
            return None
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            sys.meta_path.insert(0, self)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            for field, library in LIBRARIES.items():
                if library.module == name and (meant := getattr(_meant, field)) is not ...:
                    library.put(meant)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


_finder: Any = _Finder()
