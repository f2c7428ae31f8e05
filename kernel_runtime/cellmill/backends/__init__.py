"""The backends, which run tasks. `create` chooses one by name; each is imported on first use.

Worker processes come by here for the scheduler: what they do not need is imported where it is used.
"""

from __future__ import annotations

import contextlib
import difflib
import inspect
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..diagnostics.short_text import short_repr
from ..errors import BackendError, UsageError

if TYPE_CHECKING:
    from ._protocol import Backend as Backend
    from .common_options import CommonOptions

KNOWN = ("local", "threads", "dask", "ray", "inline")

_OF_CLUSTERS = ("memory", "proxies", "proxy_above", "ship", "name", "keep_seconds", "keep_bytes")
_OF_LOCAL = ("memory_per_worker", "max_tasks_per_child")
_MEMORY = (
    'memory_per_worker="2GB" limits a worker of this machine, resources={"memory": "64GB"} says how much tasks may '
    'reserve (f.options(memory="2GB"))'
)
_DASK_ADDRESSES = ("tcp://", "tls://", "ws://", "wss://", "inproc://", "ucx://")

__all__ = ["KNOWN", "create"]


def create(name: Any, max_workers: int | None, /, **options: Any) -> Backend:
    """The backend of this name, to be opened; raises `BackendError` when it is unknown or cannot run here."""
    if name == "local":
        from .local.backend import LocalBackend

        return _made(LocalBackend, name, max_workers, options)
    if name == "threads":
        from .threads.backend import ThreadsBackend

        return _made(ThreadsBackend, name, max_workers, options)
    if name == "inline":
        from .inline import InlineBackend

        return _made(InlineBackend, name, max_workers, options)
    if not isinstance(name, str) or name.startswith((*_DASK_ADDRESSES, "dask", "ray")):
        _refuse_local(options)
    engine = _engine(name, options)
    if engine is not None:
        from .cluster.backend import ClusterBackend

        return ClusterBackend(engine, max_workers, _common(options), **options)
    if not isinstance(name, str):
        raise UsageError(f"backend must be a name, not a {type(name).__name__}")
    close = difflib.get_close_matches(name, KNOWN, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise BackendError(f"unknown backend {name!r}; this version has: {', '.join(KNOWN)}.{hint}")


@contextlib.contextmanager
def left_on(target: Any, security: Any = None) -> Iterator[Any]:
    """Where executors with a name have left results (`cluster.left.keeping.Store`): on the cluster of a backend, or at
    the address, of the `Client` or of the cluster object that one takes.

    Raises:
        BackendError: it cannot be reached.
        UsageError: it is no cluster of Dask.
    """
    engine = getattr(target, "engine", None)
    if engine is not None:
        yield engine.store()
        return
    if (isinstance(target, str) and not target.startswith(_DASK_ADDRESSES)) or not (
        isinstance(target, str) or hasattr(target, "scheduler_address") or _is_dask_client(target)
    ):
        name = getattr(target, "name", None)
        shown = f"{name}, which the default executor has" if name in KNOWN else short_repr(target)
        raise UsageError(f"results are left on clusters of Dask: give the address of one, not {shown}")
    from .cluster.engines.dask_left import opened

    with opened(target, security) as store:
        yield store


def _made(kind: Any, name: str, max_workers: int | None, options: dict[str, Any]) -> Backend:
    """Make a backend of this class; raises `TypeError` for options that it does not have."""
    _refuse_unknown(name, options, [*_common_names(), *_options_of(kind)])
    made: Backend = kind(max_workers, _common(options), **options)
    return made


def _common(options: dict[str, Any]) -> CommonOptions:
    """Take the options that every backend has out of ``options``."""
    from .common_options import CommonOptions

    return CommonOptions(**{name: options.pop(name) for name in _common_names() if name in options})


def _common_names() -> tuple[str, ...]:
    from . import common_options

    return common_options.NAMES


def _options_of(kind: Any) -> list[str]:
    return [p.name for p in inspect.signature(kind).parameters.values() if p.kind is p.KEYWORD_ONLY]


def _refuse_local(options: dict[str, Any]) -> None:
    if type(options.get("memory", 0)) is not int:
        raise TypeError(
            'clusters have no option \'memory\': resources={"memory": "64GB"} says how much tasks may reserve, '
            'memory_limit="2GB" limits the workers of a Dask cluster that Cellmill starts'
        )
    for option in _OF_LOCAL:
        if option in options:
            dask = (
                ' A Dask cluster that Cellmill starts takes memory_limit="2GB".' if "memory" in option else ""
            )
            raise TypeError(f"{option}= is an option of local workers; clusters have their own limits.{dask}")


def _refuse_unknown(name: str, options: dict[str, Any], known: list[str]) -> None:
    for option, value in options.items():
        if option == "memory" and not (option in known and type(value) is int):  # bytes of the scheduler's
            raise TypeError(f"the {name} backend has no option 'memory': {_MEMORY}")
        if option not in known:
            if option in _OF_CLUSTERS:
                raise TypeError(
                    f"{option}= is an option of clusters (Dask, Ray): the {name} backend has none"
                )
            close = difflib.get_close_matches(option, [*known, "max_workers", "backend"], n=1)
            hint = (
                f" Did you mean {close[0]!r}?"
                if close
                else f" It has: {', '.join(each for each in known if each != 'memory')}."
            )
            raise TypeError(f"the {name} backend has no option {option!r}.{hint}")


def _engine(name: Any, options: dict[str, Any]) -> Any:
    """The cluster for a backend's name, address or object; its own options are taken out of ``options``."""
    others = (*_common_names(), *_OF_CLUSTERS)
    own = {key: options.pop(key) for key in list(options) if key not in others}
    if name == "dask":
        from .cluster.engines.dask import DaskEngine

        return DaskEngine(None, **own)
    if isinstance(name, str) and name.startswith(_DASK_ADDRESSES):
        from .cluster.engines.dask import DaskEngine

        return DaskEngine(name, **own)
    if isinstance(name, str) and (name == "ray" or name.startswith("ray:")):
        from .cluster.engines.ray import RayEngine

        _refuse_unknown("ray", own, [*_options_of(RayEngine), *others])
        return RayEngine(None if name == "ray" else name, **own)
    if not isinstance(name, str) and (hasattr(name, "scheduler_address") or _is_dask_client(name)):
        from .cluster.engines.dask import DaskEngine

        return DaskEngine(name, **own)
    options.update(own)
    return None


def _is_dask_client(thing: Any) -> bool:
    client = getattr(sys.modules.get("distributed"), "Client", None)
    return client is not None and isinstance(thing, client)
