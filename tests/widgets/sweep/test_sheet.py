"""What is drawn of a sweep: which points, which lines, and what is said of the rest."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as xml
from dataclasses import replace

import pytest

from cellmill_widgets.sweep import picture, plot
from cellmill_widgets.sweep.sheet import AxisView, Choice, RowView, Sheet, chart, first_choice

KIND = AxisView("kind", ("ridge", "lasso"), None, 0)
LR = AxisView("lr", ("0.001", "0.01", "0.1"), (0.001, 0.01, 0.1), 1)
COSINE = AxisView("cosine", ("False", "True"), None, 1, switch=True)


def sheet(*cells: object, failed: bool = False) -> Sheet:
    """Rows of kind, lr, cosine and the loss, in the order of a loop."""
    places = [(kind, lr, cosine) for kind in range(2) for lr in range(3) for cosine in range(2)]
    rows = tuple(
        RowView(at, ("", 0.0, "", cell), 100 - i, failed and cell is None)  # type: ignore[arg-type]
        for i, (at, cell) in enumerate(zip(places, cells, strict=False))
    )
    names = ("kind", "lr", "cosine", "loss")
    return Sheet("Sweep of f", "all done", (KIND, LR, COSINE), names, ("loss",), rows, False)


def test_numbers_go_along_and_a_short_axis_has_a_line_for_each_value() -> None:
    assert first_choice(sheet()) == Choice(1, 0, "loss", (0, 1, 1))


def test_lines_join_points_with_the_present_values_of_other_axes() -> None:
    drawn = chart(sheet(*range(12)), Choice(1, 0, "loss", (0, 1, 1)))
    ridge, lasso = drawn.lines
    assert (ridge.label, ridge.joined) == ("ridge", ((0.001, 1), (0.01, 3), (0.1, 5)))
    assert (lasso.label, lasso.joined) == ("lasso", ((0.001, 7), (0.01, 9), (0.1, 11)))
    assert len(drawn.dots()) == 12
    assert drawn.mark == (0.01, 3)
    assert (drawn.x, drawn.y, drawn.by, drawn.log) == ("lr", "loss", "kind", True)
    assert drawn.note == "Lines: cosine = True; dots: all points."


def test_what_is_no_number_is_a_gap_and_is_counted() -> None:
    drawn = chart(sheet(0.0, None, 1.0, math.nan, 2.0, "text"), Choice(1, 0, "loss", (0, 0, 0)))
    assert drawn.lines[0].joined == ((0.001, 0.0), (0.01, 1.0), (0.1, 2.0))
    assert "3 without a finite number in loss not drawn." in drawn.note
    failed = chart(sheet(0.0, 0.0, None, 1.0, 2.0, failed=True), Choice(1, 0, "loss", (0, 0, 0)))
    assert failed.lines[0].joined == ((0.001, 0.0), (0.01, None), (0.1, 2.0))
    assert "without" not in failed.note
    assert "L" in picture.svg(drawn)
    assert "L" not in picture.svg(failed)  # no line over the failure


def test_values_that_are_no_numbers_are_places_with_labels() -> None:
    drawn = chart(sheet(*range(12)), Choice(0, None, "loss", (0, 1, 1)))
    assert drawn.ticks == ("ridge", "lasso")
    assert drawn.lines[0].joined == ((0.0, 3), (1.0, 9))
    assert ">ridge</text>" in picture.svg(drawn)


def test_more_values_than_colours_are_dots_that_say_so() -> None:
    many = AxisView("n", tuple(map(str, range(14))), tuple(map(float, range(14))), 0)
    rows = tuple(RowView((n,), (float(n), 1.0), n, False) for n in range(14))
    found = Sheet("", "", (many,), ("n", "y"), ("y",), rows, False)
    drawn = chart(found, Choice(0, 0, "y", (0,)))
    assert len(drawn.lines) == 11
    assert (drawn.lines[-1].label, len(drawn.lines[-1].dots)) == ("4 more values", 4)


@pytest.mark.parametrize("cells", [(), (1.0,), (1.0, 1.0, 1.0), (1e300, -1e300, 0.0), (5,) * 12])
def test_the_picture_is_well_formed(cells: tuple[float, ...]) -> None:
    drawn = chart(sheet(*cells), first_choice(sheet()))
    found = picture.svg(drawn)
    assert ("nan" in found, "inf" in found) == (False, False)
    if cells:
        xml.fromstring(found)
    else:
        assert found == ""


def test_html_escapes_and_tells_how_many_rows_there_are() -> None:
    made = sheet(*range(12))
    evil = replace(made, title="<script>", rows=made.rows * 3, names=("<b>", "lr", "cosine", "loss"))
    found = picture.html(evil, first_choice(made), "a < b")
    assert "<script>" not in found
    assert "a &lt; b" in found
    assert "The newest 20 of 36 results." in found


def test_the_figure_has_a_source_for_each_set_of_data_and_all_of_it_is_json() -> None:
    pytest.importorskip("bokeh")
    made = sheet(0.0, 1.0, None, math.inf, 10**20, "text", failed=True)
    drawn = chart(made, first_choice(made))
    text = json.dumps(plot.figure(drawn))
    assert all(f'"{name}"' in text for name in plot.data(drawn))
    table = plot.table(made, first_choice(made))
    json.loads(json.dumps(table, allow_nan=False))
    assert [row["cells"][3] for row in table["rows"]] == [0.0, 1.0, None, "inf", str(10**20), "text"]
    assert [row["newest"] for row in table["rows"]] == [True, *[False] * 5]
    assert plot.shape(drawn) == plot.shape(
        chart(sheet(1.0), first_choice(made))
    )  # it grows without a new figure
