"""Loops drawn at random: statements before, `for HEAD:`, and the statements of its body, each by itself."""

from __future__ import annotations

import re
import textwrap
from random import Random

from tests.equality.draw import Statement
from tests.equality.loop_state import HEADS, THINGS

_OWN = ("[$i]", "own", "{'k': [$i]}", "[own]")
_CONDITIONS = ("$i % 2", "$i > 3", "$i == 4", "not $i % 3", "$e", "$i in (1, 5)")


class Drawing:
    """One loop that grows statement by statement."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.head = rng.choice(HEADS if rng.random() < 0.7 else HEADS[:2])
        self.made: list[str] = []
        self.sure: list[str] = []  # names that the item has bound so far
        self.calm = rng.random() < 0.7  # reads nothing that it changes, as far as easily told
        self.things = rng.sample(list(THINGS), rng.choice((1, 2, 2, 3, 4)))
        for name in self.head.needs:
            self.want(name)
        for name in self.things:
            self.want(name)

    def want(self, name: str) -> None:
        thing = THINGS[name]
        for needed in thing.needs:
            self.want(needed)
        if thing.make not in self.made:
            self.made.append(thing.make)

    # -- expressions

    def fill(self, text: str) -> str:
        """Put expressions for the marks of a template."""
        forms = {"i": self.small, "e": self.value, "e2": self.several, "e3": self.small, "k": self.key}
        forms |= {"own": self.own, "own2": self.several}
        while (found := re.search(r"\$([a-z]+[0-9]?)", text)) is not None:
            text = text[: found.start()] + forms[found[1]]() + text[found.end() :]
        return text

    def small(self) -> str:
        return self.head.i if self.rng.random() < 0.8 else f"({self.head.i} + {self.rng.randint(1, 3)})"

    def key(self) -> str:
        return self.rng.choice((f"str({self.head.i} % 3)", "'ab'[$i % 2]", "'a'", "str($i)[0]"))

    def own(self) -> str:
        name = self.rng.choice([n for n in self.sure if n.startswith("own")] or ["[$i]"])
        return self.rng.choice((name, name, "[$i, [$i]]"))

    def several(self) -> str:
        return self.rng.choice(
            (
                "[$i, 1]",
                "(j for j in range($i % 3))",
                "range($i % 4)",
                "'xy'",
                "{$i: 1}.keys()",
                "$own",
                "(1, [$i])",
            )
        )

    def value(self) -> str:
        """An expression of any kind."""
        draw = self.rng.random()
        if draw < 0.12 and self.head.values:
            return self.rng.choice(self.head.values)
        if draw < 0.3 and self.sure:
            return self.rng.choice(self.sure)
        if draw < 0.36 and not self.calm:
            thing = THINGS[self.rng.choice(self.things)]
            if thing.reads:
                return self.rng.choice(thing.reads).format(thing.name)
        if draw < 0.38:
            return self.rng.choice(("scale", "words[$i % 3]", "words"))
        forms = ("$i", "$i * 0.1", "f($i)", "str($i)", "[$i]", "($i, $k)", "{$k: $i}", "math.sin($i)", "-$i")
        more = (
            "(big := $i * 2)",
            "[j for j in range($i % 3)]",
            "$i if $i % 2 else None",
            "np.float32($i)",
            "{$i}",
        )
        return self.rng.choice(forms * 2 + more)

    # -- statements

    def statement(self, depth: int = 0) -> str:
        """One statement, filled."""
        draw = self.rng.random()
        if draw < 0.55:
            return self.effect()
        if draw < 0.72 or depth > 1:
            return self.local()
        if draw < 0.93:
            return self.block(depth)
        return self.fill(self.rng.choice(self.ends))

    ends = (
        *(
            "if $i == 4: raise ValueError('bad', $i)",
            "1 / ($i - 5)",
            "assert $i != 3, $i",
            "if $i == 2: continue",
        ),
        *("if $i == 3: break", "if $i % 3 == 1: continue", "int('7' if $i != 6 else 'x')"),
        *("undefined if $i == 5 else 0", "if $i == 7: break"),
    )

    def effect(self) -> str:
        if self.head.effects and self.rng.random() < 0.35:
            return self.fill(self.rng.choice(self.head.effects))
        thing = THINGS[self.rng.choice(self.things)]
        if not thing.effects:
            return self.fill(f"y = {self.rng.choice(thing.reads)}".format(thing.name))
        return self.fill(self.rng.choice(thing.effects).format(thing.name))

    def local(self) -> str:
        """A name of the body's own."""
        forms = (
            "y = $e",
            "z = [$e]",
            "own = [$i]",
            "y, z = $e, $i",
            "own2 = {$k: $e}.copy()",
            "y = z = $e",
            "*more, y = $e, $i",
        )
        forms += (
            "t: float = $e",
            "import math as maths",
            "def g(v): return v + $i",
            "z = sorted([$i, 2, 1])",
            "y = 0\ny += $i",
        )
        forms += ("own.append($e)", "own += [$i]", "own[0] = $i") if "own" in self.sure else ()
        forms += ("del y",) if "y" in self.sure else ("ownd = {}", "x = $i")
        text = self.fill(self.rng.choice(forms))
        names = re.findall(r"^(y|z|own2|ownd|own|t) = |^(y), z = ", text, re.MULTILINE)
        self.sure += [one or other for one, other in names]
        if text == "del y":
            self.sure = [name for name in self.sure if name != "y"]
        return text

    def block(self, depth: int) -> str:
        """A compound statement; what it binds is not sure afterwards."""
        before = list(self.sure)
        inner = textwrap.indent(
            "\n".join(self.statement(depth + 1) for _ in range(self.rng.randint(1, 2))), "    "
        )
        self.sure = list(before)
        second = textwrap.indent(self.statement(depth + 1), "    ")
        self.sure = before
        twice, second_twice = textwrap.indent(inner, "    "), textwrap.indent(second, "    ")
        condition = self.fill(self.rng.choice(_CONDITIONS))
        return self.rng.choice(
            (
                f"if {condition}:\n{inner}",
                f"if {condition}:\n{inner}\nelse:\n{second}",
                f"for j in range({self.small()} % 4):\n{inner}",
                f"for j in range(3):\n    if j == 1: continue\n{inner}\n    break\nelse:\n{second}",
                f"try:\n{inner}\n    1 / ({self.small()} % 3)\nexcept ZeroDivisionError as error:\n{second}",
                f"try:\n{inner}\nfinally:\n{second}",
                f"with contextlib.suppress(ZeroDivisionError):\n{inner}\n    1 / ({self.small()} % 2)\n{second}",
                f"match {self.small()} % 3:\n    case 0:\n{twice}\n    case n:\n{second_twice}",
                f"left = 2\nwhile left:\n    left -= 1\n{inner}",
            )
        )


def drawn(seed: int) -> list[Statement]:
    """The loop of a seed."""
    rng = Random(seed)
    drawing = Drawing(rng)
    body = [drawing.statement() for _ in range(rng.choice((1, 2, 2, 3, 3, 4, 6)))]
    before = [*drawing.made, *filter(None, [drawing.head.make])]
    if rng.random() < 0.3:  # its names are there from an earlier run
        target, _, items = drawing.head.text.partition(" in ")
        earlier = textwrap.indent("\n".join(body), "    ")
        before.append(f"for {target} in itertools.islice({items}, 4):\n{earlier}")
    texts = [*before, f"for {drawing.head.text}:", *body]
    return [Statement(text, frozenset()) for text in texts]
