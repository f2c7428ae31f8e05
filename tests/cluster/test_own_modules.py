"""The user's own modules on workers that Cellmill did not start: tasks get what the kernel has, others their own."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import os
import sys
from collections.abc import Iterator
from concurrent.futures import wait
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cellmill import Executor, UsageError, run_registry
from cellmill.backends.cluster import shipping, stopping
from cellmill.backends.cluster.remote import shipped
from cellmill.by_value import kernel_modules
from tests.support.dasks import all_there
from tests.support.helpers import SECONDS, prepend_to_path
from tests.support.own_module import OwnModule
from tests.support.waiting import until

_numbers = itertools.count()


@pytest.fixture
def client(threads: Any) -> Any:
    """Of a cluster that Cellmill did not start: one process with three threads."""
    return all_there(threads)


@pytest.fixture(scope="module")
def dask(threads: Any) -> Iterator[Executor]:
    with Executor(backend=all_there(threads)) as ex:
        yield ex


@pytest.fixture(params=["dask", "ray"])
def ex(request: pytest.FixtureRequest) -> Executor:
    found: Executor = request.getfixturevalue({"dask": "dask", "ray": "on_ray"}[request.param])
    return found


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OwnModule]:
    """One that the kernel finds."""
    prepend_to_path(monkeypatch, tmp_path)
    made = OwnModule(tmp_path)
    made.write("def f(): return 1\n")
    yield made
    made.forget()


def test_one_is_loaded_to_its_end_where_the_task_is_stopped(
    ex: Executor, tmp_path: Path, module: OwnModule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stopping, "GRACE_SECONDS", SECONDS)  # however busy this machine is
    begun, name = tmp_path / "begun", module.name
    module.write(
        f"import os\nopen({str(begun)!r}, 'a').write(f'{{os.getpid()}} ')\nfor each in range(3_000_000):\n    pass\n"
    )

    def load() -> int:
        found: int = importlib.import_module(name).each
        return found

    future = ex.submit(load)
    until(begun.exists)
    future.cancel(force=True)
    assert not wait([future], SECONDS).not_done
    assert set(ex.run_on_workers(load)) == {2_999_999}
    loaded = begun.read_text().split()
    assert len(set(loaded)) == len(loaded)  # once in each process


def test_edited_and_reloaded(ex: Executor, module: OwnModule) -> None:
    m = module.load()
    assert ex.submit(m.f).result(SECONDS) == 1
    assert list(ex.map(lambda _: m.f(), range(20))) == [1] * 20
    for value in (22, 333):
        module.write(f"def f(): return {value}\n")
        module.load()
        assert ex.submit(m.f).result(SECONDS) == value
        assert list(ex.map(lambda _: m.f(), range(20))) == [value] * 20
        assert set(ex.run_on_workers(lambda: m.f())) == {value}


def test_edited_and_not_reloaded(ex: Executor, module: OwnModule, capsys: pytest.CaptureFixture[str]) -> None:
    """Tasks go on with what the kernel has, and it is said what to type."""
    m = module.load()
    assert ex.submit(m.f).result(SECONDS) == 1
    module.write("def f(): return 22\n")
    run_registry.bump_epoch()
    assert ex.submit(m.f).result(SECONDS) == 1
    ex.restart()
    assert ex.submit(m.f).result(SECONDS) == 1
    told = capsys.readouterr().err
    assert f"importlib.reload({module.name})" in told
    assert "tasks go on with what the notebook has" in told


def test_a_worker_without_the_file(ex: Executor, module: OwnModule) -> None:
    """As on another machine: the source comes from the kernel, also that of a package and what it refers to."""
    package = module.path.parent / f"{module.name}_package"
    package.mkdir()
    (package / "__init__.py").write_text("from .inner import Thing\n")
    (package / "inner.py").write_text("class Thing:\n    def __init__(self, x): self.x = x\n")
    m, p = module.load(), importlib.import_module(package.name)
    kernel_modules.modules.note()  # as at the end of each cell
    for path in (module.path, package / "__init__.py", package / "inner.py"):
        path.unlink()
    assert ex.submit(m.f).result(SECONDS) == 1
    made = ex.submit(p.Thing, 5).result(SECONDS)
    assert type(made) is p.Thing
    assert made.x == 5
    ex.restart()  # others lanes ask for the texts when they begin
    assert ex.submit(lambda: (m.f(), p.Thing(6).x)).result(SECONDS) == (1, 6)


def test_imported_by_the_task_alone(ex: Executor, module: OwnModule) -> None:
    """The kernel does not have it: its file is what counts."""
    name = module.name

    def imported(_: int) -> Any:
        return __import__(name).f()

    run_registry.bump_epoch()
    assert set(ex.map(imported, range(20))) == {1}
    module.write("def f(): return 22\n")
    until(lambda: not ex.stats().running)
    run_registry.bump_epoch()
    assert set(ex.map(imported, range(20))) == {22}


def test_data_that_the_kernel_set(ex: Executor, module: OwnModule) -> None:
    module.write("LIMIT = 1\ndef f(): return LIMIT\n")
    m = module.load()
    m.LIMIT = 5
    assert ex.submit(m.f).result(SECONDS) == 5
    module.write("LIMIT = 2\ndef f(): return LIMIT + 0\n")
    module.load()
    assert ex.submit(m.f).result(SECONDS) == 2
    m.LIMIT = 7
    assert ex.submit(m.f).result(SECONDS) == 7


def _value_of(name: str, folder: str = "") -> Any:
    """What a Dask task of others gets."""
    if folder and folder not in sys.path:
        sys.path.insert(0, folder)
    return __import__(name).f()


def test_what_others_have_imported_there_stays_theirs(
    dask: Executor, client: Any, module: OwnModule, tmp_path: Path
) -> None:
    """A worker that lives long has the module of an earlier notebook: tasks get the kernel's, and others theirs."""
    ex = dask
    dependent = OwnModule(tmp_path)
    dependent.write(f"from {module.name} import f as g\ndef f(): return g()\n")
    names = (module.name, dependent.name)
    for name in names:
        assert set(client.run(_value_of, name, str(tmp_path)).values()) == {1}
    module.write("def f(): return 22\n")
    m, d = module.load(), dependent.load()
    try:
        assert ex.submit(lambda: (m.f(), d.f())).result(SECONDS) == (22, 22)
        assert list(ex.map(lambda _: d.f(), range(20))) == [22] * 20
        for name in names:
            assert set(client.run(_value_of, name).values()) == {1}
    finally:
        sys.modules.pop(dependent.name, None)
    assert set(client.run(lambda: sum("cellmill" in str(each) for each in sys.meta_path)).values()) == {0}


# -- packages that are shipped


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The folder of a package, which is on no path."""
    made = tmp_path / "away" / f"cellmill_shipped_{next(_numbers)}"
    made.mkdir(parents=True)
    (made / "__init__.py").write_text(
        "from pathlib import Path\nfrom .inner import X\ndata = Path(__file__).with_name('data.txt').read_text\n"
    )
    (made / "inner.py").write_text("X = 1\n")
    (made / "late.py").write_text("def f(): return 1\n")
    (made / "data.txt").write_text("beside")
    return made


def _of_package(name: str) -> tuple[Any, ...]:
    made, late = importlib.import_module(name), importlib.import_module(f"{name}.late")
    return made.X, made.data(), late.f(), made.__file__


def _finds(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


@pytest.mark.parametrize(
    ("backend", "where"),
    [
        ("dask", "here"),
        ("dask", "elsewhere"),
        pytest.param("ray", "here", marks=pytest.mark.long),  # where packages are is asked in the same way
        ("ray", "elsewhere"),
    ],
)
def test_packages_that_workers_lack(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, package: Path, backend: str, where: str
) -> None:
    if where == "elsewhere":  # the folders of the kernel are not those of the same names there
        monkeypatch.setattr(shipping, "mark_of", lambda roots: b"elsewhere" + shipped.mark_of(roots))
    ray = backend == "ray"
    target = request.getfixturevalue("own_ray").backend if ray else request.getfixturevalue("client")
    with Executor(1 if ray else None, backend=target, ship=[str(package)]) as ex:
        *found, file = ex.submit(_of_package, package.name).result(SECONDS)
        assert found == [1, "beside", 1]
        assert (file == str(package / "__init__.py")) == (where == "here")
        (package / "late.py").write_text("def f(): return 22\n")
        run_registry.bump_epoch()
        assert ex.submit(_of_package, package.name).result(SECONDS)[:3] == (1, "beside", 22)
        if not ray:
            # others do not find it, once no lane is set up
            until(lambda: set(target.run(_finds, package.name).values()) == {False})
        # the kernel has it, too, and another version than the folder now
        prepend_to_path(monkeypatch, package.parent)
        m = importlib.import_module(package.name)
        m.X = 5
        assert ex.submit(lambda: (m.X, m.data())).result(SECONDS) == (5, "beside")
        if not ray and where == "elsewhere":
            target.cluster.scale(2)
            until(lambda: len({w.pid for w in ex.workers()}) == 2)  # one that joins later
            found = ex.run_on_workers(partial(_of_package, package.name))
            assert {each[1:3] for each in found} == {("beside", 22)}
            places = {os.path.dirname(each[3]) for each in found}
    sys.modules.pop(package.name)
    if not ray and where == "elsewhere":
        target.cluster.scale(1)
        assert len(places) == 2
        until(lambda: not any(map(os.path.exists, places)))  # here: a worker that leaves cannot be asked
        until(lambda: len(target.scheduler_info(n_workers=-1)["workers"]) == 1)


def test_what_cannot_be_shipped(tmp_path: Path, client: Any) -> None:
    (tmp_path / "source" / "inside").mkdir(parents=True)
    (tmp_path / "source" / "inside" / "__init__.py").write_text("")
    for path, says in (
        (tmp_path / "nowhere", "there is no folder .*nowhere"),
        (tmp_path / "source", r"has no Python file. Name the package in it: .*source/inside"),
    ):
        with pytest.raises(UsageError, match=says):
            Executor(backend=client, ship=path)
    with pytest.raises(TypeError, match="ship= is an option of clusters"):
        Executor(1, ship=[str(tmp_path)])
