"""One executor of each backend for all tests that leave it usable; tests are grouped by backend."""

from __future__ import annotations

import contextlib
import importlib.util
import types
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from cellmill import Executor, run_registry
from cellmill.backends import KNOWN
from tests.contract.abilities import ALL, TABLE, Abilities
from tests.support import tasks
from tests.support.helpers import SECONDS

if TYPE_CHECKING:
    from tests.support.rays import OwnRay


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what is not asked of a backend, and until later what others show for clusters; see `abilities`."""
    items[:] = [item for item in items if not _senseless(item)]
    has_ray = importlib.util.find_spec("ray") is not None
    for item in items:
        if _later(item, has_ray):
            item.add_marker(pytest.mark.long)


def _later(item: pytest.Item, has_ray: bool) -> bool:
    """Whether another test shows it every day."""
    call = getattr(item, "callspec", None)
    where = call.params.get("backend") if call is not None else None
    marks = {mark.name for mark in item.iter_markers()}
    if where == "ray":
        return not marks.isdisjoint({"own_cluster", "same_on_clusters"})
    if where == "dask":
        return "same_on_clusters" in marks or (has_ray and marks.isdisjoint({"each_cluster", "own_cluster"}))
    return False


def _senseless(item: pytest.Item) -> bool:
    wanted = {field for mark in item.iter_markers("usefixtures") for field in mark.args}
    call = getattr(item, "callspec", None)
    able = TABLE.get(str(call.params.get("backend"))) if call is not None else None
    return able is not None and any(not getattr(able, field, True) for field in wanted)


@pytest.fixture(scope="session", params=[name for name in ALL if name in KNOWN])
def backend(request: pytest.FixtureRequest) -> str:
    """Each backend's name in turn."""
    name = str(request.param)
    package = TABLE[name].package
    if package is not None and importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed: pip install 'cellmill[{name}]'")
    return name


@pytest.fixture(scope="session")
def able(backend: str) -> Abilities:
    return TABLE[backend]


@pytest.fixture(scope="session")
def concurrent(able: Abilities) -> None:
    assert able.concurrent


@pytest.fixture(scope="session")
def apart(able: Abilities) -> None:
    assert able.apart


@pytest.fixture(scope="session")
def outside(able: Abilities) -> None:
    assert able.outside


@pytest.fixture(scope="session")
def everyones(backend: str, able: Abilities, request: pytest.FixtureRequest) -> Iterator[Executor]:
    if backend == "ray":
        own: OwnRay = request.getfixturevalue("own_ray")
        yield own.executor
        return
    executor = Executor(able.workers, backend=backend)
    yield executor
    executor.shutdown(cancel_futures=True)


@pytest.fixture(scope="session")
def shared(backend: str, able: Abilities, request: pytest.FixtureRequest) -> str:
    """What an executor is given as its backend: this one, of clusters the one that `everyones` has started."""
    if not able.outside:
        return backend
    executor: Executor = request.getfixturevalue("everyones")
    if backend == "ray":
        own: OwnRay = request.getfixturevalue("own_ray")
        return own.backend
    return str(executor._backend.engine.connection.cluster.scheduler_address)  # type: ignore[attr-defined]


@pytest.fixture
def ex(everyones: Executor) -> Iterator[Executor]:
    """The executor of this backend; after every test it takes the next task. Each test is a cell of its own."""
    run_registry.bump_epoch()
    yield everyones
    run_registry.bump_epoch()
    assert everyones.submit(tasks.double, 4).result(SECONDS) == 8


@pytest.fixture
def fresh(backend: str, able: Abilities) -> Iterator[Callable[..., Executor]]:
    """Makes an executor of this backend, with a cluster of its own, that the test may close."""
    with _makes(backend, able) as make:
        yield make


@pytest.fixture
def another(shared: str, able: Abilities) -> Iterator[Callable[..., Executor]]:
    """Makes one more executor of this backend, that the test may close; on clusters beside that of all tests."""
    with _makes(shared, able) as make:
        yield make


@contextlib.contextmanager
def _makes(backend: str, able: Abilities) -> Iterator[Callable[..., Executor]]:
    made: list[Executor] = []

    def make(**options: Any) -> Executor:
        made.append(Executor(able.workers, backend=backend, **options))
        return made[-1]

    yield make
    for executor in made:
        executor.shutdown(cancel_futures=True)


@pytest.fixture
def cell() -> Callable[[str], dict[str, Any]]:
    """Runs source as a cell of a notebook does: in one ``__main__``, cell after cell."""
    main = types.ModuleType("__main__")

    def run(source: str) -> dict[str, Any]:
        exec(compile(source, "<cell>", "exec"), main.__dict__)
        return main.__dict__

    return run
