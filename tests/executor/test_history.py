"""`cellmill.runs()`: the runs of this process as records."""

from __future__ import annotations

import time
from concurrent.futures import CancelledError
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import cellmill
from cellmill import Executor, UsageError, run_registry
from cellmill.history import Moved, RunRecord, Runs
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate, comes_down
from tests.support.notebook import Notebook


def nap(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def of(name: str) -> list[RunRecord]:
    return [record for record in cellmill.runs() if record.name.endswith(name)]


def test_a_run_that_is_over(pool: Executor) -> None:
    before, began = len(of("nap")), datetime.now()
    assert list(pool.map(nap, [0.1] * 4, chunksize=1)) == [0.1] * 4
    (record,) = of("nap")[before:]
    assert record.finished
    assert (record.submitted, record.succeeded, record.failed, record.cancelled) == (4, 4, 0, 0)
    assert record.outstanding == 0
    assert record.wall >= 0.2
    assert record.cell == ""
    assert timedelta(0) <= record.began - began < timedelta(seconds=SECONDS)
    assert record.busy is not None
    assert 0.4 / (pool.max_workers * record.wall) - 0.05 <= record.busy <= 1
    assert cellmill.runs()[-1] == record  # the newest is the last


def test_how_tasks_ended(pool: Executor) -> None:
    outcomes = list(pool.map(tasks.half_of_even, range(6), return_exceptions=True))
    assert sum(isinstance(outcome, Exception) for outcome in outcomes) == 3
    record = of("half_of_even")[-1]
    assert (record.submitted, record.succeeded, record.failed) == (6, 3, 3)


def test_calls_that_are_over_are_not_to_go(pool: Executor) -> None:
    """The run of a script's single calls stays open, and says nothing of what is left."""
    assert pool.options(name="alone").submit(tasks.double, 4).result(SECONDS) == 8
    record = of("alone")[-1]
    assert not record.outstanding
    assert "to go" not in repr(Runs([record]))


def test_a_run_that_goes_on_and_is_cancelled(pool: Executor, gate: Gate) -> None:
    results = pool.map(tasks.hold, [gate.folder] * 8, range(8), chunksize=1)
    gate.wait_started()
    record = of("hold")[-1]
    assert not record.finished
    assert record.outstanding == record.submitted == 8
    assert "8 to go" in repr(Runs([record]))
    cellmill.cancel(record.id)
    with pytest.raises(CancelledError):
        list(results)
    gate.release(8)
    number = record.id
    assert comes_down(lambda: sum(not each.finished for each in cellmill.runs() if each.id == number), 0)
    (record,) = (each for each in cellmill.runs() if each.id == number)
    assert record.cancelled == 8
    assert record.outstanding == 0


def test_records_say_nothing_of_workers_where_that_is_not_known() -> None:
    with Executor(backend="inline") as executor:
        assert list(executor.map(tasks.double, [1, 2])) == [2, 4]
    record = of("double")[-1]
    assert (record.submitted, record.succeeded, record.busy) == (2, 2, None)


def test_the_oldest_are_forgotten(pool: Executor) -> None:
    for _ in range(run_registry.REMEMBERED + 5):
        list(pool.map(tasks.double, [1]))
    found = cellmill.runs()
    assert len(found) >= run_registry.REMEMBERED
    assert [record.id for record in found] == sorted(record.id for record in found)


def test_lost_tasks_are_counted_among_the_failed_ones(fresh: Executor) -> None:
    def fails_or_dies(number: int) -> int:
        if number == 7:
            raise ValueError(number)
        return tasks.die_at(number, 3)

    again = fresh.options(retries=1)  # the lost attempts that another one followed do not count
    failures = [
        again.submit(tasks.die, "SIGKILL").exception(SECONDS),
        fresh.submit(len, 3).exception(SECONDS),
    ]
    assert [type(error) for error in failures] == [cellmill.WorkerLostError, TypeError]
    stats = fresh.stats()
    assert (stats.failed, stats.lost) == (2, 1)
    results = fresh.map(fails_or_dies, range(40), return_exceptions=True, chunksize=10)
    assert sum(isinstance(result, Exception) for result in results) == 2
    (record,) = of("fails_or_dies")
    assert (record.succeeded, record.failed, record.lost) == (38, 2, 1)
    assert "2 (1 lost)" in repr(Runs([record]))
    batches = fresh.options(batch=True).map(
        lambda numbers: [tasks.die_at(number, 5) for number in numbers],
        range(20),
        return_exceptions=True,
        chunksize=10,
    )
    assert sum(isinstance(result, cellmill.WorkerLostError) for result in batches) == 1
    stats = fresh.stats()
    assert (stats.failed, stats.lost) == (5, 3)


def test_as_a_table() -> None:
    began = datetime(2026, 1, 2, 3, 4, 5)
    records = Runs(
        [
            RunRecord(
                1,
                "dock",
                "In[3]",
                began,
                12.5,
                True,
                2000,
                1990,
                10,
                0,
                0.94,
                2 * 10**9,
                Moved(4000, 5 * 10**6),
            ),
            RunRecord(2, "<b>", "In[4]", began, 0.25, False, 10, 3, 0, 2, None, None),
        ]
    )
    head, first, second = repr(records).splitlines()
    assert head.split()[:4] == ["run", "cell", "name", "began"]
    assert first.split() == [
        "1",
        "In[3]",
        "dock",
        "03:04:05",
        "12.5",
        "s",
        "1,990",
        "10",
        "94",
        "%",
        "2,000",
        "MB",
        "4",
        "kB",
        "5",
        "MB",
    ]
    assert "250 ms, 5 to go" in second
    markup = records._repr_html_()
    assert "<td>94 %</td>" in markup
    assert "&lt;b&gt;" in markup
    assert repr(Runs()) == "no runs"


def test_the_time_of_inline_calls_ends_with_them(inline: Executor) -> None:
    inline.options(name="inline calls").submit(nap, 0.001)
    (record,) = of("inline calls")
    assert of("inline calls") == [record]
    assert record.wall >= 0.001


def test_options_are_named_by_what_has_them(inline: Executor) -> None:
    assert repr(inline.options(retries=2, priority=0, name="f")) == (
        "<cellmill.Executor inline, 1 worker, with retries, name>"
    )


def test_cells_are_named() -> None:
    kernel = Notebook()
    try:
        kernel.run("%load_ext cellmill\nimport cellmill").ok()
        kernel.run("%%parallel\ndef double(x):\n    return 2 * x").ok()
        prompt = kernel.run("sum(double.map(range(10)))\nprint(len(In) - 1)").ok().stdout.strip()
        kernel.run("call = double(4)\ncall.result()").ok()
        found = kernel.value("[(r.name, r.cell, r.succeeded) for r in cellmill.runs()]")
        assert found == f"[('double', 'In[{prompt}]', 10), ('double', 'In[{int(prompt) + 1}]', 1)]"
        shown = kernel.run("cellmill.runs()").ok()
        assert shown.result is not None
        assert "In[" in shown.result["text/plain"]
    finally:
        kernel.close()


def test_a_run_by_its_record(default: Executor, tmp_path: Path) -> None:
    """What `cellmill.runs` gives is taken wherever a run is."""
    list(default.map(print, ["told"]))
    over = cellmill.runs()[-1]
    assert cellmill.output(over) == "told\n"
    assert cellmill.account(over).busy >= 0
    assert cellmill.failures(over) == []
    assert (cellmill.cancel(over), cellmill.set_priority(over, 1)) == (0, 0)

    default.pause()
    results = default.map(tasks.double, range(20), chunksize=1)
    waits = cellmill.runs()[-1]
    assert cellmill.set_priority(waits, 5) > 0
    assert cellmill.cancel(waits) == 20
    default.resume()
    with pytest.raises(CancelledError):
        list(results)

    for ask in (cellmill.account, cellmill.failures):
        with pytest.raises(
            UsageError, match=r"a run is named by itself, its record .* or its number, not 'In"
        ):
            ask("In[3]")  # type: ignore[operator]
    with cellmill.record(tmp_path):
        list(default.map(tasks.double, [1]))
    with pytest.raises(UsageError, match=r"is the record of a run: cellmill.open_record"):
        cellmill.account(cellmill.runs(tmp_path)[0])
