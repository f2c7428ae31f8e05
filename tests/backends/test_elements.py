"""The queue of elements against a plain list of pairs."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cellmill.backends.scheduled.elements import Elements

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 8)),
        st.tuples(st.just("add one"), st.just(1)),
        st.tuples(st.just("put back"), st.integers(0, 4)),
        st.tuples(st.just("take"), st.integers(1, 12)),
        st.tuples(st.just("remove"), st.integers(0, 30)),
        st.tuples(st.just("clear"), st.just(0)),
    ),
    max_size=40,
)


Place = tuple[Any, Any, int | None]  # key, item, position in the state map


@given(STEPS)
def test_like_a_list(steps: list[tuple[str, int]]) -> None:
    queue = Elements()
    model: list[Place] = []
    number = 0
    last: list[Place] = []
    for step, size in steps:
        if step == "add":
            added = range(number, number + size)
            model.extend((key, f"item {key}", None) for key in added)
            queue.add(added, [f"item {key}" for key in added])
            number += size
        elif step == "add one":
            model.append((number, f"item {number}", None))
            queue.add([number], [f"item {number}"])
            number += 1
        elif step == "put back":
            back, last = last[:size], last[size:]
            queue.put_back([key for key, _, _ in back], [item for _, item, _ in back], 1000)
            model[:0] = [(key, item, 1000 + i) for i, (key, item, _) in enumerate(back)]
        elif step == "take" and model:
            keys, items, position = queue.take(min(size, len(model)))
            last, model[: len(keys)] = model[: len(keys)], []
            places = [None if position is None else position + i for i in range(len(keys))]
            assert list(zip(keys, items, places, strict=True)) == last
            wanted = min(size, len(model) + len(keys))
            assert len(keys) == wanted or position is not None or model[0][2] is not None
        elif step == "remove":
            # keys are compared by identity: small whole numbers are one object each
            found = next((place for place in model if place[0] == size), None)
            removed = queue.remove(size)
            assert removed == (None if found is None else ([found[0]], [found[1]], found[2]))
            if found is not None:
                model.remove(found)
        elif step == "clear":
            dropped = queue.clear()
            left = [pair for span in dropped for pair in zip(span.keys, span.items[span.gone :], strict=True)]
            assert left == [(key, item) for key, item, _ in model]
            for span in dropped:
                span.let_go()
                assert not span.items
            model.clear()
        assert len(queue) == len(model)
        assert queue.keys() == [key for key, _, _ in model]
        assert all(key in queue for key, _, _ in model)


def test_chunks_of_a_map_keep_ranges() -> None:
    """Blocks of the input are cut anywhere, and results are still delivered a chunk at a time."""
    queue = Elements()
    for start in range(0, 100, 10):
        queue.add(range(start, start + 10), list(range(start, start + 10)))
    taken = [queue.take(size) for size in (3, 24, 1, 72)]
    assert [keys for keys, _, _ in taken] == [range(3), range(3, 27), range(27, 28), range(28, 100)]
    assert [item for _, items, _ in taken for item in items] == list(range(100))
