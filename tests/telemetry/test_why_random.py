"""What `cellmill.why` says at any moment, asked from another thread, against what tasks note of themselves."""

from __future__ import annotations

import json
import os
import random
import re
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import cellmill
from cellmill import Executor
from tests.support.helpers import SECONDS

HAS_NOT_BEGUN = re.compile(
    r"It waits for |It is queued behind |It is the next one|The workers are paused|"
    r"Worker \d+ has it( and takes it next|, behind )"
)
NAMED = re.compile(r"(\w+) #(\d+)")
INPUTS = re.compile(r"It waits for the results of (\d+) tasks?: (.*?)\.")
GPUS = re.compile(r"It waits for (\d) gpu: (\d) of 2 are in use(?: by (.*?))?\.(.*)")


def note(path: Path, number: int, seconds: float, *_: Any) -> int:
    """Write down when it begins and ends; one that fails its first attempt has no other."""
    write(path, number, "began")
    time.sleep(seconds)
    write(path, number, "ended")
    return number


def fail(path: Path, number: int, seconds: float, *_: Any) -> None:
    note(path, number, seconds)
    raise ValueError(number)


def write(path: Path, number: int, what: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{json.dumps([number, what, time.monotonic_ns()])}\n".encode())
    os.close(file)


class Told(NamedTuple):
    number: int
    before: int  # monotonic nanoseconds when it was asked,
    after: int  # and when it had answered
    words: str


class Program:
    """Calls drawn at random; another thread asks why one of them waits, again and again."""

    def __init__(self, executor: Executor, path: Path, seed: int) -> None:
        self.executor, self.path = executor, path
        self.draw, self.asks = random.Random(seed), random.Random(seed + 1)
        self.calls: list[cellmill.Future] = []
        self.inputs: dict[int, Sequence[int]] = {}
        self.gpus: dict[int, int] = {}
        self.told: list[Told] = []
        self.over = threading.Event()

    def run(self) -> None:
        thread = threading.Thread(target=self._ask)
        thread.start()
        try:
            for _ in range(self.draw.randint(10, 25)):
                self._step()
            self.executor.resume()
            for call in self.calls:
                try:
                    call.exception(SECONDS)
                except CancelledError:
                    assert call.cancelled()
        finally:
            self.over.set()
            thread.join(SECONDS)

    def _ask(self) -> None:
        while not self.over.is_set():
            number = len(self.calls) - self.asks.randint(1, 20)
            if number >= 0:
                before = time.monotonic_ns()
                words = cellmill.why(self.calls[number])
                self.told.append(Told(number, before, time.monotonic_ns(), words))
            self.over.wait(0.0003)

    def _step(self) -> None:
        kind = self.draw.choices(
            ["calls", "chain", "gpu", "priority", "pause", "resume", "cancel", "resize", "rest"],
            [8, 4, 4, 3, 1, 2, 2, 1, 5],
        )[0]
        if kind == "calls":
            for _ in range(self.draw.choice([1, 3, 8])):
                self._call(self.executor)
        elif kind == "chain":
            self._call(self.executor, self.draw.sample(range(len(self.calls)), min(2, len(self.calls))))
        elif kind == "gpu":
            wanted = self.draw.choice([1, 2])
            self.gpus[len(self.calls)] = wanted
            self._call(self.executor.options(resources={"gpu": wanted}))
        elif kind == "priority":
            self._call(self.executor.options(priority=self.draw.choice([-5, 5])))
        elif kind == "pause":
            self.executor.pause()
        elif kind == "resume":
            self.executor.resume()
        elif kind == "cancel" and self.calls:
            self.draw.choice(self.calls).cancel()
        elif kind == "resize":
            self.executor.set_workers(self.draw.choice([1, 2, 3]))
        else:
            self.over.wait(self.draw.choice([0, 0.002, 0.01]))

    def _call(self, executor: Any, inputs: Sequence[int] = ()) -> None:
        function = self.draw.choice([note, note, note, fail])
        number, seconds = len(self.calls), self.draw.choice([0, 0, 0.001, 0.005])
        self.inputs[number] = inputs
        given = [self.calls[each] for each in inputs]
        self.calls.append(executor.submit(function, self.path, number, seconds, *given))

    def wrong(self) -> list[str]:
        """What was said that was not so."""
        notes: dict[tuple[int, str], int] = {}
        for line in self.path.read_text().splitlines():
            number, what, at = json.loads(line)
            notes[number, what] = at
        of_task = {call._ticket >> 32: number for number, call in enumerate(self.calls)}
        found = defaultdict(list)
        for told in self.told:
            for problem in self._problems(told, notes, of_task):
                found[problem].append(told)
        return [f"{problem}: {told[0]}" for problem, told in found.items()]

    def _problems(self, told: Told, notes: dict[tuple[int, str], int], of_task: dict[int, int]) -> list[str]:
        number, words, problems = told.number, told.words, []
        if HAS_NOT_BEGUN.match(words) and notes.get((number, "began"), told.after) < told.before:
            problems.append("it had begun")
        if words.startswith("It does not wait: it has run on") and (number, "ended") not in notes:
            problems.append("it had not run")
        if words == "It does not wait: it is done." and notes[number, "ended"] > told.after:
            problems.append("it was not done")
        if inputs := INPUTS.match(words):
            named = [of_task[int(task)] for _, task in NAMED.findall(inputs[2])]
            if len(named) != int(inputs[1]) or not set(named) <= set(self.inputs[number]):
                problems.append("not its inputs")
        if gpus := GPUS.match(words):
            wanted, used, holders, rest = int(gpus[1]), int(gpus[2]), gpus[3] or "", gpus[4]
            held = sum(self.gpus[of_task[int(task)]] for _, task in NAMED.findall(holders))
            if wanted != self.gpus[number] or held > used:
                problems.append("not what is in use")
            if wanted + used <= 2 and "kept for" not in rest:
                problems.append("there was enough")
        return problems


def one_program(path: Path, seed: int, backend: str) -> None:
    with Executor(2, backend=backend, resources={"gpu": 2}) as executor:
        program = Program(executor, path, seed)
        program.run()
    assert program.told
    assert program.wrong() == []


@pytest.mark.parametrize(("seed", "backend"), [(10, "local"), (18, "local"), (12, "threads")])
def test_what_is_said_is_so(tmp_path: Path, seed: int, backend: str) -> None:
    one_program(tmp_path / "notes", seed, backend)


@pytest.mark.long
@pytest.mark.parametrize("backend", ["local", "threads"])
@pytest.mark.parametrize("seed", range(100, 200))
def test_what_is_said_is_so_often(tmp_path: Path, seed: int, backend: str) -> None:
    one_program(tmp_path / "notes", seed, backend)
