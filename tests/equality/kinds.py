"""Kinds of values that programs capture, pass and return: how they are made, changed in place and looked at.

In the texts ``$w`` is the variable, ``$n`` a number drawn anew at each place.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """``make``: statements that bind ``$w``, one of them is drawn; ``change``: in place; ``probe``: what reads it."""

    name: str
    make: tuple[str, ...]
    change: tuple[str, ...]
    probe: tuple[str, ...] = ("$w",)
    variable: bool = True  # a closure or a default can hold it


def _kind(name: str, make: str, change: str, probe: str = "$w", variable: bool = True) -> Kind:
    """Texts separated by lines of ``--``, or simply by lines where none is longer than one."""

    def split(text: str) -> tuple[str, ...]:
        parts = text.strip("\n").split("\n--\n") if "\n--\n" in text else [text.strip("\n")]
        if len(parts) == 1 and not any(
            line.startswith((" ", "@", "class ", "def ")) for line in text.split("\n")
        ):
            parts = text.strip().split("\n")
        return tuple(parts)

    return Kind(name, split(make), split(change) if change else (), split(probe), variable)


CONTAINERS = [
    _kind("int", "$w = $n", "$w += 1\n$w = -$n\n$w = float($w)\n$w = True"),
    _kind("float", "$w = 0.0\n$w = $n / 3", "$w = -0.0\n$w = float('nan')\n$w = 1\n$w = True"),
    _kind("text", "$w = 'a$n'\n$w = b'a$n'", "$w = $w * 2\n$w = $w[:1]"),
    _kind(
        "list",
        "$w = [$n, $n, $n]\n$w = []\n$w = list(range(100))\n$w = ['a', None, 2.5]",
        "$w[0] = $n\n$w.append($n)\n$w.reverse()\n$w[:1] = [$n, $n]\n$w[-1] = float(len($w))\n$w[0] = True\n"
        "$w[0] = 1\n$w.pop()\n$w[0] = -0.0\n$w[0] = 0.0\n$w.sort(key=str)\n$w.clear()\n$w[50] = $n",
        "$w\nlen($w)\n$w[0]\n$w[-1]\nsum(1 for v in $w if v)",
    ),
    _kind(
        "nested",
        "$w = [[$n], {'a': [$n]}, ($n, [$n])]\n$w = [[[$n]], {'a': [{'b': $n}]}, ($n, [$n])]",
        "$w[0].append($n)\n$w[0][0] = $n\n$w[1]['a'].append($n)\n$w[1]['c'] = $n\n$w[2][1][0] = $n\n"
        "$w[2][1].append([$n])\n$w[1]['a'][0] = $n",
        "$w\n$w[2][1]\n$w[1]['a']",
    ),
    _kind("pair", "$w = ($n, [$n])\n$w = (($n, {'a': [$n]}), [$n])", "$w[1].append($n)\n$w[1][0] = $n"),
    _kind(
        "dict",
        "$w = {'a': $n, 'b': $n}\n$w = {f'k{i}': i for i in range(8)}\n"
        "$w = {i: str(i) for i in range(100)}\n$w = {}",
        "$w['a'] = $n\n$w.update(z=$n)\n$w[7] = $n\n$w['a'] = $w.pop('a', 0)\n$w.popitem()\n$w['a'] = 1\n"
        "$w['a'] = True\n$w['a'] = 1.0\n$w.setdefault('b', $n)\n$w['b'] = $w.get('a')",
        "$w\nlen($w)\n$w.get('a')\nlist($w)",
    ),
    _kind(
        "nested_dict",
        "$w = {'a': {'b': {'c': [$n]}}, 'd': $n}",
        "$w['a']['b']['c'].append($n)\n$w['a']['b']['d'] = $n\n$w['a']['b']['c'][0] = $n\n$w['d'] = $w['a']",
        "$w\n$w['a']['b']",
    ),
    _kind(
        "set", "$w = {$n, $n}\n$w = {'a', $n}", "$w.add($n)\n$w.discard(3)\n$w.update(range(4))\n$w.clear()"
    ),
    _kind("frozen", "$w = [frozenset({$n}), $n]", "$w[0] = frozenset({$n, 'x'})\n$w[0] |= {$n}"),
    _kind(
        "deque",
        "$w = collections.deque([$n, $n])\n$w = collections.deque([[$n]], maxlen=2)",
        "$w.append($n)\n$w.rotate(1)\n$w[0] = $n\n$w.appendleft([])",
    ),
    _kind("bytes", "$w = bytearray(b'abc$n')", "$w[0] = 120\n$w.extend(b'z')\n$w[:1] = b''"),
    _kind("typed_array", "$w = array.array('i', [$n, $n])", "$w[0] = $n\n$w.append($n)"),
    _kind(
        "ordered",
        "$w = collections.OrderedDict(a=$n, b=[$n])",
        "$w.move_to_end('a')\n$w['b'].append($n)\n$w['a'] = $n",
    ),
    _kind(
        "default_dict",
        "$w = collections.defaultdict(list, a=[$n])",
        "$w['a'].append($n)\n$w['z'].append($n)\n$w.default_factory = int",
    ),
    _kind("counter", "$w = collections.Counter('abca')", "$w['a'] += $n\n$w.update('zz')"),
    _kind(
        "chain_map",
        "$w = collections.ChainMap({'a': $n}, {'b': [$n]})",
        "$w['a'] = $n\n$w.maps[1]['b'].append($n)\n$w['b'] = $n",
    ),
    _kind(
        "space",
        "$w = types.SimpleNamespace(a=$n, b=[$n])",
        "$w.a = $n\n$w.b.append($n)\n$w.c = $n\ndel $w.a",
        "$w\n$w.b",
    ),
    _kind(
        "library",
        "$w = [decimal.Decimal('0.$n'), fractions.Fraction($n, 7), datetime.date(2020, 1, 1 + $n)]",
        "$w[0] += 1\n$w[1] *= 2\n$w[2] += datetime.timedelta($n)",
    ),
    _kind(
        "recursive",
        "$w = [$n]; $w.append($w)\n$w = {'a': [$n]}; $w['self'] = $w",
        "$w.append($n)\n$w['a'].append($n)",
    ),
    _kind(
        "shared",
        "$w_part = [$n]; $w = {'a': $w_part, 'b': [$w_part]}\n$w_part = [$n]; $w = [$w_part, $w_part]",
        "$w_part.append($n)\n$w_part[0] = $n\n$w_part = [$n]",
        "$w, $w_part\n$w_part, $w\n$w_part\n$w_part is ($w[0] if type($w) is list else $w['a'])",
        variable=False,
    ),
    _kind(
        "function_in",
        "$w = {'f': len, 'g': [abs]}\n$w = [(lambda v: v + $n), $n]",
        "$w['f'] = sum\n$w[1] = $n",
    ),
]
ARRAYS = [
    _kind(
        "array",
        "$w = np.arange(5)\n$w = np.arange(6.0).reshape(2, 3)\n$w = np.array($n)\n"
        "$w = np.array(['a', 'bcd'])\n"
        "$w = np.zeros(3, 'M8[s]')\n$w = np.ones(4, bool)\n"
        "$w = np.asfortranarray(np.arange(6).reshape(2, 3))",
        "$w[0] = $n\n$w[...] = $n\n$w *= 2\n$w[-1:] = 7\n$w += 1\n$w.flat[1] = $n",
        "$w\n$w.shape\n$w.dtype.str",
    ),
    _kind(
        "middle_array",
        "$w = np.arange(512.0)\n$w = np.arange(8192.0)",
        "$w[$n] = -1\n$w[-1] += 1\n$w[3:9] = $n\n$w[0] = -0.0",
    ),
    _kind(
        "large_array",
        "$w = np.arange(131072.0)",
        "$w[70000] = $n\n$w[-1] += 1\n$w[3:9] = $n",
        "$w\n$w[69990:70005]\n$w.sum()",
    ),
    _kind(
        "view",
        "$w_base = np.arange(40.0); $w = $w_base[::3]\n"
        "$w_base = np.arange(24).reshape(4, 6); $w = $w_base.T[1:3]\n"
        "$w_base = np.arange(4096.0); $w = $w_base[::-2]",
        "$w_base[0] = $n\n$w_base[...] = $n\n$w[0] = $n\n$w_base += 1\n$w_base[-1] = $n",
    ),
    _kind(
        "record_array",
        "$w = np.zeros(4, dtype=[('a', 'i4'), ('b', 'f8', (2,))])",
        "$w['a'][1] = $n\n$w['b'][0, 1] = $n\n$w[2] = ($n, (1, 2))",
        "$w\n$w['b']",
    ),
    _kind(
        "object_array",
        "$w = np.array([$n, 'x', None], dtype=object)\n$w = np.empty(2, object); $w[0] = [$n]",
        "$w[1] = $n\n$w[0] = [$n]\n$w[0].append($n)",
    ),
    _kind(
        "masked_array",
        "$w = np.ma.array([1, 2, $n], mask=[0, 1, 0])",
        "$w[0] = $n\n$w[0] = np.ma.masked\n$w.mask[1] = False",
    ),
    _kind(
        "arrays_in",
        "$w = {'a': np.arange(3), 'b': [np.zeros(2)]}",
        "$w['a'][0] = $n\n$w['b'][0] += 1\n$w['b'].append(np.ones(1))",
    ),
]
FRAMES = [
    _kind(
        "frame",
        "$w = pd.DataFrame({'a': [1, 2, 3], 'b': [0.5, $n, 1.5]})\n"
        "$w = pd.DataFrame({'a': [1, 2, $n], 'b': ['x', 'y', 'z']}, index=[5, 6, 7])\n"
        "$w = pd.DataFrame({'a': range(1000), 'b': np.arange(1000.0), 'c': np.zeros(1000)})",
        "$w['new'] = $n\n$w.iloc[1, 0] = $n\n$w.loc[$w.index[0], 'a'] = $n\n"
        "$w.columns = list('xyzuvw')[:$w.shape[1]]\n"
        "$w.index = $w.index + 1\n$w.attrs['k'] = $n\n$w.sort_values('a', ascending=False, inplace=True)\n"
        "$w.drop(columns='a', inplace=True)\n$w['a'] = $w['a'] * 2\n"
        "$w.rename(columns={'a': 'q'}, inplace=True)",
        "$w\n$w.shape\nlist($w.columns)\n$w.iloc[1]",
    ),
    _kind(
        "series",
        "$w = pd.Series([1, 2, $n])\n$w = pd.Series(['a', 'b'], name='s')\n"
        "$w = pd.Series([1.5, 2], index=['u', 'v'])",
        "$w.iloc[0] = $w.iloc[1]\n$w.name = 't$n'\n$w.index = [7, 8, 9][:len($w)]\n$w.loc['new'] = $n",
    ),
]
_ATTRIBUTES = "$w.a = $n\n$w.items.append($n)\n$w.items = [$n]\n$w.items[0] = $n\ndel $w.a"
_INIT = "    def __init__(self, a):\n        self.a = a\n        self.items = [a]\n"
INSTANCES = [
    _kind(
        "instance",
        f"class C_$w:\n{_INIT}\n$w = C_$w($n)",
        f"{_ATTRIBUTES}\n$w.new = $n\n$w.items.append($w.a)",
        "$w\n$w.items\n$w.a",
    ),
    _kind(
        "slots",
        f"class C_$w:\n    __slots__ = 'a', 'items'\n{_INIT}\n$w = C_$w($n)",
        _ATTRIBUTES,
        "$w\n$w.items\n$w.a",
    ),
    _kind(
        "record",
        "@dataclasses.dataclass\nclass C_$w:\n    a: int\n"
        "    items: list = dataclasses.field(default_factory=list)\n\n"
        "$w = C_$w($n)\n--\n"
        "@dataclasses.dataclass(frozen=True, slots=True)\nclass C_$w:\n    a: int\n    items: list\n"
        "\n$w = C_$w($n, [$n])",
        _ATTRIBUTES,
        "$w\n$w.items\n$w.a",
    ),
    _kind(
        "named",
        "C_$w = collections.namedtuple('C_$w', 'a items'); $w = C_$w($n, [$n])",
        "$w.items.append($n)\n$w = $w._replace(a=$n)",
    ),
    _kind(
        "own_list",
        "class C_$w(list):\n    pass\n\n$w = C_$w([$n]); $w.note = [$n]",
        "$w.append($n)\n$w.note.append($n)\n$w.other = $n",
    ),
    _kind(
        "odd_equality",
        f"class C_$w:\n{_INIT}    def __eq__(self, other):\n        return True\n    __hash__ = None\n"
        f"\n$w = [C_$w($n)]",
        "$w[0].a = $n\n$w[0] = C_$w($n)\n$w[0].items.append($n)",
    ),
    _kind(
        "own_state",
        f"class C_$w:\n{_INIT}    def __getstate__(self):\n        return self.a, self.items\n"
        "    def __setstate__(self, state):\n        self.a, self.items = state\n\n$w = C_$w($n)",
        "$w.a = $n\n$w.items.append($n)",
    ),
    _kind(
        "member",
        "class C_$w(enum.Enum):\n    ONE = 1\n    TWO = [2]\n\n$w = [C_$w.ONE]",
        "$w[0] = C_$w.TWO\n$w.append(C_$w.ONE)",
    ),
    _kind(
        "computed",
        f"class C_$w:\n{_INIT}    @property\n    def twice(self):\n        return self.a, self.a\n\n"
        f"$w = C_$w($n)",
        "$w.a = $n\nC_$w.twice = property(lambda self: (self.a, $n))\nC_$w.twice = $n",
        "$w.twice",
    ),
    _kind(
        "failure",
        "class C_$w(Exception):\n    pass\n\n$w = C_$w($n, [$n])",
        "$w.args[1].append($n)\n$w.note = $n\n$w.args = ($n,)",
        "$w.args\n$w.__dict__",
    ),
]
CLASSES = [
    _kind(
        "class",
        "class $w:\n    a = $n\n    items = [$n]\n    def get(self):\n        return self.a, $n\n"
        "    @classmethod\n"
        "    def made(cls):\n        return cls.items\n    @staticmethod\n    def fixed():\n"
        "        return $n\n",
        "$w.a = $n\n--\n$w.items.append($n)\n--\n$w.new = $n\n--\n$w.get = lambda self: $n\n--\n"
        "del $w.a\n--\n"
        "$w.fixed = staticmethod(lambda: $n)\n--\n$w.__doc__ = 'text $n'\n--\n$w.items = [$n]\n--\n"
        "class $w:\n    a = $n\n    items = []\n    def get(self):\n        return self.items\n",
        "$w.a\n$w.items\n$w().get()\n$w()\n$w.made()\n$w.fixed()\nhasattr($w, 'new')\n$w.__doc__",
    ),
    _kind(
        "inherited",
        "class Base_$w:\n    a = $n\n    items = [$n]\n    def get(self):\n        return self.a\n\n"
        "class $w(Base_$w):\n    def more(self):\n        return super().get(), self.items\n",
        "Base_$w.a = $n\n--\nBase_$w.items.append($n)\n--\nBase_$w.get = lambda self: $n\n--\n$w.a = $n\n--\n"
        "$w.more = lambda self: $n\n--\n$w.__bases__ = (type('Other', (Base_$w,), {'a': $n}),)",
        "$w.a\n$w().get()\n$w().more()\n$w.items",
    ),
    _kind(
        "instance_of",
        "class K_$w:\n    a = $n\n    def get(self):\n        return self.a, self.b\n\n"
        "$w = K_$w(); $w.b = [$n]",
        "$w.b.append($n)\n--\nK_$w.a = $n\n--\nK_$w.get = lambda self: ($n, self.b)\n--\n$w.a = $n\n--\n"
        "class K_$w:\n    a = -$n\n    b = 1\n    def get(self):\n        return self\n\n--\n"
        "$w.__class__ = K_$w",
        "$w.get()\n$w\n$w.a\ntype($w) is K_$w",
    ),
    _kind(
        "class_of_classes",
        "class Meta_$w(type):\n    factor = $n\n    def scaled(cls):\n        return cls.a * cls.factor\n\n"
        "class $w(metaclass=Meta_$w):\n    a = $n\n",
        "$w.a = $n\n--\nMeta_$w.factor = $n",
        "$w.scaled()\n$w.a",
    ),
]
FUNCTIONS = [
    _kind(
        "helper",
        "def $w(v=$n):\n    return v, $n\n",
        "def $w(v=$n):\n    return $n, v\n\n--\n$w = lambda: $n\n--\n$w.__defaults__ = ($n,)\n--\n"
        "$w.__code__ = (lambda v=1: ($n, v)).__code__",
        "$w()",
    ),
    _kind(
        "attributes",
        "def $w():\n    return $w.data\n\n$w.data = [$n]",
        "$w.data.append($n)\n$w.data = [$n]\n$w.data[0] = $n\n$w.other = $n",
        "$w()\n$w.data\nsorted($w.__dict__)",
    ),
    _kind(
        "counting_closure",
        "def make_$w(n):\n    state = [n]\n    def get():\n        return n, state\n    def put(value):\n"
        "        nonlocal n\n        n = value\n    return get, put, state\n\n"
        "$w, put_$w, state_$w = make_$w($n)",
        "put_$w($n)\nstate_$w.append($n)\nstate_$w[0] = $n",
        "$w()",
    ),
    _kind(
        "decorated",
        "def deco_$w(f):\n    calls = [$n]\n    @functools.wraps(f)\n    def inner(*args):\n"
        "        return f(*args), calls\n"
        "    inner.calls = calls\n    return inner\n\n@deco_$w\ndef $w():\n    return $n\n",
        "$w.calls.append($n)\n$w.calls[0] = $n",
        "$w()",
    ),
    _kind(
        "table_of",
        "def one_$w():\n    return limit_$w\n\nlimit_$w = [$n]; $w = {'one': one_$w}",
        "limit_$w.append($n)\nlimit_$w = $n\n$w['one'] = lambda: $n\n"
        "$w['one'] = functools.partial(max, $n, 2)",
        "$w['one']()",
    ),
    _kind(
        "partial",
        "limit_$w = [$n]; $w = functools.partial(lambda limit, v: (limit, v), limit_$w, $n)",
        "limit_$w.append($n)\nlimit_$w[0] = $n",
        "$w()",
    ),
    _kind(
        "default_of",
        "limit_$w = [$n]\ndef $w(v=limit_$w, *, k=limit_$w):\n    return v, k",
        "limit_$w.append($n)\n$w.__kwdefaults__ = {'k': $n}",
        "$w()",
    ),
    _kind(
        "late",
        "pass",
        "def later_$w():\n    return $n\n\n--\nlater_$w = lambda: [$n]\n--\ndel later_$w",
        "later_$w()",
        variable=False,
    ),
    _kind(
        "shadow",
        "pass",
        "len = lambda v: $n\n--\nabs = max\n--\ndel len\n--\nlen = sum",
        "len([1, 2])\nabs(-3)",
        variable=False,
    ),
]
_SOURCE = (
    "write_module('MODULE_$w', '''\ndata = [$n]\nnumber = $n\nclass Kept:\n    a = $n\n    items = [1]\n"
    "def get():\n    return data, number\ndef of_class():\n    return Kept.a, Kept.items\n"
    "def defaulted(v=[$n]):\n    return v\n''')\n"
)
_CHANGES = (
    "MODULE_$w.number = $n\nMODULE_$w.data.append($n)\nMODULE_$w.data = [$n]\n"
    "MODULE_$w.data[0] = $n\nMODULE_$w.Kept.a = $n\n"
    "MODULE_$w.Kept.items.append($n)\nMODULE_$w.new = $n"
)
MODULES = [
    _kind(
        "module",
        _SOURCE + "import MODULE_$w\n$w = MODULE_$w",
        _CHANGES,
        "MODULE_$w.data\nMODULE_$w.number\nMODULE_$w.get()\nMODULE_$w.of_class()\nMODULE_$w.Kept.a\n"
        "hasattr(MODULE_$w, 'new')",
        variable=False,
    ),
    _kind(
        "from_module",
        _SOURCE + "import MODULE_$w\nfrom MODULE_$w import get, of_class, Kept, defaulted",
        _CHANGES + "\nget = lambda: $n\ndefaulted.__defaults__[0].append($n)\nMODULE_$w.get = lambda: $n",
        "get()\nof_class()\nKept.items\nKept.a\ndefaulted()",
        variable=False,
    ),
]
KINDS = {
    kind.name: kind for kind in (*CONTAINERS, *ARRAYS, *FRAMES, *INSTANCES, *CLASSES, *FUNCTIONS, *MODULES)
}
