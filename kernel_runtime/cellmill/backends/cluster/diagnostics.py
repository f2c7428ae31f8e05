"""Warnings about a cluster and its remote workers."""

from __future__ import annotations

from ...diagnostics import notices
from ...errors import BackendError, CellmillError
from .engines.protocol import RemoteWorker


def describe(error: BaseException) -> CellmillError:
    """An engine's error in ours."""
    if isinstance(error, CellmillError):
        return error
    found = BackendError(f"the cluster could not run a pack of tasks: {type(error).__name__}: {error}")
    found.__cause__ = error
    return found


def explain(error: BaseException) -> CellmillError:
    """Why a remote worker could not run a pack."""
    text = f"{type(error).__name__}: {error}"
    if "cellmill" in text and isinstance(error, (ModuleNotFoundError, ImportError, AttributeError)):
        found = BackendError(
            f"the cluster's workers cannot import Cellmill ({text}). Install it there as well, the same version: "
            "`pip install cellmill`."
        )
        found.__cause__ = error
        return found
    return describe(error)


def warn_slow(remote: RemoteWorker) -> None:
    """Warn that a remote worker has not answered for a minute."""
    _warn(
        f"cellmill: the worker {remote.label} has not answered for a minute; it may be busy with other work "
        "of this cluster. Tasks wait for it."
    )


def warn_without(remote: RemoteWorker, error: BaseException) -> None:
    """Warn that a remote worker cannot be used; others still can."""
    _warn(f"cellmill leaves the worker {remote.address} alone and goes on with the others: {error}")


def warn_unending(remote: RemoteWorker, error: BaseException) -> None:
    """The cluster gives no way to end what runs there."""
    _warn(
        f"cellmill: what runs at {remote.label} cannot be ended: {error}. It is left alone, and the worker "
        "is used again when it is through."
    )


def warn_empty(where: str) -> None:
    """Warn that the cluster has no remote workers."""
    _warn(
        f"cellmill waits for workers: {where} has none now. Tasks start as soon as "
        "one comes; scale the cluster, or look at what keeps its jobs from starting. Stop or Ctrl-C ends the wait."
    )


def warn_same_size(error: BaseException) -> None:
    """The cluster did not change its size."""
    _warn(f"cellmill: {describe(error)}")


def _warn(text: str) -> None:
    notices.warn(text)
