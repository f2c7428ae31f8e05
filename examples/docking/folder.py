"""The folder of a screen: which process has it, and the settings with which it was made.

A folder holds one screen. ``screen.json`` tells its settings and versions, and the prepared receptor lies beside it; a
run with other settings is refused, because its scores cannot stand in one table with those that are there.
"""

from __future__ import annotations

import errno
import fcntl
import importlib.metadata
import json
import os
import platform
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from docking.records import DockingInputError

SETTINGS = "screen.json"
LOCK = "screen.lock"
FORMER = "former"
VERSIONS = ("cellmill", "vina", "rdkit", "meeko", "dimorphite_dl", "scikit-learn", "numpy")
"""Packages whose versions the folder tells."""
TOLERATED = (
    "receptor.name", "versions.cellmill", "versions.scikit-learn", "versions.numpy", "versions.python",
)  # fmt: skip
"""Facts that no recorded score depends on: a difference is said, and the screen goes on."""


class FolderLock:
    """The right to write in ``folder``; it ends with the process that has it, however that ends.

    A POSIX lock belongs to the process and not to the open file, so workers forked from this one do not keep it.
    """

    _held: dict[Path, int] = {}  # noqa: RUF012  (of the process: a second file of the same path would drop the lock)

    def __init__(self, folder: Path) -> None:
        self.note = ""
        self._path = folder.resolve() / LOCK
        if self._path in self._held:
            return
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise DockingInputError(f"Cannot write results to '{folder}': {error.strerror}.") from error
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN):
                owner = os.pread(file, 200, 0).decode(errors="replace").strip()
                os.close(file)
                raise DockingInputError(
                    f"Another process works in '{folder}'{f' ({owner})' if owner else ''}: end it, or give another "
                    "folder."
                ) from error
            self.note = f"'{folder}' cannot be locked here ({error.strerror}): run one screen at a time in it"
        os.ftruncate(file, 0)
        os.pwrite(file, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        self._held[self._path] = file

    def release(self) -> None:
        """Let another process have the folder."""
        file = self._held.pop(self._path, None)
        if file is not None:
            os.ftruncate(file, 0)
            os.close(file)


class Facts:
    """The settings that ``screen.json`` in ``folder`` tells; ``how`` says how a user begins again in this folder."""

    def __init__(self, folder: Path, how: str) -> None:
        self._folder, self._how = folder, how
        self._path = folder / SETTINGS
        self._told: dict[str, Any] = {}
        if self._path.exists():
            try:
                self._told = dict(json.loads(self._path.read_text()))
                _as_told_now(self._told)
            except (OSError, ValueError) as error:
                raise DockingInputError(
                    f"'{self._path}' cannot be read ({error}), so it is not known with which settings the dockings "
                    f"beside it were made. Give another folder, or begin again in this one with {how}."
                ) from error

    def __bool__(self) -> bool:
        return bool(self._told)

    def told(self) -> dict[str, Any]:
        """All of them, by group."""
        return dict(self._told)

    def agree(self, facts: Mapping[str, Any]) -> list[str]:
        """Add ``facts`` (groups of settings) to the file, or raise :class:`DockingInputError` where it tells others.

        Returns sentences on differences that do not matter to scores.
        """
        given = json.loads(json.dumps(facts))
        known = {key: value for key, value in given.items() if key in self._told}
        told = {key: self._told[key] for key in known}
        wrong: list[str] = []
        harmless: list[str] = []
        for name, there, here in _differences(told, known):
            text = f"{name.replace('.', ' ')} {_short(there)} there, {_short(here)} here"
            (harmless if name in TOLERATED else wrong).append(text)
        if wrong:
            raise DockingInputError(
                f"'{self._folder}' holds a screen made with other settings: {'; '.join(wrong)}. Give another folder, "
                f"or begin again in this one with {self._how}."
            )
        if len(known) < len(given):
            self._told |= {key: value for key, value in given.items() if key not in self._told}
            replace_file(self._path, json.dumps(self._told, indent=1) + "\n")
        return harmless


def _as_told_now(told: dict[str, Any]) -> None:
    """Have ``told``, of an older folder with the same kind of dockings, say what it says as folders do now."""
    if isinstance(docking := told.get("docking"), dict):
        docking.setdefault("tautomers", 1)  # as it was before folders told it
    if isinstance(choice := told.get("choice"), dict) and "searches" in choice:
        told.setdefault("score", {})["searches"] = choice.pop("searches")


def versions() -> dict[str, str]:
    """The versions on which a screen depends."""
    found = {"python": platform.python_version()}
    for name in VERSIONS:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed as a package"
    return found


def set_aside(folder: Path, names: tuple[str, ...]) -> bool:
    """Move the files ``names`` of ``folder`` into its subfolder ``former``, in the place of those there; False: there
    are none."""
    present = [name for name in names if (folder / name).exists()]
    if not present:
        return False
    former = folder / FORMER
    former.mkdir(exist_ok=True)
    for name in names:
        (former / name).unlink(missing_ok=True)
    for name in present:
        (folder / name).replace(former / name)
    return True


def make_folder(folder: Path) -> None:
    """Make the folder of results, where it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DockingInputError(f"Cannot write results to '{folder}': {error.strerror}.") from error


def replace_file(path: Path, content: str | bytes) -> None:
    """Write ``content`` so that a reader finds the old file or the whole new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_bytes(content if isinstance(content, bytes) else content.encode())
        partial.replace(path)
    except BaseException:  # a full disk, an interrupt
        partial.unlink(missing_ok=True)
        raise


def _differences(there: Any, here: Any, name: str = "") -> Iterator[tuple[str, Any, Any]]:
    if isinstance(there, dict) and isinstance(here, dict):
        for key in [*there, *(key for key in here if key not in there)]:
            yield from _differences(there.get(key), here.get(key), f"{name}.{key}" if name else key)
    elif there != here:
        yield name, there, here


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 40 else f"{text[:12]}…"
