"""Worker processes of this machine: the default backend."""

from __future__ import annotations

import contextlib

from ...errors import BackendError
from ...process_context.cpus import available_cpus
from ...task import check_whole, memory_of
from ..common_options import DEFAULTS, CommonOptions
from ..scheduled.backend import ScheduledBackend
from ..scheduled.measured import ProcessGauge
from ..scheduled.output_reader import OutputReader
from ..scheduled.profiling import WorkerProfiling
from ..scheduled.resource_use import ResourceUse
from . import memory as memory_watch
from .pool import Pool
from .stopping import Stopper

__all__ = ["LocalBackend"]


class LocalBackend(ScheduledBackend):
    """Tasks on worker processes of this machine."""

    name = "local"
    limits_elements = True
    pool: Pool
    stopper: Stopper
    listener: OutputReader
    profiling: WorkerProfiling
    use: ResourceUse

    def __init__(
        self,
        max_workers: int | None = None,
        options: CommonOptions = DEFAULTS,
        *,
        memory: int = 0,
        memory_per_worker: int | str | None = None,
        max_tasks_per_child: int | None = None,
    ) -> None:
        if max_tasks_per_child is not None:
            check_whole("max_tasks_per_child", max_tasks_per_child, range(1, 1 << 62))
        cpus = available_cpus()
        super().__init__(
            cpus if max_workers is None else max_workers,
            cpus,
            memory=memory,
            options=options,
            worker_tasks=max_tasks_per_child or 0,
            memory_per_worker=memory_of("memory_per_worker", memory_per_worker),
        )
        self.stopper = Stopper(self.scheduler, self.gate)
        self.profiling = WorkerProfiling(self.scheduler, self.functions.names)
        with contextlib.ExitStack() as undo:
            undo.callback(self.resolver.stop)
            try:
                self.listener = OutputReader(
                    self, self.scheduler, self.slots, self.functions, self.shown, self.report, self.profiling
                )
            except OSError as error:
                raise BackendError(
                    f"no workers can be had: {error}. Close files, or raise the limit on open files (ulimit -n)."
                ) from error
            undo.callback(self.listener.stop)
            self.pool = Pool(
                self,
                self.listener,
                self.sender.plain.settings.base,
                options,
                self.sender.plain.look_again,
            )
            self.stopper.pool = self.pool
            undo.pop_all()
        self.use = ResourceUse(self, ProcessGauge(self.pool))

    def open(self) -> None:
        super().open()
        memory_watch.watch(self)
