"""A failing program without the statements that its failure does not need."""

from __future__ import annotations

from collections.abc import Callable

from tests.equality.draw import Statement
from tests.equality.world import Difference

MOST_TRIED = 150
Check = Callable[[list[str]], Difference | None]


def texts(program: list[Statement]) -> list[str]:
    return [statement.text for statement in program]


def _alike(found: Difference | None, before: Difference) -> bool:
    """Whether a smaller program fails for the same reason: not because it lacks what it needs."""
    if found is None:
        return False
    lacks = (
        "'NameError'" in f"{found.plain}{found.real}" and "'NameError'" not in f"{before.plain}{before.real}"
    )
    failed = [str(d.real).startswith("('error'") for d in (found, before)]
    return not lacks and failed[0] == failed[1] and (found.statement < 0) == (before.statement < 0)


def shrunk(program: list[Statement], found: Difference, check: Check) -> tuple[list[Statement], Difference]:
    """Drop statements, many at once and then each by itself, as long as the program fails alike."""
    tried = 0
    if found.statement >= 0:
        program = program[: found.statement + 1]
    size = max(1, len(program) // 2)
    while size:
        start = len(program) - size
        while start > -size and tried < MOST_TRIED:
            smaller = program[: max(start, 0)] + program[max(start, 0) + size :]
            tried += 1
            again = check(texts(smaller)) if smaller and len(smaller) < len(program) else None
            if _alike(again, found):
                assert again is not None
                program, found = smaller, again
            start -= size
        size = size // 2 if size > 1 else 0
    return program, found
