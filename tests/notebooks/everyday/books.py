"""Notebooks as people write them, each in a file of its own, and their plain versions, made of the same cells.

A file has a title, a line ``# compare: names`` of the variables whose values must be the same at the end, and its
cells, each below a line ``# %%``. ``# %% printed``: what the cell prints is compared, too.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

FOLDER = Path(__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.ipy"))
_CELL = re.compile(r"^# %%(.*)\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Book:
    """The cells of a notebook, which of them print what is compared, and the variables that are compared."""

    name: str
    cells: tuple[str, ...]
    printed: frozenset[int]
    compared: tuple[str, ...]


def read(name: str) -> Book:
    """The notebook of a file in this folder."""
    head, *parts = _CELL.split((FOLDER / f"{name}.ipy").read_text())
    compared = re.search(r"^# compare: (.*)$", head, re.MULTILINE)
    assert compared is not None, f"{name}.ipy has no line # compare:"
    cells = tuple(text.strip() for text in parts[1::2])
    printed = frozenset(number for number, mark in enumerate(parts[::2]) if mark.strip() == "printed")
    return Book(name, cells, printed, tuple(word.strip() for word in compared[1].split(",")))


def document(cells: list[str]) -> Any:
    """A notebook document of these cells."""
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])


def plain(cell: str) -> str:
    """A cell without Cellmill: the same lines, executed one after another by the notebook itself."""
    first, _, body = cell.partition("\n")
    magic = re.match(r"%%(parallel|pfor|task)\b(.*)", first)
    if magic is not None:
        return {"parallel": _functions, "pfor": _loop, "task": _at_once}[magic[1]](magic[2].strip(), body)
    if first == "%load_ext cellmill":
        cell = f"import sys\nsys.path.insert(0, {str(FOLDER)!r})\nimport stand_in\n{body}"
    cell = re.sub(r"^%cellmill .*$", "pass", cell, flags=re.MULTILINE)
    return re.sub(r"^import cellmill$", "import stand_in as cellmill", cell, flags=re.MULTILINE)


def _functions(options: str, body: str) -> str:
    lines = body.splitlines()
    batch = ", batch=True" if "--batch" in options else ""
    for node in reversed(ast.parse(body).body):
        yields = any(isinstance(each, (ast.Yield, ast.YieldFrom)) for each in ast.walk(node))
        if isinstance(node, ast.FunctionDef) and not yields:
            above = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            lines.insert(above - 1, f"@stand_in.parallel(name={node.name!r}{batch})")
    return "\n".join(lines)


def _loop(line: str, body: str) -> str:
    """The `for` statement of a `%%pfor` cell; its last expression is kept."""
    heading, _, out = line.partition("->")
    out = out.strip() or "_values"
    tree = ast.parse(body)
    value = ast.unparse(tree.body.pop()) if isinstance(tree.body[-1], ast.Expr) else "None"
    inner = [*ast.unparse(tree).splitlines(), f"_kept.append({value})"]
    lines = ["_kept = []", f"for {heading.strip()}:", *(f"    {each}" for each in inner), f"{out} = _kept"]
    return "\n".join(lines)


def _at_once(line: str, body: str) -> str:
    """A `%%task` cell executed in place; its name is a future of its last expression."""
    tree = ast.parse(body)
    value = ast.unparse(tree.body.pop()) if isinstance(tree.body[-1], ast.Expr) else "None"
    return f"{ast.unparse(tree)}\n{line.split()[0]} = stand_in.over(lambda: {value})"
