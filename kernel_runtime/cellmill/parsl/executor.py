"""`CellmillExecutor`: what Parsl's data-flow kernel calls to have apps run."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future as BaseFuture
from typing import Any

from parsl.executors.base import ParslExecutor
from parsl.executors.errors import InvalidResourceSpecification
from parsl.utils import RepresentationMixin

from ..errors import CellmillError, UsageError
from ..executor import Executor
from ..task import DEFAULT_OPTIONS, TaskOptions

MB = 1 << 20


class CellmillExecutor(ParslExecutor, RepresentationMixin):
    """Runs Parsl's apps as tasks of a `cellmill.Executor`.

    Parameters: ``label``, ``storage_access`` and ``working_dir`` as of Parsl's own executors; ``max_workers``,
    ``backend`` and ``options`` (a dict: ``{"preload": ["numpy"], "resources": {"gpus": 2}}``) as of
    `cellmill.Executor`, which is made when Parsl starts.

    A resource specification has ``priority`` (from -100 to 100, larger first), ``memory`` (MB, set aside while the
    task runs), and names of ``resources`` that the options declare, such as ``cores`` and ``gpus``.
    """

    def __init__(
        self,
        label: str = "cellmill",
        max_workers: int | None = None,
        backend: Any = "local",
        options: dict[str, Any] | None = None,
        storage_access: list[Any] | None = None,
        working_dir: str | None = None,
    ) -> None:
        super().__init__()
        self.label = label
        self.max_workers = max_workers
        self.backend = backend
        self.options = options
        self.storage_access = storage_access
        self.working_dir = working_dir
        self._executor: Executor | None = None
        self._asked: dict[Any, TaskOptions] = {}  # options by resource specification

    def start(self) -> None:
        """Start the workers."""
        self._executor = Executor(self.max_workers, backend=self.backend, **(self.options or {}))

    def submit(
        self, func: Callable[..., Any], resource_specification: dict[str, Any], *args: Any, **kwargs: Any
    ) -> BaseFuture[Any]:
        """Run a call of an app. Raises Parsl's error of what ``resource_specification`` asks for in vain."""
        if self._executor is None:
            raise UsageError("the executor has not been started: parsl.load() does it")
        options = self._options_of(resource_specification) if resource_specification else DEFAULT_OPTIONS
        future = self._executor.submit_with(func, args, kwargs, options)
        future._of_call = False
        return future

    def shutdown(self, block: bool = True) -> None:
        """Take no more apps; with ``block`` wait for those that run."""
        if self._executor is not None:
            self._executor.shutdown(wait=block)
        super().shutdown()

    def monitor_resources(self) -> bool:
        """Whether Parsl may start a process beside each task to watch it: the panel shows what it would find."""
        return False

    def _options_of(self, asked: dict[str, Any]) -> TaskOptions:
        key = repr(sorted(asked.items()))
        found = self._asked.get(key)
        if found is None:
            changes: dict[str, Any] = {}
            rest = dict(asked)
            if "priority" in rest:
                changes["priority"] = rest.pop("priority")
            if "memory" in rest:
                changes["memory"] = int(rest.pop("memory") * MB)
            if rest:
                changes["resources"] = rest
            try:
                found = DEFAULT_OPTIONS.changed(**changes)
                assert self._executor is not None
                self._executor._backend.resources.check(found)
            except CellmillError as error:
                raise InvalidResourceSpecification(set(asked), str(error)) from None
            self._asked[key] = found
        return found
