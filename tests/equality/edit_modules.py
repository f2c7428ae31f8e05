"""Modules of a user's own, drawn at random, and the expressions by which a notebook uses them."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from tests.equality.world import MODULE

NAMES = tuple(f"{MODULE}{end}" for end in ("a", "b", "pk", "pk.sub", "pk.up"))
PACKAGE = f"{MODULE}pk"
_DECORATED = """
import functools
def wrapping(g):
    @functools.wraps(g)
    def wrapper(*args):
        return ($n, g(*args))
    return wrapper
def bare(g):
    def wrapper(*args):
        return (g(*args), K)
    return wrapper
@wrapping
def wrapped(x):
    return x, $n
@bare
def decorated(x):
    return x, $n
"""
_CLASS = """
class C:
    rate = $n
    def __init__(self, v=1):
        self.v = v
    def of(self, x):
        $within
        return ('C', $n, self.rate, self.v, x, $reads)
    @property
    def p(self):
        return K, $n
"""
_DATA_CLASS = """
import dataclasses
@dataclasses.dataclass
class D:
    v: int = $n
    def of(self, x):
        return ('D', $n, self.v, x)
"""
_OTHERS = {  # what else a module defines
    "E": "import enum\nclass E(enum.Enum):\n    ONE = $n\n    TWO = 'two'",
    "make": "import collections\nN = collections.namedtuple('N', 'x y')\ndef make(x):\n    return N(x, $n)",
    "err": "class Bad(Exception):\n    pass\ndef err(x):\n    raise Bad(x, $n)",
    "p": "import functools\ndef _p(a, x):\n    return a, x, K\np = functools.partial(_p, $n)",
    "add": "def make_adder(k):\n    def adder(x):\n        return x + k, K, $n\n    return adder\nadd = make_adder($n)",
}
PARTS = {  # by one of the names that they define
    "f": "def f(x):\n    $within\n    return ('f', $n, x, $reads)",
    "g": "def g(x, y=$n):\n    return ('g', x, y, K)",
    "lam": "lam = lambda x: (x, K, $n)",
    "cached": "import functools\n@functools.cache\ndef cached(x):\n    return x, $n",
    "C": _CLASS,
    "D": _DATA_CLASS,
    "decorated": _DECORATED,
    **_OTHERS,
}
USES = {  # expressions over what a module $m defines, by these
    "f": ("$m.f($x)",),
    "g": ("$m.g($x)", "$m.g($x, y=3)"),
    "lam": ("$m.lam($x)",),
    "cached": ("$m.cached($x)",),
    "C": ("$m.C().of($x)", "$m.C(5).of($x)", "$m.C.rate", "$m.C().p", "$m.C($x)"),
    "D": ("$m.D()", "$m.D($x).of(1)", "$m.D().of($x)"),
    "decorated": ("$m.decorated($x)", "$m.wrapped($x)"),
    "E": ("$m.E.ONE", "$m.E.ONE.value", "$m.E('two') is $m.E.TWO"),
    "make": ("$m.make($x)", "$m.N($x, 2)", "type($m.make($x)) is $m.N"),
    "err": ("$m.err($x)",),
    "p": ("$m.p($x)",),
    "add": ("$m.add($x)", "$m.make_adder($x)(2)"),
    "K": ("$m.K",),
    "TABLE": ("$m.TABLE", "len($m.TABLE)"),
}
FUNCTIONS = frozenset(("f", "g", "lam", "cached", "decorated", "make", "p", "add"))


@dataclass
class Module:
    """``parts``: what each version of it defines, as what a file loses stays in the kernel, and not in workers."""

    name: str
    parts: list[str]
    folder: str = "one"
    has: list[str] = field(default_factory=list)

    @property
    def file(self) -> str:
        inside = self.name.replace(".", "/") + ("/__init__" if self.name == PACKAGE else "")
        return f"{self.folder}/{inside}.py"


class Modules:
    """Those of one notebook."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._number = 0
        kinds = rng.sample(sorted(PARTS), rng.randint(1, 4))
        some = {*rng.sample(NAMES, rng.randint(1, 3))}
        if any(name.startswith(f"{PACKAGE}.") for name in some):
            some.add(PACKAGE)
        drawn = ([kind for kind in kinds if rng.random() < 0.9] for _ in NAMES)
        self.all = {
            name: Module(name, parts, has=["K", "TABLE", *parts])
            for name, parts in zip(NAMES, drawn, strict=True)
            if name in some
        }

    def number(self) -> str:
        """One that no other part of the notebook has."""
        self._number += 1
        return str(self._number)

    def any(self) -> Module:
        return self._rng.choice(list(self.all.values()))

    def text(self, module: Module) -> str:
        """Its text, with other numbers and imports each time."""
        rng = self._rng
        lines, reads, within = list[str](), ["K", *rng.choice(([], [], ["TABLE"]))], "pass"
        for other in self._below(module):
            if rng.random() < 0.6:
                self._import(module, other, lines, reads)
        late = self.any()
        if late is not module and rng.random() < 0.3:
            within = f"import {late.name} as late"
            reads.append("late.K")
        for part in ("K = $n", "TABLE = [$n]", *(PARTS[name] for name in module.parts)):
            lines.append(part.replace("$within", within).replace("$reads", ", ".join(reads)))
        pieces = "\n".join(lines).split("$n")
        return "".join(piece + self.number() for piece in pieces[:-1]) + pieces[-1] + "\n"

    def _below(self, module: Module) -> list[Module]:
        """Modules that it may import at its top: no other order, so that all imports succeed."""
        order = [name for name in (NAMES[0], NAMES[1], NAMES[3], NAMES[4], NAMES[2]) if name in self.all]
        return [self.all[name] for name in order[: order.index(module.name)]]

    def _import(self, module: Module, other: Module, lines: list[str], reads: list[str]) -> None:
        last = other.name.rpartition(".")[2]
        start = f"from {other.name} import"
        if PACKAGE in module.name and PACKAGE in other.name and self._rng.random() < 0.5:
            start = f"from .{last} import"
        ways = {f"import {other.name} as {last}_": f"{last}_.K", f"{start} K as K_{last}": f"K_{last}"}
        if "f" in other.parts:
            ways[f"{start} f as f_{last}"] = f"f_{last}(1)"
        if "decorated" in other.parts:
            ways[f"{start} decorated as d_{last}"] = f"d_{last}(1)"
        if "C" in other.parts:
            ways[f"{start} C as C_{last}"] = f"C_{last}().of(2)"
            below = f"\nclass Sub_{last}(C_{last}):\n    def of(self, x):\n        return super().of(x), $n"
            ways[f"{start} C as C_{last}{below}"] = f"Sub_{last}().of(1)"
        if module.name == PACKAGE:
            ways[f"{start} *"] = "K"
        way = self._rng.choice(list(ways))
        lines.append(way)
        reads.append(ways[way])
