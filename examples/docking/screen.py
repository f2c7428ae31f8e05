"""The screen: dock a random start, train, infer the whole library, dock the best, repeat.

The same seed gives the same hits whatever the number of workers: every choice is made here, in library order,
on scores rounded to 1e-4 kcal/mol, with ties broken by SMILES.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rdkit import DataStructs
from rdkit.Chem import MolFromSmiles, rdFingerprintGenerator

import cellmill
from docking.dock import gather
from docking.ledger import Ledger, Pick
from docking.records import Docked, DockingInputError, Entry
from docking.surrogate import MIN_TRAINING, Surrogate, Validation, rho, train, validate

MAX_SIMILARITY = 0.8
"""Tanimoto similarity above which two molecules are not docked in the same round: analogues teach little."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One docked library molecule: its ``round`` (0 is the random start) and the prediction that chose it."""

    entry: Entry
    docked: Docked
    round: int
    predicted: float = math.nan

    def key(self) -> tuple[bool, float, str]:
        """Sort key: best score first, ties by SMILES; after all others what carries a caution; failures last."""
        score = self.docked.score if self.docked.ok else math.inf
        return (bool(self.entry.caution), score, self.entry.smiles)


@dataclass(slots=True)
class Stage:
    """What took how long: ``seconds`` of wall time for ``tasks`` tasks, and a remark."""

    name: str
    seconds: float = 0.0
    tasks: int = 0
    remark: str = ""


class Stopwatch:
    """Keeps how long each stage of a session took, in ``stages``."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []

    @contextmanager
    def stage(self, name: str, tasks: int = 0, remark: str = "") -> Iterator[Stage]:
        """Measure the wall time of a step of ``tasks`` tasks."""
        record = Stage(name, tasks=tasks, remark=remark)
        start = time.monotonic()
        try:
            yield record
        finally:
            record.seconds = time.monotonic() - start
            self.stages.append(record)


def inference(model: Surrogate, name: str = "infer") -> Any:
    """A batched parallel function ``infer(list of SMILES) -> list of scores``; the model travels by value."""

    def infer(smiles: list[str]) -> list[float]:
        return model.scores(smiles)

    return cellmill.parallel(batch=True, name=name)(infer)


@dataclass(slots=True)
class Screen:
    """A screening campaign over ``library`` with a parallel function ``dock(smiles) -> Docked``.

    The methods are its steps; :meth:`run` does them all. ``hits`` grows with every docked molecule. With a ``ledger``
    each docking is on disk as it ends; what is there already, of the same steps before, is not docked again.
    """

    library: list[Entry]
    dock: Any
    seed: int = 1
    hits: list[Hit] = field(default_factory=list)
    ledger: Ledger | None = None
    clock: Stopwatch = field(default_factory=Stopwatch)
    model: Surrogate | None = None
    validation: Validation | None = None
    predictions: list[float] = field(default_factory=list)
    round: int = 0

    def __post_init__(self) -> None:
        if not any(entry.usable for entry in self.library):
            reason = self.library[0].reason if self.library else "it is empty"
            raise DockingInputError(f"No molecule of the library can be docked; the first row: {reason}.")
        if self.ledger is not None:
            self.ledger.agree_on_library(self.library, self.seed)
            self.dock = self.ledger.keeping(self.dock)

    def dock_start(self, count: int = 40) -> list[Hit]:
        """Dock ``count`` random molecules of the library (fewer when it is smaller)."""

        def choose() -> list[Pick]:
            usable = [index for index, entry in enumerate(self.library) if entry.usable]
            chosen = random.Random(self.seed).sample(usable, min(count, len(usable)))
            return [Pick(self.library[index].smiles) for index in sorted(chosen)]

        return self._dock(self._planned({"count": count}, choose), "dock the start")

    def train(self) -> Surrogate:
        """Train the surrogate on everything docked so far; the first time, validate it on the random
        start."""
        good = [hit for hit in self.hits if hit.docked.ok]
        failed = [hit for hit in self.hits if not hit.docked.ok]
        if failed and len(good) < MIN_TRAINING:
            raise DockingInputError(
                f"{len(good)} docked molecules are too few to train on (at least {MIN_TRAINING}); "
                f"{len(failed)} failed, the first: {failed[0].docked.reason}"
            )
        with self.clock.stage(f"train on {len(good)}"):
            smiles = [hit.entry.smiles for hit in good]
            scores = [hit.docked.score for hit in good]
            self.model = train(smiles, scores)
            if self.validation is None:
                self.validation = validate(smiles, scores)
        return self.model

    def infer(self, infer: Any = None) -> list[float]:
        """Predict every usable molecule of the library, one fine-grained task each; nan for unusable rows.

        ``infer`` is a batched parallel function of SMILES; by default :func:`inference` of the trained model.
        """
        if infer is None:
            infer = inference(self._trained())
        usable = [index for index, entry in enumerate(self.library) if entry.usable]
        with self.clock.stage("infer the library", len(usable)):
            self.predictions = [math.nan] * len(self.library)
            values = infer.map([self.library[index].smiles for index in usable])
            for index, value in zip(usable, values, strict=True):
                self.predictions[index] = value
        return self.predictions

    def choose(self, count: int) -> list[int]:
        """Indices of the ``count`` best predicted molecules not docked yet, no two nearly the same."""
        seen = {hit.entry.smiles for hit in self.hits}
        order = sorted(
            (index for index, value in enumerate(self.predictions) if not math.isnan(value)),
            key=lambda index: (
                bool(self.library[index].caution),
                round(self.predictions[index], 4),
                self.library[index].smiles,
            ),
        )
        generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
        chosen: list[int] = []
        prints: list[Any] = []
        passed_over: list[int] = []
        for index in order:
            if len(chosen) == count:
                break
            if self.library[index].smiles in seen:
                continue
            fingerprint = generator.GetFingerprint(MolFromSmiles(self.library[index].smiles))
            if max(DataStructs.BulkTanimotoSimilarity(fingerprint, prints), default=0.0) > MAX_SIMILARITY:
                passed_over.append(index)
                continue
            chosen.append(index)
            prints.append(fingerprint)
        return chosen + passed_over[: count - len(chosen)]

    def dock_best(self, count: int = 10) -> list[Hit]:
        """Dock the ``count`` most promising molecules and start the next round."""
        self.round += 1

        def choose() -> list[Pick]:
            informed = self.model is not None
            return [
                Pick(self.library[index].smiles, self.predictions[index] if informed else math.nan)
                for index in self.choose(count)
            ]

        return self._dock(self._planned({"count": count}, choose), f"dock the best, round {self.round}")

    def run(
        self, start: int = 40, rounds: int = 2, per_round: int = 6, say: Callable[[str], None] = print
    ) -> None:
        """All steps: a random start, then ``rounds`` of train, infer, dock; ``say`` gets one line for
        each."""
        hits = self.dock_start(start)
        say(f"random start: {_summary(hits)}{self._from_disk()}")
        if all(hit.docked.reason for hit in hits):
            raise DockingInputError(f"Nothing docked: {hits[0].docked.reason}")
        remaining = sum(entry.usable for entry in self.library) - len(self.hits)
        if rounds and remaining and sum(hit.docked.ok for hit in self.hits) < MIN_TRAINING:
            say(f"fewer than {MIN_TRAINING} docked: too few to train on; docking {per_round} more a round")
        for number in range(1, rounds + 1):
            if len(self.hits) >= sum(entry.usable for entry in self.library):
                say("every molecule of the library is docked")
                return
            if sum(hit.docked.ok for hit in self.hits) < MIN_TRAINING:
                self.predictions = [0.0 if entry.usable else math.nan for entry in self.library]
            else:
                self.train()
                say(str(self.validation))
                if number == rounds or not self._is_planned(number):
                    self.infer()
            hits = self.dock_best(per_round)
            say(f"round {number}: {_summary(hits)}{self._from_disk()}")

    def ranked(self) -> list[Hit]:
        """Everything that docked, best first."""
        return sorted((hit for hit in self.hits if hit.docked.ok), key=Hit.key)

    def prospective_rho(self) -> float:
        """Spearman's rho between prediction and score of the molecules the surrogate chose."""
        chosen = [hit for hit in self.hits if hit.docked.ok and not math.isnan(hit.predicted)]
        return rho([hit.predicted for hit in chosen], [hit.docked.score for hit in chosen])

    def _planned(self, rule: dict[str, Any], choose: Callable[[], list[Pick]]) -> list[Pick]:
        """What this round docks: as the ledger tells, or chosen now and told to it before anything is docked."""
        if self.ledger is None:
            return choose()
        picks = self.ledger.plan(self.round, rule)
        if picks is None:
            picks = choose()
            self.ledger.write_plan(self.round, rule, picks)
        return picks

    def _is_planned(self, number: int) -> bool:
        """Whether the ledger tells what round ``number`` docks: then only the last predictions are wanted."""
        return self.ledger is not None and self.ledger.plans(number)

    def _from_disk(self) -> str:
        remark = self.clock.stages[-1].remark
        return f"; {remark}" if remark else ""

    def _dock(self, picks: Sequence[Pick], stage: str) -> list[Hit]:
        smiles = [pick.smiles for pick in picks]
        found = 0 if self.ledger is None else sum(self.ledger.found(text) is not None for text in smiles)
        remark = f"{found} of {len(smiles)} were on disk" if found else ""
        with self.clock.stage(stage, len(smiles) - found, remark):
            rows = gather(smiles, self.dock.map(smiles, return_exceptions=True))
        wanted = set(smiles)
        entries = {entry.smiles: entry for entry in self.library if entry.usable and entry.smiles in wanted}
        new = [
            Hit(entries[pick.smiles], row, self.round, pick.predicted)
            for pick, row in zip(picks, rows, strict=True)
        ]
        self.hits.extend(new)
        return new

    def _trained(self) -> Surrogate:
        if self.model is None:
            raise DockingInputError("There is no surrogate yet: dock a start and train first.")
        return self.model


def _summary(hits: Sequence[Hit]) -> str:
    good = sorted(hit.docked.score for hit in hits if hit.docked.ok)
    if not good:
        return f"0 of {len(hits)} docked"
    return (
        f"{len(good)} of {len(hits)} docked, best {good[0]:.2f}, median {good[len(good) // 2]:.2f} kcal/mol"
    )
