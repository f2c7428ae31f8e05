"""`CellmillConfig`: what TaPS reads its options from, and gets its executor of."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from taps.executor import ExecutorConfig
from taps.plugins import register

from ..executor import Executor


@register("executor")
class CellmillConfig(ExecutorConfig):
    """A `cellmill.Executor`. TaPS gives it futures as arguments, which it takes as they are: tasks that wait for others
    wait in the scheduler.
    """

    name: Literal["cellmill"] = Field("cellmill", description="Executor name.")
    max_workers: int | None = Field(
        None, description="Number of workers (default: the cores of this machine)."
    )
    backend: str = Field(
        "local", description="Where tasks run: local, threads, dask, ray, or the address of a cluster."
    )

    def get_executor(self) -> Executor:
        """Start the executor; TaPS shuts it down."""
        return Executor(self.max_workers, backend=self.backend, preload=["taps.engine"])
