"""What programs map over: ``$m`` is the map's name, ``$c`` a change of what the function captures, ``$n`` a number."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Input:
    """Statements before and after the call, and its arguments. ``read``: the map is read before anything else."""

    name: str
    text: str
    before: str = ""
    after: str = ""
    read: bool = False
    immediate: bool = True  # also where tasks work on the program's own objects
    only_plain: bool = False  # its elements come as several arguments


_SWEEP = "def gen_$m():\n    buffer = {0}\n    for i in range(6):\n        {1}\n        yield buffer\n"
_ALL = [
    Input("over_list", "[1, 2, [$n], 'a']"),
    Input("over_list_changed", "xs_$m", "xs_$m = [1, 2, [$n]]", "xs_$m.append(9)", immediate=False),
    Input(
        "over_list_set",
        "xs_$m",
        "xs_$m = [[$n], [$n], $n]",
        "xs_$m[1].append(9); xs_$m[2] = 8",
        immediate=False,
    ),
    Input("over_range", "range($n + 2)"),
    Input("over_long_range", "range(400)"),
    Input("over_array", "np.arange($n + 1.0)"),
    Input(
        "over_rows",
        "xs_$m",
        "xs_$m = np.arange(12.0).reshape(4, 3)",
        "xs_$m[2] = -1; xs_$m[3, 1] = $n",
        immediate=False,
    ),
    Input("over_frame", "pd.DataFrame({'a': [1, 2]}).itertuples(index=False, name=None)"),
    Input("over_dict", "{'a': $n, 'b': [$n]}"),
    Input("over_items", "{'a': $n, 'b': [$n]}.items()"),
    Input("over_text", "'abc'"),
    Input("over_set", "{$n, $n, $n}"),
    Input("over_expression", "(i * i for i in range($n + 2))"),
    Input("over_enumerate", "enumerate([[1], [2]])"),
    Input(
        "over_shared_element", "[xs_$m, xs_$m, [xs_$m]]", "xs_$m = [$n]", "xs_$m.append(1)", immediate=False
    ),
    Input("over_buffer", "gen_$m()", _SWEEP.format("[0]", "buffer[0] = i"), immediate=False),
    Input("over_growing", "gen_$m()", _SWEEP.format("[]", "buffer.append(i)"), immediate=False),
    Input("over_array_buffer", "gen_$m()", _SWEEP.format("np.zeros(3)", "buffer[1] = i"), immediate=False),
    Input(
        "over_large_buffer", "gen_$m()", _SWEEP.format("np.zeros(40000)", "buffer[5] = i"), immediate=False
    ),
    Input("over_dict_buffer", "gen_$m()", _SWEEP.format("{'a': [0]}", "buffer['a'][0] = i"), immediate=False),
    Input(
        "over_changing_state",
        "gen_$m()",
        "def gen_$m():\n    for i in range(6):\n        if i % 2:\n            $c\n        yield i\n",
        read=True,
        immediate=False,
    ),
    Input(
        "over_raising",
        "gen_$m()",
        "def gen_$m():\n    for i in range($n):\n        yield i\n    raise OSError($n, 'input')\n",
    ),
    Input("over_two", "[1, 2, 3], [[$n], $n]", only_plain=True),
    Input("over_three", "range(4), 'abcd', np.arange(3)", only_plain=True),
    Input("over_unending_beside", "[1, 2, 3], itertools.count($n)", only_plain=True),
    Input("over_nothing", "[]"),
    Input("over_errors", "[1, 2, 3], return_exceptions=True"),
    Input("over_futures", "[$h, 1, [$h]]", immediate=False),
    Input(
        "over_sequence",
        "Seq_$m()",
        "class Seq_$m:\n    def __len__(self):\n        return 3\n    def __getitem__(self, i):\n"
        "        if i > 2:\n            raise IndexError\n        return [i, $n]\n",
    ),
    Input(
        "over_iterable", "It_$m()", "class It_$m:\n    def __iter__(self):\n        return iter([1, [$n]])\n"
    ),
    Input(
        "over_instances",
        "[El_$m(1), El_$m([$n])]",
        "class El_$m:\n    def __init__(self, v):\n        self.v = v\n",
        "El_$m.late = $n",
        immediate=False,
    ),
    Input("over_chunks", "range(10), chunksize=3"),
]
INPUTS = {drawn.name: drawn for drawn in _ALL}
