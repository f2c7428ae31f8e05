"""Checkpoints keep results of neighbours together: each is found, in whatever order they came."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from cellmill.memo.checkpoints import CheckpointStore
from cellmill.memo.stores import Held

MANY = 3000


@pytest.fixture
def store(tmp_path: Path) -> CheckpointStore:
    return CheckpointStore(tmp_path / "kept")


def key(place: int, map_number: int = 0) -> bytes:
    return place.to_bytes(6, "big") + b"map %06d %06d" % (map_number, place)


def blocks(store: CheckpointStore) -> int:
    return int(store._base.execute("SELECT COUNT(*) FROM blocks").fetchone()[0])


@pytest.mark.parametrize("apart", [1, 7, 5000, 1 << 33])
@pytest.mark.parametrize("at_once", [1, 40, MANY])
def test_every_result_is_found(store: CheckpointStore, apart: int, at_once: int) -> None:
    places = [apart * i for i in range(MANY if at_once > 1 else 100)]
    came = random.Random(at_once).sample(places, len(places))
    for number, place in enumerate(came):
        store.put(key(place), "f", b"%d" % place)
        if number % at_once == at_once - 1:
            store.write()
    store.write()
    other = CheckpointStore(store.path)
    wanted = {key(place): b"%d" % place for place in places}
    assert other.get([*wanted]) == wanted
    for place in came[:20]:
        assert other.get([key(place)]) == {key(place): b"%d" % place}
    assert other.get([key(place, 1) for place in places]) == {}
    assert other.held() == Held(len(wanted), sum(map(len, wanted.values())))


def test_neighbours_share_a_block(store: CheckpointStore) -> None:
    for place in range(MANY):
        store.put(key(place), "f", b"x")
        store.put(key(place, 1), "g", b"y")
    store.write()
    assert blocks(store) < 50
    assert store.functions() == ["f", "g"]
    assert store.clear("f") == MANY
    assert store.get([key(5), key(5, 1)]) == {key(5, 1): b"y"}


def test_the_latest_counts_and_one_that_two_kernels_kept_counts_once(store: CheckpointStore) -> None:
    other = CheckpointStore(store.path)
    for number, each in enumerate((store, other, store)):
        each.put(key(1), "f", b"%d" % number)
        each.put(key(2 + number), "f", b"x")
        each.write()
    assert store.get([key(1)]) == other.get([key(1)]) == {key(1): b"2"}
    assert store.held("f") == other.held() == Held(4, 4)
