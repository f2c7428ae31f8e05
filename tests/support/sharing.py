"""Objects for tests of `share`: they count their unpicklings by files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NoReturn


class Model:
    """Weights, and a folder with a line in ``loads`` for each process that unpickled it."""

    def __init__(self, folder: Path, weights: Any = None) -> None:
        self.folder = str(folder)
        self.weights = weights

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        with open(Path(self.folder, "loads"), "a") as file:
            file.write(f"{os.getpid()}\n")

    def loads(self) -> list[int]:
        """The processes, in the order of their unpicklings."""
        path = Path(self.folder, "loads")
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def at(self, x: int) -> float:
        return float(self.weights[x])


class Heavy:
    """Refuses to come back."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)

    def __setstate__(self, state: dict[str, Any]) -> NoReturn:
        with open(Path(state["folder"], "loads"), "a") as file:
            file.write("x")
        raise OSError("no such device")


def at(model: Model, x: int) -> float:
    return model.at(x)


def who(model: Any, *_: Any) -> tuple[str, int, int]:
    """Type, identity, process."""
    return type(model).__name__, id(model), os.getpid()


def writeable(model: Model) -> bool:
    return bool(model.weights.flags.writeable)


def kinds(*args: Any, **kwargs: Any) -> list[str]:
    """Types of the members of lists, tuples and dicts."""
    found: list[str] = []
    for value in (*args, *kwargs.values()):
        if isinstance(value, (list, tuple)):
            found += kinds(*value)
        elif isinstance(value, dict):
            found += kinds(*value.values())
        else:
            found.append(type(value).__name__)
    return found
