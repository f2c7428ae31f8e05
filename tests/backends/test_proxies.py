"""Values outside of messages: put, found, read in place, and gone when they are not needed any more."""

from __future__ import annotations

import gc
import os
import pickle
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import PayloadError
from cellmill.serialization import payload
from cellmill.serialization.payload import Encoded
from tests.support.helpers import comes_down
from tests.support.stops import each_step

numpy = pytest.importorskip("numpy")

from cellmill.backends.cluster.values import proxies, stores  # noqa: E402

TOKEN = b"0123456789abcdef"


@pytest.fixture
def keeper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[proxies.Keeper]:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    made = proxies.keeper(TOKEN, None, "10kB", True)
    assert made is not None
    yield made
    made.close()


def stored(keeper: proxies.Keeper) -> list[Path]:
    assert keeper.outside.folder is not None
    return sorted(Path(keeper.outside.folder).iterdir())


def decoded(encoded: Encoded) -> Any:
    return payload.decode(memoryview(stores.joined(encoded)))


def there(encoded: Encoded) -> Any:
    """Its value where a task finds it."""
    payload.inputs.loading = lambda position: None
    try:
        return decoded(encoded)
    finally:
        payload.inputs.loading = None


def test_small_values_travel_by_themselves(keeper: proxies.Keeper) -> None:
    encoded = payload.encode(b"x" * 5000)
    assert keeper.put(encoded) == (encoded, None)
    assert keeper.outside.put(encoded, kept=True) == (encoded, 0)
    assert not stored(keeper)


def test_arguments(keeper: proxies.Keeper) -> None:
    array = numpy.arange(100_000)
    reference, lease = keeper.put(payload.encode(([array, "beside"], {})))
    assert reference.size < 1000
    assert lease is not None
    assert keeper.outstanding == 1
    for _ in range(2):  # also by another attempt
        (found, text), _kwargs = there(reference)
        assert text == "beside"
        assert (found == array).all()
    lease.release()
    assert comes_down(lambda: len(stored(keeper)), 0)
    assert keeper.outstanding == 0
    assert (found == array).all()  # what is mapped stays readable
    with pytest.raises(cellmill.PayloadError, match="not in the store"):
        there(reference)


def test_stop_while_arguments_are_put(keeper: proxies.Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    encoded = payload.encode(b"x" * 20_000)
    keeper.put(encoded)  # what only the first one does is another matter
    for step in each_step(1, lambda step: lambda: keeper.put(encoded)):
        assert not said, step
        assert comes_down(lambda: keeper.outstanding, 0), step


def test_a_result_is_read_when_it_is_asked_for(keeper: proxies.Keeper) -> None:
    array = numpy.arange(100_000)
    reference, stays = keeper.outside.put(payload.encode(array), kept=True)
    assert not stays  # all get it alike
    assert payload.BUFFER_MIN <= reference.size < 2 * payload.BUFFER_MIN
    assert (there(reference) == array).all()
    kept = decoded(reference)
    assert isinstance(kept, proxies.Kept)
    assert (kept.load() == array).all()
    assert len(stored(keeper)) == 1
    del kept
    assert comes_down(lambda: len(stored(keeper)), 0)


def test_results_of_a_chunk_go_when_they_were_read(keeper: proxies.Keeper) -> None:
    values = [numpy.full(10_000, i) for i in range(3)]
    reference, _ = keeper.outside.put(payload.encode((0, values, {})), kept=False)
    _, found, _ = decoded(reference)
    assert len(stored(keeper)) == 1
    _, again, _ = decoded(reference)  # an interrupt came in between
    keeper.settled()
    assert comes_down(lambda: len(stored(keeper)), 0)
    assert all((a == b).all() and (a == c).all() for a, b, c in zip(values, found, again, strict=True))


def test_nothing_is_left_at_the_end(keeper: proxies.Keeper) -> None:
    _, lease = keeper.put(payload.encode(b"x" * 20_000))
    keeper.outside.put(
        payload.encode(b"x" * 20_000), kept=True
    )  # of a place that died before it handed it over
    assert len(stored(keeper)) == 2
    folder = keeper.outside.folder
    assert folder is not None
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in stored(keeper)} == {0o600}
    keeper.close()
    assert not Path(folder).exists()
    del lease
    gc.collect()


def test_a_full_disk_sends_values_as_ever(keeper: proxies.Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    encoded = payload.encode(b"x" * 20_000)
    assert keeper.put(encoded) == (encoded, None)
    assert not stored(keeper)


def test_a_store_that_is_not_reached_is_named(tmp_path: Path) -> None:
    FileConnector = pytest.importorskip("proxystore.connectors.file").FileConnector

    class Gone(FileConnector):  # type: ignore[misc, valid-type]
        def set(self, key: Any, obj: Any) -> None:
            raise EOFError("connection refused")  # as libraries have errors of their own for it

    made = proxies.keeper(TOKEN, Gone(str(tmp_path / "theirs")), 10_000, False)
    assert made is not None
    with pytest.raises(
        PayloadError,
        match=r"bytes could not be put into the store \(Gone\): EOFError: connection refused\. Is the",
    ):
        made.put(payload.encode(b"y" * 20_000))
    made.close()


def test_a_policy_chooses(tmp_path: Path) -> None:
    made = proxies.keeper(TOKEN, f"file:{tmp_path / 'shared'}", lambda size: size % 2 == 1, False)
    assert made is not None
    odd, even = payload.encode(b"x" * 20_000), payload.encode(b"x" * 20_001)
    odd, even = (odd, even) if odd.size % 2 else (even, odd)
    assert made.put(even) == (even, None)
    reference, _lease = made.put(odd)
    assert reference.size < 1000
    assert there(reference) == decoded(odd)
    made.close()
    assert not list((tmp_path / "shared").iterdir())


def test_any_connector(tmp_path: Path) -> None:
    FileConnector = pytest.importorskip("proxystore.connectors.file").FileConnector

    made = proxies.keeper(TOKEN, FileConnector(str(tmp_path / "theirs")), 10_000, False)
    assert made is not None
    reference, lease = made.put(payload.encode(b"y" * 20_000))
    assert there(reference) == b"y" * 20_000
    assert lease is not None
    lease.release()
    assert comes_down(lambda: len(list((tmp_path / "theirs").iterdir())), 0)
    made.close()


def test_when_it_is_on() -> None:
    assert proxies.keeper(TOKEN, None, None, False) is None  # other machines may not see our files
    assert proxies.keeper(TOKEN, False, None, True) is None
    for nonsense in ("filee", 5, "redis:", object()):
        with pytest.raises(cellmill.UsageError, match="proxies takes True, False"):
            proxies.keeper(TOKEN, nonsense, None, True)
    with pytest.raises(cellmill.UsageError, match="proxy_above must be"):
        proxies.keeper(TOKEN, True, "much", True)


def test_a_kernel_that_is_killed_leaves_no_files(tmp_path: Path) -> None:
    code = """
import os, pickle, signal, sys
from cellmill.serialization import payload
from cellmill.backends.cluster.values import proxies
keeper = proxies.keeper(b"0123456789abcdef", None, 1000, True)
kept = keeper.put(payload.encode(b"x" * 20_000))
sys.stdout.buffer.write(pickle.dumps(keeper.outside)); sys.stdout.flush()
sys.stdin.read(1)
os.kill(os.getpid(), signal.SIGKILL)
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        assert process.stdout is not None
        assert process.stdin is not None
        outside = pickle.load(process.stdout)
        assert outside.folder is not None
        assert len(list(Path(outside.folder).iterdir())) == 1
        process.stdin.write(b"x")
        process.stdin.flush()
        process.wait(30)
    assert comes_down(lambda: Path(outside.folder).exists(), 0)
