"""Notebooks as people write them come to the same values as their plain versions, in real kernels."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.notebooks.everyday import books

pytestmark = pytest.mark.notebook
for _name in ("matplotlib", "pandas", "scipy", "sklearn"):
    pytest.importorskip(_name)
QUICK = ("asynchronous", "closures", "loops")
"""Those that every run of the tests executes; the others take a minute or two together."""
Outcome = tuple[dict[str, str], list[str]]
"""The forms of the variables at the end of a notebook, and what its marked cells printed."""


def _outcomes(executed: Any, read: list[books.Book], version: Callable[[str], str]) -> Iterator[Outcome]:
    """What each notebook came to; they share a kernel, and begin without the variables of the one before."""
    form = f"import sys, json; sys.path.insert(0, {str(books.FOLDER)!r}); from forms import form_of\n"
    cells: list[str] = []
    for book in read:
        ask = f"{form}print(json.dumps({{name: form_of(globals()[name]) for name in {book.compared!r}}}))"
        cells += ["%reset -f", *map(version, book.cells), ask]
    document = books.document(cells)
    executed(document, 120)
    texts = ["".join(each.text for each in cell.outputs if _is_printed(each)) for cell in document.cells]
    for book in read:
        _reset, *own, forms = (texts.pop(0) for _ in range(len(book.cells) + 2))
        yield json.loads(forms), [own[number] for number in sorted(book.printed)]


def _is_printed(output: Any) -> bool:
    return output.output_type == "stream" and output.name == "stdout"


OTHERS = [pytest.param((name,), marks=pytest.mark.long) for name in books.NAMES if name not in QUICK]


@pytest.mark.parametrize("names", [QUICK, *OTHERS], ids=",".join)
def test_a_notebook_and_its_plain_version_come_to_the_same(names: tuple[str, ...], executed: Any) -> None:
    read = [books.read(name) for name in names]
    expected, found = list(_outcomes(executed, read, books.plain)), list(_outcomes(executed, read, str))
    for book, plain, own in zip(read, expected, found, strict=True):
        assert own == plain, book.name
        assert set(own[0]) == set(book.compared), book.name


def test_what_notebooks_say_of_cellmill_is_taken_out() -> None:
    for name in books.NAMES:
        for cell in map(books.plain, books.read(name).cells):
            assert "%%" not in cell
            assert "cellmill" not in cell.replace("stand_in as cellmill", "").replace("cellmill.", "")
