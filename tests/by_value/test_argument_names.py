"""How much is kept of what arguments read."""

from __future__ import annotations

import pickle

from cellmill.by_value import argument_names
from cellmill.by_value.argument_names import MOST_BYTES, MOST_KNOWN, Sent


def test_a_worker_keeps_the_latest_up_to_so_many_bytes() -> None:
    def come(data: bytes) -> object:
        return pickle.loads(pickle.dumps(Sent(data)))

    argument_names._came.clear()
    small = come(b"small")
    assert come(b"small") is small
    for i in range(3):
        large = come(bytes(MOST_BYTES // 2 + i))
        assert come(bytes(MOST_BYTES // 2 + i)) is large
    assert sum(map(len, argument_names._came)) <= MOST_BYTES
    assert come(b"small") is not small
    whole = come(bytes(2 * MOST_BYTES))
    assert come(bytes(2 * MOST_BYTES)) is whole
    assert len(argument_names._came) == 1
    for i in range(2 * MOST_KNOWN):
        come(b"%d" % i)
    assert len(argument_names._came) == MOST_KNOWN
    argument_names._came.clear()
