"""What tasks change of their process is said before their results are there."""

from __future__ import annotations

import builtins
import decimal
import locale
import os
import socket
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest

from cellmill import Executor
from cellmill.diagnostics import notices
from tests.support.helpers import SECONDS

_CHANGES: dict[str, Callable[[int], Any]] = {}


def change(shown: str) -> Callable[[Callable[[int], Any]], Callable[[int], Any]]:
    """Note a function that changes its process, by what is to be said of it."""

    def noted(function: Callable[[int], Any]) -> Callable[[int], Any]:
        _CHANGES[shown] = function
        return function

    return noted


@change("the working directory")
def _directory(_: int) -> None:
    os.chdir("/")


@change("os.environ['CELLMILL_LOOK']")
def _variable(n: int) -> None:
    os.environ["CELLMILL_LOOK"] = str(n)


@change("sys.path")
def _path(_: int) -> None:
    sys.path.append("/nowhere")


@change("the umask")
def _umask(_: int) -> None:
    os.umask(0o077)


@change("the locale")
def _locale(_: int) -> None:
    locale.setlocale(locale.LC_TIME, "C.UTF-8")


@change("tempfile.tempdir")
def _files(n: int) -> None:
    tempfile.tempdir = f"/tmp/{n}"


@change("the time limit of new sockets")
def _sockets(n: int) -> None:
    socket.setdefaulttimeout(n + 1)


@change("builtins.cellmill_look")
def _builtins(n: int) -> None:
    builtins.cellmill_look = n  # type: ignore[attr-defined]


@change("the decimal context")
def _decimal(_: int) -> None:
    decimal.getcontext().prec = 7


@change("the recursion limit")
def _recursion(_: int) -> None:
    sys.setrecursionlimit(1234)


def _draws(n: int) -> int:
    import matplotlib.pyplot as plt

    plt.plot([0, n])
    return len(plt.gca().lines)


def _draws_and_closes(n: int) -> int:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    axes.plot([0, n])
    plt.close(figure)
    return n


def said(call: Callable[[], Any]) -> list[str]:
    notices.forget()
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        call()
    return [str(each.message) for each in given if issubclass(each.category, RuntimeWarning)]


def test_figures_that_stay_open_are_said() -> None:
    with Executor(1) as executor:
        assert said(lambda: executor.submit(_draws_and_closes, 1).result(SECONDS)) == []
        (text,) = said(lambda: executor.submit(_draws, 1).result(SECONDS))
        assert "tasks of _draws draw in pyplot's open figures of their workers" in text
        assert said(lambda: executor.submit(_draws_and_closes, 1).result(SECONDS)) == []


@pytest.mark.parametrize("shown", sorted(_CHANGES))
def test_a_change_is_said(shown: str) -> None:
    function = _CHANGES[shown]
    with Executor(1) as executor:
        (one,) = said(lambda: executor.submit(function, 1).result(SECONDS))
        assert one.startswith(
            f"tasks of {function.__name__} change {shown}. The change stays in the worker: here"
        )
    with Executor(1) as executor:
        (one,) = said(lambda: list(executor.map(function, range(3))))
        assert f"change {shown}." in one


def test_what_is_read_or_put_back_is_not_said(pool: Executor) -> None:
    def read(_: int) -> str:
        before = os.getcwd()
        os.chdir("/")
        os.chdir(before)
        with decimal.localcontext() as context:
            context.prec = 3
        return os.environ.get("HOME", "") + decimal.getcontext().rounding

    assert said(lambda: list(pool.map(read, range(4)))) == []
    assert said(lambda: pool.submit(read, 1).result(SECONDS)) == []


def test_what_the_kernel_changes_meanwhile_is_not_said(
    pool: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(_: int) -> str:
        return os.environ.get("CELLMILL_LOOK", "")

    assert pool.submit(read, 1).result(SECONDS) == ""
    monkeypatch.setenv("CELLMILL_LOOK", "two")
    assert said(lambda: pool.submit(read, 1).result(SECONDS)) == []


def test_a_task_that_imports_a_library_does_not_change_its_settings() -> None:
    """Which the kernel has set, and of which the worker had none before."""

    def imports(_: int) -> tuple[int, str, int]:
        import numpy
        import pandas

        os.environ.get("HOME")
        return decimal.getcontext().prec, numpy.geterr()["divide"], pandas.get_option("display.max_rows")

    def sets(_: int) -> None:
        import numpy

        numpy.seterr(divide="raise")

    with numpy.errstate(divide="ignore"), pandas.option_context("display.max_rows", 7):
        with Executor(1) as executor:
            assert "pandas" not in executor.submit(lambda: list(sys.modules)).result(SECONDS)
            assert said(lambda: executor.submit(imports, 1).result(SECONDS)) == []
            assert executor.submit(imports, 1).result(SECONDS) == (28, "ignore", 7)
        with Executor(1) as executor:
            (text,) = said(lambda: executor.submit(sets, 1).result(SECONDS))
            assert "sets change numpy's error state. " in text


def test_a_variable_that_a_library_sets_is_not_said() -> None:
    def runtime(_: int) -> str:
        os.environ["KMP_INIT_AT_FORK"] = "FALSE"  # as scikit-learn does when it is imported
        return os.environ["KMP_INIT_AT_FORK"]

    with Executor(1) as executor:
        assert said(lambda: executor.submit(runtime, 1).result(SECONDS)) == []


def test_a_call_on_each_worker_may_change_it() -> None:
    with Executor(1) as executor:
        assert said(lambda: executor.run_on_workers(lambda: _variable(3))) == []
        assert executor.submit(os.getenv, "CELLMILL_LOOK").result(SECONDS) == "3"


# -- what the kernel changes reaches workers


def test_locale(pool: Executor) -> None:
    before = locale.setlocale(locale.LC_TIME)
    try:
        for wanted in ("C.UTF-8", "C"):
            locale.setlocale(locale.LC_TIME, wanted)
            found = {*pool.map(lambda _: locale.setlocale(locale.LC_TIME), range(4))}
            assert found == {wanted}
            assert pool.submit(lambda: locale.setlocale(locale.LC_TIME)).result(SECONDS) == wanted
    finally:
        locale.setlocale(locale.LC_TIME, before)


def test_time_zone(pool: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    def hour(_: int) -> tuple[int, str]:
        return time.localtime(0).tm_hour, time.tzname[0]

    try:
        for zone, wanted in (("AAA-5", (5, "AAA")), ("BBB-7", (7, "BBB"))):
            monkeypatch.setenv("TZ", zone)
            time.tzset()
            assert pool.submit(hour, 0).result(SECONDS) == wanted
            assert {*pool.map(hour, range(4))} == {wanted}
    finally:
        monkeypatch.undo()
        time.tzset()
    assert pool.submit(hour, 0).result(SECONDS) == hour(0)


def test_umask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of when workers start, and whenever the rest is looked at."""

    def made(name: str) -> int:
        path = tmp_path / name
        path.touch()
        return path.stat().st_mode & 0o777

    before = os.umask(0o027)
    try:
        with Executor(1) as executor:
            assert executor.submit(made, "one").result(SECONDS) == 0o640
            os.umask(0o077)
            monkeypatch.setenv("CELLMILL_LOOK", "x")
            assert executor.submit(made, "two").result(SECONDS) == 0o600
    finally:
        os.umask(before)
