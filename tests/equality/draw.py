"""Programs drawn at random: values are made, captured by functions and changed, between calls read much later."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from random import Random

from tests.equality.functions import FORMS, Form
from tests.equality.kinds import KINDS, Kind
from tests.equality.maps import INPUTS


@dataclass(frozen=True)
class Statement:
    """``tags``: the kinds of value, function, call and change in it."""

    text: str
    tags: frozenset[str]


@dataclass
class Function:
    name: str
    form: Form
    variables: list[str]


CALLS = (
    *("single", "read_at_once", "submit", "priority", "argument", "changed_argument", "future_argument"),
    *("future_in_list", "changed_result", "changed_result_passed", "exception", "keyword"),
)
CHANGES = ("change", "rebind", "delete", "redefine", "change_function", "new_cell", "class_renewed")
FEATURES = frozenset((*KINDS, *FORMS, *CALLS, *CHANGES, *INPUTS))
_FRESH = (
    "[$n, [$n]]",
    "{'a': $n}",
    "np.arange($n + 2.0)",
    "'text'",
    "(1, [$n])",
    "{$n}",
    "None",
    "2",
    "bytearray(b'x$n')",
)


class Drawing:
    """A program that grows statement by statement."""

    def __init__(self, rng: Random, features: Collection[str], immediate: bool = False) -> None:
        self.rng = rng
        self.immediate = (
            immediate  # everything is read before the next change, and results are left as they are
        )
        self.statements: list[Statement] = []
        self.kinds: dict[str, Kind] = {}  # of variables
        self.functions: list[Function] = []
        self.futures: list[str] = []  # submitted, perhaps not read yet
        self.maps: list[str] = []
        self._count = 0
        some = self._some([kind for kind in KINDS if kind in features], 3)
        self.of_kinds = [KINDS[name] for name in some]
        self.forms = [FORMS[name] for name in self._some([form for form in FORMS if form in features], 3)]
        self.calls = self._some([call for call in CALLS if call in features], 6)
        self.inputs = self._some([name for name in INPUTS if name in features], 3)
        self.changes = [change for change in CHANGES if change in features]

    def _some(self, names: list[str], most: int) -> list[str]:
        return self.rng.sample(names, min(len(names), self.rng.randint(1, most)))

    def name(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"

    def fill(self, text: str, **values: str) -> str:
        for key, value in values.items():
            text = re.sub(rf"\${key}(?![a-z])", lambda _, value=value: value, text)
        return re.sub(r"\$n(?![a-z])", lambda _: str(self.rng.randint(0, 9)), text)

    def add(self, text: str, *tags: str) -> None:
        self.statements.append(Statement(text, frozenset(tags)))

    # -- what a program is made of

    def make_variable(self) -> None:
        kind = self.rng.choice(self.of_kinds)
        name = self.name("w")
        self.add(self.fill(self.rng.choice(kind.make), w=name), kind.name)
        self.kinds[name] = kind

    def make_function(self, again: Function | None = None) -> None:
        form = again.form if again else self.rng.choice(self.forms)
        names = [name for name, kind in self.kinds.items() if kind.variable or not form.variables]
        if not names:
            return
        chosen = self.rng.sample(names, min(len(names), self.rng.choice((1, 1, 1, 2))))
        probe = ", ".join(self.fill(self.rng.choice(self.kinds[n].probe), w=n) for n in chosen)
        function = Function(again.name if again else self.name("f"), form, chosen)
        text = self.fill(
            form.text,
            f=function.name,
            p=f"[{probe}]",
            v=", ".join(chosen),
            d=", ".join(f"{n}={n}" for n in chosen),
        )
        self.add(
            text, form.name, *(self.kinds[name].name for name in chosen), *(["redefine"] if again else [])
        )
        self.functions = [f for f in self.functions if f.name != function.name] + [function]

    def argument(self, function: Function) -> str:
        if function.form.argument:
            return self.fill(function.form.argument)
        return self.fill(self.rng.choice(_FRESH))

    def call(self, function: Function, argument: str, more: str = "") -> str:
        if function.form.how in ("submit",):
            return f"ex.submit({function.name}, {argument}{more})"
        return f"{function.name}({argument}{more})"

    def change(self) -> None:
        change = self.rng.choice(self.changes)
        tags: list[str] = [change]
        if change in ("change", "rebind", "delete", "class_renewed"):
            name = self.rng.choice(list(self.kinds))
            kind = self.kinds[name]
            tags.append(kind.name)
            text = self._changed(change, name, kind)
        elif change == "new_cell":
            text = "cell()"
        elif change == "redefine":
            self.make_function(self.rng.choice(self.functions))
            return
        else:
            function = self.rng.choice(self.functions)
            tags.append(function.form.name)
            text = self.fill(self.rng.choice(function.form.change or ("",)), f=function.name)
        if text:
            self.add(text, *tags)

    def _changed(self, change: str, name: str, kind: Kind) -> str:
        if change == "rebind":
            if "write_module" in kind.make[0]:
                return ""  # a file that changes without being loaded again makes no plain loop
            return self.fill(self.rng.choice(kind.make), w=name)
        if change == "delete":
            return f"del {name}" if self.rng.random() < 0.2 and kind.variable else ""
        if change == "class_renewed":
            found = next((text for text in kind.make if f"class C_{'$'}w" in text), "")
            return self.fill(found.rsplit("\n$w = ", 1)[0] + "\n    extra = $n\n", w=name) if found else ""
        return self.fill(self.rng.choice(kind.change), w=name) if kind.change else ""

    def read(self) -> None:
        waiting = self.futures + self.maps
        if not waiting:
            return
        name = self.rng.choice(waiting)
        if name in self.maps:
            if self.rng.random() < 0.3:
                self.add(f"see(next({name}, 'over'))", "map_read")
                return
            self.maps.remove(name)
            self.add(f"see(drained({name}))", "map_read")
        else:
            self.add(f"see({name}.result())", "read")
            if self.rng.random() < 0.2:
                self.add(f"see([a is b for a, b in itertools.combinations({name}.result(), 2)])", "read")

    def act(self) -> None:
        """A call, a map, a change, a read, a function."""
        weights = (6, 3, 7, 3, 1, 1)
        actions: tuple[Callable[[], None], ...] = (
            *(self.draw_call, self.draw_map, self.change, self.read, self.make_function, self.make_variable),
        )
        self.rng.choices(actions, weights)[0]()

    def draw_call(self) -> None:
        if not self.calls:
            return None
        function = self.rng.choice(self.functions)
        how = self.rng.choice(self.calls)
        tags = [how, function.form.name]
        future = self.name("h")
        simple = function.form.how == "call" and not function.form.argument
        argument = self.argument(function)
        text = self.call(function, argument)
        if self.immediate or how == "read_at_once":
            self.add(f"see({text}.result())", *tags)
            return None
        if how == "submit" and simple:
            text = f"ex.submit({function.name}, {argument})"
        elif how == "priority" and function.form.how in ("call", "batch"):
            text = f"{function.name}.options(priority={self.rng.randint(0, 3)})({argument})"
        elif how == "keyword" and function.form.name == "keywords":
            text = self.call(function, argument, self.fill(", 5, y=[$n], z=$n"))
        elif how.endswith("argument") and how != "future_argument" and not function.form.argument:
            name = self.rng.choice(list(self.kinds))
            kind = self.kinds[name]
            if not kind.variable:
                return None
            tags.append(kind.name)
            text = self.call(function, self.rng.choice((name, f"[{name}, 1]", f"{{'k': {name}}}")))
        elif how in ("future_argument", "future_in_list", "changed_result_passed"):
            return self._pass_future(function, how, future)
        self.add(f"{future} = {text}", *tags)
        self._follow(future, how, tags)
        return None

    def _follow(self, future: str, how: str, tags: list[str]) -> None:
        if how == "changed_argument" and "change" in self.changes:
            name = self.rng.choice(list(self.kinds))
            text = self._changed("change", name, self.kinds[name])
            if text:
                self.add(text, "change", self.kinds[name].name)
        elif how == "changed_result":
            self.add(f"r = {future}.result(); see(r)", *tags)
            change = self.rng.choice(
                ("r[0].append(5)", "r.note = 5", "r[0][0] = 5", "r[0][0][0] = 5", "r[0].pop()", "r.v[0] = 1")
            )
            self.add(change, *tags)
            self.add("see(r)", *tags)
        elif how == "exception":
            self.add(f"see({future}.exception())", *tags)
        self.futures.append(future)

    def _pass_future(self, function: Function, how: str, future: str) -> None:
        if not self.futures or function.form.argument:
            return
        given = self.rng.choice(self.futures)
        tags = [how, function.form.name]
        if how == "changed_result_passed":
            self.add(f"r = {given}.result()", *tags)
            self.add(
                self.rng.choice(("r[0].append(6)", "r.note = 6", "r[0][0] = 6", "r[0][0][0] = 5")), *tags
            )
        elif how == "future_in_list":
            given = self.rng.choice((f"[{given}, 1]", f"{{'a': {given}, 'b': [{given}]}}", f"(1, {given})"))
        self.add(f"{future} = {self.call(function, given)}", *tags)
        self.futures.append(future)

    def draw_map(self) -> None:
        fitting = [f for f in self.functions if not f.form.argument and f.form.how != "method"]
        if not self.inputs or not fitting:
            return
        function = self.rng.choice(fitting)
        feature = self.rng.choice(self.inputs)
        drawn = INPUTS[feature]
        name = self.name("m")
        if self.immediate and not drawn.immediate:
            return
        if drawn.only_plain and function.form.name not in ("keywords",):
            return
        changed, change = self._input_change(function)
        if "$c" in drawn.before and ("change" not in self.changes or not change):
            return
        tags = [feature, function.form.name, *(["change"] if changed and "$c" in drawn.before else [])]
        filled = {"m": name, "c": change, "h": self.rng.choice(self.futures) if self.futures else "[1]"}
        if drawn.before:
            self.add(self.fill(drawn.before, **filled), *tags)
        called = f"ex.map({function.name}, " if function.form.how == "submit" else f"{function.name}.map("
        self.add(f"{name} = {called}{self.fill(drawn.text, **filled)})", *tags)
        if drawn.after:
            self.add(self.fill(drawn.after, **filled), *tags)
        if drawn.read or self.immediate:
            self.add(f"see(drained({name}))", *tags)
        else:
            self.maps.append(name)

    def _input_change(self, function: Function) -> tuple[str, str]:
        """A change of what a function captures, as one line that may be in another's body."""
        names = [name for name in function.variables if name in self.kinds and self.kinds[name].change]
        if not names:
            return "", ""
        name = self.rng.choice(names)
        text = self._changed("change", name, self.kinds[name])
        return (
            (name, text) if "\n" not in text and not re.match(rf"(del )?{name}(_part)? ", text) else ("", "")
        )

    def finish(self) -> None:
        """Everything is read."""
        for name in self.maps:
            self.add(f"see(drained({name}))", "map_read")
        for name in self.futures:
            self.add(f"see({name}.result())", "read")


def drawn(seed: int, without: Collection[str] = (), immediate: bool = False) -> list[Statement]:
    """The program of a seed. ``without``: features it does not have."""
    rng = Random(seed)
    drawing = Drawing(rng, FEATURES - set(without), immediate)
    for _ in range(rng.randint(1, 3)):
        drawing.make_variable()
    for _ in range(rng.randint(1, 2)):
        drawing.make_function()
    if drawing.functions:
        for _ in range(rng.randint(4, 18)):
            drawing.act()
    drawing.finish()
    return drawing.statements
