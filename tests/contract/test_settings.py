"""Settings of the caller's thread: how decimals and arrays compute, in tasks as in the plain loop."""

from __future__ import annotations

import decimal
import os
import socket
import tempfile
from pathlib import Path
from typing import Any

import pytest

from cellmill import Executor
from tests.contract.abilities import each_cluster, elsewhere, own_cluster
from tests.support.helpers import SECONDS


def most_rows(_: Any = None) -> int:
    import pandas

    return int(pandas.get_option("display.max_rows"))


def precision(_: Any = None) -> int:
    return decimal.getcontext().prec


def over(_: Any = None) -> str:
    import numpy

    return str(numpy.geterr()["over"])


def output_of_estimators(_: Any = None) -> str:
    import sklearn

    return str(sklearn.get_config()["transform_output"])


def chemistry(_: Any = None) -> tuple[str, bool, bool]:
    from rdkit import Chem, rdBase
    from rdkit.Chem import rdDepictor

    return rdBase.LogStatus(), Chem.GetUseLegacyStereoPerception(), rdDepictor.GetPreferCoordGen()


@each_cluster
def test_decimal_context(ex: Executor) -> None:
    outside = precision()
    with decimal.localcontext() as context:
        context.prec = 50
        inside = [ex.submit(precision) for _ in range(20)]
        mapped = list(ex.map(precision, range(50)))
        context.prec = 60
        later = ex.submit(precision)
    after = ex.submit(precision)
    assert [f.result(SECONDS) for f in inside] == [50] * 20
    assert mapped == [50] * 50
    assert later.result(SECONDS) == 60
    assert after.result(SECONDS) == outside
    assert list(ex.map(precision, range(10))) == [outside] * 10


@pytest.mark.parametrize(
    "backend",
    ["threads", *(pytest.param(name, marks=pytest.mark.long) for name in ("local", "dask", "ray"))],
    indirect=True,
    scope="session",
)
def test_configuration_of_scikit_learn(ex: Executor) -> None:
    """Its import takes each process seconds. Each thread has one of its own, to which it travels as to a process."""
    sklearn = pytest.importorskip("sklearn")
    outside = output_of_estimators()
    with sklearn.config_context(transform_output="pandas"):
        inside = [ex.submit(output_of_estimators) for _ in range(20)]
        mapped = list(ex.map(output_of_estimators, range(50)))
    after = ex.submit(output_of_estimators)
    assert [f.result(SECONDS) for f in inside] == ["pandas"] * 20
    assert mapped == ["pandas"] * 50
    assert after.result(SECONDS) == outside


def test_logs_and_switches_of_rdkit(ex: Executor, backend: str) -> None:
    """Each change reaches the next call, and is undone; those of a cluster's workers stay theirs."""
    if backend in ("dask", "ray"):
        pytest.skip("they stay theirs")
    Chem = pytest.importorskip("rdkit.Chem")
    from rdkit import RDLogger
    from rdkit.Chem import rdDepictor

    outside = chemistry()
    assert ex.submit(chemistry).result(SECONDS) == outside
    try:
        for change in (
            lambda: RDLogger.DisableLog("rdApp.*"),
            lambda: Chem.SetUseLegacyStereoPerception(False),
            lambda: rdDepictor.SetPreferCoordGen(True),
            lambda: RDLogger.EnableLog("rdApp.error"),
        ):
            change()
            assert ex.submit(chemistry).result(SECONDS) == chemistry() != outside
            assert set(ex.map(chemistry, range(20))) == {chemistry()}
    finally:
        RDLogger.DisableLog("rdApp.*")
        for name in ("warning", "error"):
            RDLogger.EnableLog(f"rdApp.{name}")
        Chem.SetUseLegacyStereoPerception(True)
        rdDepictor.SetPreferCoordGen(False)
    assert chemistry() == outside
    assert ex.submit(chemistry).result(SECONDS) == outside


def new_files_and_sockets(_: Any = None) -> tuple[str, float | None]:
    with tempfile.NamedTemporaryFile() as made, socket.socket() as end:
        return os.path.dirname(made.name), end.gettimeout()


def test_the_folder_of_tempfile_and_the_time_limit_of_sockets(
    ex: Executor, backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a cluster's workers stay theirs."""
    outside = new_files_and_sockets()
    assert ex.submit(new_files_and_sockets).result(SECONDS) == outside
    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path))
        socket.setdefaulttimeout(7.5)
        try:
            inside = [ex.submit(new_files_and_sockets) for _ in range(20)]
            mapped = list(ex.map(new_files_and_sockets, range(50)))
        finally:
            socket.setdefaulttimeout(None)
    wanted = outside if backend in ("dask", "ray") else (str(tmp_path), 7.5)
    assert {f.result(SECONDS) for f in inside} == set(mapped) == {wanted}
    assert ex.submit(new_files_and_sockets).result(SECONDS) == outside


@each_cluster
def test_numpy_errors(ex: Executor) -> None:
    numpy = pytest.importorskip("numpy")
    outside = over()
    with numpy.errstate(over="raise"):
        inside = [ex.submit(over) for _ in range(20)]
        mapped = list(ex.map(over, range(50)))
        failed = ex.submit(lambda: numpy.float64(1e308) * 10)
        assert isinstance(failed.exception(SECONDS), FloatingPointError)
    after = ex.submit(over)
    assert [f.result(SECONDS) for f in inside] == ["raise"] * 20
    assert mapped == ["raise"] * 50
    assert after.result(SECONDS) == outside


@own_cluster
def test_those_that_hold_from_the_beginning(another: Any) -> None:
    """Workers have them as their own."""
    with decimal.localcontext() as context:
        context.prec = 17
        executor = another()
        assert executor.submit(precision).result(SECONDS) == 17
        assert list(executor.map(precision, range(20))) == [17] * 20
    assert executor.submit(precision).result(SECONDS) == precision()


@elsewhere
def test_an_option_of_pandas_that_is_set_back(ex: Executor) -> None:
    pandas = pytest.importorskip("pandas")
    usual = pandas.get_option("display.max_rows")
    with pandas.option_context("display.max_rows", 7):
        assert list(ex.map(most_rows, range(20))) == [7] * 20
    assert list(ex.map(most_rows, range(20))) == [usual] * 20
