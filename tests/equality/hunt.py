"""Look for programs that see something else than the plain interpreter shows them, and print the shortest of each kind.

``python -m tests.equality.hunt --seconds 300`` from the root; ``--only`` and ``--without`` choose features (see
`draw.FEATURES`), ``--seed N`` shows and executes one program.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from tests.equality import edit_draw, loop_draw
from tests.equality.draw import FEATURES, Statement, drawn
from tests.equality.runner import Runner
from tests.equality.shrink import shrunk, texts
from tests.equality.world import Difference


@dataclass
class Failure:
    """A program that fails, shrunk; ``alone``: it fails as the first one of a process, too."""

    seed: int
    program: list[Statement]
    difference: Difference
    alone: bool

    def tags(self) -> tuple[str, ...]:
        return tuple(
            sorted({tag for statement in self.program for tag in statement.tags} - {"read", "map_read"})
        )

    def __str__(self) -> str:
        lines = [f"seed {self.seed}, features: {', '.join(self.tags())}"]
        lines += [f"    {line}" for text in texts(self.program) for line in text.rstrip().splitlines()]
        plain, real = (str(form) for form in (self.difference.plain, self.difference.real))
        same = next((i for i, (a, b) in enumerate(zip(plain, real, strict=False)) if a != b), 0)
        start = max(0, same - 80) if len(plain) > 300 else 0
        lines += [f"  plain: {plain[start : start + 300]}", f"  tasks: {real[start : start + 300]}"]
        if not self.alone:
            lines.append("  (only after other programs in the same process)")
        return "\n".join(lines)


def failures(
    runner: Runner,
    seeds: Iterator[int],
    over: Callable[[], bool],
    without: Collection[str] = (),
    immediate: bool = False,
) -> Iterator[Failure | None]:
    """Each seed's failure, or None where its program sees what it should, until it is ``over``."""
    for seed in seeds:
        if over():
            return
        program = _drawn(runner.of, seed, without, immediate)
        found = runner.difference(texts(program))
        yield None if found is None else _failure(runner, seed, program, found)


def _drawn(of: str, seed: int, without: Collection[str], immediate: bool) -> list[Statement]:
    if of == "loops":
        return loop_draw.drawn(seed)
    return edit_draw.drawn(seed) if of == "edits" else drawn(seed, without, immediate)


def _failure(runner: Runner, seed: int, program: list[Statement], found: Difference) -> Failure:
    program, found = shrunk(program, found, runner.difference)
    fresh = Runner(runner.backend, runner.of)
    try:
        return Failure(seed, program, found, fresh.difference(texts(program)) is not None)
    finally:
        fresh.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, help="one program")
    parser.add_argument(
        "--first", type=int, default=random.SystemRandom().randrange(10**9), help="first seed"
    )
    parser.add_argument("--only", default="", help="features, by commas")
    parser.add_argument("--without", default="", help="features, by commas")
    parser.add_argument("--backend", default="local")
    parser.add_argument("--of", default="programs", choices=["programs", "loops", "edits"])
    given = parser.parse_args()
    only = set(given.only.split(",")) - {""}
    without = set(given.without.split(",")) - {""} | (set(FEATURES - only) if only else set())
    runner = Runner(given.backend, given.of)
    seeds = iter([given.seed]) if given.seed is not None else iter(range(given.first, 10**10))
    if given.seed is not None:
        show = _drawn(given.of, given.seed, without, given.backend != "local")
        print("\n".join(texts(show)))
    end = time.monotonic() + given.seconds
    found: dict[tuple[str, ...], Failure] = {}
    number = failed = 0
    try:
        for failure in failures(
            runner, seeds, lambda: time.monotonic() > end, without, given.backend != "local"
        ):
            number += 1
            if failure is None:
                continue
            failed += 1
            before = found.get(failure.tags())
            if before is None or len(str(failure)) < len(str(before)):
                found[failure.tags()] = failure
    finally:
        runner.close()
    for failure in sorted(found.values(), key=lambda one: (len(one.program), len(str(one))), reverse=True):
        print(f"\n{failure}")
    print(f"\n{number} programs, {failed} failed, {len(found)} kinds; first seed {given.first}")


if __name__ == "__main__":
    main()
