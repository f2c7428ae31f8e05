"""How many threads BLAS and OpenMP use in worker processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from cellmill import Executor
from cellmill.process_context.cpus import available_cpus
from cellmill.process_context.native_threads import VARIABLES, shared_out
from tests.support.helpers import SECONDS

pytest.importorskip("numpy")
pytest.importorskip("threadpoolctl")

CPUS = available_cpus()


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a kernel whose user has set nothing."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


# The zygote that all tests share has numpy once one has preloaded it: later ones could import it no more.
LOADED_BEFORE = pytest.mark.parametrize("one", ["preloaded"], indirect=True)


@pytest.fixture(params=["imported by a task", "preloaded"])
def one(request: pytest.FixtureRequest) -> Iterator[Executor]:
    """One worker; numpy is loaded after its start, or was loaded by the zygote with one thread."""
    with Executor(1, preload=["numpy"] if request.param == "preloaded" else []) as executor:
        yield executor


def threads() -> set[int]:
    """Of every library that this process has loaded."""
    import numpy  # noqa: F401
    from threadpoolctl import threadpool_info

    return {info["num_threads"] for info in threadpool_info()}


def product(size: int = 300) -> float:
    import numpy

    a = numpy.ones((size, size))
    return float((a @ a).sum())


def keep(count: int) -> None:
    """Set it for good."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(count)


def test_cores_are_divided_by_workers(one: Executor) -> None:
    assert one.submit(threads).result(SECONDS) == {CPUS}
    one.set_workers(CPUS)
    assert one.submit(threads).result(SECONDS) == {1}
    assert set(map(frozenset, one.run_on_workers(threads))) == {frozenset({1})}
    one.set_workers(1)
    assert set(map(frozenset, one.map(threads_of, range(8)))) == {frozenset({CPUS})}


def threads_of(_: int) -> set[int]:
    return threads()


def test_more_workers_than_cores() -> None:
    with Executor(CPUS + 1) as executor:
        assert executor.submit(threads).result(SECONDS) == {1}
        assert executor.submit(os.getenv, "OMP_NUM_THREADS").result(SECONDS) == "1"


@LOADED_BEFORE
def test_a_variable_that_the_user_has_set_holds(one: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert one.submit(threads).result(SECONDS) == {3}
    one.set_workers(2)
    assert set(map(frozenset, one.run_on_workers(threads))) == {frozenset({3})}
    assert one.submit(os.getenv, "OPENBLAS_NUM_THREADS").result(SECONDS) is None


@LOADED_BEFORE
def test_what_a_task_has_set_holds(one: Executor) -> None:
    assert one.submit(threads).result(SECONDS) == {CPUS}
    one.submit(keep, CPUS + 1).result(SECONDS)
    one.set_workers(CPUS)
    one.set_workers(1)
    assert one.submit(threads).result(SECONDS) == {CPUS + 1}


def test_an_initializers_own_variable_holds() -> None:
    def set_variable() -> None:
        os.environ["OPENBLAS_NUM_THREADS"] = "3"

    with Executor(1, initializer=set_variable) as executor:
        assert executor.run_on_workers(lambda: os.environ["OPENBLAS_NUM_THREADS"]) == ["3"]
        executor.set_workers(CPUS + 1)
        found = executor.run_on_workers(
            lambda: (os.environ["OPENBLAS_NUM_THREADS"], os.environ["OMP_NUM_THREADS"])
        )
        assert set(found) == {("3", "1")}


@LOADED_BEFORE
def test_products_after_products_everywhere(one: Executor) -> None:
    """In the kernel, in tasks, in a process that a task forks, and again after a resize."""
    expected = product()
    assert list(one.map(product, [300] * 20)) == [expected] * 20
    assert one.submit(in_a_fork).result(SECONDS) == 0
    one.set_workers(2)
    assert list(one.map(product, [300] * 20)) == [expected] * 20
    assert product() == expected


def in_a_fork() -> int:
    pid = os.fork()
    if not pid:
        os._exit(int(product() != 300.0**3))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_the_zygote_has_one_thread(script: Callable[..., str]) -> None:
    """Whatever the user has set: it would fork none of the others."""
    code = """
        import os
        os.environ["OPENBLAS_NUM_THREADS"] = "2"
        from cellmill import Executor
        from cellmill.backends.local import zygote_client

        def threads():
            import numpy, threadpoolctl
            return {info["num_threads"] for info in threadpoolctl.threadpool_info()}

        with Executor(1, preload=["numpy"]) as executor:
            print(executor.submit(threads).result())
            print(len(os.listdir(f"/proc/{zygote_client.shared().process.pid}/task")))
    """
    assert script(code).split("\n")[:2] == ["{2}", "1"]


def test_what_is_set_beside_what_the_user_has_set() -> None:
    assert shared_out(4, {}) == dict.fromkeys(VARIABLES, "4")
    assert shared_out(4, {"OMP_NUM_THREADS": "2"}) == {}
    assert "MKL_NUM_THREADS" not in shared_out(4, {"MKL_NUM_THREADS": "2"})
    assert shared_out(4, {"MKL_NUM_THREADS": "2"})["OMP_NUM_THREADS"] == "4"
