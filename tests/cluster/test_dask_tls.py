"""A scheduler of Dask that takes certificates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cellmill import BackendError, Executor, UsageError
from tests.support import tasks
from tests.support.dasks import local_cluster
from tests.support.helpers import SECONDS

distributed = pytest.importorskip("distributed", reason="pip install 'cellmill[dask]'")
pytest.importorskip("cryptography", reason="makes the certificates")


@pytest.fixture(scope="module")
def security() -> Any:
    """Certificates and keys, made now."""
    return distributed.Security.temporary()


@pytest.fixture(scope="module")
def cluster(security: Any) -> Iterator[Any]:
    """A cluster that Cellmill did not start."""
    with local_cluster(n_workers=1, threads_per_worker=1, security=security) as made:
        yield made


def test_an_address_with_certificates(cluster: Any, security: Any) -> None:
    assert cluster.scheduler_address.startswith("tls://")
    with Executor(backend=cluster.scheduler_address, security=security) as ex:
        assert ex._backend.engine._presence._client.status == "running"  # type: ignore[attr-defined]
        assert list(ex.map(tasks.double, range(100))) == [2 * i for i in range(100)]
        ex.restart()
        assert ex.submit(tasks.double, 4).result(SECONDS) == 8


def test_a_cluster_of_our_own_with_certificates(security: Any) -> None:
    with Executor(1, backend="dask", security=security) as ex:
        assert ex._backend.engine.connection.client.scheduler.address.startswith("tls://")  # type: ignore[attr-defined]
        assert ex.submit(tasks.double, 4).result(SECONDS) == 8


def test_certificates_that_are_missing_or_others(cluster: Any, security: Any) -> None:
    with pytest.raises(BackendError, match=r"takes certificates: Executor\(backend='tls://.*security="):
        Executor(backend=cluster.scheduler_address)
    with pytest.raises(BackendError, match="no Dask scheduler answers at tls://"):
        Executor(backend=cluster.scheduler_address, security=distributed.Security.temporary())
    with pytest.raises(UsageError, match="has that which it was made with"):
        Executor(backend=cluster, security=security)
