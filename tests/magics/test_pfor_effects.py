"""`%%pfor` leaves what the plain loop leaves: a table of loops, each run both ways and compared by all names."""

from __future__ import annotations

import json

import pytest

from tests.magics.loops import CASES, Case
from tests.support.notebook import Notebook

BEGIN = "from tests.magics.names_left import differing\nhidden = frozenset(globals()) | {'hidden'}"
BACKENDS = ["local", "threads", "inline"]
CLUSTER_SECONDS = 300.0  # longest wait for the engine of a cluster
ON_CLUSTERS = [
    *(
        "a sum",
        "append what changes later",
        "grouped by setdefault",
        "the last values",
        "last values that few bind",
    ),
    *(
        "from a generator",
        "continue",
        "break of an endless one",
        "items of the loop",
        "array slices",
        "attributes",
    ),
]


def compare(notebook: Notebook, case: Case) -> None:
    """Run a loop both ways; what differs is shown."""
    notebook.reset()
    notebook.run(f"{BEGIN}\n{case.prepare}").ok()
    output = notebook.run(case.magic).ok()
    given = json.dumps([case.prepare, case.plain])
    assert notebook.value(f"differing(*{given}, globals())") == "{}", output.stderr
    assert "has not the loop's last value" not in output.stderr


# Ray takes many seconds to start, and runs loops by the same remote code as Dask: the contract tests compare them.
@pytest.fixture(scope="module", params=["dask", pytest.param("ray", marks=pytest.mark.long)])
def cluster(request: pytest.FixtureRequest, kernel: Notebook) -> Notebook:
    """The kernel, with each foreign backend."""
    pytest.importorskip("ray" if request.param == "ray" else "distributed")
    kernel.finish(kernel.start(f"%cellmill backend {request.param}"), CLUSTER_SECONDS).ok()
    kernel.finish(kernel.start("%cellmill workers 2"), CLUSTER_SECONDS).ok()
    return kernel


@pytest.mark.parametrize("name", ON_CLUSTERS)
def test_on_clusters_too(cluster: Notebook, name: str) -> None:
    compare(cluster, CASES[name])


def test_changes_by_other_ways_are_found_on_clusters(cluster: Notebook) -> None:
    cluster.run("heap, total = [5], 0\nimport heapq\nlong = list(range(100_000))").ok()
    for body, place in {"heapq.heappush(heap, x)": "heap", "if x == 99: heapq.heappop(long)": "long"}.items():
        output = cluster.run(f"%%pfor x in range(100)\ntotal += 1\n{body}")
        assert f"items change {place}" in output.traceback
        assert output.pointed_at() == place
        assert cluster.value("total, heap, len(long)") == "(0, [5], 100000)"


@pytest.fixture(scope="module", params=BACKENDS)
def everywhere(request: pytest.FixtureRequest, kernel: Notebook) -> Notebook:
    """The kernel, with each backend of this machine's own."""
    kernel.run(f"%cellmill backend {request.param}").ok()
    if request.param == "local":
        kernel.run("%cellmill workers 2").ok()
    return kernel


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_notebook_is_as_after_the_plain_loop(everywhere: Notebook, case: Case) -> None:
    compare(everywhere, case)
