"""A drawn notebook, executed in one shell as plain Python and with Cellmill, and what its cells saw."""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import itertools
import os
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

import cellmill
from tests.equality import plain
from tests.equality.forms import form_of
from tests.equality.world import MODULE, Difference

_numbers = itertools.count(1)
_times = itertools.count(1_700_000_000, 10)
_REFUSED = ("was imported anew since", "as autoreload leaves it")
Seen = tuple[int, str, int]  # the cell, what it saw, how much had been said by then


class Edits:
    """Executes notebooks in the shell of this process."""

    def __init__(self) -> None:
        self.shell = InteractiveShell.instance()
        self.shell.history_manager.enabled = False
        for name in ("autoreload", "cellmill"):
            self.shell.run_line_magic("load_ext", name)
        self.shell.run_line_magic("xmode", "Minimal")
        reloader = self.shell.magics_manager.registry["AutoreloadMagics"]._reloader
        looked_at = reloader.filename_and_mtime  # of other modules it would take most of a notebook's time
        reloader.filename_and_mtime = lambda module: (
            looked_at(module) if getattr(module, "__name__", "").startswith("data_") else (None, None)
        )
        self._hidden = set(self.shell.user_ns)
        self._magics = dict(self.shell.magics_manager.magics["cell"])

    def answer(self, program: list[str]) -> Any:
        """None where both see the same, {"refused": what was said}, or the `Difference`."""
        expected, _ = self._run(program, True)
        found, said = self._run(program, False)
        for left, right in itertools.zip_longest(expected, found, fillvalue=(len(program), "nothing", -1)):
            told = said[: right[2]] if right[2] >= 0 else said
            if "cellmill" in told or "Warning" in told or any(each in right[1] for each in _REFUSED):
                return {"refused": told or right[1]}
            if left[:2] != right[:2]:
                return Difference(min(left[0], right[0]), left[1], right[1])
        return {"refused": said} if said else None

    def _run(self, program: list[str], plainly: bool) -> tuple[list[Seen], str]:
        space, magics = self.shell.user_ns, self.shell.magics_manager
        for name in set(space) - self._hidden:
            del space[name]
        module = f"data_{next(_numbers):06}"
        before = os.getcwd(), list(sys.path)
        with tempfile.TemporaryDirectory(prefix="edits-") as folder:
            notes = _Notes(module, folder, space)
            space.update(
                _files(Path(folder).resolve(), module), see=notes.see, sys=sys, os=os, importlib=importlib
            )
            space.update(self._plain_names() if plainly else _real_names())
            sys.path.insert(0, space["folder"]("one"))
            os.chdir(folder)
            try:
                with contextlib.redirect_stderr(notes.said), contextlib.redirect_stdout(io.StringIO()):
                    for notes.at, text in enumerate(program):
                        result = self.shell.run_cell(text.replace(MODULE, module), store_history=True)
                        error = result.error_in_exec or result.error_before_exec
                        if error is not None:
                            notes.see(error)
                    self.shell.run_line_magic("autoreload", "0")
            finally:
                os.chdir(before[0])
                sys.path[:] = before[1]
                for name in [name for name in sys.modules if name.startswith(module)]:
                    del sys.modules[name]
                magics.magics["cell"].update(self._magics)
        return notes.seen, notes.said.getvalue()

    def _plain_names(self) -> dict[str, Any]:
        for name, function in (("parallel", _parallel), ("pfor", _pfor), ("task", _task)):
            magic = functools.partial(function, self.shell.user_ns)
            self.shell.magics_manager.register_function(magic, "cell", name)
        names = types.SimpleNamespace(
            parallel=_decorator, share=lambda value: value, per_worker=functools.cache
        )
        return {"cellmill": names, "ex": plain.Executor(), "swept": _plain_sweep}


class _Notes:
    """What the cells of one execution see."""

    def __init__(self, module: str, folder: str, space: dict[str, Any]) -> None:
        self.at = 0
        self.seen: list[Seen] = []
        self.said = io.StringIO()
        self._space = space
        self._names = {module: MODULE, str(Path(folder).resolve()): ""}  # that no other execution has

    def see(self, value: Any) -> None:
        if isinstance(value, ExceptionGroup):
            value = value.exceptions[0]
        if isinstance(value, BaseException):
            form: Any = "error", type(value).__name__, str(value)
        else:
            failed = type(value) is list and any(type(each) is cellmill.TaskFailure for each in value)
            form = form_of("failed" if failed else value, self._space)
        text = repr(form)
        for name, other in self._names.items():
            text = text.replace(name, other)
        self.seen.append((self.at, text, self.said.tell()))


def _files(there: Path, module: str) -> dict[str, Any]:
    """What cells do with files."""

    def write(name: str, text: str) -> None:
        path = there / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.replace(MODULE, module))
        os.utime(path, (now := next(_times), now))
        importlib.invalidate_caches()

    def remove(name: str) -> None:
        (there / name).unlink(missing_ok=True)
        importlib.invalidate_caches()

    def load_again(*names: str) -> None:
        """Those of these modules that are there, whose files are."""
        for name in names:
            found = sys.modules.get(name.replace(MODULE, module))
            if found is not None and os.path.exists(str(found.__file__)):
                importlib.reload(found)

    for each in ("one", "two"):
        (there / each).mkdir()
    return {
        "write": write,
        "remove": remove,
        "load_again": load_again,
        "folder": lambda name: str(there / name),
    }


def _real_names() -> dict[str, Any]:
    return {"cellmill": cellmill, "ex": cellmill.default_executor(), "swept": _sweep}


def _sweep(function: Any, **axes: Any) -> Any:
    made = cellmill.sweep(function, **axes)
    made.run()
    for _, error in made.errors():
        if isinstance(error, cellmill.PayloadError):
            raise error  # a refusal, which counts as such
    return [row.get("result", "failed") for row in made.rows()]


def _plain_sweep(function: Any, x: list[Any]) -> Any:
    found = []
    for each in x:
        try:
            found.append(function(each))
        except Exception:
            found.append("failed")
    return found


def _decorator(function: Any = None, **options: Any) -> Any:
    return plain.parallel(function) if function is not None else plain.parallel


def _parallel(space: dict[str, Any], line: str, cell: str) -> None:
    exec(cell, space)
    for name, value in list(space.items()):
        if type(value) is types.FunctionType and f"def {name}(" in cell:
            space[name] = plain.parallel(value)


def _pfor(space: dict[str, Any], line: str, cell: str) -> None:
    """Of an item that fails nothing is done: its loop variable is not bound, either (docs/limits.md)."""
    head, _, name = line.partition(" -> ")
    variable = head.partition(" ")[0]
    before = [space[variable]] if variable in space else []
    space[name], space["_items"] = [], []
    try:
        exec(f"for {head}:\n    {name}.append({cell.strip()})\n    _items.append({variable})", space)
    except Exception:
        space[name] = "failed"
        last = [*before, *space["_items"]][-1:]
        if last:
            space[variable] = last[0]
        else:
            del space[variable]
        raise


def _task(space: dict[str, Any], line: str, cell: str) -> None:
    space[line.strip()] = plain.Executor().submit(lambda: eval(cell.strip(), space))
