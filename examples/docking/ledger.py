"""Every docking is a line on disk as it ends, so that a screen whose process is killed goes on where it was.

``dockings.jsonl`` has one line for each docking, ``rounds.jsonl`` one for each round with the molecules chosen for it:
written before they are docked, so that a continued screen docks what the first one chose. Both files only grow. A line
goes to the operating system in one write, so a killed process leaves at most one line cut short, at the end.
"""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

from cellmill import TaskTimeoutError
from docking.dock import ONE, gather
from docking.folder import FORMER, SETTINGS, Facts, FolderLock, replace_file, set_aside, versions
from docking.receptor import Receptor
from docking.records import Docked, DockingInputError, DockSettings, Entry, Search

DOCKINGS, ROUNDS = "dockings.jsonl", "rounds.jsonl"
RECEPTOR_FILES = ("prepared_receptor.pdb", "prepared_receptor.pdbqt")
RESULTS = ("hits.csv", "hits.sdf", "predictions.csv", "report.html", "summary.json")
"""What a finished screen writes beside its dockings."""

FORMAT = 2
"""Of what a folder holds: since 2, a line of the dockings is one of several searches of a molecule."""

_OF_ONE = tuple(f.name for f in fields(Docked) if f.name not in ("mean", "spread", "searches"))
"""Fields of a single search."""

_UNTOLD: dict[str, Any] = {"overlap": 0, "beyond_size": False}
"""Of the rule of a round: what was so before folders told it."""

Key = tuple[str, Search]
"""What a line of the dockings is found by: a molecule, and which of its searches."""


@dataclass(frozen=True, slots=True)
class Pick:
    """A molecule chosen for a round, and the prediction that chose it (nan in a random one)."""

    smiles: str
    predicted: float = math.nan


class Lines:
    """A file of JSON lines that only grows; ``rows`` are those that were there, ``cut`` says that the last was not
    whole and is dropped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[dict[str, Any]] = []
        self.cut = False
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        self._read()

    def append(self, row: Mapping[str, Any]) -> None:
        """Write ``row`` as a line of its own."""
        data = (json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n").encode()
        while data:  # one write takes it all, unless the disk is full or a signal came
            data = data[os.write(self._file, data) :]

    def settle(self) -> None:
        """Have what was written survive a power failure too."""
        os.fsync(self._file)

    def close(self) -> None:
        os.close(self._file)

    def _read(self) -> None:
        whole = 0
        data = self.path.read_bytes()
        for number, line in enumerate(data.splitlines(keepends=True), start=1):
            try:
                row = json.loads(line) if line.endswith(b"\n") else None
            except ValueError:
                row = None
            last = whole + len(line) == len(data)
            if not isinstance(row, dict):
                if not last:
                    raise DockingInputError(
                        f"Line {number} of '{self.path}' is damaged, and others follow it. Delete that line: what it "
                        "held is docked again."
                    )
                os.ftruncate(self._file, whole)
                self.cut = True
                return
            self.rows.append(row)
            whole += len(line)


class Ledger:
    """The dockings and rounds of the screen in ``folder``; :func:`open_ledger` makes one.

    ``notes`` are lines for a person who continues a screen: what was found, and what is different.
    """

    _open: ClassVar[dict[Path, Ledger]] = {}

    def __init__(self, folder: Path, facts: Mapping[str, Any], how: str, fresh: bool) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self._how = folder, how
        self._closed = True
        self._writing = threading.Lock()  # dockings end in threads of the backend
        self._lock = FolderLock(folder)
        if former := self._open.pop(folder.resolve(), None):
            former._end()
        self.notes = [self._lock.note] * bool(self._lock.note)
        try:
            self._begin(facts, fresh)
        except BaseException:
            self._lock.release()
            raise
        self._open[folder.resolve()] = self
        self._closed = False

    def _begin(self, facts: Mapping[str, Any], fresh: bool) -> None:
        """Read what is there, if it was made with the same ``facts``."""
        names = (SETTINGS, DOCKINGS, ROUNDS, *RECEPTOR_FILES, *RESULTS)
        if fresh and set_aside(self.folder, names):
            self.notes.append(f"the former screen is set aside in '{self.folder / FORMER}'")
        self._facts = Facts(self.folder, self._how)
        dockings = self.folder / DOCKINGS
        if not self._facts and dockings.exists() and dockings.stat().st_size:
            raise DockingInputError(
                f"'{self.folder}' has dockings, and no {SETTINGS} tells with which settings they were made. Give "
                f"another folder, or begin again in this one with {self._how}."
            )
        if self._facts and self._facts.told().get("format") != FORMAT:
            raise DockingInputError(
                f"'{self.folder}' holds a screen of another version of this package, whose scores are not the best of "
                f"independent searches with a seed for each molecule: they cannot stand in one table with new ones. "
                f"Give another folder, or begin again in this one with {self._how}."
            )
        self.agree({"format": FORMAT, **facts})
        self._dockings, self._rounds = Lines(dockings), Lines(self.folder / ROUNDS)
        self._docked = {(row["smiles"], Search(**row["search"])): _docked(row) for row in self._dockings.rows}
        self._plans = {int(row["round"]): row for row in self._rounds.rows}
        self._tell()

    def __len__(self) -> int:
        """Number of dockings on disk."""
        return len(self._docked)

    @property
    def facts(self) -> dict[str, Any]:
        """Settings and versions that the folder tells, by group."""
        return self._facts.told()

    @property
    def searches(self) -> int:
        """How many searches of a molecule the screen here was begun with; 0: none was."""
        return int(self._facts.told().get("score", {}).get("searches", 0))

    def agree(self, facts: Mapping[str, Any]) -> None:
        """Add ``facts`` to what the folder tells; raises :class:`DockingInputError` where it tells others."""
        self.notes += [f"made with another version: {text}" for text in self._facts.agree(facts)]

    def agree_on_library(self, library: Sequence[Entry], seed: int) -> None:
        """Raise :class:`DockingInputError` where the folder holds a screen of another library, or of another seed."""
        text = "\n".join(f"{e.row}\t{e.smiles}\t{e.name}\t{e.reason}" for e in library)
        facts = {"rows": len(library), "sha256": sha256(text.encode()).hexdigest()}
        self.agree({"library": facts, "choice": {"seed": seed}})

    def found(self, smiles: str, search: Search = ONE) -> Docked | None:
        """A search of a molecule that is on disk, or None."""
        return self._docked.get((smiles, search))

    def write(self, docked: Docked, search: Search = ONE) -> None:
        """Put a search that has ended on disk."""
        if self._closed:
            raise DockingInputError(f"'{self.folder}' was opened again since, or closed: open it anew.")
        row = {name: getattr(docked, name) for name in _OF_ONE}
        if math.isnan(docked.score):
            row["score"] = None
        with self._writing:
            self._dockings.append({"search": asdict(search), **row})
            self._docked[docked.smiles, search] = docked

    def plans(self, number: int) -> bool:
        """Whether what was chosen for round ``number`` is on disk."""
        return number in self._plans

    def plan(self, number: int, rule: Mapping[str, Any]) -> list[Pick] | None:
        """What was chosen for round ``number``, or None; raises where it was chosen by another ``rule``."""
        row = self._plans.get(number)
        if row is None:
            return None
        for key, value in rule.items():
            if row["rule"].get(key, _UNTOLD.get(key)) != value:
                there = row["rule"].get(key, _UNTOLD.get(key))
                raise DockingInputError(
                    f"'{self.folder}' holds a screen made with other settings: round {number} was chosen with {key} "
                    f"{there}, here it is {value}. Give another folder, or begin again in this one with {self._how}."
                )
        return [Pick(smiles, math.nan if value is None else value) for smiles, value in row["picks"]]

    def write_plan(self, number: int, rule: Mapping[str, Any], picks: Sequence[Pick]) -> None:
        """Put on disk what was chosen for round ``number``."""
        told = [(pick.smiles, None if math.isnan(pick.predicted) else pick.predicted) for pick in picks]
        row = {"round": number, "rule": dict(rule), "picks": told}
        self._rounds.append(row)
        self._rounds.settle()
        self._plans[number] = row

    def keeping(self, dock: Any) -> Keeping:
        """``dock`` as a function whose map writes each docking here as it ends and docks nothing that is here."""
        return Keeping(self, dock)

    def settle(self) -> None:
        """Have all dockings survive a power failure too."""
        self._dockings.settle()

    def close(self) -> None:
        """Close the files, and let another process have the folder."""
        if not self._closed:
            self._open.pop(self.folder.resolve(), None)
            self._end()
            self._lock.release()

    def _end(self) -> None:
        self._closed = True
        self._dockings.close()
        self._rounds.close()

    def _tell(self) -> None:
        if self._docked:
            good = sum(docked.ok for docked in self._docked.values())
            bad = len(self._docked) - good
            rounds = sum(number > 0 for number in self._plans)
            begun = f", {rounds} {'round' if rounds == 1 else 'rounds'} chosen" if rounds else ""
            self.notes.append(
                f"going on with the screen in '{self.folder}': {len(self._docked)} dockings found"
                f"{f' ({bad} failed)' if bad else ''}{begun}"
            )
        if self._dockings.cut:
            self.notes.append("the last docking there was not written to its end: it is done again")


class NotKeptError(Exception):
    """A docking that has ended could not be written; the cause says why."""


class _Kept(Future[Docked]):
    """A docking that is on disk when it is over; ``call`` is what docks."""

    call: Any = None

    def cancel(self) -> bool:
        return super().cancel() if self.call is None else bool(self.call.cancel())


class Keeping:
    """A parallel docking function over a :class:`Ledger`: called, or mapped in order.

    ``docked`` counts what was not on disk.
    """

    def __init__(self, ledger: Ledger, dock: Any) -> None:
        self._ledger, self._dock = ledger, dock
        self.docked = 0

    def __call__(self, smiles: str, search: Search = ONE) -> Future[Docked]:
        """The docking that is on disk, or a new one, which is written before it is over.

        What went wrong outside (a lost worker, a package that is missing there) is not written: it is tried again
        when the screen is continued. A docking that ran into its time limit is written as a failed one.
        """
        kept = _Kept()
        found = self._ledger.found(smiles, search)
        if found is not None:
            kept.set_result(found)
            return kept
        self.docked += 1
        kept.call = self._dock(smiles, search)
        kept.call.add_done_callback(lambda call: self._ended(kept, call, (smiles, search)))
        return kept

    def map(
        self,
        smiles: Iterable[str],
        searches: Iterable[Search] | None = None,
        *,
        return_exceptions: bool = True,
    ) -> Iterator[Any]:
        """A :class:`Docked` for each of ``smiles``, or what went wrong outside of docking; all of them are over before
        the first is given."""
        wanted = list(smiles)
        each = [ONE] * len(wanted) if searches is None else searches
        calls: list[Future[Docked]] = []
        try:
            for key in zip(wanted, each, strict=True):
                calls.append(self(*key))
            outcomes = [outcome_of(call) for call in calls]
        finally:  # an interrupt
            for call in calls:
                call.cancel()
        self._ledger.settle()
        for outcome in outcomes:
            if isinstance(outcome, BaseException) and not return_exceptions:
                raise outcome
            yield outcome

    def _ended(self, kept: _Kept, call: Any, key: Key) -> None:
        """Have a call that has ended on disk, if it is a docking; then tell those who wait for it."""
        try:
            outcome = call.result()
        except TaskTimeoutError as error:
            outcome = gather([key[0]], [error])[0]
        except (Exception, CancelledError) as error:
            kept.set_exception(error)
            return
        try:
            self._ledger.write(outcome, key[1])
        except Exception as error:
            unwritten = NotKeptError(str(error))
            unwritten.__cause__ = error
            kept.set_exception(unwritten)
            return
        kept.set_result(outcome)


def outcome_of(call: Any) -> Any:
    """The docking of a call, when it is over, or what went wrong; raises where it could not be written."""
    try:
        return call.result()
    except NotKeptError as error:
        raise (error.__cause__ or error) from None
    except (Exception, CancelledError) as error:
        return error


def open_ledger(
    folder: str | Path,
    receptor: Receptor,
    settings: DockSettings,
    *,
    fresh: bool = False,
    how: str = "fresh=True",
) -> Ledger:
    """The ledger of ``folder`` for docking into ``receptor`` with ``settings``, new or continued.

    Raises :class:`DockingInputError` where another process has the folder, and where it holds a screen made with
    other settings. With ``fresh`` that one is set aside in the subfolder ``former``. ``how`` is what the message
    calls this argument.
    """
    facts = {
        "receptor": {
            "name": receptor.name,
            "sha256": sha256(receptor.pdbqt.encode()).hexdigest(),
            "box": asdict(receptor.box),
        },
        "docking": asdict(settings),
        "versions": versions(),
    }
    path = Path(folder).expanduser()
    try:
        ledger = Ledger(path, facts, how, fresh)
        for name, text in zip(RECEPTOR_FILES, (receptor.pdb, receptor.pdbqt), strict=True):
            if not (path / name).exists():
                replace_file(path / name, text)
    except OSError as error:
        raise DockingInputError(f"Cannot write results to '{path}': {error.strerror}.") from error
    return ledger


def _docked(row: Mapping[str, Any]) -> Docked:
    known = {name: row[name] for name in _OF_ONE if name in row}
    if known.get("score") is None:
        known["score"] = math.nan
    known["poses"] = tuple((score, text) for score, text in known.get("poses", ()))
    return Docked(**known)
