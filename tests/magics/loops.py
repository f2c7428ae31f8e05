"""Loops for `%%pfor`, each to be run also as the plain loop that it says it is."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

PREPARE = """
import collections, math, array
total, best, seen, table, d, s = 0.1, 0.0, [], {}, {}, set()
groups = collections.defaultdict(list)
counts = collections.Counter()
grid = [[0] * 4 for _ in range(4)]
row = list(range(12))
log = ['begin']
text = ''
q = collections.deque(maxlen=5)
class Stats:
    limit = 3
    def __init__(self): self.n, self.all, self.scale = 0, [], 2.5
class Named(list): pass
class Bag:
    def __init__(self): self.got = []
    def add(self, x): self.got.append(x); return self
stats, named, bag = Stats(), Named(), Bag()
state = {'n': 0, 'scale': 3, 'rows': [], 'most': None}
xs = [0.1 * i for i in range(40)]
offset = 100
def f(x): return x * 1.1 + offset
def pieces(x):
    for i in range(int(x) % 4): yield i
"""
NUMPY = """
import numpy as np
a, m, total_array = np.arange(40.0), np.zeros((5, 8)), np.zeros(3)
same = total_array
"""


@dataclass(frozen=True, slots=True)
class Case:
    """`for HEAD: BODY`, after what prepares it."""

    head: str
    body: str
    prepare: str = PREPARE

    @property
    def plain(self) -> str:
        return f"for {self.head}:\n{textwrap.indent(self.body, '    ')}"

    @property
    def magic(self) -> str:
        return f"%%pfor {self.head}\n{self.body}"


CASES = {
    "a sum": Case("x in xs", "total += f(x)"),
    "a sum by hand": Case("x in xs", "total = total + f(x)"),
    "a sum from the right": Case("x in xs", "total = x - total"),
    "a decaying sum": Case("x in xs", "total = 0.9 * total + f(x) / 3"),
    "difference, product, power": Case("x in xs", "total -= x\ntotal *= 1.01\ntotal /= 1 + x"),
    "the largest": Case("x in xs", "best = max(best, math.sin(x))"),
    "the smallest of three": Case("x in xs", "best = min(math.cos(x), best, x)"),
    "text": Case("x in range(9)", "text += str(x) * 2"),
    "a list": Case("x in xs", "y = f(x)\nseen.append(y)"),
    "the last statement": Case("x in xs", "seen.append(f(x))"),
    "append what changes later": Case("x in range(9)", "own = [x]\nseen.append(own)\nown.append(-x)"),
    "extend with what changes later": Case(
        "x in range(9)", "own = [x]\nseen.extend(own)\nown.append(-x)\nseen += own"
    ),
    "extend with an iterator": Case(
        "x in xs", "log.extend(pieces(x))\nlog.extend(i for i in pieces(x))\nlog += pieces(x)"
    ),
    "items": Case("x in range(30)", "table[x % 7] = f(x)"),
    "nested items": Case("x in range(16)", "grid[x // 4][x % 4] = x\ngrid[x % 4][0] += x"),
    "several keys": Case("x in range(16)", "table[x % 3, x % 2] = x"),
    "counted": Case("x in range(30)", "counts[x % 7] += 1\ncounts['all'] += x"),
    "counted with get": Case(
        "x in range(30)",
        "table[x % 7] = table.get(x % 7, 0) + 1\nd[str(x % 3)] = f(x) - d.get(str(x % 3), 0.5)",
    ),
    "items that go on": Case(
        "x in range(30)",
        "row[x % 12] = row[x % 12] + f(x)\nstats.n = stats.n * 0.5 + x\n"
        "grid[x % 4][x % 3] = max(grid[x % 4][x % 3], f(x), 3)\nstate['n'] = max(state.get('n', 0), x)",
    ),
    "grouped": Case("x in range(30)", "groups[x % 3].append(x * x)"),
    "grouped by setdefault": Case("x in range(30)", "d.setdefault(x % 3, []).append(f(x))"),
    "setdefault": Case("x in range(30)", "d.setdefault(x % 3, x)\nx"),
    "deeper": Case("x in range(30)", "d.setdefault(x % 3, {}).setdefault(x % 2, []).append(x)"),
    "a dict of sets": Case("x in range(30)", "d.setdefault(x % 3, set()).add(x % 5)"),
    "slices": Case("x in range(4)", "row[3 * x:3 * x + 3] = [x] * 3"),
    "a slice that grows": Case("x in range(4)", "own = [x, x]\nrow[x:x] = own\nown.clear()"),
    "slices with steps": Case("x in range(3)", "row[x::3] = (x, -x, x, -x)\nrow[-1] = x"),
    "deleted": Case("x in range(5)", "del row[x]\nrow.insert(0, -x)"),
    "deleted keys": Case("x in range(5)", "del table[x]", PREPARE + "table = dict.fromkeys(range(9))"),
    "pop whose value is not used": Case("x in range(5)", "row.pop()\nrow.pop(0)\nrow.reverse()"),
    "a set": Case("x in range(30)", "s.add(x % 7)\ns.discard(3)\ns |= {x, -x}\ns.update([x], [x * x])"),
    "keys of a dict": Case("x in range(9)", "own = {x: 1}\ns |= own.keys()\nlog.extend(own.values())"),
    "a dict updated": Case(
        "x in range(9)", "d.update({x: x})\nd.update(last=x)\nd.update(**{'k%d' % x: x})\nd |= {x: -x}"
    ),
    "a deque": Case("x in range(9)", "q.append(x)\nq.appendleft(-x)"),
    "a subclass": Case("x in range(9)", "named.append(x)"),
    "a method of the user's": Case("x in range(9)", "bag.add(f(x))"),
    "attributes": Case("x in range(9)", "stats.n += x\nstats.all.append(x)\nstats.last = f(x)"),
    "conditions": Case(
        "x in range(20)",
        "if x % 3 == 0:\n    total += x\nelif x % 3 == 1:\n    seen.append(x)\nelse:\n    s.add(x)",
    ),
    "an expression of conditions": Case("x in range(20)", "x % 2 and seen.append(x)"),
    "a comprehension": Case("x in range(9)", "[seen.append(i * x) for i in range(x)]\nNone"),
    "inner loops": Case(
        "x in range(9)",
        "for i in range(x):\n    if i == 5: break\n    if i == 2: continue\n    total += i * 0.1\n    table[i] = x",
    ),
    "while": Case("x in range(9)", "n = x\nwhile n > 0:\n    n -= 2\n    log.append(n)"),
    "try": Case(
        "x in range(5)",
        "try:\n    y = 1 / x\nexcept ZeroDivisionError as error:\n    seen.append(str(error))\n    y = 0\n"
        "else:\n    total += y\nfinally:\n    log.append(x)",
    ),
    "with": Case("x in range(5)", "import contextlib\nwith contextlib.nullcontext(x) as z:\n    total += z"),
    "match": Case(
        "x in range(5)",
        "match x:\n    case 0: log.append('zero')\n    case 1 | 2 as n: total += n\n    case other: s.add(other)",
    ),
    "a function of the body": Case(
        "x in range(9)", "def add(y):\n    global total\n    total += y\n    seen.append(y)\nadd(x)\nadd(0.1)"
    ),
    "a class of the body": Case("x in range(3)", "class P:\n    n = 0\n    n += x\nseen.append(P.n)\ndel P"),
    "names of the loop's own": Case(
        "x in range(9)", "own = 0\nown += x\nitems = []\nitems.append(own)\nseen.append(items[0])"
    ),
    "the last values": Case(
        "i, (x, *rest) in enumerate([(1, 2), (3,), (4, 5)])",
        "y = x + i\nz, w = y, [y]\nimport math as maths\ndef g(): return y\nNone",
    ),
    "last values that few bind": Case(
        "x in range(20)", "if x % 7 == 0:\n    found = x\nif (m := x * x) > 50:\n    big = [m]\nNone"
    ),
    "an inner loop's variable": Case("x in range(5)", "for i in range(x): pass"),
    "the loop's variable assigned": Case("x in range(5)", "x = x + 1\nx += 1\nseen.append(x)"),
    "deleted names": Case("x in range(5)", "y = x\ntotal += y\ndel y"),
    "from a generator": Case(
        "x in (i * i for i in range(9))", "y = x + 1\nif x == 9:\n    nine = x\ntotal += y"
    ),
    "an iterable that binds what the body reads": Case(
        "x in load()",
        "total += x * offset",
        PREPARE + "def load():\n    global offset\n    offset = 7\n    return [1, 2, 3]\n",
    ),
    "over a dict": Case("k, v in {'a': 1, 'b': 2}.items()", "total += v\ntable[v] = k\nlast = k"),
    "nothing": Case("x in []", "y = x\ntotal += y"),
    "continue": Case("x in range(9)", "if x % 2:\n    continue\ntotal += x\ny = x"),
    "continue in blocks": Case(
        "x in range(9)",
        "try:\n    with __import__('contextlib').nullcontext():\n        if x % 2: continue\n    total += x\n"
        "finally:\n    log.append(x)",
    ),
    "break": Case(
        "x in range(50)", "if x == 12:\n    log.append('found')\n    place = x\n    break\ntotal += x\ny = x"
    ),
    "break at once": Case("x in range(50)", "break"),
    "break of an endless one": Case(
        "x in __import__('itertools').count()", "y = x * x\nif y > 300: break\nseen.append(y)"
    ),
    "break before a failure": Case("x in range(40)", "if x == 3: break\nif x > 20: 1 / 0\nseen.append(x)"),
    "its own keys": Case("i in range(len(row))", "row[i] = row[i] * 2 + 1"),
    "its own keys of a dict": Case(
        "k, v in d.items()", "d[k] = v + d[k]", PREPARE + "d = {i: i for i in range(9)}"
    ),
    "enumerated": Case("i, x in enumerate(row)", "row[i] = f(x)"),
    "a copy of itself": Case("x in list(row)", "row.append(x)"),
    "other keys": Case(
        "x in range(9)", "state['n'] += x * state['scale']\nstate['rows'].append(state['scale'])"
    ),
    "other attributes": Case("x in range(9)", "stats.n += stats.scale * x"),
    "what stays": Case(
        "x in range(9)", "if table is not None and isinstance(table, dict):\n    table[x] = x"
    ),
    "the length of what keeps it": Case("x in range(4)", "grid[x][0] = len(grid)"),
    "the keys of what keeps them": Case(
        "x in range(9)", "if x in d:\n    d[x].append(x)", PREPARE + "d = {1: [], 3: []}"
    ),
    "values at their time": Case("x in range(9)", "total += x\nlog.append(total)\ntable[x] = best"),
    "many statements": Case(
        "x in range(20)", "\n".join(f"if x % 13 == {i}: table[{i}] = x\ntotal += {i}.1" for i in range(13))
    ),
    "one line": Case("x in range(5)", "total += x; seen.append(x)"),
    "items of a class with a length": Case(
        "x in Some()",
        "y = [0] * 100_000\ntotal += x",
        PREPARE
        + "class Some:\n    def __len__(self):\n        return 6\n"
        + "    def __iter__(self):\n        return iter(range(6))",
    ),
    "items of the loop": Case(
        "r in rows",
        "r['z'] = r['x'] * 2\nr['w'] = r['z'] + 1\nr.setdefault('l', []).append(r['w'])\ndel r['x']\ntotal += r['w']",
        PREPARE + "rows = [{'x': i} for i in range(9)]",
    ),
    "items changed by a function": Case(
        "i, r in enumerate(rows)",
        "r['n'] += 1\nstamp(r, i)\nr['same'] = r['rows']\nheapq.heappush(r['rows'], -i)",
        PREPARE
        + "import heapq\nrows = [{'n': i, 'rows': [i]} for i in range(9)]\n"
        + "def stamp(r, i):\n    r['by'] = i\n    r['rows'].append((i, r['rows']))",
    ),
    "items changed in place by an operator": Case(
        "o in lists", "o += [len(o)]\no *= 2", PREPARE + "lists = [[i] * i for i in range(5)]"
    ),
    "items that are kept": Case(
        "r in rows",
        "y = r\nif r['x'] % 2:\n    seen.append(r)\n    r['z'] = [r]\n    d[r['x']] = (r, xs)\nlast = [r]",
        PREPARE + "rows = [{'x': i} for i in range(9)]",
    ),
    "items under a name that was there before": Case(
        "r in rows",
        "stamp(r)\nr['z'] = [r]",
        PREPARE + "rows = [{'x': i} for i in range(9)]\nr = rows[-1]\ndef stamp(r):\n    r['by'] = len(r)",
    ),
    "names that some items delete": Case(
        "x in range(5)",
        "y = x\nif x == 2: continue\nif x != 3: del y\n"
        "try: 1 / (x - 4)\nexcept ZeroDivisionError as e: w = str(e)\nelse: e = x",
        "y = e = 'before'",
    ),
    "rows of an array": Case("v in m", "v += 1\nv[1:] = v[0]\nseen.append(v)", PREPARE + NUMPY),
    "the rest of an item": Case(
        "first, *rest in [(1, 2), (3, 4, 5)]", "rest.append(first)\nseen.append(rest)\nNone"
    ),
    "what is kept in an array of objects": Case(
        "x in range(4)",
        "own = [x]\nkept[x] = own\nown.append(x)",
        PREPARE + NUMPY + "kept = np.empty(4, object)",
    ),
    "parts of other things": Case("x in range(4)", "seen.append(grid[x])\ny = xs\ntable[x] = y"),
    "names that only some items bind within an expression": Case(
        "x in range(7)",
        "seen.append((w := x) if x < 3 else x)\nv = x in s or (u := x) < 2\nt = 1 < x < (r := 3)\n"
        "[p := i for i in range(x % 3)]",
    ),
    "what each item has a key for": Case(
        "i, o in enumerate(objects)",
        "y = o.n\nobjects[i].n = y + i + 1\nobjects[i].add = y\nseen.append(y)",
        PREPARE + "objects = [Stats() for _ in range(5)]",
    ),
    "objects of the loop": Case(
        "i, o in enumerate(objects)",
        "o.n += i\no.all.append(o.n)",
        PREPARE + "objects = [Stats() for _ in range(5)]",
    ),
    "arrays": Case("i in range(40)", "total_array += a[i]\nm[i % 5] += 1", PREPARE + NUMPY),
    "array slices": Case(
        "i in range(5)",
        "own = np.full(8, float(i))\nm[i, :] = own\nown[:] = -1\nm[:, i] += own[:5]",
        PREPARE + NUMPY,
    ),
    "an array that changes later": Case(
        "i in range(5)",
        "own = np.full(3, i + 0.1)\ntotal_array += own\nown *= 2\ntotal_array += own",
        PREPARE + NUMPY,
    ),
    "own items of an array": Case(
        "i in range(len(a))", "a[i] = a[i] ** 2 + a.shape[0] + len(a)", PREPARE + NUMPY
    ),
    "ufunc.at": Case(
        "i in range(5)", "np.add.at(a, [i, i], 0.1)\nnp.subtract.at(m[0], [i], i)", PREPARE + NUMPY
    ),
    "an array filled": Case("i in range(5)", "m[i].fill(i)\na.sort()\nm[0][i] = 7", PREPARE + NUMPY),
}
