"""ProxyStore's `StoreExecutor` around an executor: values, what a task gives back, errors, an empty store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from cellmill import Executor
from tests.support.helpers import SECONDS, comes_down

pytest.importorskip("numpy")
pytest.importorskip("proxystore")

import numpy as np
from proxystore.connectors.file import FileConnector
from proxystore.proxy import Proxy, ProxyResolveError, is_resolved
from proxystore.store import Store
from proxystore.store.executor import ProxyType, StoreExecutor

NUMBERS = 100_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store[Any]]:
    folder = tmp_path / "store"
    with Store(f"store-{tmp_path.name}", FileConnector(str(folder)), register=True) as made:
        yield made


@pytest.fixture
def proxied(pool: Executor, store: Store[Any]) -> StoreExecutor:
    """The shared pool behind a store for arrays; it is not shut down, for that would shut down the pool."""
    return StoreExecutor(pool, store, ProxyType(np.ndarray))


def kept(store: Store[Any]) -> int:
    """How many values the store has."""
    return sum(not name.endswith(".ready") for name in os.listdir(store.connector.store_dir))


def total(array: Any, *, more: float = 0) -> tuple[str, float]:
    """The type that came, and a sum that needs the values."""
    return type(array).__name__, float(array.sum()) + more


def doubled(array: Any) -> Any:
    return array * 2


def itself(array: Any) -> Any:
    return array


def refuses(array: Any) -> Any:
    raise LookupError(f"no use for {len(array)} numbers")


def test_inputs_come_through_the_store_and_are_freed(proxied: StoreExecutor, store: Store[Any]) -> None:
    arrays = [np.full(NUMBERS, i, float) for i in range(6)]
    futures = [proxied.submit(total, array, more=1) for array in arrays]
    for i, future in enumerate(futures):
        assert future.result(SECONDS) == ("Proxy", i * NUMBERS + 1)
    assert comes_down(lambda: kept(store), 0)


def test_results_come_as_proxies_that_own_their_value(proxied: StoreExecutor, store: Store[Any]) -> None:
    result = proxied.submit(doubled, np.ones(NUMBERS)).result(SECONDS)
    assert isinstance(result, Proxy)
    assert not is_resolved(result)
    np.testing.assert_array_equal(result, np.full(NUMBERS, 2.0))
    assert comes_down(lambda: kept(store), 1)
    del result
    assert comes_down(lambda: kept(store), 0)


def test_a_result_is_the_input_of_another_task_and_stays_unread_here(
    proxied: StoreExecutor, store: Store[Any]
) -> None:
    first = proxied.submit(doubled, np.ones(NUMBERS)).result(SECONDS)
    borrowed = store.proxy_from_key(first.__proxy_factory__.key)
    assert proxied.submit(total, borrowed).result(SECONDS) == ("Proxy", 2.0 * NUMBERS)
    assert not is_resolved(first)
    assert not is_resolved(borrowed)


def test_map(pool: Executor, store: Store[Any]) -> None:
    executor = StoreExecutor(pool, store, ProxyType(np.ndarray), ownership=False)
    found = list(executor.map(doubled, [np.full(1000, i) for i in range(5)]))
    assert [int(array[0]) for array in found] == [0, 2, 4, 6, 8]
    assert all(isinstance(array, Proxy) for array in found)


def test_a_task_that_returns_its_own_input_has_it_freed_as_with_other_pools(
    proxied: StoreExecutor, store: Store[Any]
) -> None:
    """ProxyStore frees inputs when the task is over: the proxy that comes back says that its value is gone."""
    with ProcessPoolExecutor(1) as processes:
        for executor in (proxied, StoreExecutor(processes, store, ProxyType(np.ndarray))):
            result = executor.submit(itself, np.ones(NUMBERS)).result(SECONDS)
            assert isinstance(result, Proxy)
            assert comes_down(lambda: kept(store), 0)
            with pytest.raises(ProxyResolveError):
                result.sum()
    kept_by_caller = store.proxy(np.ones(NUMBERS))
    assert proxied.submit(itself, kept_by_caller).result(SECONDS).sum() == NUMBERS


def test_errors_are_the_tasks_own_and_free_the_input(proxied: StoreExecutor, store: Store[Any]) -> None:
    future = proxied.submit(refuses, np.ones(NUMBERS))
    with pytest.raises(LookupError, match=f"no use for {NUMBERS} numbers"):
        future.result(SECONDS)
    assert comes_down(lambda: kept(store), 0)
    assert proxied.submit(total, np.ones(3)).result(SECONDS) == ("Proxy", 3.0)


def test_a_proxy_without_a_value_is_an_error_in_the_task(proxied: StoreExecutor, store: Store[Any]) -> None:
    proxy: Any = store.proxy(np.ones(NUMBERS))
    store.evict(proxy.__proxy_factory__.key)
    with pytest.raises(ProxyResolveError):
        proxied.submit(total, proxy).result(SECONDS)


def test_shutdown_of_the_wrapper_ends_both(fresh: Executor, store: Store[Any]) -> None:
    with StoreExecutor(fresh, store, ProxyType(np.ndarray)) as executor:
        future = executor.submit(total, np.ones(NUMBERS))
    assert future.result(SECONDS) == ("Proxy", float(NUMBERS))
    assert fresh.closed
