"""How fast the task path of HEAD is beside that of an earlier commit.

``python -m benchmarks.against COMMIT [--rounds N] [--rows A,B]`` compiles both commits in folders of their own and
measures calls and maps of no-ops, with captured state of several kinds and with payloads. ``--list`` names the rows.
A round starts a process of each commit, both with their workers, and asks them in turns for a few hundredths of a
second of the same row: what else happens on the machine reaches both, and fresh processes differ in more than their
code. Prints for each row the medians and how many times as fast HEAD is: the median of the ratios of neighbours, and
between which order statistics of theirs it is in 95 % of all cases (the sign test's interval; with fewer than six
ratios it is the range, which covers less and says so). Once by the clock, once by the processor time of the kernel's
process, which others on the machine disturb less. Rows marked + look at captured state where the earlier commit may
not have: for them the cost of the look is printed, a call's time less that of a call that captures a number, in
microseconds. With ``--least X`` the exit status is 1 where an interval's lower end is below, by clock and by
processor time.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("csched", "kernel_runtime", "widgets", "hatch_build.py", "pyproject.toml")
MEASURE = Path(__file__).with_name("against_rows.py")
BARE = "number"  # rows of calls and maps of a function that refers to nothing that can change
PAIRS = 12  # of turns in a round
Turn = dict[str, tuple[float, float]]
"""Of each row microseconds of one call, by the clock and of the kernel's processor time."""


def unpack(commit: str, folder: Path) -> Path:
    """The commit's sources, compiled, in ``folder``; raises `subprocess.CalledProcessError` for what git or gcc say."""
    archive = subprocess.run(
        ["git", "archive", commit, *PARTS], cwd=ROOT, check=True, stdout=subprocess.PIPE
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    subprocess.run([sys.executable, "hatch_build.py"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder


class Side:
    """A process that measures rows of one commit."""

    def __init__(self, tree: Path) -> None:
        paths = os.pathsep.join(str(tree / part) for part in ("kernel_runtime", "widgets"))
        self._process = subprocess.Popen(
            [sys.executable, str(MEASURE)],
            env={**os.environ, "PYTHONPATH": paths},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def __enter__(self) -> Side:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        finally:
            self._process.kill()

    def ask(self, row: str) -> tuple[float, float]:
        """Microseconds of a call; raises `subprocess.CalledProcessError` where the process ended."""
        asked, answers = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answers is not None
        try:
            print(row, file=asked, flush=True)
            wall, processor = json.loads(answers.readline())
        except (BrokenPipeError, json.JSONDecodeError):
            raise subprocess.CalledProcessError(self._process.wait(10), MEASURE.name) from None
        return wall, processor


def interval(values: list[float]) -> tuple[float, float, float]:
    """The sign test's interval of the median: its ends, and how much it covers, 95 % where there are enough values."""
    ordered, count = sorted(values), len(values)
    tail, best = 0.0, (ordered[0], ordered[-1], 1 - 2 * 0.5**count)
    for left_out in range(count // 2):
        tail += math.comb(count, left_out) / 2**count
        if 1 - 2 * tail < 0.95:
            break
        best = ordered[left_out], ordered[count - 1 - left_out], 1 - 2 * tail
    return best


def report(before: list[Turn], now: list[Turn], marked: set[str]) -> dict[str, tuple[float, float]]:
    """Print the table; the lower ends of each row's two intervals."""
    print(f"{'us a call':30} {'before':>11} {'HEAD':>11}   ratio by clock        by processor time")
    ends: dict[str, tuple[float, float]] = {}
    for row in now[0]:
        parts = []
        lows: list[float] = []
        for which in (0, 1):
            ratios = [b[row][which] / n[row][which] for b, n in zip(before, now, strict=True)]
            low, high, _ = interval(ratios)
            lows.append(low)
            parts.append(f"{statistics.median(ratios):5.2f} [{low:5.2f}, {high:5.2f}]")
        ends[row] = lows[0], lows[1]
        medians = [statistics.median(turn[row][0] for turn in found) for found in (before, now)]
        mark = "+ " if row in marked else ""
        line = f"{mark + row:30} {medians[0]:11,.3f} {medians[1]:11,.3f}   {'   '.join(parts)}"
        print(line + (f"   look {_look(before, row)}, now {_look(now, row)} us" if mark else ""))
    covered = interval([1.0] * len(now))[2]
    print(f"In brackets: where the median of {len(now)} paired ratios is in {covered:.1%} of all cases.")
    return ends


def _look(turns: list[Turn], row: str) -> str:
    """What a call costs in processor time beyond one that captures nothing that can change."""
    bare = f"{row.partition(',')[0]}, {BARE}"
    if bare not in turns[0]:
        return "?"
    return f"{statistics.median(turn[row][1] - turn[bare][1] for turn in turns):,.2f}"


def known_rows() -> dict[str, bool]:
    """All rows, and of each whether it looks at captured state."""
    done = subprocess.run([sys.executable, str(MEASURE), "--list"], check=True, stdout=subprocess.PIPE)
    found: dict[str, bool] = json.loads(done.stdout)
    return found


def pairs_of(sides: tuple[Side, Side], rows: list[str]) -> tuple[list[Turn], list[Turn]]:
    """`PAIRS` turns of both, each one's first changing."""
    turns: tuple[list[Turn], list[Turn]] = [{} for _ in range(PAIRS)], [{} for _ in range(PAIRS)]
    for row in rows:
        for side in sides:
            side.ask(row)  # finds how many calls it takes, and is not counted
        for number in range(PAIRS):
            for which in (0, 1) if number % 2 else (1, 0):
                turns[which][number][row] = sides[which].ask(row)
    return turns


def turns_of(commits: tuple[str, str], rows: list[str], rounds: int) -> tuple[list[Turn], list[Turn]]:
    """The turns of both, in pairs."""
    with tempfile.TemporaryDirectory(prefix="cellmill-against-") as scratch:
        trees = [
            unpack(name, Path(scratch, folder)) for name, folder in zip(commits, ("a", "b"), strict=True)
        ]
        before: list[Turn] = []
        now: list[Turn] = []
        for number in range(rounds):
            with Side(trees[0]) as earlier, Side(trees[1]) as later:
                more = pairs_of((earlier, later), rows)
            before += more[0]
            now += more[1]
            print(f"round {number + 1} of {rounds}", file=sys.stderr)
    return before, now


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("commit", nargs="?", help="what to compare with: any name that git knows")
    parser.add_argument(
        "--rounds", type=int, default=4, help="processes of each (default 4, about ten minutes)"
    )
    parser.add_argument("--rows", default="", help="these alone, by commas; a name's beginning is enough")
    parser.add_argument("--list", action="store_true", help="name the rows")
    parser.add_argument("--least", type=float, default=0.0, help="fail where an interval begins below")
    return parser


def main() -> int:
    parser = _parser()
    given = parser.parse_args()
    known = known_rows()
    if given.list:
        print("\n".join(f"{'+ ' if looks else '  '}{row}" for row, looks in known.items()))
        return 0
    chosen = [row for row in known if row.startswith(tuple(given.rows.split(",")))]
    if given.commit is None or not chosen:
        parser.error("a commit is needed" if chosen else f"no row begins with {given.rows!r}; see --list")
    bare = [f"{row.partition(',')[0]}, {BARE}" for row in chosen if known[row]]
    rows = list(dict.fromkeys([*bare, *chosen]))  # the calls that the cost of a look is told from
    try:
        before, now = turns_of((given.commit, "HEAD"), rows, given.rounds)
    except subprocess.CalledProcessError as error:
        print(f"{given.commit} cannot be built or measured: {error}", file=sys.stderr)
        return 2
    ends = report(before, now, {row for row in rows if known[row]})
    return int(any(max(lows) < given.least for lows in ends.values()))


if __name__ == "__main__":
    raise SystemExit(main())
