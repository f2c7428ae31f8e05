"""The screen: dock a random start, train, infer the whole library, dock the best, repeat.

The same seed gives the same hits whatever the number of workers: every choice is made here, in library order,
on scores rounded to 1e-4 kcal/mol, with ties broken by SMILES.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import cellmill
from docking.acquisition import Acquisition, Candidates, SizeLine, choose
from docking.clock import Stopwatch
from docking.filters import Requirement
from docking.flight import Flight
from docking.interactions import Contact
from docking.ledger import Ledger, Pick
from docking.records import Docked, DockingInputError, Entry, Final, Search, Verdict, unchecked
from docking.searches import best_of, best_of_both
from docking.splits import SPLITS, Split, validate_by
from docking.surrogate import FEW, Surrogate, Validation, train, validate


@dataclass(frozen=True, slots=True)
class Hit:
    """One docked library molecule: its ``round`` (0 is the random start) and the prediction that chose it; ``final``:
    what the final round found, where the molecule was in it; the ``contacts`` of its best pose, None before they are
    looked for, and what is ``lacking`` of those that are required."""

    entry: Entry
    docked: Docked
    round: int
    predicted: float = math.nan
    final: Docked | None = None
    contacts: tuple[Contact, ...] | None = None
    lacking: str = ""

    @property
    def rescored(self) -> bool:
        """Whether the final round gave a score."""
        return self.final is not None and self.final.ok

    @property
    def best(self) -> Docked:
        """The docking that counts: of the final round, where that gave a score."""
        return self.final if self.final is not None and self.final.ok else self.docked

    def key(self) -> tuple[bool, bool, float, str]:
        """Sort key: best score first, ties by SMILES; what the final round rescored before all others, whose
        scores come of fewer trials; what carries a caution after all others; failures last."""
        score = self.best.score if self.best.ok else math.inf
        return (bool(self.entry.caution), not self.rescored, score, self.entry.smiles)


def random_start(library: Sequence[Entry], seed: int, count: int) -> list[Entry]:
    """``count`` random molecules that can be docked (fewer when there are not as many), in the order of the library."""
    usable = [index for index, entry in enumerate(library) if entry.usable]
    chosen = random.Random(seed).sample(usable, min(count, len(usable)))
    return [library[index] for index in sorted(chosen)]


def inference(model: Surrogate, name: str = "infer") -> Any:
    """A batched parallel function ``infer(list of SMILES)`` of the model's beliefs; the model travels by value."""

    def infer(smiles: list[str]) -> list[tuple[float, float, bool]]:
        return model.beliefs(smiles)

    return cellmill.parallel(batch=True, name=name)(infer)


@dataclass(slots=True)
class Screen:
    """A screening campaign over ``library`` with a parallel function ``dock(smiles, search) -> Docked``.

    The score of a molecule is the best of so many independent ``searches``.

    The methods are its steps; :meth:`run` does them all. ``hits`` grows with every docked molecule. With a ``ledger``
    each docking is on disk as it ends; what is there already, of the same steps before, is not docked again.
    ``same_size``: some of those chosen, each with a random molecule of its size that was docked as a control.

    A round is chosen without the scores of the last ``overlap`` molecules begun before it, which dock meanwhile (of the
    start, at most half are left out). Which these are follows from the order in which molecules are begun, and not from
    which ends first: the table is the same for any number of workers. :meth:`finish` waits for what still docks.
    """

    library: list[Entry]
    dock: Any
    seed: int = 1
    searches: int = 1
    hits: list[Hit] = field(default_factory=list)
    ledger: Ledger | None = None
    clock: Stopwatch = field(default_factory=Stopwatch)
    model: Surrogate | None = None
    validation: Validation | None = None
    splits: list[Split] = field(default_factory=list)
    acquisition: Acquisition = field(default_factory=Acquisition)
    predictions: list[float] = field(default_factory=list)
    spreads: list[float] = field(default_factory=list)
    inside: list[bool] = field(default_factory=list)
    round: int = 0
    same_size: list[tuple[Hit, Hit]] = field(default_factory=list)
    require: tuple[Requirement, ...] = ()
    verdict: Verdict = field(default_factory=lambda: unchecked("nothing says that docking works here"))
    overlap: int = 0
    _flight: Flight = field(init=False, repr=False)
    _begun: float = math.nan
    _lasted: float = 0.0
    _remarks: dict[int, str] = field(default_factory=dict)
    _told: set[int] = field(default_factory=set)
    _entries: dict[str, Entry] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not any(entry.usable for entry in self.library):
            reason = self.library[0].reason if self.library else "it is empty"
            raise DockingInputError(f"No molecule of the library can be docked; the first row: {reason}.")
        if self.ledger is not None:
            self.ledger.agree_on_library(self.library, self.seed)
            self.dock = self.ledger.keeping(self.dock)
        if self.overlap < 0:
            raise DockingInputError("Rounds overlap by 0 molecules (not at all) or more, not by fewer.")
        self._flight = Flight(self.dock)

    def dock_start(self, count: int = 40) -> list[Hit]:
        """Dock ``count`` random molecules of the library (fewer when it is smaller); gives those that have landed."""

        def drawn() -> list[Pick]:
            return [Pick(entry.smiles) for entry in random_start(self.library, self.seed, count)]

        picks = self._planned({"count": count}, drawn)
        return self._dock(picks, "dock the start", min(self.overlap, len(picks) // 2))

    def train(self, *, check: bool = True) -> Surrogate:
        """Train the surrogate on everything that has landed; the first time, validate it on that much of the random
        start: by folds at random, and by folds that share no scaffold or building block, unless ``check`` is False."""
        good = [hit for hit in self.hits if hit.docked.ok]
        if not good:
            reason = self.hits[0].docked.reason if self.hits else "nothing was docked yet"
            raise DockingInputError(f"No docked molecule to train on: {reason}")
        with self.clock.stage(f"train on {len(good)}"):
            smiles = [hit.entry.smiles for hit in good]
            scores = [hit.docked.score for hit in good]
            self.model = train(smiles, scores, spread=self.acquisition.needs_spread)
            if check and self.validation is None and len(good) > 2:
                by_group = [
                    cellmill.parallel(name="validate")(validate_by)(name, smiles, scores) for name in SPLITS
                ]
                self.validation = validate(smiles, scores)
                self.splits = [call.result() for call in by_group]
        return self.model

    def infer(self, infer: Any = None) -> list[float]:
        """Predict every usable molecule of the library, one fine-grained task each; nan for unusable rows.

        ``infer`` is a batched parallel function from SMILES to scores, or to what :meth:`Surrogate.beliefs` gives; by
        default :func:`inference` of the trained model.
        """
        if infer is None:
            infer = inference(self._trained())
        usable = [index for index, entry in enumerate(self.library) if entry.usable]
        with self.clock.stage("infer the library", len(usable)):
            self.predictions = [math.nan] * len(self.library)
            self.spreads = [0.0] * len(self.library)
            self.inside = [True] * len(self.library)
            values = infer.map([self.library[index].smiles for index in usable])
            for index, value in zip(usable, values, strict=True):
                if isinstance(value, tuple):
                    self.predictions[index], self.spreads[index], self.inside[index] = value
                else:
                    self.predictions[index] = value
        return self.predictions

    def choose(self, count: int) -> list[int]:
        """Indices of ``count`` molecules not docked yet, by :attr:`acquisition`; no two nearly the same."""
        spreads = self.spreads or [0.0] * len(self.predictions)
        known = self.inside or [True] * len(self.predictions)
        inside = [ok and not entry.caution for ok, entry in zip(known, self.library, strict=True)]
        seed = 1000 * self.seed + self.round
        values = self.acquisition.values(self.predictions, spreads, seed)
        smiles = [entry.smiles for entry in self.library]
        if self.acquisition.beyond_size:
            values = self._size_line().beyond(smiles, values)
        begun = [(hit.entry.smiles, hit.round) for hit in self.hits]
        begun += [(each.pick.smiles, each.round) for each in self._flight]
        done = {text for text, _round in begun}
        earlier = [text for text, number in begun if number > 0]
        return choose(Candidates(smiles, values, inside, seed), count, self.acquisition, done, earlier)

    def _size_line(self) -> SizeLine:
        """What molecules of the random start score by their size; of all that landed, where none of it docked."""
        good = [hit for hit in self.hits if hit.docked.ok]
        start = [hit for hit in good if hit.round == 0] or good
        return SizeLine.through([hit.entry.smiles for hit in start], [hit.docked.score for hit in start])

    def dock_best(self, count: int = 10) -> list[Hit]:
        """Dock the ``count`` most promising molecules and start the next round; gives those that have landed since."""
        self.round += 1

        def chosen() -> list[Pick]:
            return [Pick(self.library[index].smiles, self.predictions[index]) for index in self.choose(count)]

        rule = {"count": count, "overlap": self.overlap, **asdict(self.acquisition)}
        return self._dock(self._planned(rule, chosen), f"dock the best, round {self.round}", self.overlap)

    def finish(self) -> list[Hit]:
        """Wait for the molecules that still dock; gives them."""
        return self._dock([], "dock the last", 0) if self.docking else []

    def begun_again(self, dock: Any, ledger: Ledger) -> Screen:
        """The same screen at its beginning, with the ``ledger`` of a folder."""
        return Screen(
            self.library,
            dock,
            self.seed,
            self.searches,
            ledger=ledger,
            acquisition=self.acquisition,
            overlap=self.overlap,
        )

    @property
    def docking(self) -> int:
        """Number of molecules that were begun and have not landed."""
        return len(self._flight)

    def busy_share(self, workers: int) -> float:
        """Part of the time of so many ``workers``, from the first docking of the rounds to the last, that went into
        docking; nan where nothing was docked then."""
        return self._flight.seconds / (workers * self._lasted) if self._flight.seconds else math.nan

    def rescore(self, final: Final) -> list[Hit]:
        """The final round: search the best molecules again, and rank these by the best of both rounds."""
        self.finish()
        chosen = [hit for hit in self.ranked() if not hit.rescored and not hit.entry.caution][: final.top]
        searches = final.each()
        found, total = (
            self._on_disk([hit.entry.smiles for hit in chosen], searches),
            len(chosen) * len(searches),
        )
        with self.clock.stage(f"dock the best {len(chosen)} again", total - found, _remark(found, total)):
            rows = best_of(self.dock, [hit.entry.smiles for hit in chosen], searches)
        finals = {
            hit.entry.smiles: best_of_both(row, hit.docked) for hit, row in zip(chosen, rows, strict=True)
        }
        self.hits = [
            replace(hit, final=finals[hit.entry.smiles], contacts=None) if hit.entry.smiles in finals else hit
            for hit in self.hits
        ]
        return [hit for hit in self.ranked() if hit.entry.smiles in finals]

    def find_contacts(self, find: Any) -> None:
        """Find the contacts of the best pose of each molecule by the parallel function ``find(pose)``; what lacks one
        that is required is no hit."""
        self.finish()
        poses = {
            hit.entry.smiles: hit.best.pose for hit in self.hits if hit.docked.ok and hit.contacts is None
        }
        with self.clock.stage("find the contacts", len(poses)):
            outcomes = list(find.map(list(poses.values()), return_exceptions=True))
        found = dict(zip(poses, outcomes, strict=True))
        self.hits = [
            self._holding(hit, found[hit.entry.smiles]) if hit.entry.smiles in found else hit
            for hit in self.hits
        ]

    def _holding(self, hit: Hit, found: Any) -> Hit:
        """``hit`` with its contacts, where ``found`` is no failure."""
        if isinstance(found, tuple):
            lacking = " and ".join(each.text for each in self.require if not each.met(found))
            return replace(hit, contacts=found, lacking=lacking)
        return replace(hit, lacking="contacts: they could not be found" if self.require else "")

    def run(
        self, start: int = 40, rounds: int = 2, per_round: int = 6, say: Callable[[str], None] = print
    ) -> None:
        """All steps: a random start, then ``rounds`` of train, infer, dock; ``say`` gets one line for
        each."""
        self.dock_start(start)
        if all(hit.docked.reason for hit in self.hits):
            self.finish()
        self.tell(say)
        if all(hit.docked.reason for hit in self.hits):
            raise DockingInputError(f"Nothing docked: {self.hits[0].docked.reason}")
        good = sum(hit.docked.ok for hit in self.hits)
        if rounds and good < FEW:
            say(f"{good} docked molecules are few to learn from: expect little of the first predictions")
        for number in range(1, rounds + 1):
            if len(self.hits) + self.docking >= sum(entry.usable for entry in self.library):
                say("every molecule of the library is docked")
                break
            self.train()
            if self.validation is not None:
                for told in (self.validation, *(self.splits if number == 1 else ())):
                    say(self.verdict.on(str(told)))
            if number == rounds or not self._is_planned(number):
                self.infer()
            self.dock_best(per_round)
            self.tell(say)
        self.finish()
        self.tell(say)

    def tell(self, say: Callable[[str], None]) -> None:
        """Say what each round gave that has landed since this was done last."""
        waiting = {each.round for each in self._flight}
        for number in [each for each in self._remarks if each not in self._told | waiting]:
            name = f"round {number}" if number else "random start"
            hits = [hit for hit in self.hits if hit.round == number]
            remark = f"; {self._remarks[number]}" if self._remarks[number] else ""
            say(self.verdict.on(f"{name}: {_summary(hits)}{remark}"))
            self._told.add(number)

    def ranked(self) -> list[Hit]:
        """Everything that docked and lacks nothing that is required, best first."""
        return sorted((hit for hit in self.hits if hit.docked.ok and not hit.lacking), key=Hit.key)

    def _planned(self, rule: dict[str, Any], choose: Callable[[], list[Pick]]) -> list[Pick]:
        """What this round docks: as the ledger tells, or chosen now and told to it before anything is docked."""
        if self.ledger is None:
            return choose()
        self.ledger.agree({"score": {"searches": self.searches}})
        picks = self.ledger.plan(self.round, rule)
        if picks is None:
            picks = choose()
            self.ledger.write_plan(self.round, rule, picks)
        return picks

    def _is_planned(self, number: int) -> bool:
        """Whether the ledger tells what round ``number`` docks: then only the last predictions are wanted."""
        return self.ledger is not None and self.ledger.plans(number)

    def _dock(self, picks: Sequence[Pick], stage: str, overlap: int) -> list[Hit]:
        """Begin to dock ``picks``, and wait until ``overlap`` molecules at most are left; gives those that landed."""
        smiles = [pick.smiles for pick in picks]
        searches = [Search(number) for number in range(self.searches)]
        found, total = self._on_disk(smiles, searches), len(smiles) * len(searches)
        if picks:
            self._remarks[self.round] = _remark(found, total)
        if math.isnan(self._begun):
            self._begun = time.monotonic()
        landed = len(self.hits)
        with self.clock.stage(stage, total - found, _remark(found, total)):
            self._flight.begin(picks, self.round, searches)
            for each, row in self._flight.land(overlap):
                entry = self._entry(each.pick.smiles)
                self.hits.append(Hit(entry, row, each.round, each.pick.predicted))
        self._lasted = time.monotonic() - self._begun
        if self.ledger is not None:
            self.ledger.settle()
        return self.hits[landed:]

    def _entry(self, smiles: str) -> Entry:
        """The row of the library that has a molecule."""
        if not self._entries:
            self._entries = {entry.smiles: entry for entry in self.library if entry.usable}
        return self._entries[smiles]

    def _on_disk(self, smiles: Sequence[str], searches: Sequence[Search]) -> int:
        """How many searches of these molecules are on disk."""
        if self.ledger is None:
            return 0
        return sum(self.ledger.found(text, each) is not None for text in smiles for each in searches)

    def _trained(self) -> Surrogate:
        if self.model is None:
            raise DockingInputError("There is no surrogate yet: dock a start and train first.")
        return self.model


def _remark(found: int, total: int) -> str:
    return f"{found} of {total} were on disk" if found else ""


def _summary(hits: Sequence[Hit]) -> str:
    good = sorted(hit.docked.score for hit in hits if hit.docked.ok)
    if not good:
        return f"0 of {len(hits)} docked"
    return (
        f"{len(good)} of {len(hits)} docked, best {good[0]:.2f}, median {good[len(good) // 2]:.2f} kcal/mol"
    )
