"""The map of states and the table of failures: what pages that take styles and scripts out still show."""

from __future__ import annotations

import re

import pytest
from nbconvert.filters.strings import clean_html

from cellmill.diagnostics.failure_counts import KINDS, OTHERS, FailureCount, FailureCounts
from cellmill.telemetry.text_bar import shares
from cellmill_widgets import bars, picture
from cellmill_widgets.bars import View
from cellmill_widgets.picture import WIDTH, merged, rows, runs_of, strip, svg

FAILURES = (FailureCount("ValueError", 15, "bad <script>x</script>"), FailureCount("KeyError", 5, "'k'"))
VIEW = View("dock", done=700, total=1000, failed=20, elapsed=4, rate=120, running=2, failures=FAILURES)


@pytest.mark.parametrize(
    "counts",
    [
        {"d": 5},
        {"d": 999_999, "f": 1},
        {"d": 1, "f": 1, "c": 1, "r": 1},
        {},
        {"d": 10, "f": 10, "c": 10, "r": 10},
    ],
)
def test_a_map_has_its_width_and_every_state_is_seen(counts: dict[str, int]) -> None:
    cells = dict(shares(counts, 1_000_000, WIDTH))
    assert sum(cells.values()) == WIDTH
    assert all(cells[state] >= 1 for state in counts)


def test_without_tasks_there_is_no_map() -> None:
    assert shares({}, 0, WIDTH) == []
    assert strip([]) == ""
    assert runs_of("") == []


def test_states_in_their_order_show_what_matters_most() -> None:
    assert runs_of("ddffw", width=5) == [("d", 2), ("f", 2), ("w", 1)]
    cells = runs_of("d" * 999 + "f" + "w" * 1000)
    assert sum(number for _, number in cells) == WIDTH
    assert ("f", 1) in cells
    assert View("f", done=2, total=4, states="ddww").cells == [("d", 2), ("w", 2)]


def test_a_sanitiser_leaves_map_and_table_whole() -> None:
    kept = clean_html(bars.html([VIEW]))
    # Its parser adds bodies to tables, which its own list does not have.
    kept = re.sub("&lt;/?tbody&gt;", "", kept)
    assert "&lt;t" not in kept
    assert "█" in kept
    assert "▚" in kept
    assert "<table" in kept
    assert "ValueError" in kept
    assert "<script" not in kept


def test_a_picture_is_well_formed_and_escapes() -> None:
    from xml.etree import ElementTree

    drawn = svg([(bars.text(VIEW), VIEW.cells)], FAILURES)
    root = ElementTree.fromstring(drawn)
    assert len(root.findall(".//{*}rect")) == len(VIEW.cells)
    assert any("<script>" in (text.text or "") for text in root.findall(".//{*}text"))


def test_what_stays_of_a_cell_is_small() -> None:
    many = tuple(FailureCount(f"Error{n}", n, "x" * 200) for n in range(30))
    views = [
        View("f" * 90, done=7, total=10, failed=2, elapsed=1, finished=True, failures=many) for _ in range(20)
    ]
    for shown in (views, views[: bars.MAPS]):
        assert (
            sum(len(part.encode()) for part in (bars.html(shown), bars.svg(shown), bars.listing(shown)))
            < 10_000
        )


def test_types_beyond_the_table_are_counted_together() -> None:
    found = rows(merged([[FailureCount(f"E{n}", n + 1, "m")] for n in range(picture.ROWS + 2)]))
    assert found[-1] == ("2 more types of error", "3", "")
    assert found[0] == ("E6", "7", "m")


def test_mishaps_fold_by_type_and_are_bounded() -> None:
    failure_counts = FailureCounts()
    for n in range(1000):
        failure_counts.add(ValueError(f"number {n}" + "x" * 1000))
    for n in range(KINDS + 10):
        failure_counts.add(type(f"E{n}", (Exception,), {})("m"))
    folded = failure_counts.folded()
    assert (folded[0].kind, folded[0].count) == ("ValueError", 1000)
    assert folded[0].message.startswith("number 0x")
    assert len(folded[0].message) < 250
    assert len(folded) == KINDS + 1
    assert next(one for one in folded if one.kind == OTHERS).count == 11
