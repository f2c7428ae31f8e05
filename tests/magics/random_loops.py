"""Loops drawn at random, run as plain cells and by `%%pfor`; for the kernel of `test_pfor_random`.

Each draws from a few statements that accumulate, change objects in place and read them under several names. A loop that
`%%pfor` refuses counts as right where nothing of it was done.
"""

from __future__ import annotations

import contextlib
import io
import random
import re
import types
from collections import Counter, deque
from typing import Any

import numpy as np

PREPARE = """
from collections import Counter, defaultdict, deque
import numpy as np
class Box:
    total = 0
    def __init__(self, n=0): self.n, self.items, self.d = n, [], {}
    def add(self, x): self.n += x; self.items.append(x)
    def peek(self): return self.n
    def __repr__(self): return f"Box({self.n})"
def twice(x): return 2 * x
def push(box, x): box.append(x)
def at(x): return rows[x % 3]
def count():
    global calls
    calls += 1
    return calls
calls = total = prev = 0
best, last, text, flag = None, None, "", False
xs, pairs, word = [3, 1, 2, 5, 4, 1, 0, 7], [(1, 2), (3, 1), (0, 5)], "hello"
lists, shared = [[1], [2, 3], [], [4]], [0, 0]
aliased = [shared, [1], shared, [2]]
dicts = [{"k": 1, "v": 2}, {"k": 2, "v": 5}, {"k": 1, "v": 7}]
boxes = [Box(1), Box(2), Box(3)]
again = [boxes[0], boxes[1], boxes[0]]
lookup, by_number, by_name = {"a": 1, "b": 2, "c": 3}, {1: [1], 2: [2, 2], 3: shared}, {"p": boxes[0], "q": Box(7)}
out, other, seen, table, groups, counts, queue = [], [], set(), {}, defaultdict(list), Counter(), deque()
rows, grid = [[0], [1], [2]], [[0] * 3 for _ in range(3)]
row, alias, box = rows[0], out, Box()
line, plane = np.zeros(10), np.zeros((4, 4))
view = line[2:6]
"""
HEADS = """
x in xs; x
i, x in enumerate(xs); i x
x, y in zip(xs, xs[1:]); x y
a, b in pairs; a b
(a, b), c in zip(pairs, xs); a b c
x in range(7); x
q in word; ord(q)
q, x in lookup.items(); x
x in (q for q in xs); x
o in lists; len(o); o; list
o in aliased; len(o); o; list
o in rows; o[0]; o; list
i in range(4); i; lists[i]; list
i in range(4); i; aliased[i]; list
k, o in by_number.items(); k; o; list
k in by_number; k; by_number[k]; list
o in dicts; o['k']; o; dict
i in range(3); i; dicts[i]; dict
o in boxes; o.n; o; box
o in again; o.n; o; box
i in range(3); i; again[i]; box
i, o in enumerate(boxes); i o.n; boxes[i]; box
i, o in enumerate(again); i o.n; o; box
k, o in by_name.items(); o.n; o; box
k in by_name; by_name[k].n; by_name[k]; box
o in line.reshape(5, 2); int(o[0])
o in [row, rows[1]]; len(o); o; list
"""
"""What runs over what, numbers of the item, its object, and of which kind that is."""
NUMBERS = """
1;2;3;(E + E);(E - E);(E * E);twice(E);lookup.get('a', 0);sum([q * E for q in range(3)]);(lambda z: z + E)(2)
(w := E);(E if C else E);max(E, E);[E, E][E % 2];len(rows[E % 3]);total;prev;len(out);boxes[0].n;rows[0][0];line[1]
shared[0];count();box.peek();counts[1];view[0]
"""
CONDITIONS = (
    "E % 2;E > 2;E in seen;E not in table;not flag;best is None or E > best;len(out) > 3;E > prev;E in (1, 5)"
)
VALUES = "E;E;E;[E];(E, E);{'q': E};str(E);row;box;rows[0];boxes[1];Box(E);np.arange(E % 4);L"
STATEMENTS = """
out.append(V);out.append(V);out += [V];out.extend([V, E]);out.insert(0, V);total += E;total = total + E
total = max(total, E);seen.add(E);seen |= {E};table[E] = V;table[E] = table.get(E, 0) + 1
table.setdefault(E, []).append(V);groups[E].append(V);counts[E] += 1;counts.update([E]);queue.append(V)
rows[E % 3].append(V);at(E).append(V);grid[E % 3][E % 3] += E;row.append(V);line[E % 10] += E;plane[E % 4, E % 4] = E
plane[E % 4] += E;view[E % 4] = E;box.n += E;box.items.append(V);box.d[E] = V;box.add(E);Box.total += E;push(out, V)
text += str(E);last = V;prev = E;flag = C;boxes[E % 3].add(E);boxes[E % 3].n = E;print(E);alias.append(V)
table.pop(E, None);del table[E];shared[0] += E;lists[E % 4].append(V);again[E % 3].n += E
by_number[E % 3 + 1].append(V);by_name['p'].add(E);dicts[E % 3]['v'] = V;lookup['a'] += E;other.append(out);y = E
y = V;l = [];l = [V];l = m = [];rows[E % 3] += [E];out.sort(key=str);other.append(boxes[E % 3]);calls += 1
"""
OF_LOCALS = """
L.append(V);out.append(L);table[E] = L;other.append(L);L += [V];rows[0] = L;box.items = L;out += L;groups[E] = L
"""
OF_ITEMS = {
    "list": """
O.append(V);out.append(O);O[:] = [E];table[len(O)] = O;last = O;O += [V];O.clear();out += O;out.append(len(O))
""",
    "dict": """
O['n'] = V;O['v'] += E;out.append(O);O.pop('v', None);table[O['k']] = O;total += O['k'];groups[O['k']].append(O)
""",
    "box": """
O.n += E;O.add(E);out.append(O);O.items.append(V);out.append(O.peek());O.d[E] = V;table[O.n] = O;last = O
""",
}
BLOCKS = [
    "if C:\n{}",
    "if C:\n{}else:\n{}",
    "for j in range(2):\n{}",
    "try:\n{}except KeyError:\n    out.append(-1)\n",
]


class Loop:
    """One of them: ``head`` and ``body``."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        drawn = self._draw.choice(HEADS.strip().splitlines())
        self.head, numbers, self._item, self._kind = [*drawn.split("; "), "", ""][:4]
        self._numbers, self._locals = numbers.split(), False
        self.body = "".join(self._statement() for _ in range(self._draw.choice((1, 1, 2, 2, 3, 4))))

    def _filled(self, text: str, depth: int = 0) -> str:
        """The text with each of its capitals alone replaced by what it stands for."""
        of = {"E": self._number, "C": lambda d: self._one(CONDITIONS, d), "V": lambda d: self._one(VALUES, d)}
        of |= {"L": lambda _: "l" if self._locals else "[1]", "O": lambda _: self._item}
        return re.sub(r"\b[ECVLO]\b", lambda found: of[found[0]](depth + 1), text)

    def _number(self, depth: int) -> str:
        if depth > 3 or self._draw.random() < 0.5:
            return self._draw.choice([*self._numbers, "1", "2"])
        return self._one(NUMBERS, depth)

    def _one(self, of: str, depth: int) -> str:
        return self._filled(self._draw.choice(re.split(r"[;\n]", of.strip())), depth)

    def _statement(self, depth: int = 0) -> str:
        drawn = self._draw.random()
        if drawn < 0.15 and depth < 2:
            text = self._filled(self._draw.choice(BLOCKS))
            return re.sub(
                r"\{\}",
                lambda _: "    " + self._statement(depth + 1).replace("\n", "\n    ").rstrip(" "),
                text,
            )
        if drawn < 0.19:
            return self._filled(
                f"if C:\n    {self._draw.choice(('continue', 'break', 'raise ValueError(E)'))}\n"
            )
        of = (
            OF_LOCALS
            if drawn < 0.3 and self._locals
            else OF_ITEMS[self._kind]
            if drawn < 0.5 and self._kind
            else STATEMENTS
        )
        made = self._one(of, 0)
        self._locals = self._locals or (made.startswith("l = ") and depth == 0)
        return made + "\n"


def outcomes(ip: Any, first: int, count: int) -> tuple[Counter[str], list[str]]:
    """How so many loops ended, and those that ended otherwise than the plain ones, with what is different."""
    how, wrong = Counter[str](), []
    for seed in range(first, first + count):
        loop = Loop(seed)
        indented = "    " + loop.body.rstrip("\n").replace("\n", "\n    ")
        before, plain, raised = _run(ip, f"for {loop.head}:\n{indented}\n")
        _, left, error = _run(ip, f"%%pfor {loop.head}\n{loop.body}")
        refused = error is not None and type(error).__module__.startswith("cellmill")
        refused = refused and not isinstance(error, BaseExceptionGroup)
        if refused:
            how["refused"] += 1
            plain = before
        elif raised is not None and error is not None:
            how["raised"] += 1
            continue  # which of an item's errors, and what of that item is done, is another one's test
        else:
            how["the same"] += 1
        if plain != left or (not refused and (raised is None) != (error is None)):
            names = sorted(name for name in plain.keys() | left.keys() if plain.get(name) != left.get(name))
            wrong.append(f"{seed}: {raised!r}, {error!r}, {names}\n%%pfor {loop.head}\n{loop.body}")
    return how, wrong


def _run(ip: Any, cell: str) -> tuple[dict[str, Any], dict[str, Any], BaseException | None]:
    """What a cell finds and leaves of all names that there may be, and its error."""
    for name in _NAMES:
        ip.user_ns.pop(name, None)
    exec(PREPARE, ip.user_ns)
    before = _shown(ip.user_ns)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        result = ip.run_cell(cell)
    return before, _shown(ip.user_ns), result.error_in_exec or result.error_before_exec


_SPACE: dict[str, Any] = {}
exec(PREPARE, _SPACE)
_NAMES = sorted({*_SPACE, *"abcijklmoqwxy"} - {"__builtins__"})


def _shown(space: dict[str, Any]) -> dict[str, Any]:
    """The values of all names; objects that are met again are told by the number under which they were met."""
    met: dict[int, tuple[int, Any]] = {}
    return {name: _value(space[name], met) for name in _NAMES if name in space}


def _value(value: Any, met: dict[int, tuple[int, Any]]) -> Any:
    if isinstance(value, (types.FunctionType, types.ModuleType)):
        return type(value).__name__
    if isinstance(value, type):
        return getattr(value, "total", None)
    if isinstance(value, np.generic) or (
        isinstance(value, tuple) and all(type(each) is int for each in value)
    ):
        return repr(value)
    if value is None or isinstance(value, (int, float, str)):
        return value
    if id(value) in met:
        return ("again", met[id(value)][0])
    met[id(value)] = len(met), value
    if isinstance(value, dict):
        return [(_value(key, met), _value(each, met)) for key, each in value.items()]
    if isinstance(value, (set, np.ndarray)):
        return sorted(map(repr, value)) if isinstance(value, set) else value.tolist()
    members = value if isinstance(value, (list, tuple, deque)) else vars(value).values()
    return [type(value).__name__, *(_value(each, met) for each in members)]
