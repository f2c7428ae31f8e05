"""Folders of records: which one is the usual one, and what is in one."""

from __future__ import annotations

import itertools
import os
import re
import stat
from datetime import datetime
from pathlib import Path

from ..errors import UsageError
from . import form

SETTING = "CELLMILL_RECORD"
"""The environment variable that names the folder in which every run is recorded."""
_MOST_NAME = 40


def usual() -> Path:
    """The folder that is meant where none is named: that of the setting, or one for the user's own."""
    named = os.environ.get(SETTING, "")
    if named:
        return Path(named).expanduser()
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "cellmill" / "runs"


def prepared(folder: Path) -> Path:
    """Make a folder for its owner alone, unless it is there. Raises `UsageError` where it is another thing, or someone
    else's.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError:
        raise UsageError(f"{folder} is no folder: records are kept in one, a file for each run") from None
    if folder.stat().st_uid != os.getuid():
        raise UsageError(f"{folder} belongs to another user: give a folder of your own")
    return folder


def is_open_to_others(folder: Path) -> bool:
    """Whether others may list it; the records themselves are their owner's alone."""
    return bool(stat.S_IMODE(folder.stat().st_mode) & 0o077)


def file_for(folder: Path, began: datetime, name: str, number: int) -> Path:
    """A file for a run that is not there yet: they sort by time. A run that is recorded again has another number."""
    words = (
        re.sub(r"[^A-Za-z0-9_.-]+", "_", name.rpartition("<locals>.")[2]).strip("._")[:_MOST_NAME] or "run"
    )
    stem = f"{began:%Y%m%d-%H%M%S}-{words}-{os.getpid()}-{number}"
    names = itertools.chain([stem], (f"{stem}-{again}" for again in itertools.count(2)))
    return next(path for name in names if not (path := folder / f"{name}{form.SUFFIX}").exists())


def records_in(folder: Path) -> list[Path]:
    """The records in a folder, oldest first. Raises `UsageError` where there is no such folder."""
    if not folder.is_dir():
        what = f"{folder} is a file" if folder.exists() else f"there is no folder {folder}"
        raise UsageError(
            f'{what}: cellmill.record("{folder}/"), with / at its end, makes a folder of records'
        )
    return sorted(path for path in folder.glob(f"*{form.SUFFIX}") if form.is_record(path))
