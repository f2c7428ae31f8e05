"""Those that are told of cells."""

from __future__ import annotations

from typing import Protocol

from .origin import Origin


class CellListener(Protocol):
    def new_cell(self, cell: Origin) -> None:
        """A cell begins: what is submitted from now on is its."""


class CellWatcher(Protocol):
    def new_cell(self) -> None: ...


class CellTasks(Protocol):
    def begin_cell(self, within: bool) -> None: ...

    def stop_cell(self) -> int: ...
