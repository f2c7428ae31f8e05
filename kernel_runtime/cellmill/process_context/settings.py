"""Settings that values depend on: how decimals and arrays compute, how deep calls go, how numbers, tables and figures
are shown.

Read in the kernel; put in force in workers: those that held when nothing was outstanding as the worker's own, any
others with the tasks that were submitted under them, and only while these run. ``None`` is what Python or the library
begins with. A library that a worker has not imported gets its settings as soon as it is.
"""

from __future__ import annotations

import contextlib
import contextvars
import enum
import importlib.util
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any, NamedTuple

_Undo = Callable[[], Any]
_Pairs = tuple[tuple[str, Any], ...]
_BASIC = (bool, int, float, str, type(None))
_LATE = ("numpy", "pandas", "matplotlib")
OF_A_THREAD = ("decimal", "errors", "arrays")  # of the settings
_OWN_OF_A_PROCESS = ("backend", "interactive", "toolbar")  # of matplotlib's: what shows figures, and how


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
    """The thread's settings that tasks must see."""

    recursion: int = 0  # 0: what this process has
    digits: int = -1  # of numbers in text; -1: what this process has
    decimal: DecimalContext | None = None
    errors: _Pairs | None = None  # numpy's error state
    arrays: _Pairs | None = None  # numpy's print options
    tables: _Pairs = ()  # pandas' options that are not as it begins with
    figures: _Pairs = ()  # the same of matplotlib's rcParams


def read() -> Settings:
    """Read the present settings of this thread."""
    return Settings(
        sys.getrecursionlimit(),
        sys.get_int_max_str_digits(),
        _decimal(),
        _errors(),
        _arrays(),
        _tables(),
        _figures(),
    )


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


def put(now: Settings, before: Settings | None = None, own_process: bool = True) -> list[_Undo]:
    """Put settings in force in this thread; what makes that undone. With ``before``, only what differs from it.

    Not ``own_process``: this is the kernel's, where those that hold for a process are as they should be.
    """
    names = Settings._fields if own_process else OF_A_THREAD
    undo = _put(names, now, before)
    return undo + _remembered(now, before) if own_process else undo


def put_shared(now: Settings, before: Settings) -> list[_Undo]:
    """Put those in force that hold for a whole process, where they differ; what makes that undone."""
    names = [name for name in Settings._fields if name not in OF_A_THREAD]
    return _put(names, now, before) + _remembered(now, before)


def _put(names: Iterable[str], now: Settings, before: Settings | None) -> list[_Undo]:
    return [
        _PUT[name](getattr(now, name))
        for name in names
        if before is None or getattr(now, name) != getattr(before, name)
    ]


def _remembered(now: Settings, before: Settings | None) -> list[_Undo]:
    _remember(now)
    was = before or _UNTOLD
    return [lambda: _remember(was)]


def with_shared(settings: Settings, process: Settings) -> Settings:
    """Return the settings with those of ``process`` that hold for all threads."""
    return process._replace(decimal=settings.decimal, errors=settings.errors, arrays=settings.arrays)


def restore(found: Settings) -> None:
    """Put back those of these settings that hold for the process, and await no library any more."""
    put(found, with_shared(found, read()))
    _remember(_UNTOLD)
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)


def _remember(meant: Settings) -> None:
    global _meant
    _meant = meant
    late = meant.errors or meant.arrays or meant.tables or meant.figures
    if late and _finder not in sys.meta_path and not all(name in sys.modules for name in _LATE):
        sys.meta_path.insert(0, _finder)


def _put_recursion(limit: int) -> _Undo:
    was = sys.getrecursionlimit()
    if limit:
        with contextlib.suppress(RecursionError):  # it is deeper already
            sys.setrecursionlimit(limit)
    return lambda: _put_recursion(was)


def _put_digits(digits: int) -> _Undo:
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


def _put_decimal(wanted: DecimalContext | None) -> _Undo:
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


# -- numpy


def _numpy() -> Any:
    """Once its import is through."""
    module = sys.modules.get("numpy")
    return module if hasattr(module, "set_printoptions") and hasattr(module, "seterr") else None


def _begun_with(read: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the settings of a process in which nothing was set."""
    return contextvars.Context().run(read)


def _plain(options: dict[str, Any]) -> _Pairs:
    return tuple((name, value) for name, value in options.items() if isinstance(value, _BASIC))


def _errors() -> _Pairs | None:
    numpy = _numpy()
    if numpy is None:
        return None
    now = numpy.geterr()
    return None if now == _begun_with(numpy.geterr) else _plain(now)


def _put_errors(wanted: _Pairs | None) -> _Undo:
    numpy = _numpy()
    if numpy is None:
        return _put_errors_back
    was = numpy.geterr()
    numpy.seterr(**(_begun_with(numpy.geterr) if wanted is None else dict(wanted)))
    return lambda: numpy.seterr(**was)


def _put_errors_back() -> None:
    """It came while others were in force."""
    _put_errors(None)


def _arrays() -> _Pairs | None:
    numpy = _numpy()
    if numpy is None:
        return None
    now = numpy.get_printoptions()
    return None if now == _begun_with(numpy.get_printoptions) else _plain(now)


def _put_arrays(wanted: _Pairs | None) -> _Undo:
    numpy = _numpy()
    if numpy is None:
        return _put_arrays_back
    was = numpy.get_printoptions()
    numpy.set_printoptions(**(_begun_with(numpy.get_printoptions) if wanted is None else dict(wanted)))
    return lambda: numpy.set_printoptions(**was)


def _put_arrays_back() -> None:
    _put_arrays(None)


# -- pandas


def _options() -> Any:
    """The module in which it keeps them, once it is imported."""
    found = (
        sys.modules.get("pandas._config.config") if hasattr(sys.modules.get("pandas"), "DataFrame") else None
    )
    return found if hasattr(found, "_global_config") and hasattr(found, "_registered_options") else None


def option_values() -> dict[str, Any] | None:
    """Dicts, and dicts in them, of pandas' options and matplotlib's parameters; None: there are none to be seen."""
    tables, figures = _options(), _matplotlib()
    found = {"pandas": tables._global_config} if tables is not None else {}
    return found | {"matplotlib": figures.rcParams} if figures is not None else found or None


def _tables() -> _Pairs:
    module = _options()
    if module is None:
        return ()
    changed = []
    for name, option in module._registered_options.items():
        value: Any = module._global_config
        for part in name.split("."):
            value = value[part]
        if value is not option.defval and value != option.defval and isinstance(value, _BASIC):
            changed.append((name, value))
    return tuple(sorted(changed))


def _put_tables(wanted: _Pairs) -> _Undo:
    module = _options()
    if module is None:
        return lambda: _put_tables(())
    was, new = dict(_tables()), dict(wanted)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # of options that are going to be dropped: the kernel has warned of them
        for name in was.keys() - new.keys():
            module.reset_option(name)
        for name, value in new.items():
            if name not in was or was[name] != value:
                module.set_option(name, value)
    return lambda: _put_tables(tuple(was.items()))


# -- matplotlib


def _matplotlib() -> Any:
    """Once its import is through."""
    module = sys.modules.get("matplotlib")
    return module if hasattr(module, "rcParams") and hasattr(module, "rcParamsOrig") else None


def _figures() -> _Pairs:
    module = _matplotlib()
    if module is None:
        return ()
    begun_with = dict(dict.items(module.rcParamsOrig))
    changed = []
    for name, value in dict.items(module.rcParams):
        if value is not begun_with.get(name) and name not in _OWN_OF_A_PROCESS:
            now = _in_basic_types(value)
            if now is not None and now != _in_basic_types(begun_with.get(name)):
                changed.append((name, now[0]))
    return tuple(sorted(changed))


def _in_basic_types(value: Any) -> tuple[Any] | None:
    """Return an equal value of basic types in a tuple, which a worker without matplotlib can read; None where there
    is none.
    """
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, (list, tuple)):
        inner = [_in_basic_types(each) for each in value]
        return None if None in inner else (tuple(each[0] for each in inner if each),)
    if type(value).__name__ == "Cycler":
        return (repr(value),)
    return (value,) if isinstance(value, _BASIC) else None


def _put_figures(wanted: _Pairs) -> _Undo:
    module = _matplotlib()
    if module is None:
        return lambda: _put_figures(())
    was, new = dict(_figures()), dict(wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as above
        for name in was.keys() - new.keys():
            module.rcParams[name] = module.rcParamsOrig[name]
        for name, value in new.items():
            if name not in was or was[name] != value:
                module.rcParams[name] = value
    return lambda: _put_figures(tuple(was.items()))


_PUT: dict[str, Callable[[Any], _Undo]] = {
    "recursion": _put_recursion,
    "digits": _put_digits,
    "decimal": _put_decimal,
    "errors": _put_errors,
    "arrays": _put_arrays,
    "tables": _put_tables,
    "figures": _put_figures,
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
            if name == "numpy":
                _put_errors(_meant.errors)
                _put_arrays(_meant.arrays)
            elif name == "pandas":
                _put_tables(_meant.tables)
            else:
                _put_figures(_meant.figures)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


_finder: Any = _Finder()
