"""Which runs are alike, so that only chance and their arguments make them differ; and whether a function's code is the
same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import CodeType

from ..history import RunRecord

__all__ = ["alike", "same_code"]


def alike(runs: Sequence[RunRecord], past: Iterable[RunRecord]) -> list[list[RunRecord]]:
    """Return for each run those that are like it, with itself but without the others of ``runs``: whether these differ
    by more than chance is what is asked. One that is like an earlier one of ``runs`` has no group of its own.
    """
    groups: list[list[RunRecord]] = []
    for at, run in enumerate(runs):
        if not any(_is_like(earlier, run) for earlier in runs[:at]):
            asked = {other.id for other in runs} - {run.id}
            groups.append([other for other in past if other.id not in asked and _is_like(run, other)])
    return groups


def _is_like(run: RunRecord, other: RunRecord) -> bool:
    """Whether only chance, and the arguments, may have made a difference."""
    mine, theirs = run.figures, other.figures
    if mine is None or theirs is None or not mine.workers or run.failed or run.cancelled:
        return run.id == other.id
    return (
        (run.name, run.submitted, other.failed, other.cancelled) == (other.name, other.submitted, 0, 0)
        and (mine.backend, mine.size) == (theirs.backend, theirs.size)
        and abs(mine.workers - theirs.workers) < 0.1 * mine.size  # none that waited for their start
        and _does_the_same(run.code, other.code) is not False
    )


def same_code(before: set[CodeType | None], after: set[CodeType | None]) -> bool | None:
    """Whether both have one function's code each, and it is the same; None: not known, or several."""
    if len(before) != 1 or len(after) != 1:
        return None
    return _does_the_same(before.pop(), after.pop())


def _does_the_same(one: CodeType | None, other: CodeType | None) -> bool | None:
    """Whether two functions do the same, wherever they were defined; what they call is not compared."""
    if one is None or other is None:
        return None
    if one is other:
        return True
    return _essence(one) == _essence(other)


def _essence(code: CodeType) -> tuple[object, ...]:
    """What of code is not its place in a file."""
    constants = tuple(map(_constant, code.co_consts))
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    return (code.co_code, constants, names, counts)


def _constant(value: object) -> object:
    if isinstance(value, CodeType):
        return _essence(value)
    return value if isinstance(value, frozenset) else (type(value), repr(value))  # 1 is no True
