"""`cellmill.compare`: what it calls a change, on samples with known truth and on runs of real pools."""

from __future__ import annotations

import math
import random
from array import array
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

import cellmill
from cellmill import Executor, UsageError
from cellmill.history import RunRecord
from cellmill.telemetry import schema
from cellmill.telemetry.alike import same_code
from cellmill.telemetry.comparison import Comparison, Side, _number, compare
from cellmill.telemetry.run_times import TaskTimes, noise_of, ratio_of
from cellmill.views import commands
from tests.support import tasks
from tests.telemetry.work import work

TASKS = 16


def steps_of(seconds: Iterable[float]) -> array[int]:
    """As csched_run_times tells them."""
    counts: Counter[tuple[int, int]] = Counter()
    for each in seconds:
        value = max(16, round(each * 1e9))
        width = 1 << (value.bit_length() - 5)
        start = value // width * width
        counts[start, start + width] += 1
    return array("Q", [number for step in sorted(counts) for number in (*step, counts[step])])


def times(seconds: Iterable[float]) -> TaskTimes:
    return TaskTimes(steps_of(list(seconds)))


def log_normal(chance: random.Random, count: int, median: float = 0.005) -> list[float]:
    return [median * math.exp(chance.gauss(0, 0.6)) for _ in range(count)]


def two_peaks(chance: random.Random, count: int, median: float = 0.005) -> list[float]:
    return [median * chance.choice((0.2, 1.8)) * chance.uniform(0.8, 1.2) for _ in range(count)]


def exponential(chance: random.Random, count: int, median: float = 0.005) -> list[float]:
    return [chance.expovariate(math.log(2) / median) for _ in range(count)]


# -- the statistics


@pytest.mark.parametrize(
    ("draw", "count"),
    [
        (log_normal, 5),
        # other shapes, by the same intervals
        pytest.param(two_peaks, 40, marks=pytest.mark.long),
        pytest.param(exponential, 12, marks=pytest.mark.long),
    ],
)
def test_equal_distributions_are_rarely_told_apart(
    draw: Callable[[random.Random, int], list[float]], count: int
) -> None:
    """The intervals are of 95 %: of 200 pairs at most 10 without 1 in them."""
    chance, wrong = random.Random(7), 0
    for _ in range(200):
        ratio = ratio_of(times(draw(chance, count)), times(draw(chance, count)))
        assert ratio is not None
        wrong += ratio.exceeds(1.0)
    assert wrong <= 10


def test_a_known_ratio_is_within_its_interval() -> None:
    chance, within, narrow = random.Random(7), 0, 0
    for _ in range(100):
        ratio = ratio_of(times(log_normal(chance, 100)), times(log_normal(chance, 100, 0.010)))
        assert ratio is not None
        within += ratio.low <= 2.0 <= ratio.high
        narrow += ratio.exceeds(1.0) and ratio.high / ratio.low < 2.2
    assert within >= 95
    assert narrow == 100  # else it would say nothing


def test_a_few_tasks_tell_nothing() -> None:
    assert ratio_of(times([0.01] * 4), times([0.02] * 100)) is None
    assert ratio_of(times([0.01] * 5), times([0.02] * 5)) is not None


def test_quantiles_are_within_a_step() -> None:
    values = sorted(log_normal(random.Random(3), 999))
    found = times(values)
    assert found.count == 999
    for share in (0.1, 0.5, 0.9):
        exact = values[int(share * 999)]
        assert exact / 1.07 <= found.quantile(share) <= exact * 1.07


def test_runs_alike_tell_the_noise() -> None:
    assert noise_of([[1.0, 1.1]]) is None
    assert noise_of([[1.0, 1.0, 1.0]]) == 1.0
    chance, exceeded = random.Random(5), 0
    for _ in range(1000):
        *group, other = (math.exp(chance.gauss(0, 0.1)) for _ in range(5))
        noise = noise_of([group])
        assert noise is not None
        exceeded += not 1 / noise <= other / group[0] <= noise
    assert exceeded <= 60  # stated: 5 %


# -- runs of real pools


def run(executor: Executor, seconds: float, count: int = TASKS) -> RunRecord:
    list(executor.map(work, [seconds] * count, chunksize=1))
    return cellmill.runs()[-1]


def table(found: Comparison, title: str = "") -> dict[str, tuple[str, str, str]]:
    (rows,) = (each.rows for each in found.tables if each.title == title)
    return {what: (before, after, change) for what, before, after, change in rows}


def test_the_same_twice_is_no_change_and_twice_as_slow_is_one(pool: Executor) -> None:
    first, second, third = (run(pool, seconds) for seconds in (0.02, 0.02, 0.04))
    same, slower = cellmill.compare(first, second), cellmill.compare(second.id, third.id)
    assert [change.changed for change in same.changes] == [False]
    assert "unchanged per task" in same.sentence
    (change,) = slower.changes
    assert change.changed
    assert change.ratio is not None
    assert change.ratio.low <= 2.0 <= change.ratio.high
    assert change.same_code
    assert f"work {change.ratio.value:.1f}x slower per task (95 % interval" in slower.sentence
    assert slower.sentence.startswith(f"run {third.id} (work) took ")
    assert table(slower)["workers"][:2] == ("2", "2")
    median = table(slower, "work")["median time"]
    assert median[2] == f"{change.ratio.value:.1f}x slower"
    assert table(slower, "work")["tasks done"][:2] == (str(TASKS), str(TASKS))
    back = cellmill.compare(third, second)
    assert "faster per task" in back.sentence
    assert back.changes[0].verdict.endswith("x faster")
    for text in (repr(slower), slower._repr_html_()):
        assert slower.sentence in text
        assert "median time" in text


def test_too_few_tasks(pool: Executor) -> None:
    few, many = run(pool, 0.01, 3), run(pool, 0.02)
    found = cellmill.compare(few, many)
    assert f"too few tasks to tell of work, with {TASKS} tasks instead of 3" in found.sentence
    assert table(found, "work")["median time"][2] == "too few tasks"
    whole = found.after
    cancelled = replace(whole.runs[0], succeeded=7, cancelled=TASKS - 7)
    told = compare(whole, Side("after", (cancelled,)), []).sentence
    assert told.endswith(f"with 7 tasks instead of {TASKS}")


def test_other_workers_and_another_backend(pool: Executor) -> None:
    two = run(pool, 0.02)
    with Executor(1, backend="threads") as one:
        one.submit(tasks.double, 1).result()
        single = run(one, 0.02)
    found = cellmill.compare(two, single)
    assert "with threads instead of local, with 1 worker instead of 2" in found.sentence
    assert table(found)["backend"][:2] == ("local", "threads")
    assert found.after.wall >= TASKS * 0.02
    assert not found.changes[0].changed


def test_a_run_with_failures(pool: Executor) -> None:
    list(pool.map(tasks.half_of_even, [2] * 8, chunksize=1))
    good = cellmill.runs()[-1]
    list(pool.map(tasks.half_of_even, range(8), chunksize=1, return_exceptions=True))
    found = cellmill.compare(good, cellmill.runs()[-1])
    rows = table(found, "half_of_even")
    assert rows["tasks done"][:2] == ("8", "4")
    assert rows["tasks failed"][:2] == ("0", "4")
    assert any("failed with an error" in note for note in found.notes)


def test_runs_alike_say_how_much_the_wall_time_differs(pool: Executor) -> None:
    walls = [run(pool, 0.011, 10) for _ in range(4)]
    fast = cellmill.compare(walls[0], run(pool, 0.1, 10))
    assert fast.wall_noise is not None
    assert f"a factor of up to {fast.wall_noise:.2f} by chance" in fast.notes[0]
    alone = cellmill.compare(run(pool, 0.012, 11), run(pool, 0.012, 13))
    assert alone.wall_noise is None
    assert alone.notes[0].startswith("One run each")


def test_runs_without_figures(inline: Executor, pool: Executor) -> None:
    here, there = run(inline, 0.001), run(pool, 0.001)
    found = cellmill.compare(here, there)
    assert "too few tasks to tell of work" in found.sentence
    assert f"Of run {here.id} (work) the times of single tasks are not kept." in found.notes


def test_what_is_not_known_is_no_number(inline: Executor, pool: Executor) -> None:
    told = repr(cellmill.compare(run(pool, 0.0), run(inline, 0.0)))
    rows = {line[:18].rstrip(): line.split()[-1] for line in told.splitlines() if line}
    assert [rows[name] for name in ("time in your code", "deliver per task")] == ["–", "–"]


def test_few_workers_on_average_are_not_none() -> None:
    assert [_number(mean) for mean in (0.0, 0.04, 0.3, 0.97, 1.3, 2.0)] == [
        "–",
        "less than 0.1",
        "0.3",
        "1",
        "1.3",
        "2",
    ]


def test_a_run_that_goes_on(fresh: Executor) -> None:
    """Single calls of a script are a run without an end."""
    calls = [fresh.options().submit(work, 0.01) for _ in range(8)]
    for call in calls:
        call.result()
    first = cellmill.runs()[-1]
    assert not first.finished
    found = cellmill.compare(first, run(fresh, 0.01))
    assert not found.changes[0].changed
    assert found.changes[0].ratio is not None
    assert any("may still get tasks" in note for note in found.notes)


def test_what_is_no_run(pool: Executor) -> None:
    known = run(pool, 0.001)
    for wrong, words in (
        (10**9, "no run that is remembered"),
        ("In[99]", "no run of a cell"),
        (True, "takes runs"),
    ):
        with pytest.raises(UsageError, match=words):
            cellmill.compare(known, wrong)


def test_functions_of_only_one_side(pool: Executor) -> None:
    first = run(pool, 0.001)
    list(pool.map(tasks.double, range(20)))
    second = cellmill.runs()[-1]
    found = compare(Side("In [1]", (first,)), Side("In [2]", (first, second)), [])
    assert "double only in In [2]" in found.sentence
    assert table(found, "double")["tasks done"] == ("–", "20", "")


def test_a_view_is_told_the_same(pool: Executor) -> None:
    first, second = run(pool, 0.001), run(pool, 0.002)
    command = {"cellmill": schema.VERSION, "kind": "compare-runs", "request": 7}
    answer = commands.obey({**command, "before": first.id, "after": second.id}, pool)
    assert answer is not None
    assert answer["kind"] == "comparison"
    assert answer["request"] == 7
    assert answer["sentence"] == f"{cellmill.compare(first, second).sentence}."
    assert [each["title"] for each in answer["tables"]] == ["", "work"]
    with pytest.raises(UsageError):
        commands.obey({**command, "before": first.id, "after": "last"}, pool)


# -- code


def made(text: str) -> set[object]:
    namespace: dict[str, object] = {}
    exec(text, namespace)
    return {namespace["f"].__code__}  # type: ignore[attr-defined]


def test_code_is_the_same_wherever_it_stands() -> None:
    first = made("def f(x):\n    return [y + 1 for y in x]")
    assert same_code(first.copy(), made("\n\n\ndef f(x):\n\n    return [y + 1 for y in x]  # moved"))  # type: ignore[arg-type]
    assert not same_code(first.copy(), made("def f(x):\n    return [y + 2 for y in x]"))  # type: ignore[arg-type]
    assert not same_code(made("def f():\n    return 1"), made("def f():\n    return True"))  # type: ignore[arg-type]
    assert same_code({None}, {None}) is None


def test_a_changed_function_is_told(pool: Executor) -> None:
    records = []
    for factor in (1, 2):
        namespace: dict[str, object] = {"__name__": "__main__"}
        exec(f"def f(x):\n    return x * {factor}", namespace)
        list(pool.map(namespace["f"], range(8)))  # type: ignore[arg-type]
        records.append(cellmill.runs()[-1])
    assert table(cellmill.compare(*records), "f")["its code"][2] == "differs"
    unknown = replace(records[0], code=None)
    assert "its code" not in table(cellmill.compare(unknown, records[1]), "f")
