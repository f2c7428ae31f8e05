"""The command line: what it lists, runs and writes, and what it says to mistakes."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import bench, cli
from cellmill.bench.harness import Metric, Report, Result, Settings


def _report(name: str, settings: Settings) -> Report:
    metric = Metric("m", "measured", "things")
    report = Report(name, "Why?", settings, {}, [metric], {"cellmill": "cellmill"})
    report.results.append(Result(metric, "cellmill", (1.0,)))
    return report


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, Settings]]:
    """What the command would run, in an empty folder."""
    seen: list[tuple[str, Settings]] = []

    def run(name: str, settings: Settings, sizes: Any = None) -> Report:
        seen.append((name, settings))
        return _report(name, settings)

    monkeypatch.setattr(bench, "run", run)
    monkeypatch.chdir(tmp_path)
    return seen


def _mistake(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    return capsys.readouterr().err.splitlines()[-1]


def test_version_of_the_module_and_light_imports() -> None:
    code = (
        "import sys, cellmill.cli as c; c.main(['bench']); "
        "sys.exit(bool({'numpy', 'IPython', 'cellmill.executor', 'subprocess'} & set(sys.modules)))"
    )
    listed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in listed.stdout.splitlines()[: len(bench.INDEX)]] == list(bench.INDEX)
    said = subprocess.run(
        [sys.executable, "-m", "cellmill", "--version"], capture_output=True, text=True, check=True
    )
    assert said.stdout == f"cellmill {cellmill.__version__}\n"


def test_listing_has_the_question_of_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for line, (name, question) in zip(lines, bench.INDEX.items(), strict=False):
        assert line.split(None, 1) == [name, question]
    assert lines[-1].startswith("In a checkout of the repository `python -m benchmarks` has more: ")
    assert all(name in lines[-1] for name in bench.IN_A_CHECKOUT)


def test_without_a_command_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 0
    assert "bench" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["replay", "runs", "dashboard", "top"])
def test_help_names_the_line_magic(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main([command, "--help"])
    shown = capsys.readouterr().out
    assert "%cellmill" in shown
    assert "%%" not in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("top", "--interval", "often"), "argument --interval: it takes a number above 0, not 'often'"),
        (("replay", "run", "--speed", "0"), "argument --speed: it takes a number above 0, not '0'"),
        (
            ("dashboard", "--port", "99999"),
            "argument --port: it takes the number of a port, 1 to 65535, not '99999'",
        ),
    ],
)
def test_numbers_that_are_none(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _mistake(capsys, *arguments).endswith(said)


def test_settings_reach_the_benchmark(ran: list[tuple[str, Settings]], tmp_path: Path) -> None:
    assert cli.main(["bench", "latency"]) == 0
    assert cli.main(["bench", "memory", "--quick", "--workers", "3", "--rivals", "ppe,pool"]) == 0
    assert cli.main(["bench", "memory", "--quick", "--repeats", "2", "--rivals", "none"]) == 0
    assert ran == [
        ("latency", Settings(repeats=5)),
        ("memory", Settings(quick=True, repeats=1, workers=3, rivals=("ppe", "pool"))),
        ("memory", Settings(quick=True, repeats=2, rivals=())),
    ]


def test_results_are_written(ran: list[tuple[str, Settings]], tmp_path: Path) -> None:
    cli.main(["bench", "latency"])
    cli.main(["bench", "latency", "--quick"])
    cli.main(["bench", "latency", "--json", "here/my.json"])
    for path in ("benchmarks/results/latency.json", "benchmarks/results/latency-quick.json", "here/my.json"):
        assert json.loads((tmp_path / path).read_text())["benchmark"] == "latency"
        assert (tmp_path / path).with_suffix(".html").exists() == (
            importlib.util.find_spec("bokeh") is not None
        )


def test_without_bokeh_the_page_is_left_out(
    ran: list[tuple[str, Settings]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "cellmill.bench.page", raising=False)
    monkeypatch.delattr(bench, "page", raising=False)
    monkeypatch.setitem(sys.modules, "bokeh.embed", None)
    assert cli.main(["bench", "latency"]) == 0
    assert "pip install 'cellmill[report]'" in capsys.readouterr().out
    assert cli.main(["bench", "latency", "--html", "page.html"]) == 1


def test_all_runs_every_benchmark(ran: list[tuple[str, Settings]]) -> None:
    assert cli.main(["bench", "all", "--quick"]) == 0
    assert [name for name, _ in ran] == list(bench.INDEX)


def test_a_benchmark_of_a_checkout_says_where_it_is(
    tmp_path: Path,
) -> None:
    """A folder that has the name is not enough: results of the others go into one."""
    (tmp_path / "benchmarks").mkdir()
    program = "import sys, cellmill.cli as c; sys.exit(c.main(['bench', 'figures', '--quick']))"
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("cellmill bench figures: this benchmark is not installed; ")
        assert done.stderr.endswith("`python -m benchmarks figures`\n")
        (tmp_path / "benchmarks" / "__init__.py").touch()


def test_a_benchmark_that_cannot_run_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from cellmill.bench.harness import BenchmarkError

    def run(*_: Any) -> Report:
        raise BenchmarkError("rdkit missing")

    monkeypatch.setattr(bench, "run", run)
    assert cli.main(["bench", "docking"]) == 1
    assert capsys.readouterr().err == "cellmill bench docking: rdkit missing\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["bnech"], "there is no command 'bnech'; did you mean 'bench'?"),
        (["zzz"], "there is no command 'zzz'; there are: bench"),
        (["bench", "thruput"], "there is no benchmark 'thruput'; did you mean 'throughput'?"),
        (["bench", "coldstart"], "did you mean 'cold-start'?"),
        (["bench", "latency", "--rivals", "ppee"], "there is no rival 'ppee'; did you mean 'ppe'?"),
        (["bench", "latency", "--repeats", "0"], "--repeats must be at least 1, not 0"),
        (["bench", "latency", "--workers", "-1"], "--workers must be at least 1, not -1"),
        (["bench", "all", "--json", "x.json"], "with one benchmark, not with 'all'"),
        (["bench", "latency", "--repeats", "many"], "invalid int value: 'many'"),
    ],
)
def test_mistakes(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said in _mistake(capsys, *arguments)
