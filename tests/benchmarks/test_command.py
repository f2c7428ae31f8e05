"""``python -m benchmarks``: its list, the table of figures, and the way to it from ``cellmill bench``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import benchmarks
from benchmarks import figures
from benchmarks.__main__ import main
from benchmarks.suite import SUITE
from cellmill import bench, cli
from cellmill.bench.harness import Metric, Report, Result, Settings

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What the command would run, in an empty folder."""
    seen: list[str] = []

    def collect(benchmark: Any, question: str, settings: Settings, sizes: Any = None) -> Report:
        seen.append(benchmark.name)
        metric = Metric("m", "measured", "things")
        report = Report(benchmark.name, question, settings, {}, [metric], {"cellmill": "cellmill"})
        report.results.append(Result(metric, "cellmill", (1.0,)))
        return report

    monkeypatch.setattr("cellmill.bench.harness.collect", collect)
    monkeypatch.chdir(tmp_path)
    return seen


def test_the_names_that_cellmill_bench_does_not_have() -> None:
    names = [*SUITE.questions, *SUITE.summaries]
    assert sorted(bench.IN_A_CHECKOUT) == sorted(set(names) - set(bench.INDEX))
    assert set(bench.INDEX) <= set(names)


def test_listing_has_the_question_of_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    for line, (name, question) in zip(lines, benchmarks.INDEX.items(), strict=False):
        assert line.split(None, 1) == [name, question]
    assert lines[len(benchmarks.INDEX)].startswith("figures ")


def test_all_runs_every_benchmark_and_reads_the_figures_from_them(
    ran: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def measured_again(settings: Settings) -> None:
        pytest.fail("the figures were measured again")

    monkeypatch.setattr(figures, "run", measured_again)
    monkeypatch.setattr("cellmill.bench.page.write_page", lambda report, path: None)  # its own test has one
    assert main(["all"]) == 0
    assert ran == list(benchmarks.INDEX)
    written = json.loads((tmp_path / "benchmarks" / "results" / "figures.json").read_text())
    assert [report["benchmark"] for report in written["reports"]] == list(benchmarks.INDEX)


@pytest.mark.parametrize("command", [main, cli.main])
def test_figures_alone_are_measured(
    command: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[Settings] = []

    def run(settings: Settings) -> figures.Figures:
        seen.append(settings)
        return figures.read(settings, [])

    monkeypatch.setattr(figures, "run", run)
    monkeypatch.chdir(tmp_path)
    before = ["bench"] if command is cli.main else []
    assert command([*before, "figures", "--quick"]) == 0
    assert seen == [Settings(quick=True, repeats=1)]
    assert figures.QUESTION in capsys.readouterr().out
    assert (tmp_path / "benchmarks" / "results" / "figures-quick.json").exists()


@pytest.mark.parametrize(
    "command", [["-m", "cellmill", "bench"], pytest.param(["-m", "benchmarks"], marks=pytest.mark.long)]
)
def test_from_the_root_of_a_checkout(command: list[str], tmp_path: Path) -> None:
    """In processes of their own, that know the checkout by their folder alone."""
    target = tmp_path / "chain.json"
    options = ["chain", "--quick", "--rivals", "none", "--json", str(target)]
    done = subprocess.run([sys.executable, *command, *options], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(target.read_text())["question"] == benchmarks.INDEX["chain"]
