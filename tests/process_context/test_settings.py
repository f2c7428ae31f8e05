"""Settings that values depend on reach the tasks that are submitted under them, and no others."""

from __future__ import annotations

import decimal
import sys
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cellmill import Executor
from cellmill.backends.scheduled.scheduler import with_gil
from cellmill.backends.scheduled.settings_watch import WORDS, SettingsWatch
from cellmill.process_context import settings
from cellmill.task import NO_RUN
from tests.support.helpers import SECONDS

np = pytest.importorskip("numpy")


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    with decimal.localcontext(), np.errstate(), np.printoptions():
        recursion, digits = sys.getrecursionlimit(), sys.get_int_max_str_digits()
        yield
        sys.setrecursionlimit(recursion)
        sys.set_int_max_str_digits(digits)


def third() -> str:
    return str(Decimal(1) / 3)


def precision(_: Any = None) -> int:
    return decimal.getcontext().prec


def over() -> str:
    return str(np.geterr()["over"])


def test_every_change_in_a_row(pool: Executor) -> None:
    """Right before the call, and of whatever kind."""
    pool.run_on_workers(int)
    precs, digits, limits, states = [], [], [], []
    for i in range(40):
        decimal.getcontext().prec = 5 + i
        precs.append(pool.submit(precision))
    for i in range(40):
        decimal.setcontext(decimal.Context(prec=5 + i))
        precs.append(pool.submit(precision))
    for i in range(40):
        sys.set_int_max_str_digits(1000 + i)
        digits.append(pool.submit(sys.get_int_max_str_digits))
    for i in range(40):
        sys.setrecursionlimit(2000 + i)
        limits.append(pool.submit(sys.getrecursionlimit))
    for how in ["raise", "ignore"] * 20:
        np.seterr(over=how)
        states.append(pool.submit(over))
    assert [f.result(SECONDS) for f in precs] == [*range(5, 45), *range(5, 45)]
    assert [f.result(SECONDS) for f in digits] == [*range(1000, 1040)]
    assert [f.result(SECONDS) for f in limits] == [*range(2000, 2040)]
    assert [f.result(SECONDS) for f in states] == ["raise", "ignore"] * 20


def test_around_calls_that_wait_long(pool: Executor) -> None:
    """Those that have not begun when the block ends are its all the same, and the next call is not."""
    outside = precision()
    pool.pause()
    with decimal.localcontext() as context, np.errstate(over="raise"):
        context.prec = 50
        inside = [pool.submit(precision) for _ in range(100)] + [pool.submit(third), pool.submit(over)]
        mapped = pool.map(precision, range(500), chunksize=1)
        named = pool.submit(pow, Decimal(2), exp=Decimal("0.5"))
    after = [pool.submit(precision), pool.submit(over)]
    pool.resume()
    assert {f.result(SECONDS) for f in inside[:100]} == {50}
    assert inside[100].result(SECONDS) == "0." + "3" * 50
    assert inside[101].result(SECONDS) == "raise"
    assert len(str(named.result(SECONDS))) == 51
    assert set(mapped) == {50}
    assert [f.result(SECONDS) for f in after] == [outside, "warn"]


def test_new_cells_and_new_workers(fresh: Executor) -> None:
    """What has held for a while is the workers' own: calls are plain ones again."""
    fresh.submit(int).result(SECONDS)
    decimal.getcontext().prec = 11
    np.seterr(over="raise")
    assert fresh.submit(precision).result(SECONDS) == 11
    watch = fresh._backend.sender.plain  # type: ignore[attr-defined]
    assert watch.call(precision, (), NO_RUN, 0) is None
    watch.new_cell()
    assert fresh.submit(precision).result(SECONDS) == 11
    assert set(fresh.run_on_workers(precision)) == {11}
    assert set(fresh.run_on_workers(over)) == {"raise"}
    assert watch.call(precision, (), NO_RUN, 0).result(SECONDS) == 11
    fresh.set_workers(3)
    assert set(fresh.run_on_workers(precision)) == {11}


def test_a_base_does_not_change_below_what_waits(fresh: Executor) -> None:
    fresh.run_on_workers(int)
    before = precision()
    fresh.pause()
    waiting = [fresh.submit(precision) for _ in range(20)]
    decimal.getcontext().prec = 12
    fresh._backend.sender.plain.new_cell()  # type: ignore[attr-defined]
    later = fresh.submit(precision)
    fresh.resume()
    assert {f.result(SECONDS) for f in waiting} == {before}
    assert later.result(SECONDS) == 12


def test_tasks_that_raise_leave_nothing_behind(fresh: Executor) -> None:
    fresh.set_workers(1)
    with decimal.localcontext() as context:
        context.traps[decimal.Inexact] = True
        failed = fresh.submit(third)
    assert isinstance(failed.exception(SECONDS), decimal.Inexact)
    assert fresh.submit(third).result(SECONDS) == third()


def test_batches(pool: Executor) -> None:
    from cellmill import parallel

    @parallel(batch=True, executor=pool)
    def precisions(items: list[int]) -> list[int]:
        return [decimal.getcontext().prec for _ in items]

    futures = []
    for i in range(30):
        decimal.getcontext().prec = 20 + i % 3
        futures.append(precisions(i))
    assert [f.result(SECONDS) for f in futures] == [20 + i % 3 for i in range(30)]


def test_pandas_options(fresh: Executor) -> None:
    pandas = pytest.importorskip("pandas")

    def shown(x: float) -> str:
        import pandas

        return str(pandas.Series([x]))

    fresh.set_workers(1)  # which imports it once
    assert "1.234568" in fresh.submit(shown, 1.23456789).result(SECONDS)
    with pandas.option_context("display.precision", 2):
        one = fresh.submit(shown, 1.23456789)
    two = fresh.submit(shown, 1.23456789)
    assert "1.23\n" in one.result(SECONDS)
    assert "1.234568" in two.result(SECONDS)
    with pandas.option_context("display.precision", 3), Executor(1) as new:  # imported there by the task
        assert "1.235\n" in new.submit(shown, 1.23456789).result(SECONDS)


def test_parameters_of_matplotlib(fresh: Executor) -> None:
    matplotlib = pytest.importorskip("matplotlib")

    def drawn() -> tuple[Any, ...]:
        from matplotlib.figure import Figure

        rc = matplotlib.rcParams
        style = (
            rc["axes.prop_cycle"].by_key()["color"],
            rc["font.sans-serif"],
            str(rc["lines.solid_capstyle"]),
        )
        return Figure().dpi, *style, rc["axes.grid"]

    fresh.set_workers(1)  # which imports it once
    begun_with = drawn()
    chosen = {
        "figure.dpi": 33.0,
        "axes.prop_cycle": matplotlib.cycler(color=["#112233", "r"]),
        "font.sans-serif": ["Mine", "DejaVu Sans"],
        "lines.solid_capstyle": "round",
    }
    assert fresh.submit(drawn).result(SECONDS) == begun_with
    with matplotlib.rc_context(chosen):
        changed = drawn()
        one = fresh.submit(drawn)
        with Executor(1) as new:  # imported there by the task
            assert new.submit(drawn).result(SECONDS) == changed
        matplotlib.rcParams["axes.grid"] = True
        two = fresh.submit(drawn)
    three = fresh.submit(drawn)
    assert one.result(SECONDS) == changed
    assert two.result(SECONDS) == (*changed[:-1], True)
    assert three.result(SECONDS) == begun_with


def test_print_options(pool: Executor) -> None:
    with np.printoptions(precision=2):
        assert pool.submit(lambda: str(np.array([1.23456]))).result(SECONDS) == "[1.23]"
    assert pool.submit(lambda: str(np.array([1.23456]))).result(SECONDS) == "[1.23456]"


@pytest.mark.parametrize(
    "change",
    [
        lambda c: setattr(c, "prec", 9),
        lambda c: setattr(c, "rounding", decimal.ROUND_UP),
        lambda c: setattr(c, "Emin", -9),
        lambda c: setattr(c, "Emax", 9),
        lambda c: setattr(c, "capitals", 0),
        lambda c: setattr(c, "clamp", 1),
        lambda c: c.traps.__setitem__(decimal.Inexact, True),
    ],
)
def test_each_field_of_a_decimal_context_is_seen(change: Any) -> None:
    """At a glance, and only that: flags that are raised are nothing to be told."""
    assert WORDS
    watch = SettingsWatch()
    Decimal(1) / 3
    assert not with_gil.csched_settings_changed(watch.form, 1)
    with decimal.localcontext() as context:
        assert not with_gil.csched_settings_changed(watch.form, 1)
        change(context)
        assert with_gil.csched_settings_changed(watch.form, 1)
        own = watch.own()
        assert own is not None
    assert not with_gil.csched_settings_changed(watch.form, 1)
    with settings.under(own):
        assert settings.read() == own
    assert watch.own() is None


def test_a_base_can_be_told_from_what_equals_it() -> None:
    watch = SettingsWatch()
    np.seterr(over="raise")
    assert watch.own() is not None
    np.seterr(over="warn")  # another object with the same content
    assert watch.own() is None
    assert not with_gil.csched_settings_changed(watch.form, 0)


def test_where_temporary_files_go_by_themselves_is_no_change(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The first use of `tempfile` notes it: calls after it are no others than those before."""
    monkeypatch.setattr(tempfile, "tempdir", None)
    watch = SettingsWatch()
    tempfile.gettempdir()
    assert tempfile.tempdir is not None
    assert watch.own() is None
    assert not with_gil.csched_settings_changed(watch.form, 0)
    tempfile.tempdir = str(tmp_path)
    own = watch.own()
    assert own is not None
    assert own.files == str(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert SettingsWatch().base.files == str(tmp_path)
