"""The options of a LocalCluster of Dask, and whether the program that asks for one can have it."""

from __future__ import annotations

import ast
import difflib
import inspect
import logging
import multiprocessing
import os
import sys
from types import FrameType
from typing import Any

from ....diagnostics.places import place_of
from ....errors import BackendError, UsageError, in_words

# Its own `resources` place what Dask runs; what tasks of ours hold is counted in the kernel.
RENAMED = {"worker_resources": "resources"}
_COUNTS = ("n_workers", "workers", "num_workers", "nworkers")
_IS_NAMED = "__name__"


def imported() -> Any:
    """Return `distributed`; raises `BackendError` where it is not installed."""
    try:
        import distributed
    except ImportError as error:
        raise BackendError(
            f"the Dask backend needs Dask's scheduler, which is not installed here ({error}): "
            "pip install 'cellmill[dask]'"
        ) from error
    return distributed


def own_settings(workers: int, folder: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a LocalCluster of our own: no open ports, and what the user's ``options`` say."""
    settings: dict[str, Any] = {
        "n_workers": workers,
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": "127.0.0.1:0",  # None would take the usual port, with a warning where that is taken
        "scheduler_kwargs": {"dashboard": False},
        "worker_dashboard_address": None,
        "silence_logs": logging.CRITICAL,
        "local_directory": folder,
        **{RENAMED.get(name, name): value for name, value in options.items()},
    }
    if settings["processes"] and sys.version_info < (3, 12):
        # Dask's profiler may stop a process for good: it looks at all threads, a collection begins meanwhile, and a
        # thread comes in between that waits for the list of threads while it holds the GIL (CPython's issue 106883).
        settings["config"] = {"distributed.worker.profile.enabled": False}
    return settings


def check_options(distributed: Any, options: dict[str, Any], own: bool) -> None:
    """Raise `TypeError` for an option that a cluster of our own, or one that is there, does not have."""
    known = {
        *inspect.signature(distributed.LocalCluster).parameters,
        "memory_limit",
        *RENAMED,
        "death_timeout",
    }
    known -= {"self", "n_workers", "asynchronous", "worker_kwargs", "kwargs", "resources"}
    for option in options:
        if option in _COUNTS:
            of = "how many are started" if own else "at most so many of the cluster's workers are used"
            raise TypeError(
                f"the dask backend has no option {option!r}. Did you mean 'max_workers'? It says {of}."
            )
        if not own:
            raise TypeError(
                f"the dask backend has no option {option!r} for a cluster that is there: it is one of a LocalCluster"
            )
        if option not in known:
            close = difflib.get_close_matches(option, sorted(known), n=1)
            hint = (
                f" Did you mean {close[0]!r}?"
                if close
                else f" A LocalCluster has: {', '.join(sorted(known))}."
            )
            raise TypeError(f"the dask backend has no option {option!r}.{hint}")


def check_security(security: Any, target: Any) -> None:
    """Raise `UsageError` where a cluster has its own: a client or a cluster object was made with it."""
    if security is not None and not (target is None or isinstance(target, str)):
        raise UsageError(
            "security= goes with an address, or with a cluster that Cellmill starts: a client or a cluster object has "
            "that which it was made with"
        )


def unreached(where: Any, error: BaseException, secured: bool) -> str:
    """Why no scheduler could be had at an address, and the next step."""
    text = f"no Dask scheduler answers at {where}: {in_words(error)}."
    if str(where).startswith(("tls://", "wss://")) and not secured:
        return (
            f"{text} An address of this kind takes certificates: Executor(backend={str(where)!r}, "
            "security=distributed.Security(tls_ca_file=..., tls_client_cert=..., tls_client_key=...)), or Dask's "
            "settings below distributed.comm.tls."
        )
    return f"{text} Is it running, and can this machine reach it? `dask scheduler` prints the address to use."


def check_script() -> None:
    """Raise `UsageError` where new processes would run this script again from its beginning, and get here again.

    Dask's worker processes import the file of ``__main__``, as all processes do that Python spawns.
    """
    import dask

    if dask.config.get("distributed.worker.multiprocessing-method", "spawn") == "fork":
        return
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise UsageError(_unguarded(""))  # in such a process, at that
    file = _main_file()
    frame: FrameType | None = sys._getframe()
    while frame is not None and not _is_module_of(frame, file):
        frame = frame.f_back
    if frame is not None and not _is_guarded(file, frame.f_lineno):
        raise UsageError(_unguarded(f" ({place_of(file, frame.f_lineno)})"))


def _unguarded(place: str) -> str:
    return (
        f'this script starts a Dask cluster outside of `if __name__ == "__main__":`{place}. Dask\'s worker processes '
        "run a script from its beginning, and each would start a cluster again. Indent what the script does under `if "
        '__name__ == "__main__":`; functions and imports may stay above it.'
    )


def _main_file() -> str:
    """Return the file that a spawned process runs first; "" for none."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    file = getattr(main, "__file__", None)
    if not isinstance(file, str) or (spec is not None and spec.name.rpartition(".")[2] == "__main__"):
        return ""
    return "" if os.path.splitext(os.path.basename(file))[0] == "ipython" else file


def _is_module_of(frame: FrameType, file: str) -> bool:
    code = frame.f_code
    return code.co_name == "<module>" and os.path.abspath(code.co_filename) == os.path.abspath(file)


def _is_guarded(file: str, line: int) -> bool:
    """Whether the statement at this line runs only under a condition on ``__name__``; True where that is unknown."""
    try:
        with open(file, "rb") as source:
            tree = ast.parse(source.read())
    except (OSError, SyntaxError, ValueError):
        return True
    return any(
        isinstance(node, ast.If)
        and node.lineno <= line <= (node.end_lineno or 0)
        and any(isinstance(part, ast.Name) and part.id == _IS_NAMED for part in ast.walk(node.test))
        for node in ast.walk(tree)
    )
