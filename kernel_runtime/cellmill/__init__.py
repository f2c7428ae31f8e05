"""Cellmill: notebook cells as fine-grained parallel tasks.

``%load_ext cellmill`` in a notebook, ``import cellmill`` anywhere else. Names are imported on first use.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import account as account
    from .api import cancel as cancel
    from .api import failures as failures
    from .api import journey_rows as journey_rows
    from .api import journeys as journeys
    from .api import left_behind as left_behind
    from .api import output as output
    from .api import pause as pause
    from .api import reattach as reattach
    from .api import resume as resume
    from .api import set_priority as set_priority
    from .api import why as why
    from .diagnostics.tracebacks import traceback as traceback
    from .errors import BackendError as BackendError
    from .errors import CellmillError as CellmillError
    from .errors import DependencyError as DependencyError
    from .errors import InternalError as InternalError
    from .errors import PayloadError as PayloadError
    from .errors import TaskTimeoutError as TaskTimeoutError
    from .errors import UsageError as UsageError
    from .errors import WorkerLostError as WorkerLostError
    from .examples import examples_folder as examples_folder
    from .executor import Executor as Executor
    from .executor import default_executor as default_executor
    from .executor import in_worker as in_worker
    from .executor import peek_default_executor as peek_default_executor
    from .executor import set_default_executor as set_default_executor
    from .futures import Future as Future
    from .outside.attached import Attached as Attached
    from .outside.attached import attach as attach
    from .outside.serving import Serving as Serving
    from .outside.serving import serve as serve
    from .parallel import ParallelFunction as ParallelFunction
    from .parallel import PerWorker as PerWorker
    from .parallel import parallel as parallel
    from .parallel import per_worker as per_worker
    from .pool import Pool as Pool
    from .profiling import Profiler as Profiler
    from .profiling import profile as profile
    from .randomness.seeds import seed as seed
    from .randomness.seeds import task_seed as task_seed
    from .records.catalogue import compare as compare
    from .records.catalogue import open_record as open_record
    from .records.catalogue import runs as runs
    from .records.observing import TaskEnd as TaskEnd
    from .records.observing import log_tasks as log_tasks
    from .records.observing import on_task as on_task
    from .records.record import Record as Record
    from .records.recorder import RunRecorder as RunRecorder
    from .records.report import report as report
    from .records.spans import export_spans as export_spans
    from .records.tables import save_journeys as save_journeys
    from .records.trace import save_trace as save_trace
    from .serialization.exceptions import RemoteTraceback as RemoteTraceback
    from .serialization.shared import Shared as Shared
    from .serialization.shared import share as share
    from .sweeping.sweep import Sweep as Sweep
    from .sweeping.sweep import sweep as sweep
    from .task import Retry as Retry
    from .task import TaskFailure as TaskFailure
    from .views.played import Replay as Replay
    from .views.played import replay as replay
    from .views.recording import Recording as Recording
    from .views.recording import record as record

__version__ = "0.1.0"

_HOMES = {
    "api": (
        *(
            "account",
            "cancel",
            "failures",
            "journey_rows",
            "journeys",
            "left_behind",
            "output",
            "pause",
            "reattach",
            "resume",
            "set_priority",
            "why",
        ),
    ),
    "errors": (
        "BackendError",
        "CellmillError",
        "DependencyError",
        "InternalError",
        "PayloadError",
        "TaskTimeoutError",
        "UsageError",
        "WorkerLostError",
    ),
    "examples": ("examples_folder",),
    "executor": (
        "Executor",
        "default_executor",
        "in_worker",
        "peek_default_executor",
        "set_default_executor",
    ),
    "futures": ("Future",),
    "parallel": ("ParallelFunction", "PerWorker", "parallel", "per_worker"),
    "pool": ("Pool",),
    "profiling": ("Profiler", "profile"),
    "serialization.exceptions": ("RemoteTraceback",),
    "outside.attached": ("Attached", "attach"),
    "outside.serving": ("Serving", "serve"),
    "records.catalogue": ("compare", "open_record", "runs"),
    "records.observing": ("TaskEnd", "log_tasks", "on_task"),
    "records.record": ("Record",),
    "records.report": ("report",),
    "records.spans": ("export_spans",),
    "records.tables": ("save_journeys",),
    "records.trace": ("save_trace",),
    "records.recorder": ("RunRecorder",),
    "views.played": ("Replay", "replay"),
    "views.recording": ("Recording", "record"),
    "randomness.seeds": ("seed", "task_seed"),
    "serialization.shared": ("Shared", "share"),
    "sweeping.sweep": ("Sweep", "sweep"),
    "task": ("Retry", "TaskFailure"),
    "diagnostics.tracebacks": ("traceback",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME)]  # noqa: PLE0604


class _Package(types.ModuleType):
    """The package, whose `parallel` is a function although there is a module of that name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "parallel" and isinstance(value, types.ModuleType):
            value = value.parallel
        super().__setattr__(name, value)

    def __reduce__(self) -> Any:
        """Functions that refer to it find it in each process, as they do any module."""
        return importlib.import_module, (self.__name__,)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    """Import a public name from its module when it is first asked for."""
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'cellmill' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(ip: Any) -> None:
    """``%load_ext cellmill``."""
    from . import magics

    magics.load(ip)


def unload_ipython_extension(ip: Any) -> None:
    """``%unload_ext cellmill``."""
    from . import magics

    magics.unload(ip)
