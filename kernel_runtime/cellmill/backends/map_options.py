"""The options of one map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import Any

from ..errors import UsageError
from ..task import path_of

OUR_OWN = frozenset(("star", "fed", "instead"))  # which users do not give


@dataclass(frozen=True, slots=True)
class MapOptions:
    """The options of `Executor.map`, which describes them; ``star``: each element is a tuple of arguments;
    ``fed``: an input that runs code of the user's is taken in a thread of its own; ``instead``: makes what is yielded
    in an error's place; None: it is raised.

    Raises:
        UsageError: a size that is no whole number of at least 1.
    """

    timeout: float | None = None
    chunksize: int | None = None
    ordered: bool = True
    return_exceptions: bool = False
    prefetch: int | None = None
    checkpoint: str | PathLike[str] | None = None
    star: bool = False
    fed: bool = False
    instead: Callable[[BaseException], Any] | None = None

    def __post_init__(self) -> None:
        for name in ("prefetch", "chunksize"):
            size = getattr(self, name)
            if size is not None and (not isinstance(size, int) or size < 1):
                raise UsageError(f"{name} must be a whole number of at least 1, not {size!r}")
        if self.return_exceptions and self.instead is None:
            object.__setattr__(self, "instead", _itself)
        if self.checkpoint is not None:
            object.__setattr__(self, "checkpoint", path_of("checkpoint", self.checkpoint))


def _itself(error: BaseException) -> BaseException:
    return error
