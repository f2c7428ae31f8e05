"""Settings of libraries that values depend on: how each is read, and put in force.

``None`` and () are what the library begins with.
"""

from __future__ import annotations

import contextvars
import enum
import importlib
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

Undo = Callable[[], Any]
Pairs = tuple[tuple[str, Any], ...]
_BASIC = (bool, int, float, str, type(None))
_OWN_OF_A_PROCESS = ("backend", "interactive", "toolbar")  # of matplotlib's: what shows figures, and how


# -- numpy


def _numpy() -> Any:
    """Once its import is through."""
    module = sys.modules.get("numpy")
    return module if hasattr(module, "set_printoptions") and hasattr(module, "seterr") else None


def _begun_with(read: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the settings of a process in which nothing was set."""
    return contextvars.Context().run(read)


def _plain(options: dict[str, Any]) -> Pairs:
    return tuple((name, value) for name, value in options.items() if isinstance(value, _BASIC))


def _errors() -> Pairs | None:
    numpy = _numpy()
    if numpy is None:
        return None
    now = numpy.geterr()
    return None if now == _begun_with(numpy.geterr) else _plain(now)


def _put_errors(wanted: Pairs | None) -> Undo:
    numpy = _numpy()
    if numpy is None:
        return _put_errors_back
    was = numpy.geterr()
    numpy.seterr(**(_begun_with(numpy.geterr) if wanted is None else dict(wanted)))
    return lambda: numpy.seterr(**was)


def _put_errors_back() -> None:
    """It came while others were in force."""
    _put_errors(None)


def _arrays() -> Pairs | None:
    numpy = _numpy()
    if numpy is None:
        return None
    now = numpy.get_printoptions()
    return None if now == _begun_with(numpy.get_printoptions) else _plain(now)


def _put_arrays(wanted: Pairs | None) -> Undo:
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
    """Dicts, and dicts in them, of pandas' options, matplotlib's parameters and scikit-learn's configuration in this
    thread; None: there are none to be seen.
    """
    tables, figures, estimators = _options(), _matplotlib(), _sklearn()
    found = {}
    if tables is not None:
        found["pandas"] = tables._global_config
    if figures is not None:
        found["matplotlib"] = figures.rcParams
    if estimators is not None:
        found["sklearn"] = estimators._get_threadlocal_config()
    return found or None


def _tables() -> Pairs:
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


def _put_tables(wanted: Pairs) -> Undo:
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


def _figures() -> Pairs:
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


def _put_figures(wanted: Pairs) -> Undo:
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


# -- scikit-learn


def _sklearn() -> Any:
    """The module in which it keeps its configuration, once it is imported."""
    module = sys.modules.get("sklearn._config")
    return (
        module if hasattr(module, "_get_threadlocal_config") and hasattr(module, "_global_config") else None
    )


def read_estimators() -> Pairs:
    """Read what this thread has otherwise than scikit-learn begins with."""
    module = _sklearn()
    if module is None:
        return ()
    begun_with, now = module._global_config, module._get_threadlocal_config()
    if now == begun_with:
        return ()
    return tuple(sorted(_plain({name: v for name, v in now.items() if v != begun_with.get(name)})))


def _put_estimators(wanted: Pairs) -> Undo:
    module = _sklearn()
    if module is None:
        return lambda: _put_estimators(())
    here = module._get_threadlocal_config()
    was = dict(here)
    here.update({**module._global_config, **dict(wanted)})
    return lambda: here.update(was)


# -- RDKit

FLAGS = {  # as it begins with, and the module of each
    "UseLegacyStereoPerception": (True, "rdkit.Chem.rdmolops"),
    "UseLegacyRingFinding": (False, "rdkit.Chem.rdmolops"),
    "AllowNontetrahedralChirality": (True, "rdkit.Chem.rdmolops"),
    "PreferCoordGen": (False, "rdkit.Chem.rdDepictor"),
}
_LOGS = {"rdApp.debug": False, "rdApp.info": False, "rdApp.warning": True, "rdApp.error": True}


def _probes_of_molecules() -> list[Callable[[], Any]]:
    base = sys.modules.get("rdkit.rdBase")
    if not hasattr(base, "LogStatus"):
        return []
    getters = [getattr(sys.modules.get(module), f"Get{name}", None) for name, (_, module) in FLAGS.items()]
    return [base.LogStatus, *(getter for getter in getters if getter is not None)]  # type: ignore[union-attr]


def _molecules() -> Pairs:
    base = sys.modules.get("rdkit.rdBase")
    if not hasattr(base, "LogStatus"):
        return ()
    lines = (line.partition(":") for line in base.LogStatus().splitlines())  # type: ignore[union-attr]
    found = [(name, state == "enabled") for name, _, state in lines if name in _LOGS]
    for name, (_, module) in FLAGS.items():
        getter = getattr(sys.modules.get(module), f"Get{name}", None)
        if getter is not None:
            found.append((name, bool(getter())))
    return tuple((name, on) for name, on in found if on != _LOGS.get(name, FLAGS.get(name, (None,))[0]))


def _put_molecules(wanted: Pairs) -> Undo:
    if "rdkit.Chem" not in sys.modules:
        return lambda: _put_molecules(())
    was, new = dict(_molecules()), dict(wanted)
    base = importlib.import_module("rdkit.rdBase")
    for name in {**was, **new}:
        if name in _LOGS:
            on = new.get(name, _LOGS[name])
            (base.EnableLog if on else base.DisableLog)(name)
        elif name in FLAGS:
            begun_with, module = FLAGS[name]
            getattr(importlib.import_module(module), f"Set{name}")(new.get(name, begun_with))
    return lambda: _put_molecules(tuple(was.items()))


# -- Python's own modules


def _files() -> str | None:
    """Where `tempfile` makes files and folders; None: it has not looked yet."""
    return getattr(sys.modules.get("tempfile"), "tempdir", None)


def is_usual_folder(folder: object) -> bool:
    """Whether `tempfile` takes this folder by itself, as it does in workers, too."""
    usual = next(filter(None, map(os.environ.get, ("TMPDIR", "TEMP", "TMP"))), "/tmp")
    return folder == os.path.abspath(usual)


def _put_files(wanted: str | None) -> Undo:
    module: Any = sys.modules.get("tempfile")
    if module is None:
        return lambda: _put_files(None)
    was, module.tempdir = module.tempdir, wanted
    return lambda: setattr(module, "tempdir", was)


def _sockets() -> float | None:
    """The seconds that new sockets wait; None: without a limit."""
    read = getattr(sys.modules.get("socket"), "getdefaulttimeout", None)
    return read() if read is not None else None


def _put_sockets(wanted: float | None) -> Undo:
    module: Any = sys.modules.get("socket")
    if module is None:
        return lambda: _put_sockets(None)
    was = module.getdefaulttimeout()
    module.setdefaulttimeout(wanted)
    return lambda: module.setdefaulttimeout(was)


def probes() -> list[Callable[[], Any]]:
    """Functions whose results tell whether settings that are in no context variable or dict have changed."""
    return [
        _files,
        *filter(None, [getattr(sys.modules.get("socket"), "getdefaulttimeout", None)]),
        *_probes_of_molecules(),
    ]


class Library(NamedTuple):
    """How some settings of a library are read and put in force, and after the import of which module."""

    module: str
    read: Callable[[], Any]
    put: Callable[[Any], Undo]


LIBRARIES = {  # by their names in `settings.Settings`
    "errors": Library("numpy", _errors, _put_errors),
    "arrays": Library("numpy", _arrays, _put_arrays),
    "tables": Library("pandas", _tables, _put_tables),
    "figures": Library("matplotlib", _figures, _put_figures),
    "estimators": Library("sklearn", read_estimators, _put_estimators),
    "molecules": Library("rdkit.Chem", _molecules, _put_molecules),
    "files": Library("tempfile", _files, _put_files),
    "sockets": Library("socket", _sockets, _put_sockets),
}
