"""The process state that tasks can see: directory, environment, module path, arguments, locale, reporting, settings."""

from __future__ import annotations

import contextlib
import importlib
import locale
import os
import sys
import time
from typing import NamedTuple

from ..by_value.unsettled import at_one_moment
from . import modules_by_file, native_threads, reporting, settings
from .modules_by_file import ModuleFile
from .reporting import Reporting
from .settings import Settings


class OfProcess(NamedTuple):
    """What a process has of its own for text, times and new files; a default changes nothing."""

    locale: str = ""  # of all categories, as C writes it
    zone: tuple[object, ...] = ()  # of local time: names, and seconds west of UTC
    umask: int = -1  # permissions that new files do not have
    arguments: tuple[str, ...] = ()  # sys.argv


def read() -> OfProcess:
    """Read what this process has now."""
    zone = (time.tzname, time.timezone, time.altzone)
    return OfProcess(locale.setlocale(locale.LC_ALL), zone, _umask(), tuple(sys.argv))


def _umask() -> int:
    """The umask, without setting it: other threads may be making files. -1 where it cannot be read."""
    with contextlib.suppress(OSError, ValueError), open("/proc/self/status", "rb") as status:
        for line in status:
            if line.startswith(b"Umask:"):
                return int(line.split()[1], 8)
    return -1


class ProcessContext(NamedTuple):
    """The part of the kernel's process state that tasks must see."""

    directory: str
    environment: dict[str, str]
    path: list[str]
    reporting: Reporting = Reporting()
    settings: Settings = Settings()
    native_threads: int = 0  # of numeric libraries, unless the environment says otherwise; 0: as they like
    of_process: OfProcess = OfProcess()
    files: tuple[ModuleFile, ...] = ()  # of modules that are not found by the path

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
    _adopt_of_process(context.of_process, before.of_process)
    if context.path != before.path:
        sys.path[:] = context.path
        at_one_moment(importlib.invalidate_caches)  # a thread of an earlier task may import
    modules_by_file.put(context.files)  # in any case: a fork has those of the process that it comes from
    reporting.apply(context.reporting, before.reporting)
    if context.settings != before.settings:
        settings.put(context.settings, before.settings)


def _adopt_of_process(now: OfProcess, before: OfProcess) -> None:
    if now.zone != before.zone:
        time.tzset()  # by the variable TZ
    if now.locale and now.locale != before.locale:
        with contextlib.suppress(locale.Error):
            locale.setlocale(locale.LC_ALL, now.locale)
    if now.arguments and now.arguments != before.arguments:
        sys.argv[:] = now.arguments
    if now.umask >= 0 and now.umask != before.umask:
        os.umask(now.umask)


def _adopt_environment(now: dict[str, str], before: dict[str, str]) -> None:
    for name in before.keys() - now.keys():
        os.environ.pop(name, None)
    for name, value in now.items():
        if before.get(name) != value and not (name in ONE_THREAD and _set_here(name, before)):
            os.environ[name] = value


def _set_here(name: str, before: dict[str, str]) -> bool:
    """An initializer or a task has set this variable by itself."""
    return os.environ.get(name) != before.get(name)
