"""A drawn loop, executed as a plain loop and as `%%pfor` in one shell, and what each leaves.

Fine when every name, and which of them are one object, is as after the plain loop. A loop that ends with a failure
has done what the items before it do. A refused one has changed nothing.
"""

from __future__ import annotations

import ast
import contextlib
import io
import itertools
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from cellmill import CellmillError
from cellmill.magics.accumulation import names_bound
from cellmill.magics.lines import UsageError
from tests.equality.forms import SharedForms
from tests.equality.loop_state import IMPORTS
from tests.equality.world import Difference

MISSING = ("no such name",)
HALF_DONE = "TypeError: 'tuple' object does not support item assignment"  # of `pair[1] += [x]`, which extends the list
MOST_ITEMS = 500
_DATA = ("int", "str", "float", "bool")
_COUNTED = "__counted__"


class EndlessError(Exception):
    """A plain loop that runs over what it makes longer."""


@dataclass
class End:
    """What a loop left: forms of all names, its error, how many items were begun."""

    names: dict[str, Any]
    kept: dict[str, Any]  # without those that the loop binds itself
    own: dict[str, Any]  # those
    said: str = ""
    error: BaseException | None = None
    begun: int = 0
    by_input: bool = False  # the error is the iterable's
    unsaid: set[str] = field(default_factory=set)  # names of which it was said that they are not right


class Counted:
    """The items of a plain loop, at most so many; whether it was the iterable that failed."""

    def __init__(self, items: Iterable[Any], most: int | None) -> None:
        self.begun, self.broken = 0, False
        self._items, self._most = items, most

    def __iter__(self) -> Iterator[Any]:
        items = iter(self._items)
        while self._most is None or self.begun < self._most:
            try:
                item = next(items)
            except StopIteration:
                return
            except Exception:
                self.broken = True
                raise
            self.begun += 1
            if self.begun > MOST_ITEMS:
                raise EndlessError
            yield item


class Loops:
    """Executes loops in the shell of this process."""

    def __init__(self) -> None:
        self.shell = InteractiveShell.instance()
        self.shell.run_line_magic("load_ext", "cellmill")
        self._hidden = set(self.shell.user_ns)
        self._cells = itertools.count(1)

    def answer(self, program: list[str]) -> Any:
        """None where both leave the same, {"refused": why}, or the `Difference`."""
        heads = [i for i, text in enumerate(program) if re.fullmatch(r"for .* in .*:", text)]
        if not heads or len(program) == heads[0] + 1:
            return None
        prepare, head, body = program[: heads[0]], program[heads[0]], program[heads[0] + 1 :]
        loop = Loop(prepare, head[len("for ") : -1], "\n".join(body))
        try:
            plain = self.plain(loop)
        except Exception:  # of what prepares it
            return None  # no program
        if isinstance(plain.error, EndlessError):
            return None
        real = self.parallel(loop)
        last = len(program) - 1
        if isinstance(real.error, (UsageError, SyntaxError, CellmillError)):
            found = differing(self.plain(loop, 0).names, real.names, set())
            return (
                Difference(last, "nothing is done of what is refused", f"{real.error}\n{found}")
                if found
                else {"refused": str(real.error)}
            )
        found = self._compared(loop, plain, real)
        return found and Difference(last, *found)

    def _compared(self, loop: Loop, plain: End, real: End) -> tuple[Any, Any] | None:
        error = error_of(real.error)
        notes = getattr(error, "__notes__", ())
        if any("handles it" in note or "are not made for this item" in note for note in notes):
            return None  # a change that failed after its item, and it is said what a plain loop does then
        if message(plain.error) != message(error):
            # an item that fails twice: its effects come after its own code, and so do their errors
            if plain.error is not None and failing(error) == plain.begun - 1:
                return None
            return message(plain.error), message(error)
        if message(plain.error) == HALF_DONE:
            return None  # what it has done of the item is seen from other names, too
        if plain.error is None or plain.by_input:
            return differing(plain.names, real.names, real.unsaid)
        if any("(?)" in note or "in itself is done" in note for note in notes):
            return None  # how far the item has come that an effect of failed depends on which, or it is said
        before = self.plain(loop, plain.begun - 1)  # what the items before the failing one leave
        begun = {name for name, form in real.kept.items() if repr(form) == repr(plain.kept.get(name))}
        found = differing(before.kept, real.kept, begun)
        if found:
            return found
        unbegun = self.plain(loop, 0).own  # objects among them may be items, which are changed all the same
        return differing(unbegun, real.own, {name for name, form in unbegun.items() if form[0] not in _DATA})

    def _run(self, loop: Loop, text: str, magic: bool, most: int | None) -> End:
        space = self.shell.user_ns
        for name in set(space) - self._hidden:
            del space[name]
        for each in (IMPORTS, *loop.prepare):
            exec(compile(each, f"<before {next(self._cells)}>", "exec"), space)
        counted: list[Counted] = []

        def count(items: Iterable[Any]) -> Counted:
            counted.append(Counted(items, most))
            return counted[0]

        error: BaseException | None = None
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            try:
                if magic:
                    self.shell.run_cell_magic("pfor", loop.head, loop.body)
                else:
                    code = compile(text, f"<loop {next(self._cells)}>", "exec")
                    space[_COUNTED] = count
                    exec(code, space)
            except Exception as caught:
                error = caught
        space.pop(_COUNTED, None)
        own = loop.names()
        kept, mine = self._names(lambda name: name not in own), self._names(lambda name: name in own)
        end = End(self._names(lambda name: True), kept, mine, err.getvalue(), error)
        end.unsaid = set(re.findall(r"%%pfor: (\w+) has not the loop's last value", end.said))
        if counted:
            end.begun, end.by_input = counted[0].begun, counted[0].broken
        return end

    def plain(self, loop: Loop, most: int | None = None) -> End:
        """The plain loop, or the first items of it."""
        return self._run(loop, loop.plain(), False, most)

    def parallel(self, loop: Loop) -> End:
        """The cell."""
        return self._run(loop, "", True, None)

    def _names(self, wanted: Callable[[str], bool]) -> dict[str, Any]:
        space = self.shell.user_ns
        forms = SharedForms(space)
        names = sorted(
            name for name in set(space) - self._hidden if not name.startswith("_") and wanted(name)
        )
        return {name: forms.form(space[name]) for name in names}


@dataclass(frozen=True)
class Loop:
    """`for HEAD: BODY`, after what prepares it."""

    prepare: list[str]
    head: str
    body: str

    def plain(self) -> str:
        tree = ast.parse(f"for {self.head}: pass").body[0]
        assert isinstance(tree, ast.For)
        target, items = ast.unparse(tree.target), ast.unparse(tree.iter)
        return f"for {target} in {_COUNTED}({items}):\n{textwrap.indent(self.body, '    ')}"

    def names(self) -> set[str]:
        """The names that the loop binds itself, as opposed to those that it accumulates."""
        tree = ast.parse(f"for {self.head}: pass\n{self.body}")
        return names_bound(tree.body, set())


def error_of(error: BaseException | None) -> BaseException | None:
    """The first failure of those that a cell raises at once."""
    return error.exceptions[0] if isinstance(error, ExceptionGroup) else error


def failing(error: BaseException | None) -> int | None:
    """The number of the item that an error says it is of."""
    notes = "\n".join(getattr(error, "__notes__", ()))
    found = re.search(r"%%pfor: item ([\d,]+) ", notes)
    return int(found[1].replace(",", "")) if found else None


def message(error: BaseException | None) -> str:
    return "no error" if error is None else f"{type(error).__name__}: {error}"


def differing(plain: dict[str, Any], real: dict[str, Any], without: set[str]) -> tuple[Any, Any] | None:
    """What is not the same of names, or None."""
    found = [
        (name, plain.get(name, MISSING), real.get(name, MISSING))
        for name in sorted((plain.keys() | real.keys()) - without)
        if repr(plain.get(name, MISSING)) != repr(real.get(name, MISSING))
    ]
    return (
        ([(name, one) for name, one, _ in found], [(name, other) for name, _, other in found])
        if found
        else None
    )
