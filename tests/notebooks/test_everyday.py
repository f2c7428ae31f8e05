"""Notebooks as people write them come to the same values as their plain versions, in real kernels."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.notebooks.everyday import books

pytestmark = pytest.mark.notebook
for _name in ("matplotlib", "pandas", "scipy", "sklearn"):
    pytest.importorskip(_name)
QUICK = ("asynchronous", "closures", "loops")
"""Those that every run of the tests executes; the others take a minute or two together."""


def _outcome(executed: Any, book: books.Book, cells: list[str]) -> tuple[dict[str, str], list[str]]:
    """The forms of the variables at the end of a notebook, and what its marked cells printed."""
    form = f"import sys, json; sys.path.insert(0, {str(books.FOLDER)!r}); from forms import form_of\n"
    ask = f"{form}print(json.dumps({{name: form_of(globals()[name]) for name in {book.compared!r}}}))"
    document = books.document([*cells, ask])
    executed(document, 120)
    texts = ["".join(each.text for each in cell.outputs if _is_printed(each)) for cell in document.cells]
    return json.loads(texts[-1]), [texts[number] for number in sorted(book.printed)]


def _is_printed(output: Any) -> bool:
    return output.output_type == "stream" and output.name == "stdout"


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in books.NAMES]
)
def test_a_notebook_and_its_plain_version_come_to_the_same(name: str, executed: Any) -> None:
    book = books.read(name)
    expected, printed = _outcome(executed, book, [books.plain(cell) for cell in book.cells])
    found, shown = _outcome(executed, book, list(book.cells))
    assert found == expected
    assert shown == printed
    assert set(found) == set(book.compared)


def test_what_notebooks_say_of_cellmill_is_taken_out() -> None:
    for name in books.NAMES:
        for cell in map(books.plain, books.read(name).cells):
            assert "%%" not in cell
            assert "cellmill" not in cell.replace("stand_in as cellmill", "").replace("cellmill.", "")
