"""What is left of a backend in a forked child of its process: the error that tells why it is none any more."""

from __future__ import annotations

from typing import Any, NoReturn

from ..errors import CellmillError
from ._protocol import Backend


def error() -> CellmillError:
    """What a forked child hears when it uses something of its parent's."""
    return CellmillError(
        "this executor, or the one that this future comes from, belongs to the process that forked this one: "
        "use it there, or make an Executor here"
    )


class ParentsBackend:
    """In the place of a backend in a forked child: every use raises but shutting down, which does nothing."""

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
