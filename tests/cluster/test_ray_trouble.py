"""What Ray reports, in words that say what to do; its own texts, as it writes them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cellmill.backends.cluster.engines.raybridge import head, trouble
from cellmill.backends.cluster.engines.raybridge.head import LONGEST_FOLDER
from cellmill.backends.cluster.engines.raybridge.link import search_path
from tests.support.helpers import prepend_to_path

DIED = (
    "The actor died unexpectedly before finishing this task.\n\tclass_name: PackActor\nThe actor is dead because its "
    "worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a "
    "connection error code 2. End of file. Some common causes include: (1) the process was killed by the OOM killer"
)
LEFT = (
    "The actor is dead because its worker process has died. Worker exit type: INTENDED_USER_EXIT Worker exit detail: "
    "Worker exits by an user request. exit_actor() is called."
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (DIED, "its process ended from one moment to the next"),
        (LEFT, r"Worker exits by an user request.*\(INTENDED_USER_EXIT\)"),
        ("ray::PackActor was killed by the memory monitor\nmore", "ran out of memory"),
        ("something else", "Ray says: something else"),
    ],
)
def test_how_an_actor_ended(text: str, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        raise RuntimeError(trouble.lost(RuntimeError(text)))


@pytest.mark.parametrize(
    ("error", "address", "words"),
    [
        (
            RuntimeError(
                "Version mismatch: The cluster was started with:\n    Ray: 2.50.0\n    Python: 3.12"
            ),
            "head:6379",
            "the Ray cluster at head:6379 has other versions than this kernel: .*Ray: 2.50.0.*Install the versions",
        ),
        (
            ModuleNotFoundError("No module named 'cellmill'"),
            "head:6379",
            "cannot import Cellmill.*runtime_env",
        ),
        (ImportError("No module named 'grpc'"), "ray://head:10001", r"pip install 'ray\[client\]'"),
        (
            RuntimeError("This node has an IP address of 10.0.0.1, and Ray expects this IP"),
            "head:6379",
            "this machine is no node of it. Use its client port, ray://HOST:10001",
        ),
        (
            ConnectionError("no"),
            "head:6379",
            "the Ray cluster at head:6379 cannot be used: ConnectionError: no",
        ),
        (OSError("no room"), None, "a local Ray did not start: OSError: no room. Is there memory"),
    ],
)
def test_why_there_is_no_cluster(error: Exception, address: str | None, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        raise RuntimeError(trouble.in_plain_words(error, address))


def test_a_folder_that_sockets_fit_into(monkeypatch: pytest.MonkeyPatch) -> None:
    found = head.folder("/a/folder/with/a/name/that/is/too/long/for/a/socket")
    assert found.startswith("/tmp/cellmill-ray-")
    assert len(found) <= LONGEST_FOLDER
    head.remove(found)
    head.remove(found)
    assert not Path(found).exists()


def test_use_is_not_reported_and_strangers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "1")
    chosen = head.environment()
    assert chosen["RAY_USAGE_STATS_ENABLED"] == "0"
    assert chosen["RAY_AUTH_MODE"] == "token"
    assert len(chosen["RAY_AUTH_TOKEN"]) == 64
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", "/somewhere")
    assert "RAY_AUTH_TOKEN" not in head.environment()  # the user's own is kept


def test_a_notebook_folder_is_not_searched_by_ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepend_to_path(monkeypatch, tmp_path)
    monkeypatch.setenv("PYTHONPATH", "/as/told")
    assert search_path()[0] == "/as/told"
    assert str(tmp_path) not in search_path()


def test_ray_is_imported_without_what_it_does_not_use() -> None:
    """A grammar that takes seconds; it can be imported afterwards."""
    pytest.importorskip("ray", reason="pip install 'cellmill[ray]'")
    pytest.importorskip("rfc3987_syntax", reason="Jupyter brings it")
    code = (
        "import sys\n"
        "from cellmill.backends.cluster.engines.raybridge.process import imported\n"
        "assert hasattr(imported(), 'init')\n"
        "assert 'jsonschema' in sys.modules and 'rfc3987_syntax' not in sys.modules\n"
        "import rfc3987_syntax\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
