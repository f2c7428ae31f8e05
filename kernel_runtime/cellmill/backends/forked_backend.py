"""The stand-in for a backend in a forked child of its process, and the error that explains why."""

from __future__ import annotations

from typing import Any, NoReturn

from ..errors import CellmillError
from ._protocol import Backend


def error() -> CellmillError:
    """Return the error that a forked child gets when it uses its parent's backend."""
    return CellmillError(
        "this executor, or the one that this future comes from, belongs to the process that forked this one: "
        "use it there, or make an Executor here"
    )


class ParentsBackend:
    """Replaces a backend in a forked child: every use raises an error, except shutdown, which does nothing."""

    forks = True
    needs_threads = False

    def __init__(self, backend: Backend) -> None:
        self.name = backend.name
        self.max_workers = backend.max_workers

    def __getattr__(self, name: str) -> NoReturn:
        raise error()

    def submit(self, *_: Any) -> NoReturn:
        raise error()

    def shutdown(self, wait: bool, cancel_futures: bool) -> None:
        pass
