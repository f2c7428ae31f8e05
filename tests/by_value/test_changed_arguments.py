"""Arguments that a function changes in place are said at its definition: its tasks change copies."""

from __future__ import annotations

import linecache
import types
import warnings
from typing import Any

import pytest

import cellmill
from cellmill.by_value.changed_arguments import changed_arguments
from cellmill.diagnostics import notices


def defined(source: str) -> types.FunctionType:
    """The last function of a text that has lines, as those of a cell have."""
    file = f"<cell {abs(hash(source))}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, file, "exec"), space)
    return [each for each in space.values() if type(each) is types.FunctionType][-1]


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        ("rows[0] = n", {"rows": (2, "rows[0] = n")}),
        ("rows[0][n].total += 1\n return n", {"rows": (2, "rows[0][n].total += 1")}),
        ("del rows[n]", {"rows": (2, "del rows[n]")}),
        ("rows.left, other = 1, 2", {"rows": (2, "rows.left, other = (1, 2)")}),
        ("if n:\n  rows.append(n)\n  rows.sort()", {"rows": (3, "rows.append(n)")}),
        ("last = rows.pop()\n return last", {"rows": (2, "last = rows.pop()")}),
        ("rows.drop('a', inplace=True)", {"rows": (2, "rows.drop('a', inplace=True)")}),
        ("np.add(rows, 1, out=rows)", {"rows": (2, "np.add(rows, 1, out=rows)")}),
        ("random.shuffle(rows)\n return rows[0]", {"rows": (2, "random.shuffle(rows)")}),
        (
            "rows[0] = 1\n n.append(2)\n return len(rows)",
            {"rows": (2, "rows[0] = 1"), "n": (3, "n.append(2)")},
        ),
        ("rows[0] = 1\n return rows", {}),
        ("rows[0] = 1\n return n, {'rows': rows}", {}),
        ("rows[0] = 1\n yield rows", {}),
        ("rows = rows.copy()\n rows[0] = 1", {}),
        ("for rows in n: rows.append(1)", {}),
        ("more['a'] = 1\n more.pop('b', 0)\n kept[n] = 1", {}),
        ("def inner(rows): rows.append(1)\n inner([])", {}),
        ("mine = list(rows)\n mine.append(n)", {}),
        ("rows.sum()\n return rows.add", {}),
        ("self.total += n", {}),
    ],
)
def test_what_is_changed(body: str, changed: dict[str, tuple[int, str]]) -> None:
    assert changed_arguments(defined(f"def f(self, rows, n, kept={{}}, **more):\n {body}\n")) == changed


def test_functions_without_a_source_are_not_read() -> None:
    space: dict[str, Any] = {}
    exec("def f(rows): rows.append(1)", space)
    assert changed_arguments(space["f"]) == {}
    assert changed_arguments(lambda rows: rows.append(1)) == {}


def test_it_is_said_once_and_not_of_kernel_objects() -> None:
    notices.forget()
    function = defined("def fill(table, k):\n table[k] = 1\n table.update(b=2)\n")
    said = r"fill changes its argument table in place \(line 2: table\[k\] = 1\)\. A task has a copy of it"
    with pytest.warns(RuntimeWarning, match=said):
        cellmill.parallel(function)
    with warnings.catch_warnings(), cellmill.Executor(2, backend="threads") as threads:
        warnings.simplefilter("error")
        cellmill.parallel(function)
        notices.forget()
        cellmill.parallel(executor=threads)(function)
        table: dict[Any, Any] = {}
        cellmill.parallel(executor=threads)(function)(table, "a").result(60)
        assert table == {"a": 1, "b": 2}


def test_a_source_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    function = cellmill.parallel(defined("def tune(x, step):\n return x * step\n"))
    monkeypatch.setattr("inspect.getsourcelines", lambda _: pytest.fail("it is read again"))
    assert function.options(priority=3).options(retries=2).name == "tune"
