"""Every benchmark runs with tiny sizes, against the standard library's pools, and yields the rows it promises."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest

from cellmill import bench
from cellmill.bench import stores
from cellmill.bench.harness import Report, Settings
from tests.bench.tiny import POOLS, TINY, Tiny

_TINY = Tiny(bench)


def test_every_benchmark_has_sizes_here_that_it_knows() -> None:
    _TINY.check_sizes()


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("latency", set()),
        ("payload", set()),
        pytest.param("granularity", set(), marks=pytest.mark.long),  # a notebook measures it every day
        ("memory", {"soak"}),
        ("workers", set()),
        ("cold-start", {"preloaded"}),
    ],
)
@pytest.mark.parametrize("pools", [POOLS[:2], pytest.param(POOLS, marks=pytest.mark.long)], ids=len)
def test_benchmark_beside_pools(name: str, own: set[str], pools: tuple[str, ...], tmp_path: Path) -> None:
    """Every day beside one pool: throughput has both, and each turn starts a process and its workers."""
    found = _TINY.ran(name, tmp_path, rivals=pools[1:])
    _TINY.check(found, name, _TINY.promised(name, own | set(pools)))
    assert not found["skipped"]


@pytest.mark.parametrize("others", [(), pytest.param(("joblib", "loky"), marks=pytest.mark.long)])
def test_throughput(others: tuple[str, ...], tmp_path: Path) -> None:
    installed = {key for key in others if importlib.util.find_spec("joblib")}
    found = _TINY.ran("throughput", tmp_path, rivals=("ppe", "pool", *installed))
    beside = {"submit_beside_busy_thread", "kept_beside_busy_thread"}
    rows = _TINY.promised("throughput", set(POOLS))
    rows |= {(who, key) for who, key in _TINY.promised("throughput", installed) if key not in beside}
    _TINY.check(found, "throughput", rows)
    values = {(row["runtime"], row["metric"]): row["median"] for row in found["results"]}
    for who in POOLS:
        alone, together = values[who, "submit"], values[who, "submit_beside_busy_thread"]
        assert values[who, "kept_beside_busy_thread"] == pytest.approx(together / alone)


@pytest.mark.long
def test_payload_through_clusters(tmp_path: Path) -> None:
    for needed in ("distributed", "proxystore"):
        pytest.importorskip(needed)
    found = _TINY.ran("payload", tmp_path, rivals=("dask",))
    contenders = {"cellmill", "dask", "dask:proxystore", "dask:cellmill", "dask:packs"}
    if stores.missing("dask:redis") is None:
        contenders.add("dask:redis")
    _TINY.check(found, "payload", _TINY.promised("payload", contenders))
    assert "Dask + ProxyStore, files is, against Dask: " in found["summary"]
    assert "Cellmill over Dask is, against Cellmill over Dask, no store: " in found["summary"]


@pytest.mark.long
def test_clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    contenders = ("on-dask", "dask")
    some = replace(bench.load("clusters"), runtimes=contenders)
    monkeypatch.setattr(bench, "load", lambda name: some)
    found = _TINY.ran("clusters", tmp_path)
    _TINY.check(found, "clusters", _TINY.promised("clusters", set(contenders)))
    assert "over Dask " in found["summary"]


def test_docking_has_every_batch_size_of_every_runtime() -> None:
    runtimes = bench.load("docking").runtimes
    for who in ("cellmill", "serial", "ppe", "joblib", "dask", "ray"):
        assert {f"{who}:{batch}" for batch in (1, 10, 100, 1000)} <= set(runtimes)


@pytest.mark.long
def test_docking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for needed in ("rdkit", "sklearn", "scipy", "threadpoolctl"):
        pytest.importorskip(needed)
    contenders = ("cellmill", "serial:best")  # each imports RDKit and sklearn anew
    some = replace(bench.load("docking"), runtimes=contenders)
    monkeypatch.setattr(bench, "load", lambda name: some)
    found = _TINY.ran("docking", tmp_path, rivals=())
    _TINY.check(found, "docking", {(who, "molecules") for who in contenders})
    assert any("all scores are equal" in note for note in found["notes"])
    assert found["sizes"]["best_batch"] in (1, 10, 100, 1000)


def test_docking_names_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cellmill.bench import docking
    from cellmill.bench.harness import BenchmarkError

    monkeypatch.setattr(docking, "NEEDED", ("json", "no_such_module"))
    with pytest.raises(BenchmarkError, match=r"no_such_module missing: `pip install 'cellmill\[docking\]'`"):
        _TINY.ran("docking", tmp_path)


@pytest.fixture(scope="module")
def small_report() -> Report:
    return bench.run("latency", Settings(quick=True, repeats=1, rivals=()), TINY["latency"])


def test_page_needs_nothing_from_outside(small_report: Report, tmp_path: Path) -> None:
    pytest.importorskip("bokeh")
    from cellmill.bench.page import write_page

    write_page(small_report, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "round trip p50 while tasks flow" in text
    assert "processor time is read from /proc" in text
    assert "<script src=" not in text
    assert "<link" not in text


def test_a_frame_for_notebooks_holds_the_whole_page(small_report: Report) -> None:
    pytest.importorskip("bokeh")
    import html
    import re

    from cellmill.bench.page import frame

    held = re.fullmatch(r'<iframe srcdoc="([^"]*)" [^>]*></iframe>', frame(small_report), re.DOTALL)
    assert held is not None
    page = html.unescape(held[1])
    assert page.lstrip().startswith("<!DOCTYPE html>")
    assert page.rstrip().endswith("</html>")
