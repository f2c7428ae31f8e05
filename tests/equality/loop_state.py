"""What loops find before they begin: ``$i`` is a small int of the item, ``$e`` any value of it, ``$k`` a short key."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Thing:
    """A value from outside, what a loop's body does to it, and how it is read."""

    name: str
    make: str
    effects: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()  # of things that the body may change as well: often refused
    needs: tuple[str, ...] = ()  # other things


_NUMBER = (
    *("{0} += $i", "{0} -= $i * 0.1", "{0} = {0} + $i", "{0} = max({0}, $i)", "{0} = min($i, {0}, 5)"),
    *("{0} = 0.5 * {0} + $i", "{0} = $i - {0}", "{0} *= 1 + $i % 2", "{0} = {0}"),
)
_LIST = (
    *("{0}.append($e)", "{0}.extend([$e, $i])", "{0} += [$e]", "{0}.insert(0, $e)", "{0}.extend($e2)"),
    *("{0}[0:1] = [$i, $e]", "{0}.append($own)", "{0} += $own2", "[{0}.append(j) for j in range($i % 3)]"),
    *("{0} = {0} + [$e]", "{0}.append({0})", "{0}.reverse()", "({0}.append($e), {0}.append($i))"),
)
_SEQ = (
    *_LIST,
    "{0}[$i % 3] = $e",
    "{0}[-1] += $i",
    "{0}[$i % 4] = {0}[$i % 4] + $i",
    "del {0}[0]",
    "{0}.pop()",
)
_DICT = (
    *("{0}[$k] = $e", "{0}.setdefault($k, []).append($e)", "{0}.update({{$k: $e}})", "{0} |= {{$k: $i}}"),
    *("{0}.setdefault($k, $e)", "{0}[$k] = $own", "{0}.update(last=$e)", "{0}[$k, $i] = $i"),
    *("{0}.setdefault($i % 2, {{}})[$k] = $e", "{0}[$k] = {0}.get($k, 0) + $i", "{0}.pop($k, None)"),
    "{0}[$k] = max({0}.get($k, 0), $i)",
)
_ARRAY = (
    *("{0}[$i % 3] = $i", "{0}[$i % 3] += $i", "{0} += $i", "{0}[$i % 3:] = $i", "{0}[::2] -= 1"),
    *("np.add.at({0}, [$i % 3, 0], 1)", "{0}[{0} > 4] = 1", "{0}.sort()", "{0}[...] = $i", "{0} = {0} + $i"),
    "{0}.fill($i)",
)
_OBJECT = (
    "{0}.n += $i",
    "{0}.rows.append($e)",
    "{0}.last = $e",
    "{0}.table[$k] = $e",
    "{0}.n = max({0}.n, $i)",
)
_CLASS = (
    "class Stats:\n    limit = 3\n    def __init__(self): self.n, self.rows, self.table, self.scale = 0, [], {}, 2\n"
    "    def add(self, v):\n        self.rows.append(v)\n        return self\n"
    "    def peek(self): return len(self.rows)\n"
)
_READ_LIST = ("len({0})", "{0}[-1]", "sum(map(bool, {0}))", "bool({0})", "{0}[:2]", "list({0})", "{0} == []")
_READ_DICT = ("len({0})", "{0}.get($k)", "$k in {0}", "list({0})", "sorted(map(str, {0}))", "dict({0})")
_ALL = [
    Thing("number", "number = 3", _NUMBER, ("number", "number + 1", "f'{{number}}'")),
    Thing("total", "total = 0.1", _NUMBER, ("total", "total > 3")),
    Thing(
        "text",
        "text = 'a'",
        ("text += str($i)", "text = text + $k", "text += f'{{$i}},'"),
        ("len(text)", "text"),
    ),
    Thing("seen", "seen = []", _LIST, _READ_LIST),
    Thing("row", "row = list(range(6))", _SEQ, _READ_LIST),
    Thing(
        "grid",
        "grid = [[0] * 3 for _ in range(4)]",
        (
            *(
                "grid[$i % 4][$i % 3] = $e",
                "grid[$i % 4][0] += $i",
                "grid[$i % 4].append($e)",
                "grid.append([$i])",
            ),
            *(
                "cell = grid[$i % 4]\ncell.append($i)",
                "for each in grid: each.append($i)",
                "grid[0] = grid[1]",
            ),
        ),
        ("grid[$i % 4][0]", "len(grid)", "sum(grid[0])"),
    ),
    Thing("table", "table = {}", _DICT, _READ_DICT),
    Thing(
        "d", "d = {i: [i] for i in range(5)}", (*_DICT, "d[$i % 5].append($e)", "del d[$i % 5]"), _READ_DICT
    ),
    Thing("od", "od = collections.OrderedDict(a=1, b=2)", (*_DICT, "od.move_to_end('a')"), _READ_DICT),
    Thing(
        "groups",
        "groups = collections.defaultdict(list)",
        ("groups[$k].append($e)", "groups[$i % 3] += [$e]", "groups[$k].extend($e2)", "groups[$k]"),
        (*_READ_DICT, "groups[$k]"),
    ),
    Thing(
        "counts",
        "counts = collections.Counter('ab')",
        ("counts[$k] += 1", "counts.update($k)", "counts[$i] += $i", "counts.subtract([$k])"),
        (*_READ_DICT, "counts[$k]", "counts.most_common(1)"),
    ),
    Thing(
        "s",
        "s = {1, 2}",
        ("s.add($i)", "s.update([$i, $k])", "s |= {{$i}}", "s.discard($i)", "s ^= {{$i}}", "s = s | {{$i}}"),
        ("len(s)", "$i in s", "sorted(map(str, s))"),
    ),
    Thing(
        "q",
        "q = collections.deque([1], maxlen=4)",
        (*_LIST[:4], "q.appendleft($e)", "q.rotate(1)"),
        _READ_LIST,
    ),
    Thing(
        "raw",
        "raw = bytearray(b'abc')",
        ("raw.append($i)", "raw += b'x'", "raw[0] = $i"),
        ("len(raw)", "raw[0]"),
    ),
    Thing(
        "codes",
        "codes = array.array('i', [1, 2, 3])",
        ("codes.append($i)", "codes[$i % 3] = $i"),
        ("codes[0]",),
    ),
    Thing("a", "a = np.arange(6.0)", _ARRAY, ("a.sum()", "a[0]", "len(a)", "a.dtype.name")),
    Thing("ints", "ints = np.arange(6, dtype=np.int16)", _ARRAY, ("ints.max()", "ints[$i % 3]")),
    Thing(
        "flags", "flags = np.zeros(5, bool)", ("flags[$i % 5] = True", "flags |= $i > 2"), ("flags.any()",)
    ),
    Thing(
        "names", "names = np.empty(4, object)", ("names[$i % 4] = $e", "names[$i % 4] = $own"), ("names[0]",)
    ),
    Thing(
        "m",
        "m = np.zeros((3, 4))",
        ("m[$i % 3] += $i", "m[$i % 3, 0] = $i", "m[:, $i % 4] = $i", "m[$i % 3].fill($i)", "m.T[0] += 1"),
        ("m[0, 0]", "m.shape", "m.sum()"),
    ),
    Thing(
        "frame",
        "frame = pd.DataFrame({'u': np.zeros(5), 'v': range(5)})",
        (
            "frame.loc[$i % 5, 'u'] = $i",
            "frame.at[$i % 5, 'u'] += $i",
            "frame['w'] = $i",
            "frame.iloc[0, 0] = $i",
        ),
        ("len(frame)", "frame['v'].sum()", "frame.shape"),
    ),
    Thing(
        "series",
        "series = pd.Series(np.arange(5.0))",
        ("series[$i % 5] = $i", "series += $i", "series.loc[$i % 5] += 1", "series.iloc[0] = $i"),
        ("series.sum()", "series[0]"),
    ),
    Thing(
        "stats",
        _CLASS + "stats = Stats()",
        (*_OBJECT, "stats.add($e)", "vars(stats)['z'] = $i"),
        ("stats.n",),
    ),
    Thing(
        "other",
        _CLASS + "other = Stats()",
        (*_OBJECT, "Stats.limit = $i", "setattr(other, 'n', $i)"),
        ("other.scale", "other.n", "other.peek()"),
    ),
    Thing(
        "point",
        "@dataclasses.dataclass\nclass Point:\n    n: int = 0\n"
        "    rows: list = dataclasses.field(default_factory=list)\n"
        "    table: dict = dataclasses.field(default_factory=dict)\npoint = Point()",
        _OBJECT,
        ("point.n", "len(repr(point))", "point == Point()"),
    ),
    Thing(
        "prop",
        "class Prop:\n    def __init__(self): self._v, self.calls = 0, []\n"
        "    @property\n    def v(self): return self._v\n"
        "    @v.setter\n    def v(self, new):\n        self.calls.append(new)\n        self._v = new\nprop = Prop()",
        ("prop.v = $i", "prop.v += $i", "prop.calls.append($e)"),
        ("prop.v", "prop._v", "len(prop.calls)"),
    ),
    Thing(
        "state",
        "state = {'n': 0, 'scale': 3, 'rows': [], 'sub': {'k': [1]}}",
        (
            "state['n'] += $i",
            "state['rows'].append($e)",
            "state['sub']['k'].append($e)",
            "state['sub'][$k] = $e",
            "state['n'] += state['scale']",
        ),
        ("state['scale']", "state['n']", "state['sub']", "len(state['rows'])"),
    ),
    Thing(
        "pair",
        "pair = ([1], [2])",
        ("pair[0].append($e)", "pair[1] += [$e]", "a0, b0 = pair\na0.append($i)"),
        ("pair[0]", "pair"),
    ),
    Thing(
        "box",
        "box = [row, {'in': row}]",
        ("box[0].append($e)", "box[1]['in'].append($e)", "box[1][$k] = $e"),
        ("len(box)",),
        ("row",),
    ),
    Thing("same", "same = seen", ("same.append($e)", "same += [$i]"), _READ_LIST, ("seen",)),
    Thing(
        "same_a", "same_a = a[1:4]", ("same_a[0] = $i", "same_a += 1"), ("same_a[0]", "same_a.sum()"), ("a",)
    ),
    Thing("push", "def push(v, to=seen): to.append(v)", ("push($e)", "push($i, $own)"), (), ("seen",)),
    Thing("count", "def count(): return len(row)", (), ("count()",), ("row",)),
    Thing(
        "tweak",
        "def tweak(v):\n    v.append(1)\n    return v",
        ("tweak(row)", "seen.append(tweak($own))"),
        (),
        ("row", "seen"),
    ),
    Thing("rise", "def rise(v):\n    global number\n    number += v", ("rise($i)",), (), ("number",)),
    Thing(
        "tick",
        "def make():\n    n = 0\n    def tick():\n        nonlocal n\n        n += 1\n        return n\n"
        "    return tick\ntick = make()",
        ("tick()", "seen.append(tick())"),
        ("tick()",),
        ("seen",),
    ),
    Thing(
        "numbers",
        "numbers = itertools.count()",
        ("seen.append(next(numbers))",),
        ("next(numbers)",),
        ("seen",),
    ),
    Thing(
        "kept",
        "@functools.lru_cache\ndef kept(v): return v * 2",
        ("seen.append(kept($i))",),
        ("kept($i)",),
        ("seen",),
    ),
]
THINGS = {thing.name: thing for thing in _ALL}
IMPORTS = """
import array, collections, contextlib, dataclasses, functools, heapq, itertools, math
import numpy as np
import pandas as pd
scale, words = 2.5, ['p', 'q', 'r']
def f(v): return v * 1.1 + scale
"""


@dataclass(frozen=True)
class Head:
    """``TARGET in ITERABLE``; ``i``: an expression of the item that is a small int."""

    text: str
    i: str
    make: str = ""
    needs: tuple[str, ...] = ()
    values: tuple[str, ...] = ()  # more of the item's own, of any kind
    effects: tuple[str, ...] = ()


_ROWS = "rows = [{'x': i, 'l': [i]} for i in range(7)]"
HEADS = [
    Head("x in range(9)", "x"),
    Head("x in range(40)", "x"),
    Head("i, x in enumerate([0.5, 'b', [3], (4,)])", "i", values=("x",)),
    Head("k, v in given.items()", "v", "given = {c: n for n, c in enumerate('abcde')}", values=("k",)),
    Head("p, w in zip(range(6), words * 2)", "p", values=("w",)),
    Head("x in (j * 2 for j in range(6))", "x"),
    Head("x in np.arange(6.0)", "int(x)", values=("x",)),
    Head("x in [0.1 * j for j in range(8)]", "int(x * 10)", values=("x",)),
    Head("(p, *rest) in [(1, 2), (3,), (4, 5, 6)]", "p", values=("rest",), effects=("rest.append($e)",)),
    Head("x in list(row)", "len(str(x))", needs=("row",), values=("x",)),
    Head("x in row", "len(str(x))", needs=("row",), values=("x",)),
    Head(
        "i in range(len(row))",
        "i",
        needs=("row",),
        values=("row[i]",),
        effects=("row[i] = row[i] + $i", "row[i] = $e"),
    ),
    Head("i, x in enumerate(row)", "i", needs=("row",), values=("x",), effects=("row[i] = $e",)),
    Head(
        "key in d",
        "len(str(key))",
        needs=("d",),
        values=("key", "d[key]"),
        effects=("d[key] = $e", "d[key].append($e)"),
    ),
    Head(
        "key, value in d.items()",
        "key",
        needs=("d",),
        values=("value",),
        effects=("d[key] = $e", "value.append($e)"),
    ),
    Head("each in d.values()", "len(each)", needs=("d",), values=("each",), effects=("each.append($e)",)),
    Head(
        "r in rows",
        "r['x']",
        _ROWS,
        values=("r", "r['l']"),
        effects=(
            "r['z'] = $e",
            "r['l'].append($i)",
            "r.pop('l', None)",
            "r.update(y=$i)",
            "heapq.heappush(r['l'], 0)",
            "r['l'] += [$e]",
            "r['x'] += 1",
            "del r['x']",
        ),
    ),
    Head("r in rows[::-1]", "r['x']", _ROWS, values=("r", "r['l']"), effects=("r['z'] = $e",)),
    Head("i, r in enumerate(rows)", "i", _ROWS, values=("r",), effects=("r['z'] = $e", "r['l'].append($i)")),
    Head(
        "o in objects",
        "o.n",
        _CLASS + "objects = [Stats() for _ in range(5)]",
        values=("o.rows", "o"),
        effects=("o.n += 1", "o.add($e)", "o.rows.append($e)", "o.last = $e", "setattr(o, 'z', 1)"),
    ),
    Head(
        "o in shared",
        "len(o)",
        "shared = [[1]] * 3 + [[2, 3]]",
        values=("o", "o[0]"),
        effects=("o.append($i)", "o[0] = $e"),
    ),
    Head(
        "vec in m",
        "int(vec[0])",
        needs=("m",),
        values=("vec", "vec.sum()"),
        effects=("vec += 1", "vec[0] = $e3"),
    ),
    Head("item in frame.itertuples()", "item.Index", needs=("frame",), values=("item.v",)),
    Head("x in gen()", "x", "def gen():\n    yield from range(5)\n    raise KeyError('no more')"),
    Head("x in [3, 1, 4, 1, 5]", "x"),
    Head("x in []", "0"),
    Head("c in 'hello'", "ord(c) % 7", values=("c",)),
    Head("x in iter(range(12))", "x"),
]
