"""Failures that were not asked for, as they are noted."""

from __future__ import annotations

import pytest

from cellmill.diagnostics import unasked


class Asked:
    """What `unasked` knows of a future."""

    _owner = None
    _asks_to_be_seen = True


def test_what_many_failed_futures_at_hand_cost_grows_with_their_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fold, looked_through = unasked._fold, []

    def counted() -> None:
        looked_through.append(len(unasked._failures))
        fold()

    for name, empty in (("_failures", {}), ("_by_future", {}), ("_noted", 0), ("_in_notebook", False)):
        monkeypatch.setattr(unasked, name, empty)
    monkeypatch.setattr(unasked, "_fold", counted)
    futures, error = [Asked() for _ in range(10 * unasked.MOST_KEPT)], ValueError("odd")
    for future in futures:
        unasked.note(future, error)
    assert len(unasked._failures) == len(futures)
    assert sum(looked_through) <= 4 * len(futures)
    futures.clear()
    for future in (Asked() for _ in range(10 * unasked.MOST_KEPT)):
        unasked.note(future, error)
    assert len(unasked._failures) <= 2 * unasked.MOST_KEPT
    assert sum(each.count for each in unasked._failures.values()) == 20 * unasked.MOST_KEPT
