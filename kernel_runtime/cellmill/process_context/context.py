"""The process state that tasks can see: directory, environment, module path, reporting, settings."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from typing import NamedTuple

from . import native_threads, reporting, settings
from .reporting import Reporting
from .settings import Settings


class ProcessContext(NamedTuple):
    """The part of the kernel's process state that tasks must see."""

    directory: str
    environment: dict[str, str]
    path: list[str]
    reporting: Reporting = Reporting()
    settings: Settings = Settings()
    native_threads: int = 0  # of numeric libraries, unless the environment says otherwise; 0: as they like

    def variables(self) -> dict[str, str]:
        """The environment, with the number of native threads."""
        if not self.native_threads:
            return self.environment
        return {**native_threads.shared_out(self.native_threads, self.environment), **self.environment}


ONE_THREAD = dict.fromkeys(native_threads.VARIABLES, "1")


def adopt(context: ProcessContext, before: ProcessContext | None = None) -> None:
    """Make this process see what the kernel sees; a directory that is gone is left alone.

    With ``before``, what it saw last, only differences are applied: what an initializer changed here stays.
    """
    if before is None:
        before = ProcessContext("", dict(os.environ), [])
    if context.directory != before.directory:
        with contextlib.suppress(OSError):
            os.chdir(context.directory)
    now, was = context.variables(), before.variables()
    if context.native_threads and native_threads.changed(now, was):
        if before.native_threads:
            native_threads.find()  # tasks may have loaded some; those that the zygote has loaded are known
        native_threads.follow(now, was)
    _adopt_environment(now, was)
    if context.path != before.path:
        sys.path[:] = context.path
        importlib.invalidate_caches()
    reporting.apply(context.reporting, before.reporting)
    if context.settings != before.settings:
        settings.put(context.settings, before.settings)


def _adopt_environment(now: dict[str, str], before: dict[str, str]) -> None:
    for name in before.keys() - now.keys():
        os.environ.pop(name, None)
    for name, value in now.items():
        if before.get(name) != value and not (name in ONE_THREAD and _set_here(name, before)):
            os.environ[name] = value


def _set_here(name: str, before: dict[str, str]) -> bool:
    """An initializer or a task has set this variable by itself."""
    return os.environ.get(name) != before.get(name)
