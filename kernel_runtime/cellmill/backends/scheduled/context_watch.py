"""Watches the process context that tasks must see, for changes."""

from __future__ import annotations

import os
import sys
from typing import Any

from ... import run_registry
from ...by_value import kernel_modules
from ...process_context import context, reporting
from ...process_context.context import OfProcess, ProcessContext
from ...process_context.reporting import Reporting, ReportingWatch
from ...process_context.settings import Settings
from .scheduler import with_gil


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


_RAW_ENVIRONMENT = getattr(os.environ, "_data", os.environ)  # compares without decoding


class ContextWatch:
    """Notices that the directory, the environment, the path, the program's arguments, the locale, the time zone, the
    umask, filters of warnings, log levels or the files of modules changed since the last look.
    """

    def __init__(self, settings: Settings) -> None:
        self._seen: tuple[str, dict[Any, Any], list[str], Reporting, Settings, OfProcess, Any] | None = None
        self.settings = settings  # that workers are to have
        self.reporting = ReportingWatch()
        run_registry.watch_cells(self.reporting)
        self.digest = 0  # of the context at the last look
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
        """True at the first look and after every change."""
        self.digest = with_gil.csched_context_digest()
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
            return False
        self.path, self.arguments = list(sys.path), list(sys.argv)
        environment = dict(_RAW_ENVIRONMENT)
        self._seen = (directory, environment, self.path, report, self.settings, of_process, files)
        return True
