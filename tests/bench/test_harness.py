"""The common part: turns alternate, medians and ratios are right, failures are named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cellmill.bench import turn as turns
from cellmill.bench.harness import Benchmark, BenchmarkError, Metric, Report, Settings, collect, figure, table
from cellmill.bench.turn import Sizes, Turn

MORE = Metric("more", "things", "things/s")
LESS = Metric("less", "waiting", "us", "lower")
BENCHMARK = Benchmark(
    name="made-up",
    module="nowhere",
    metrics=lambda sizes: [MORE, LESS],
    runtimes=("cellmill", "ceiling", "ppe", "ppe:100"),
    full={"n": 10, "m": 1},
    quick={"n": 2, "m": 1},
    own={"ceiling": "the ceiling", "ppe:100": "in hundreds"},
)

Answer = Callable[[str, int], Turn]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Sizes]]:
    """Every turn that was asked for; the values are those of `_values`."""
    seen: list[tuple[str, Sizes]] = []

    def launch(module: str, runtime: str, workers: int, sizes: Sizes, folder: Path) -> Turn:
        assert (module, workers, folder.is_dir()) == ("nowhere", 2, True)
        seen.append((runtime, dict(sizes)))
        return _values(runtime, sum(r == runtime for r, _ in seen))

    monkeypatch.setattr(turns, "launch", launch)
    return seen


def _values(runtime: str, repetition: int) -> Turn:
    if runtime == "ceiling":
        return Turn({"more": 1000.0})
    speed = {"cellmill": 80.0, "ppe": 10.0, "ppe:100": 40.0}[runtime]
    return Turn({"more": speed * (1, 2, 30)[repetition - 1], "less": 100.0 / speed}, {"round": repetition})


def _run(**how: Any) -> Report:
    return collect(BENCHMARK, "How many?", Settings(**{"repeats": 3, **how}))


def test_turns_alternate(asked: list[tuple[str, Sizes]]) -> None:
    _run()
    assert [runtime for runtime, _ in asked] == ["cellmill", "ceiling", "ppe", "ppe:100"] * 3


def test_sizes_are_full_quick_or_given(asked: list[tuple[str, Sizes]]) -> None:
    _run(repeats=1)
    _run(repeats=1, quick=True)
    collect(BENCHMARK, "How many?", Settings(repeats=1, quick=True), {"m": 7})
    assert [sizes for runtime, sizes in asked if runtime == "cellmill"] == [
        {"n": 10, "m": 1},
        {"n": 2, "m": 1},
        {"n": 2, "m": 7},
    ]


@pytest.mark.usefixtures("asked")
def test_medians_and_ratios() -> None:
    report = _run()
    ours, rival = report.result("more", "cellmill"), report.result("more", "ppe")
    assert ours is not None
    assert rival is not None
    assert (ours.low, ours.median, ours.high) == (80.0, 160.0, 2400.0)
    assert report.ratio(rival) == 8.0
    assert report.ratio(ours) is None
    slower = report.result("less", "ppe:100")
    assert slower is not None
    assert report.ratio(slower) == 2.0  # half the waiting is twice as good
    assert report.result("less", "ceiling") is None
    assert report.turns[0] == {
        "runtime": "cellmill",
        "repetition": 0,
        "values": {"more": 80.0, "less": 1.25},
        "details": {"round": 1},
    }


@pytest.mark.usefixtures("asked")
def test_table_has_a_row_for_each_result() -> None:
    lines = table(_run()).splitlines()
    assert lines[0] == "How many?"
    assert lines[2].split() == ["median", "min", "max", "cellmill", "is"]
    assert lines[3].split() == ["things,", "things/s", "cellmill", "160", "80.0", "2,400"]
    assert lines[4].split() == ["the", "ceiling", "1,000", "1,000", "1,000", "0.16x"]
    assert lines[5].split() == ["ProcessPoolExecutor", "20.0", "10.0", "300", "8.00x"]
    assert len([line for line in lines if line.endswith("x")]) == 5


@pytest.mark.usefixtures("asked")
def test_chosen_rivals_only() -> None:
    report = _run(rivals=())
    assert {result.runtime for result in report.results} == {"cellmill", "ceiling"}
    assert not report.skipped


def test_a_rival_that_fails_is_named_and_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    count: dict[str, int] = {}

    def launch(module: str, runtime: str, *_: Any) -> Turn:
        count[runtime] = count.get(runtime, 0) + 1
        if runtime == "ppe":
            raise turns.TurnError("no luck")
        return Turn({"more": 1.0})

    monkeypatch.setattr(turns, "launch", launch)
    report = _run()
    assert report.skipped == {"ppe": "failed: no luck"}
    assert count == {"cellmill": 3, "ceiling": 3, "ppe": 2, "ppe:100": 3}
    assert "Skipped: ProcessPoolExecutor: failed: no luck" in table(report)


@pytest.mark.parametrize("culprit", ["cellmill", "ppe"])
def test_a_turn_that_fails_once_is_made_again_and_that_is_told(
    culprit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = ["no luck"]

    def launch(module: str, runtime: str, *_: Any) -> Turn:
        if runtime == culprit and failures:
            raise turns.TurnError(failures.pop())
        return Turn({"more": 1.0})

    monkeypatch.setattr(turns, "launch", launch)
    report = _run()
    assert not report.skipped
    assert len(report.turns) == 12
    told = f"A turn of {report.titles[culprit]} failed and was made again: no luck"
    assert told in report.notes
    assert told in table(report)


@pytest.mark.parametrize("culprit", ["cellmill", "ceiling"])
def test_a_failure_of_ours_is_an_error(culprit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def launch(module: str, runtime: str, *_: Any) -> Turn:
        if runtime == culprit:
            raise turns.TurnError("broken")
        return Turn({"more": 1.0})

    monkeypatch.setattr(turns, "launch", launch)
    with pytest.raises(BenchmarkError, match="broken"):
        _run()


def test_a_missing_rival_is_skipped_with_the_command(
    asked: list[tuple[str, Sizes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from cellmill.bench import rivals

    monkeypatch.setattr(rivals.ProcessPool, "package", "no_such_package")
    report = _run()
    assert report.skipped["ppe"] == "not installed (`pip install no_such_package`)"
    assert {runtime for runtime, _ in asked} == {"cellmill", "ceiling"}


def test_a_turn_that_fails_says_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(turns.TurnError, match="ModuleNotFoundError: No module named 'nowhere_at_all'"):
        turns.launch("nowhere_at_all", "cellmill", 2, {}, tmp_path)


def test_a_turn_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hangs.py").write_text("import signal\ndef turn(*_):\n    signal.pause()\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(turns, "LIMIT_S", 0.5)
    with pytest.raises(turns.TurnError, match="no result within"):
        turns.launch("hangs", "cellmill", 2, {}, tmp_path)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234567.8, "1,234,568"),
        (123.4, "123"),
        (12.34, "12.3"),
        (1.234, "1.23"),
        (0.0456, "0.0456"),
        (0, "0"),
    ],
)
def test_figures_are_short(value: float, text: str) -> None:
    assert figure(value) == text
