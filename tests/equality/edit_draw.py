"""Notebooks drawn at random that use modules of their user's own, which are edited, loaded again, moved and deleted."""

from __future__ import annotations

from random import Random

from tests.equality.draw import Statement
from tests.equality.edit_modules import FUNCTIONS, USES, Module, Modules
from tests.equality.world import MODULE

_OWN_CLASS = """
class Own$f:
    size = $n
    def value(self, x):
        return self.size, $b
def $f(x):
    return Own$f().value(x)
"""
_DEFINITIONS = (  # of functions $f: the name's letter, the text
    ("h", "def $f(x):\n    $within\n    return $b"),
    ("h", _OWN_CLASS),
    ("p", "%%parallel\ndef $f(x):\n    $within\n    return $b"),
    ("p", "@cellmill.parallel\ndef $f(x):\n    return $b"),
    ("p", "@cellmill.parallel(memo=True)\ndef $f(x):\n    return $b"),
    ("p", "$f = cellmill.parallel($h)"),
)
_CALLS = (  # of a parallel function $p, a plain one $h, or with a body $b; $t: a new name
    *("see($p($x).result())", "see(list($p.map(range($x, 4))))", "$t = $p($x)"),
    *("see(ex.submit($h, $x).result())", "see(list(ex.map($h, range($x, 4))))", "$t = ex.submit($h, $x)"),
    "see(ex.submit(lambda g, x: g(x), $h, $x).result())",
    "see(ex.submit(lambda x: $b, $x).result())",
    "x = $x\nsee($b)",
    "%%pfor x in range(2) -> out\n$b",
    "%%task $t\n$b",
    "@cellmill.per_worker\ndef tool():\n    x = $x\n    return $b\nsee(ex.submit(lambda: tool()).result())",
    "see(swept(lambda x=1: $b, x=[1, 2]))",
)
_OBJECTS = (
    "obj = $m.$c(4)\nsee(ex.submit(lambda o, x: (o.of(x), o), obj, $x).result())",
    "obj = $m.$c(4)\nsee(ex.submit(lambda x: obj.of(x), $x).result())",
    "see(ex.submit(lambda o: o.of(1), cellmill.share($m.$c(4))).result())",
)
_CHANGES = (  # of a module $m, whose file is $file; $o: a function of it, $c: a class
    *("$edit\n$reload", "$edit\n$reload", "$edit", "$reload", "$m.K = $n", "$m.K = $n", "del $m.K"),
    *("$m.TABLE.append($n)", "$m.$o = lambda x: ('mine', x, $n)", "$m.$c.of = lambda self, x: (x, $n)"),
    *("$m.$c.rate = $n", "remove('$file')", "$anew", "os.chdir(folder('two'))", "os.chdir(folder('one'))"),
    *("%autoreload 0", "%autoreload 1", "%autoreload 2", "%autoreload 3"),
    "$m.add = $m.make_adder($n)",
)
# Tasks that have not begun see these: whether they have is a matter of time.
_OF_WAITING = ("write(", "load_again(", "remove(", ".pop(", "chdir(", "%autoreload")
_AGAIN = frozenset(("import", "define", "call"))


class Drawing:
    """A notebook that grows cell by cell."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.cells: list[Statement] = []
        self.modules = Modules(rng)
        self.uses: list[str] = []  # expressions over what the notebook has imported, with $x
        self.imports: list[str] = []
        self.functions: dict[str, set[str]] = {"p": set(), "h": set()}
        self.waiting: list[str] = []  # futures that were not read

    def add(self, text: str, tag: str) -> None:
        self.cells += [Statement(cell, frozenset((tag,))) for cell in _cells(text)]

    def bring(self) -> None:
        """An import in the notebook."""
        module = self.modules.any()
        last = module.name.rpartition(".")[2].replace(MODULE, "")
        use = self.rng.choice(USES[self.rng.choice(module.has)])
        text, name = f"import {module.name} as {last}_", f"{last}_"
        if self.rng.random() < 0.4 and use.count("$m") == 1 and use.startswith("$m."):
            member = use[3:].partition("(")[0].partition(".")[0]
            text, use = f"from {module.name} import {member} as {member}_{last}", use[3:]
            use = use.replace(member, f"{member}_{last}", 1)
        self.add(text, "import")
        self.imports.append(text)
        self.uses.append(use.replace("$m", name))

    def fill(self, text: str) -> str | None:
        """The text with something in the places of its marks; None where there is nothing for them."""
        rng, module = self.rng, self.modules.any()
        plain = [
            use.removesuffix("($x)") for use in self.uses if use.count("(") == 1 and use.endswith("($x)")
        ]
        choices = {
            "$within": [self.rng.choice(self.imports) if rng.random() < 0.2 else "pass"],
            "$p": sorted(self.functions["p"]),
            "$h": [*sorted(self.functions["h"]), *plain],
            "$b": [self._body()],
            "$edit": [self.edit(module)],
            "$reload": [self._reload(module)],
            "$anew": [
                f"sys.modules.pop({module.name!r}, None)\nimport {module.name}\n{rng.choice(self.imports)}"
            ],
            "$file": [module.file],
            "$o": sorted(FUNCTIONS.intersection(module.has)),
            "$c": sorted({"C", "D"}.intersection(module.has)),
            "$m": [f"sys.modules[{module.name!r}]"],
            "$x": [str(rng.randint(0, 3))],
            "$n": [self.modules.number()],
        }
        for mark, some in choices.items():
            if mark in text:
                if not some:
                    return None
                text = text.replace(mark, rng.choice(some))
        return text

    def _body(self) -> str:
        found = [use.replace("$x", "x") for use in self.rng.sample(self.uses, min(len(self.uses), 2))]
        return f"({', '.join(found)},)"

    def edit(self, module: Module) -> str:
        return f"write({module.file!r}, {self.modules.text(module)!r})"

    def _reload(self, module: Module) -> str:
        """Of one, or of all in an order in which one may come before what it imports."""
        names = [*self.modules.all] if self.rng.random() < 0.4 else [module.name]
        text = f"load_again({', '.join(map(repr, names))})"
        return f"{text}\n{self.rng.choice(self.imports)}" if self.rng.random() < 0.5 else text

    def define(self) -> None:
        letter, text = self.rng.choice(_DEFINITIONS)
        name = f"{letter}{self.rng.randint(1, 3)}"
        filled = self.fill(text.replace("$f", name))
        if filled is not None:
            self.add(filled, "define")
            self.functions[letter].add(name)

    def call(self) -> None:
        text = self.fill(self.rng.choice(_CALLS if self.rng.random() < 0.85 else _OBJECTS))
        if text is None:
            return
        if "$t" in text:
            name = f"t{self.modules.number()}"
            self.waiting.append(name)
            text = text.replace("$t", name)
        self.add(text, "call")
        if text.startswith("%%pfor"):
            self.add("see(out)", "call")

    def change(self) -> None:
        text = self.fill(self.rng.choice(_CHANGES))
        if text is None:
            return
        while self.waiting and any(word in text for word in _OF_WAITING):
            self.read()
        self.add(text, "change")

    def again(self) -> None:
        """A cell that was run before."""
        cells = [cell for cell in self.cells if cell.tags & _AGAIN and "$t" not in cell.text]
        self.cells.append(self.rng.choice(cells))

    def read(self) -> None:
        if self.waiting:
            name = self.waiting.pop(self.rng.randrange(len(self.waiting)))
            self.add(f"see({name}.result())", "read")


def _cells(text: str) -> list[str]:
    """An edit is a cell of its own, as autoreload acts before cells; else the text is one."""
    if text.startswith("write(") and "\n" in text:
        first, _, rest = text.partition("\n")
        return [first, rest]
    return [text]


def drawn(seed: int) -> list[Statement]:
    """The notebook of a seed."""
    rng = Random(seed)
    drawing = Drawing(rng)
    for module in drawing.modules.all.values():
        drawing.add(drawing.edit(module), "write")
    # all are the notebook's, too: one that only tasks import is not there to be loaded again
    drawing.add(f"import {', '.join(drawing.modules.all)}\nx = 3", "define")
    if rng.random() < 0.5:
        drawing.add(f"%autoreload {rng.choice((1, 2, 2, 3))}", "change")
    drawing.bring()
    drawing.bring()
    actions = (drawing.call, drawing.change, drawing.define, drawing.bring, drawing.read, drawing.again)
    for _ in range(rng.randint(8, 22)):
        rng.choices(actions, (8, 5, 4, 2, 1, 1), k=1)[0]()
    while drawing.waiting:
        drawing.read()
    return drawing.cells
