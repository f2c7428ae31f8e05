"""A program's statements, executed one by one as ``__main__``'s, and what it saw."""

from __future__ import annotations

import importlib
import itertools
import sys
import tempfile
import types
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cellmill
from cellmill import run_registry
from tests.equality import plain
from tests.equality.forms import differ, form_of

MODULE = "MODULE"
"""Names of a program's own modules begin so; it is replaced by what no other execution has."""
IMPORTS = """
import array, collections, dataclasses, datetime, decimal, enum, fractions, functools, itertools, types
import numpy as np
import pandas as pd
"""
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Difference:
    """The first thing that a program saw otherwise: at which statement (-1: it hung), and both forms."""

    statement: int
    plain: Any
    real: Any


def drained(results: Iterable[Any]) -> list[Any]:
    """What an iterator yields, and what it raised at its end."""
    found: list[Any] = []
    try:
        for result in results:
            found.append(result)
    except Exception as error:
        found.append(error)
    return found


class World:
    """One execution of one program."""

    def __init__(self, names: dict[str, Any], module: str, folder: Path) -> None:
        self.seen: list[tuple[int, Any]] = []
        self._at = 0
        self._module, self._folder = module, folder
        self.main = types.ModuleType("__main__")
        exec(IMPORTS, self.main.__dict__)
        self.main.__dict__.update(names, see=self.see, write_module=self.write, drained=drained)

    def see(self, value: Any) -> None:
        self.seen.append((self._at, form_of(value, self.main.__dict__)))

    def write(self, name: str, text: str) -> None:
        """A module of the program's own, as a file of its user."""
        (self._folder / f"{name}.py").write_text(text)
        importlib.invalidate_caches()

    def run(self, statements: list[str]) -> list[tuple[int, Any]]:
        kept, sys.modules["__main__"] = sys.modules["__main__"], self.main
        sys.path.insert(0, str(self._folder))
        try:
            for self._at, text in enumerate(statements):
                name = f"<{self._module}, statement {self._at}>"
                try:
                    exec(compile(text.replace(MODULE, self._module), name, "exec"), self.main.__dict__)
                except Exception as error:
                    self.see(error)
        finally:
            sys.path.remove(str(self._folder))
            sys.modules["__main__"] = kept
            for name in [name for name in sys.modules if name.startswith(self._module)]:
                del sys.modules[name]
        return self.seen


def _plain_names() -> dict[str, Any]:
    return {"parallel": plain.parallel, "ex": plain.Executor(), "cell": lambda: None}


def _real_names(executor: cellmill.Executor) -> dict[str, Any]:
    def parallel(function: Any = None, /, **options: Any) -> Any:
        return cellmill.parallel(function, **options) if function else cellmill.parallel(**options)

    return {"parallel": parallel, "ex": executor, "cell": run_registry.bump_epoch}


def difference(statements: list[str], executor: cellmill.Executor) -> Difference | None:
    """Execute a program in both worlds; the first thing that differs."""
    module = f"data_{next(_numbers)}"

    def seen(names: dict[str, Any]) -> list[tuple[int, Any]]:
        with tempfile.TemporaryDirectory(prefix="equality-") as folder:
            return World(names, module, Path(folder)).run(statements)

    run_registry.bump_epoch()
    return _first_difference(seen(_plain_names()), seen(_real_names(executor)))


def _first_difference(expected: list[tuple[int, Any]], found: list[tuple[int, Any]]) -> Difference | None:
    missing = (len(expected) + len(found), "nothing")
    for left, right in itertools.zip_longest(expected, found, fillvalue=missing):
        if differ(left, right):
            return Difference(min(left[0], right[0]), left[1], right[1])
    return None
