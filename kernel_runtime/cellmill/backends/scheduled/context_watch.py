"""Watches the process context that tasks must see, for changes."""

from __future__ import annotations

import os
import sys
from typing import Any, NamedTuple

from ...by_value import kernel_modules
from ...cell_output import present_cell
from ...diagnostics import notices
from ...process_context import context, reporting
from ...process_context.context import OfProcess, ProcessContext
from ...process_context.modules_by_file import ModuleFile
from ...process_context.reporting import Reporting, ReportingWatch
from ...process_context.settings import Settings
from .scheduler import Scheduler, check, ffi, with_gil


def current_context() -> ProcessContext:
    """Return the process context of this process, as workers shall see it."""
    try:
        directory = os.getcwd()
    except FileNotFoundError:
        directory = "/"
    return ProcessContext(
        directory,
        dict(os.environ),
        list(sys.path),
        reporting.read(),
        of_process=context.read(),
        files=kernel_modules.modules.elsewhere(directory),
    )


def context_for_clusters(settings: Settings) -> ProcessContext:
    """Return the same for processes of others, whose locale, time zone and umask stay theirs; modules come by their
    texts.
    """
    return current_context()._replace(settings=settings, of_process=OfProcess(), files=())


def not_begun(scheduler: Scheduler) -> int:
    """Return how many tasks have not begun."""
    stats = ffi.new("csched_stats_t *")
    check(with_gil.csched_stats(scheduler.handle, stats), "asking for figures")
    return int(stats.waiting + stats.queued)


_RAW_ENVIRONMENT = getattr(os.environ, "_data", os.environ)  # compares without decoding


class _Seen(NamedTuple):
    """The process context at a look."""

    directory: str
    environment: dict[Any, Any]
    path: list[str]
    report: Reporting
    settings: Settings
    of_process: OfProcess
    files: tuple[ModuleFile, ...]

    def differing(self, before: _Seen) -> list[str]:
        """What of this tasks that wait would see otherwise than they were to, in words."""
        found = ["the working directory"] if self.directory != before.directory else []
        now, was = self.environment, before.environment
        names = sorted(os.fsdecode(name) for name in {*now, *was} if now.get(name) != was.get(name))
        found += [f"os.environ[{name!r}]" for name in names[:_MOST_NAMED]]
        if self.report[:3] != before.report[:3]:
            found.append("filters of warnings or levels of loggers")
        if self.of_process[:2] != before.of_process[:2]:
            found.append("the locale or the time zone")
        return found


_MOST_NAMED = 3  # variables of the environment


class ContextWatch:
    """Notices that the directory, the environment, the path, the program's arguments, the locale, the time zone, the
    umask, filters of warnings, log levels or the files of modules changed since the last look.
    """

    def __init__(self, settings: Settings) -> None:
        self._seen: _Seen | None = None  # what workers were told
        # What the last look found and workers were not told yet; before it, its digest and the arguments.
        self._found: tuple[int, list[str], _Seen] | None = None
        self.settings = settings  # that workers are to have
        self.reporting = ReportingWatch()
        present_cell.watch(self.reporting)
        self.digest = 0  # of the context that workers were told; 0: it may be another one
        self.path: list[str] = []
        self.arguments: list[str] = []

    def touched(self) -> bool:
        """Like `changed`, as a check of 0.4 us that keeps the GIL; exact with glibc only."""
        return (
            bool(with_gil.csched_context_digest() != self.digest)
            or (self._seen is not None and (sys.path != self.path or sys.argv != self.arguments))
            or self.reporting.touched()
        )

    def changed(self) -> bool:
        """True at the first look and after every change, until `told`."""
        self.digest = 0
        digest = with_gil.csched_context_digest()
        report = self.reporting.look()
        try:
            directory = os.getcwd()
        except FileNotFoundError:
            directory = "/"
        of_process, files = context.read(), kernel_modules.modules.elsewhere(directory)
        seen = self._seen
        if seen is not None and seen == (
            directory,
            _RAW_ENVIRONMENT,
            sys.path,
            report,
            self.settings,
            of_process,
            files,
        ):
            self.digest = digest
            return False
        environment, path = dict(_RAW_ENVIRONMENT), list(sys.path)
        found = _Seen(directory, environment, path, report, self.settings, of_process, files)
        self._found = digest, list(sys.argv), found
        return True

    def told(self) -> None:
        """Workers have been sent what was found at the last look. Nothing before has this effect: where an interrupt
        or an error keeps it from being sent, the next look finds it again.
        """
        if self._found is not None:
            digest, self.arguments, self._seen = self._found
            self.path = self._seen.path
            self.digest = digest

    def warn(self, scheduler: Scheduler) -> None:
        """Warn of tasks that have not begun: they will see what has changed at the last look."""
        if self._seen is None or self._found is None:
            return
        differs = self._found[2].differing(self._seen)
        if not differs:
            return
        waiting = not_begun(scheduler)
        for what in differs if waiting else ():
            notices.give(
                ("context", what),
                f"{what} changed while {waiting:,} {'tasks' if waiting > 1 else 'task'} had not begun: they may see "
                "what is so now, and not what was so at their call. Take their results before the change, or give them "
                "what they need as an argument.",
            )
