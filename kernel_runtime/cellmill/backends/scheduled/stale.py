"""Modules that were edited after workers imported them.

A cell sees its modules as they were when it began: files are looked at once per cell, before its first task; in a
script before its first task, and when it has loaded a module again. The rule is that workers follow the kernel. New
workers take the place of those that hold another version of a module than the kernel, or, where the kernel has none,
than its file. Where the kernel itself has an older one than the file, workers get the kernel's, and the user is told
what to type.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...by_value import kernel_modules
from ...by_value.import_log import Imported, Version, version_of
from ...cell_output import present_cell
from ...diagnostics import notices
from ...process_context.interrupts import uninterrupted
from ...serialization.functions import FunctionTable
from .context_watch import not_begun
from .scheduler import Scheduler

_told: set[tuple[str, Version]] = set()


class StaleModules:
    """Tracks what the workers of one pool have imported, and which of them must be replaced or told."""

    def __init__(
        self,
        members: Mapping[int, object],
        renew: Callable[[Iterable[int], bool], None],
        functions: FunctionTable,
        scheduler: Scheduler,
        look_again: Callable[[], Any],
        sent: bool = False,
    ) -> None:
        """``members``: the workers, by index; ``renew``: puts new ones in the place of these, and a new zygote.
        ``look_again``: has the next call look.
        ``sent``: workers have the modules that the kernel has from the kernel, and not from their files.
        """
        self._members = members
        self._renew = renew
        self._functions = functions
        self._scheduler = scheduler
        self._look_again = look_again
        self._sent = sent
        self._held: dict[int, dict[str, Imported]] = {}  # by worker and path
        self._inherited: dict[str, Imported] = {}  # what the zygote has had, by path
        self._outdated: dict[str, tuple[str, Version]] = {}  # in the kernel
        self._epoch = -1  # of the cell in which it was last looked; 0 outside of notebooks
        self._count = 0  # of modules in this process then
        self._generation = 0  # of the user's own ones then
        kernel_modules.modules.note()  # what their names are bound to, before these may be bound anew
        self._loads = len(kernel_modules.modules.loaded)  # that this pool has acted upon; several pools look

    def hear(self, worker: int, inherited: bool, imported: Iterable[Imported]) -> None:
        """A worker tells what it has imported, or has had from the start."""
        self._held.setdefault(worker, {}).update({module.path: module for module in imported})
        if inherited:
            self._inherited.update({module.path: module for module in imported})
        elif not self._sent:
            edited = kernel_modules.modules.otherwise_here(imported)
            if edited:  # since the last look
                self._tell(edited, {name for name, _ in edited.values()}, by_workers=True)
                self._epoch = -1
                self._look_again()

    def gone(self, worker: int) -> None:
        """A worker has ended."""
        self._held.pop(worker, None)

    def touched(self) -> bool:
        """Whether there is a reason to look: another cell, or a module that the kernel has loaded, or loaded again."""
        return (
            present_cell.epoch() != self._epoch
            or len(sys.modules) != self._count
            or len(kernel_modules.modules.loaded) != self._loads
            or kernel_modules.modules.reloaded()
        )

    def look(self) -> None:
        """Compare what workers and kernel have with the files."""
        if self.touched():
            with uninterrupted():  # what is noted as seen is acted upon
                self._look()

    def _look(self) -> None:
        new_cell = present_cell.epoch() != self._epoch
        self._epoch, self._count = present_cell.epoch(), len(sys.modules)
        kernel_modules.modules.note()
        loaded = kernel_modules.modules.loaded[self._loads :]
        anew = bool(loaded)
        if anew:
            self._loads += len(loaded)
            self._tell_of_waiting(set(loaded) - {""})
            self._functions.look_up_again()
        if new_cell or anew:
            self._compare()
        if kernel_modules.modules.generation != self._generation:
            self._generation = kernel_modules.modules.generation
            self._look_for_others()

    def _tell_of_waiting(self, loaded: set[str]) -> None:
        """Tasks that have not begun run with these modules as they are now, and not as they were at their call."""
        waiting = not_begun(self._scheduler) if loaded else 0
        if not waiting:
            return
        used = {module.name for held in list(self._held.values()) for module in list(held.values())}
        for name in sorted(loaded & (used | self._functions.modules())):
            notices.warn(
                f"the module {name} was loaded again while {waiting:,} {'tasks' if waiting > 1 else 'task'} had not "
                "begun: they may run with what it is now, and not with what it was at their call. Take their results "
                "before, or cancel them and call again."
            )

    def _look_for_others(self) -> None:
        """New workers in the place of those that have a module of another file under the name of one of the kernel."""
        is_other = kernel_modules.modules.is_other
        stale = [
            worker
            for worker, modules in self._held.copy().items()
            if any(is_other(module.name, path) for path, module in modules.copy().items())
        ]
        if stale:
            self._renew(stale, False)

    def _compare(self) -> None:
        outdated_here = kernel_modules.modules.outdated()
        is_stale = self._others_than(outdated_here)
        stale = {
            worker
            for worker, modules in self._held.copy().items()
            if any(map(is_stale, modules.copy().values()))
        }
        self._outdated = outdated_here
        self._functions.heard = self._hear_of if outdated_here else None
        if outdated_here:
            self._tell(outdated_here, self._functions.modules())
        zygote_too = any(map(is_stale, self._inherited.copy().values()))
        if zygote_too:
            self._inherited.clear()  # new workers tell anew
            # those that have not told yet were forked from it
            stale.update(index for index in list(self._members) if index not in self._held)
        if stale:
            self._renew(stale, zygote_too)

    def _others_than(self, outdated_here: Mapping[str, object]) -> Callable[[Imported], bool]:
        """Return what tells of a module in a worker whether it is another one than a new worker would have."""
        present: dict[str, Version | None] = {}

        def is_other(module: Imported) -> bool:
            name, path, version = module
            here = None if self._sent else kernel_modules.modules.version_here(name, path)
            if here is not None:
                return version != here
            if path not in present:
                present[path] = version_of(path)
            return present[path] not in (None, version) and path not in outdated_here

        return is_other

    def _hear_of(self, modules: set[str]) -> None:
        """A function that refers to these is going to be sent."""
        self._tell(self._outdated, modules)

    def _tell(
        self, outdated: dict[str, tuple[str, Version]], named: set[str], by_workers: bool = False
    ) -> None:
        """Once for each edit, of modules that tasks use: workers have them, or functions refer to those ``named``.
        ``by_workers``: some have imported the new version.
        """
        used = {path for modules in list(self._held.values()) for path in modules}
        for path, (name, version) in outdated.items():
            if (path, version) in _told:
                continue
            if path in used or any(f"{name}.".startswith(f"{other}.") for other in named):
                _told.add((path, version))
                known = self._sent or kernel_modules.modules.version_here(name, path) is not None
                print(_words(name, path, known, by_workers), file=sys.stderr)


def _words(name: str, path: str, known: bool, by_workers: bool) -> str:
    shown = os.path.relpath(path)
    shown = path if shown.startswith(os.pardir) else shown
    top = name.partition(".")[0]
    what = "importlib.reload(" + (f"sys.modules[{name!r}]" if top != name else name) + ")"
    who = "notebook" if present_cell.epoch() else "program"
    if not known:
        then = (
            f"The {who} and the workers that have imported it go on with what they have; workers that import it from "
            "now on read the new file."
        )
    elif by_workers:
        then = f"Tasks that have imported it since then use the new file; calls from now on use what the {who} has."
    else:
        then = f"The {who} and its tasks go on with what the {who} has."
    changed = f"cellmill: {shown} was changed after this {who} imported {name}. {then}"
    tried = kernel_modules.modules.by_autoreload(name, path)
    if tried is not None and tried.failed:
        return f"{changed} autoreload could not load the new one; it does so before a cell once the file is mended."
    by_itself = " To have that done before each cell: %load_ext autoreload and %autoreload 2."
    return (
        f"{changed} To use the new one everywhere: import importlib, sys; {what}."
        f"{by_itself if present_cell.epoch() else ''}"
    )
