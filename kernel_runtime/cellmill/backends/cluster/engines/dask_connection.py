"""The way to a cluster of Dask: one of our own, which ends with it, or one that others have started."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any

from ....errors import BackendError, UsageError, in_words
from ....process_context.interrupts import uninterrupted
from ..values import folders
from .dask_options import check_options, check_script, check_security, imported, own_settings, unreached
from .dask_own import OwnWorkers, let_spawn
from .dask_quiet import leave, silent

CONNECT_SECONDS = 10.0
START_SECONDS = 60.0
PATIENCE_SECONDS = 5.0  # without an answer of the scheduler before it is given up
CLOSE_SECONDS = 10.0


class Connection:
    """A client of Dask's. ``target``: None, for a cluster of our own with these ``options``; else an address, a
    `Client` or a cluster object.
    """

    def __init__(self, target: Any, security: Any, options: dict[str, Any]) -> None:
        self._distributed = imported()
        self._target = target
        self._options = options
        self._security = {} if security is None else {"security": security}
        self.owns = target is None
        check_options(self._distributed, options, self.owns)
        check_security(security, target)
        self.where = "the Dask cluster that Cellmill started"
        self.client: Any = None
        self.cluster: Any = None
        self.own: OwnWorkers | None = None
        self._silence = contextlib.ExitStack()
        self._own_client = True
        self._folder = ""
        self._made: Future[None] | None = None  # the cluster, or the way to it

    def open(self, workers: int) -> int:
        """Start a cluster of so many workers, or reach the target; return the number of workers expected."""
        return self._start(workers) if self.owns else self._connect()

    def _start(self, workers: int) -> int:
        check_script()
        with uninterrupted():
            self._folder = folders.private("dask")
        settings = own_settings(workers, self._folder, self._options) | self._security
        try:
            let_spawn()
            self._apart(lambda: self._begin(settings))
        except TypeError as error:
            self.close()
            raise UsageError(f"a LocalCluster of Dask does not take these options: {error}") from error
        except Exception as error:
            self.close()
            raise BackendError(f"a LocalCluster of Dask could not be started: {in_words(error)}") from error
        self.own = OwnWorkers(self.cluster)
        return workers

    def _begin(self, settings: dict[str, Any]) -> None:
        if "silence_logs" not in self._options:
            self._silence.enter_context(silent())
        self.cluster = self._distributed.LocalCluster(**settings)
        self.client = self._distributed.Client(self.cluster, set_as_default=False, timeout=START_SECONDS)

    def _reach(self) -> None:
        self.client = self._distributed.Client(
            self._target, set_as_default=False, timeout=CONNECT_SECONDS, **self._security
        )

    def _apart(self, make: Callable[[], None]) -> None:
        """Have this done in a thread of its own: where Stop ends the wait for it, `close` finds what it has made."""
        made: Future[None] = Future()

        def run() -> None:
            try:
                make()
            except BaseException as error:
                made.set_exception(error)
            else:
                made.set_result(None)

        with uninterrupted():
            # no pool's thread: those of the program's pools are waited for at its end
            threading.Thread(target=run, name="cellmill-dask-begin", daemon=True).start()
            self._made = made
        made.result()

    def _connect(self) -> int:
        target, distributed = self._target, self._distributed
        if isinstance(target, distributed.Client):
            if target.asynchronous:
                raise UsageError(
                    "this Dask client is asynchronous: Cellmill needs one made without asynchronous=True"
                )
            if target.status != "running":
                raise BackendError(f"this Dask client is not connected to a scheduler: it is {target.status}")
            self.client, self._own_client = target, False
        else:
            where = target if isinstance(target, str) else getattr(target, "scheduler_address", target)
            try:
                self._apart(self._reach)
            except Exception as error:
                raise BackendError(unreached(where, error, secured=bool(self._security))) from error
        info = self.identity()
        self.where = f"the Dask cluster at {info['address']}"
        return sum(int(w["nthreads"]) for w in info["workers"].values())

    def identity(self) -> dict[str, Any]:
        """Return what the scheduler tells of itself and of all workers."""
        client = self.client
        found: dict[str, Any] = client.sync(
            client.scheduler.identity, n_workers=-1, callback_timeout=PATIENCE_SECONDS
        )
        return found

    @property
    def goes_on(self) -> bool:
        """Whether the client has its scheduler, or tries to reach it."""
        return self.client.status in ("running", "connecting", "newly-created")

    def leave(self) -> None:
        """Close the client, unless it is the caller's."""
        if self.client is not None and self._own_client:
            leave(self.client, CLOSE_SECONDS)

    def close(self) -> None:
        """End all that is ours; also what was being made when `open` was broken off."""
        if self._made is not None:
            wait([self._made], START_SECONDS)
        self.leave()
        if self.cluster is not None:
            with contextlib.suppress(Exception):
                self.cluster.close(timeout=CLOSE_SECONDS)
        self._silence.close()
        if self._folder:
            folders.remove(self._folder)
