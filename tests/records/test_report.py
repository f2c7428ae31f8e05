"""Reports: one page with what the run was, that asks for nothing else."""

from __future__ import annotations

import re
import sys
from concurrent.futures import CancelledError
from pathlib import Path

import numpy as np
import pytest

import cellmill
from cellmill import BackendError, Executor
from cellmill.records import figures
from tests.support import tasks
from tests.support.helpers import SECONDS


def fails_at_tens(x: int) -> int:
    if x % 10 == 0:
        raise ValueError("<b>a ten</b>")
    return x


@pytest.fixture(scope="module")
def records(pool: Executor, tmp_path_factory: pytest.TempPathFactory) -> list[cellmill.Record]:
    """Two maps: one with failures."""
    folder = tmp_path_factory.mktemp("runs")
    with cellmill.record(folder):
        list(pool.map(fails_at_tens, range(300), return_exceptions=True))
        list(pool.map(tasks.double, range(300)))
    return [cellmill.open_record(run) for run in cellmill.runs(folder)]


def test_a_page_tells_what_the_run_was(records: list[cellmill.Record], tmp_path: Path) -> None:
    page = cellmill.report(tmp_path / "run.html", records[0])
    text = page.read_text()
    assert page.stat().st_mode & 0o777 == 0o600
    assert page.stat().st_size < 5e6
    words = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    for told in (
        "300 tasks of fails_at_tens ran on 2 workers (local)",
        "30 failed",
        records[0].account["sentence"],
        "&lt;b&gt;a ten&lt;/b&gt;",
        records[0].head["host"],
        records[0].head["python"],
        "Not in this report",
    ):
        assert told in words
    assert "<b>a ten" not in text
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=", words)


def test_a_run_of_one_task(pool: Executor, tmp_path: Path) -> None:
    with cellmill.record(f"{tmp_path}/runs/"):
        list(pool.map(tasks.double, [1]))
    (run,) = cellmill.runs(tmp_path / "runs")
    assert "<b>1</b>task</div>" in cellmill.report(tmp_path / "run.html", run).read_text()


def test_two_are_beside_each_other(records: list[cellmill.Record], tmp_path: Path) -> None:
    text = cellmill.report(tmp_path / "two.html", *records).read_text()
    told = cellmill.compare(*records)
    assert told._repr_html_() in text
    assert text.count("Timeline of") >= 2


def test_a_run_of_this_kernel_and_one_without_journeys(
    pool: Executor, inline: Executor, tmp_path: Path
) -> None:
    list(pool.map(tasks.double, range(20)))
    assert "20 tasks of double" in cellmill.report(tmp_path / "live.html").read_text()
    list(inline.map(tasks.double, range(7)))
    text = cellmill.report(tmp_path / "inline.html").read_text()
    assert "7 tasks of double" in text
    assert "no journeys" in text


def test_tasks_that_did_not_run_are_not_told_as_run(pool: Executor, tmp_path: Path) -> None:
    with Executor(2) as executor:
        executor.pause()
        results = executor.map(tasks.double, range(20))
        assert cellmill.cancel(cellmill.runs()[-1].id) == 20
        del results
    text = cellmill.report(tmp_path / "cancelled.html").read_text()
    assert "0 of 20 tasks of double ran to an end on 2 workers" in text
    assert "20 were cancelled" in text
    assert "<b>0</b>tasks a second" in text
    with cellmill.record(tmp_path):
        failed = pool.options(name="first").submit(fails_at_tens, 0)
        assert pool.options(name="then").submit(abs, failed).exception(SECONDS)
        assert (
            pool.options(name="later").submit(abs, failed).exception(SECONDS)
        )  # its input has failed by then
    for run in cellmill.runs(tmp_path):
        text = cellmill.report(tmp_path / "failed.html", run).read_text()
        assert (f"0 of 1 task of {run.name} ran to an end" in text) == (run.name != "first")


def test_results_from_the_cache_are_told_beside_the_tasks(pool: Executor, tmp_path: Path) -> None:
    assert list(pool.options(memo=True).map(tasks.double, [1])) == [2]
    assert list(pool.options(memo=True).map(tasks.double, [1, 3])) == [2, 6]
    text = cellmill.report(tmp_path / "hits.html").read_text()
    assert re.search(
        r"1 task of double ran on 2 workers \(local\) in [^;]*, beside 1 result from the cache", text
    )


def test_cancelled_tasks_are_no_throughput(tmp_path: Path) -> None:
    with Executor(1) as executor, cellmill.record(tmp_path):
        executor.pause()
        calls = [executor.options(name="call").submit(abs, -1) for _ in range(50)]
        assert all(call.cancel() for call in calls[1:])
        executor.resume()
        assert calls[0].result(SECONDS) == 1
    record = cellmill.open_record(cellmill.runs(tmp_path)[0])
    assert len(record) == 50
    curves = figures.Figures(record).curves
    assert float(curves["rate"].sum() * curves["at"][1]) == pytest.approx(1, abs=0.01)


def test_what_did_not_run_lacks_no_journey(tmp_path: Path) -> None:
    """Elements that were cancelled before they were sent have no row, and neither do those without their input."""
    with Executor(1) as executor:
        executor.pause()
        cancelled = executor.map(tasks.double, range(50), chunksize=1)
        cellmill.cancel(cellmill.runs()[-1].id)
        failed = executor.submit(int, "x")
        executor.resume()
        with pytest.raises(CancelledError):
            list(cancelled)
        assert isinstance(failed.exception(SECONDS), ValueError)
        assert cellmill.open_record(cellmill.runs()[-1]).notes == []
        assert len(list(executor.map(tasks.double, [1, failed], return_exceptions=True))) == 2
        assert cellmill.open_record(cellmill.runs()[-1]).notes == []


def test_of_each_function_tasks_are_counted_and_not_attempts(tmp_path: Path) -> None:
    """Two that came right at the second attempt, and one that was lost, whose end nothing has told."""
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    with Executor(1) as executor:
        list(executor.options(retries=1).map(tasks.fail_first, map(str, folders), [1, 1]))
        (times,) = figures.Figures(cellmill.open_record(cellmill.runs()[-1])).functions
        assert (times.tasks, times.failed, len(times.seconds)) == (2, 0, 4)
        list(executor.map(tasks.die, ["SIGKILL"], return_exceptions=True))
        (times,) = figures.Figures(cellmill.open_record(cellmill.runs()[-1])).functions
        assert (times.tasks, times.failed, len(times.seconds)) == (1, 1, 0)


def test_curves_are_what_the_stamps_say(records: list[cellmill.Record]) -> None:
    found = figures.Figures(records[0])
    rows = list(records[0].journeys())
    step = found.curves["at"][1]
    assert float(found.curves["rate"].sum() * step) == pytest.approx(
        300, abs=15
    )  # all but those of the first moment
    assert found.curves["waiting"][-1] == found.curves["running"][-1] == 0
    assert found.curves["running"].max() <= 2
    (times,) = found.functions
    assert times.failed == 30
    assert times.seconds.sum() == pytest.approx(sum(row["finished"] - row["started"] for row in rows) / 1e9)
    assert len(found.bars["begin"]) == 300


def test_shares_of_time_add_up_to_the_time_of_tasks(records: list[cellmill.Record]) -> None:
    found = figures.Figures(records[0])
    begins, ends = np.array(found.shares["begin"]), np.array(found.shares["end"])
    busy = float(((ends - begins) * np.array(found.shares["share"])).sum())
    assert busy == pytest.approx(float(found.functions[0].seconds.sum()), rel=0.1)
    assert max(found.shares["share"]) <= 1


def test_without_bokeh_it_is_said(
    records: list[cellmill.Record], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "bokeh", None)
    with pytest.raises(BackendError, match=r"cellmill\[report\]"):
        cellmill.report(tmp_path / "run.html", records[0])
    assert not list(tmp_path.iterdir())
