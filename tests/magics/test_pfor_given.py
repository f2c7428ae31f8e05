"""What items of `%%pfor` give to things of the notebook is as it was when they gave it, or the loop is refused."""

from __future__ import annotations

import pytest

from tests.support.notebook import Notebook

CLASSES = """
import copy, csv, io
class Point:
    def __init__(self, x): self.x, self.tags = x, []
    def __hash__(self): return hash(self.x)
    def __eq__(self, other): return self.x == other.x
    def __gt__(self, other): return self.x > other.x
class Sum:
    def __init__(self): self.total, self.points = 0, []
    def add(self, point):
        self.total += point.x
        self.points.append(point)
def begin():
    global points, rows, total, seen, best, text, table
    points, rows = [Point(x) for x in range(4)], [{"a": x, "b": []} for x in range(4)]
    total, seen, best, text = Sum(), set(), Point(0), io.StringIO()
    table = csv.DictWriter(text, ["a", "b"])
def told():
    own = [any(each is point for point in points) for each in [best, *seen, *total.points]]
    held = [Point(x) in seen for x in range(20)]
    return total.total, own, held, best.x, text.getvalue(), [p.x for p in points], rows
"""
BODIES = {
    "a method of a class of the notebook": ("p in points", "p.x += 10\ntotal.add(p)"),
    "a set": ("p in points", "p.x += 10\nseen.add(p)"),
    "the largest": ("p in points", "p.x = 10 - p.x\nbest = max(best, p)"),
    "a row of a table": ("row in rows", "row['b'].append(row['a'])\ntable.writerow(row)"),
    "what an item makes": ("x in range(4)", "p = Point(x)\np.x += 1\ntotal.add(p)"),
    "a copy": ("p in points", "total.add(copy.deepcopy(p))\np.x += 10"),
}
LATE = {
    "an item": ("p in points", "total.add(p)\np.x += 10"),
    "what an item makes": ("x in range(4)", "p = Point(x)\ntotal.add(p)\np.x += 1"),
    "deep inside": ("p in points", "seen.add(p)\np.tags.append(1)"),
}


@pytest.mark.parametrize("case", BODIES)
def test_what_was_changed_before(kernel: Notebook, case: str) -> None:
    head, body = BODIES[case]
    kernel.run(f"{CLASSES}begin()").ok()
    indented = body.replace("\n", "\n    ")
    kernel.run(f"for {head}:\n    {indented}\nexpected = told()\nbegin()").ok()
    kernel.run(f"%%pfor {head}\n{body}").ok()
    assert kernel.value("told() == expected or (told(), expected)") == "True"


@pytest.mark.parametrize("case", LATE)
def test_what_is_changed_afterwards(kernel: Notebook, case: str) -> None:
    head, body = LATE[case]
    kernel.run(f"{CLASSES}begin()\nexpected = told()").ok()
    output = kernel.run(f"%%pfor {head}\n{body}")
    assert "is changed by the item afterwards" in output.traceback
    assert output.pointed_at() in body.splitlines()
    assert kernel.value("told() == expected") == "True"


def test_containers_keep_what_is_changed_afterwards(kernel: Notebook) -> None:
    kernel.run(f"{CLASSES}begin()\nkept, by = [], {{}}").ok()
    kernel.run(
        "%%pfor p in points\nkept.append(p)\nby[p.x] = p\nby.setdefault('all', []).append(p)\np.tags.append(1)"
    ).ok()
    assert kernel.value("all(a is b for a, b in zip(kept, points)), by['all'] == kept") == "(True, True)"
    assert kernel.value("[p.tags for p in kept], by[2] is kept[2]") == "([[1], [1], [1], [1]], True)"
