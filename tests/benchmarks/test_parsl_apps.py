"""What Parsl's kernel takes by itself is measured beside an executor, and told as a share."""

from __future__ import annotations

import pytest

from benchmarks import parsl_apps
from cellmill.bench.harness import Report, Result, Settings

SIZES = {"apps": 20, "links": 3, "rounds": 1}


def test_an_executor_that_has_results_at_once_measures_parsl_alone() -> None:
    pytest.importorskip("parsl")
    turn = parsl_apps.turn(parsl_apps.ALONE, 1, SIZES)
    assert set(turn.values) == {metric.key for metric in parsl_apps.metrics(SIZES)}
    assert all(value > 0 for value in turn.values.values())


def test_the_share_of_parsls_kernel_is_of_processor_time() -> None:
    titles = {who: who for who in parsl_apps.BENCHMARK.runtimes}
    found = parsl_apps.metrics(SIZES)
    report = Report("parsl-apps", "?", Settings(), SIZES, found, titles)
    parsl_apps.finish(report)
    assert not report.summary  # nothing was measured
    metric = next(metric for metric in found if metric.key == "caller")
    report.results += [Result(metric, "cellmill", (200.0,)), Result(metric, parsl_apps.ALONE, (150.0,))]
    parsl_apps.finish(report)
    assert "200 us with Cellmill beneath, 150 us" in report.summary
    assert "(75% of it)" in report.summary
