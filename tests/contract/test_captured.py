"""What a function refers to is what it was at the moment of the call, and what tasks change of it is said."""

from __future__ import annotations

import importlib
import sys
import threading
import types
import uuid
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import Executor
from cellmill.diagnostics import notices
from tests.contract.abilities import elsewhere, few_on_clusters, later, same_on_clusters
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate, prepend_to_path
from tests.support.told import nothing_told

Cell = Callable[[str], dict[str, Any]]

# By kind: what is defined, how it is changed in place before call number ``n``, and what the function reads.
KINDS = {
    "list": ("w = [0]", "w[0] = n", "w[0]"),
    "nested dict": ("w = {'a': [{'b': 0}]}", "w['a'][0]['b'] = n", "w['a'][0]['b']"),
    "long list": ("w = [0] * 5000", "w[4000] = n", "w[4000]"),
    "set": ("w = {0}", "w.add(n)", "sorted(w)"),
    "deque": ("import collections; w = collections.deque([0], maxlen=2)", "w.append(n)", "list(w)"),
    "order": (
        "import collections; w = collections.OrderedDict(a=1, b=2)",
        "w.move_to_end('ab'[n % 2])",
        "list(w)",
    ),
    "bytearray": ("w = bytearray(3)", "w[0] = n", "w[0]"),
    "typed array": ("import array; w = array.array('d', [0.0])", "w[0] = n", "w[0]"),
    "small array": ("import numpy as np; w = np.zeros(4)", "w[0] = n", "float(w[0])"),
    "large array": ("import numpy as np; w = np.zeros(300_000)", "w[-1] = n", "float(w[-1])"),
    "strided array": ("import numpy as np; w = np.zeros((9, 9))[::2, ::3]", "w[1, 1] = n", "float(w[1, 1])"),
    "shape": ("import numpy as np; w = np.zeros((2, 6))", "w.shape = (n, 12 // n)", "w.shape"),
    "dates": ("import numpy as np; w = np.zeros(3, 'M8[D]')", "w[0] = n", "int(w[0].astype(int))"),
    "objects": ("import numpy as np; w = np.array([[0], None], object)", "w[0][0] = n", "w[0][0]"),
    "frame": ("import pandas as pd; w = pd.DataFrame({'a': [0]})", "w.loc[0, 'a'] = n", "int(w.a[0])"),
    "column": ("import pandas as pd; w = pd.DataFrame({'a': [0]})", "w[f'c{n}'] = n", "list(w.columns)"),
    "series": ("import pandas as pd; w = pd.Series([0, 1])", "w[0] = n", "int(w[0])"),
    "flags": (
        "import pandas as pd; w = pd.Series([0])",
        "w.flags.allows_duplicate_labels = n % 2 == 0",
        "w.flags.allows_duplicate_labels",
    ),
    "frequency": (
        "import pandas as pd; w = pd.date_range('2020-01-04', periods=2, freq='7D')",
        "w.freq = None if n % 2 else '7D'",
        "str(w.freq)",
    ),
    "frequency of a frame": (
        "import pandas as pd; w = pd.DataFrame({'a': [1, 2]}, pd.to_timedelta([1, 2], 's'))",
        "w.index.freq = None if n % 2 else 's'",
        "str(w.index.freq)",
    ),
    "instance": ("class A: pass\nw = A(); w.v = [0]", "w.v = [n]", "w.v[0]"),
    "slots": ("class A:\n    __slots__ = ('v',)\nw = A(); w.v = 0", "w.v = n", "w.v"),
    "class": ("class A:\n    k = 0\nw = A", "A.k = n", "w.k"),
    "class of an instance": ("class A:\n    k = 0\nw = A()", "A.k = n", "w.k"),
    "method's global": ("v = [0]\nclass A:\n    def get(self): return v[0]\nw = A()", "v[0] = n", "w.get()"),
    "default": ("v = [0]\ndef w(x=v): return x[0]", "v[0] = n", "w()"),
    "attribute": ("def w(): return w.v\nw.v = 0", "w.v = n", "w()"),
    "helper": ("v = 0\ndef deep(): return v\ndef w(): return deep()", "v = n", "w()"),
    "closure": ("def make():\n    v = [0]\n    return v, lambda: v[0]\nv, w = make()", "v[0] = n", "w()"),
    "partial": ("import functools; v = [0]; w = functools.partial(max, v)", "v[0] = n", "w()"),
    "opaque": (
        "class A:\n    def __getstate__(self): return {'v': self.v}\nw = A(); w.v = 0",
        "w.v = n",
        "w.v",
    ),
    "deleted": ("w = {n: n for n in range(9)}", "del w[n]", "sorted(w)"),
}
TRAVELLERS = {
    "list",
    "large array",
    "class",
    "closure",
    "opaque",
}  # of each way in which they go to a worker, one


@pytest.fixture
def cell() -> Cell:
    """Runs source as a cell of a notebook does, in a ``__main__`` of its own; every notice is given anew."""
    main = types.ModuleType("__main__")

    def run(source: str) -> dict[str, Any]:
        exec(compile(source, "<cell>", "exec"), main.__dict__)
        return main.__dict__

    notices.forget()
    return run


@later
@elsewhere
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind in TRAVELLERS else same_on_clusters) for kind in KINDS]
)
def test_each_call_sees_the_state_of_its_moment(ex: Executor, cell: Cell, kind: str) -> None:
    define, change, read = KINDS[kind]
    main = cell(f"{define}\ndef f(x): return {read}")
    ways: list[Callable[[Any], Any]] = [
        lambda f: ex.submit(f, 0),
        lambda f: ex.options(priority=1).submit(f, 0),
        lambda f: ex.submit(f, [0]),
        lambda f: cellmill.parallel(executor=ex)(f)(0),
    ]
    futures, wanted = [], []
    for n in range(1, 4):
        main["n"] = n
        cell(change)
        for way in ways:
            futures.append(way(main["f"]))
            wanted.append(main["f"](0))
    assert [future.result(SECONDS) for future in futures] == wanted
    main["n"] = 4
    cell(change)
    assert list(ex.map(main["f"], range(3))) == [main["f"](0)] * 3


@later
@elsewhere
def test_a_sweep_in_one_cell(ex: Executor, cell: Cell) -> None:
    main = cell(
        """
import numpy as np
size = 200
grid = np.arange(size, dtype=float)
def row(i):
    return float(grid[i - 1] + grid[(i + 1) % size]) / 2
def sweeps(each):
    grid[:] = np.arange(size)
    for _ in range(5):
        grid[:] = each()
    return grid.sum()
"""
    )
    row, size = main["row"], main["size"]
    plain = main["sweeps"](lambda: [row(i) for i in range(size)])
    assert main["sweeps"](lambda: list(ex.map(row, range(size)))) == plain
    assert (
        main["sweeps"](lambda: [f.result(SECONDS) for f in [ex.submit(row, i) for i in range(size)]]) == plain
    )


@later
@elsewhere
def test_results_leave_classes_as_they_are(ex: Executor, cell: Cell) -> None:
    main = cell("class A:\n    k = 1\n    def __init__(self, v): self.v = v\ndef f(x): return A(x)")
    future = ex.submit(main["f"], 5)
    main["A"].k = 99
    found = future.result(SECONDS)
    assert type(found) is main["A"]
    assert (main["A"].k, found.k, found.v) == (99, 99, 5)


@later
@elsewhere
def test_versions_of_a_class_do_not_mix(ex: Executor, cell: Cell) -> None:
    main = cell("class A:\n    k = 0\ndef f(a, before): return A.k, a.k, isinstance(a, A)")
    a, futures = main["A"](), []
    for k in range(5):  # each waits for the one before: later versions are there when earlier ones run
        main["A"].k = k
        futures.append(ex.submit(main["f"], a, None))
    again = [ex.submit(main["f"], a, future) for future in futures]
    assert [future.result(SECONDS) for future in futures] == [(k, k, True) for k in range(5)]
    assert [future.result(SECONDS) for future in again] == [(4, 4, True)] * 5


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module of the user's own."""
    (tmp_path / "their_settings.py").write_text(
        "import threading\n"
        "SCALE = 1\nTABLE = {'a': [1]}\nlock = threading.Lock()\n"
        "class Config:\n    rate = 1\n"
        "def scaled(x):\n    return x * SCALE, TABLE['a'][0], Config.rate, lock.locked()\n"
    )
    prepend_to_path(monkeypatch, tmp_path)
    notices.forget()
    yield importlib.import_module("their_settings")
    sys.modules.pop("their_settings")


@later
@elsewhere
def test_data_of_own_modules(ex: Executor, cell: Cell, module: Any) -> None:
    by_value = cell("import their_settings\ndef f(x): return their_settings.SCALE, their_settings.scaled(x)")[
        "f"
    ]
    for function in (module.scaled, by_value):
        assert ex.submit(function, 1).result(SECONDS) == function(1)
    futures, wanted = [], []
    for n in range(2, 5):
        module.SCALE, module.TABLE["a"][0], module.Config.rate = n, 10 * n, 100 * n
        for function in (module.scaled, by_value):
            futures.append(ex.submit(function, 1))
            wanted.append(function(1))
    assert [future.result(SECONDS) for future in futures] == wanted
    assert list(ex.map(module.scaled, range(3))) == [module.scaled(x) for x in range(3)]


FOUND_BY_TEXT = """
import their_settings
def f(name):
    return (
        hasattr(their_settings, "new"), getattr(their_settings, name, None), "new" in vars(their_settings),
        their_settings.other if hasattr(their_settings, "other") else None,
    )
"""
BY_NAME = """
import their_settings
def f(name):
    try:
        return their_settings.new
    except AttributeError:
        return "none"
"""


@later
@elsewhere
@pytest.mark.parametrize("source", [FOUND_BY_TEXT, BY_NAME], ids=["by text", "by name"])
def test_data_that_a_module_gains_and_loses(ex: Executor, cell: Cell, module: Any, source: str) -> None:
    f = cell(source)["f"]
    futures, wanted = [], []

    def call() -> None:
        for name in ("new", "SCALE"):
            futures.append(ex.submit(f, name))
            wanted.append(f(name))

    call()
    module.new = 1
    call()
    module.new, module.other = 2, [3]
    call()
    del module.new
    call()
    module.new = 5
    call()
    assert [future.result(SECONDS) for future in futures] == wanted
    assert list(ex.map(f, ["new"] * 3)) == [f("new")] * 3


@later
@elsewhere
@pytest.mark.parametrize("source", [FOUND_BY_TEXT, BY_NAME], ids=["by text", "by name"])
def test_data_that_a_module_gains_is_not_there_for_calls_made_before(
    ex: Executor, cell: Cell, module: Any, gate: Gate, source: str
) -> None:
    main = cell(source + "\ndef after(opened, name): return f(name)")
    opened = ex.submit(tasks.hold, gate.folder)
    before = [ex.submit(main["after"], opened, "new") for _ in range(20)]
    wanted = main["f"]("new")
    module.new, module.other = [1], [2]
    assert ex.submit(main["f"], "new").result(SECONDS) == main["f"]("new") != wanted
    gate.release()
    assert [future.result(SECONDS) for future in before] == [wanted] * 20
    assert [ex.submit(main["f"], "new").result(SECONDS) for _ in range(5)] == [main["f"]("new")] * 5
    module.new = [3]
    assert [ex.submit(main["f"], "new").result(SECONDS) for _ in range(5)] == [main["f"]("new")] * 5


@later
@elsewhere
def test_data_of_modules_that_cannot_be_sent(ex: Executor, module: Any) -> None:
    assert ex.submit(module.scaled, 1).result(SECONDS) == module.scaled(1)
    module.lock = threading.Lock()
    with pytest.warns(RuntimeWarning, match=r"their_settings\.lock was set anew .* it cannot be sent"):
        assert ex.submit(module.scaled, 1).result(SECONDS) == module.scaled(1)
    with nothing_told():  # it is said once
        module.lock = threading.Lock()
        assert ex.submit(module.scaled, 1).result(SECONDS) == module.scaled(1)


CHANGES = {
    "a list": ("w = [0]", "w[0] += 1\n    return w[0]", "w"),
    "a global": ("w = 0", "global w\n    w += 1\n    return w", "w"),
    "an attribute": ("class A:\n    v = 0\na = A()", "a.v += 1\n    return a.v", "a"),
    "a class": ("class A:\n    v = 0", "A.v += 1\n    return A.v", "A"),
    "a closure variable": (
        "def make(n):\n  def up():\n    nonlocal n\n    n += 1\n    return n\n  return up\nup = make(0)",
        "return up()",
        "n",
    ),
    "its own attribute": (
        "",
        "changing.n = getattr(changing, 'n', 0) + 1\n    return changing.n",
        "its attributes",
    ),
    "a cache": ("cache = {}", "return cache.setdefault(x, x)", "cache"),
}


@later
@elsewhere
@pytest.mark.parametrize("kind", few_on_clusters(CHANGES, 2))
@pytest.mark.parametrize("mapped", [False, True])
def test_changes_by_tasks_are_said_before_the_result(
    ex: Executor, cell: Cell, kind: str, mapped: bool
) -> None:
    define, body, variable = CHANGES[kind]
    # of other content and name than in other tests: what tasks change is told once by each worker
    name = f"changing_{uuid.uuid4().hex}"
    function = cell(f"{define}\ndef {name}(x):\n    {body.replace('changing', name)}")[name]
    words = f"tasks of {name} change {variable}. The change stays in the worker"

    def called() -> None:
        if mapped:
            next(ex.map(function, range(3)))
        else:
            ex.submit(function, 1).result(SECONDS)

    with pytest.warns(
        RuntimeWarning, match=words
    ):  # from the call on: tasks may end before the result is read
        called()
    with nothing_told():  # it is said once
        assert len(list(ex.map(function, range(10)))) == 10


@elsewhere
def test_a_function_that_is_defined_anew_is_told_of_anew(ex: Executor, cell: Cell) -> None:
    """A cell that was edited, and whose tasks still change what they did."""
    name, rows = f"appending_{uuid.uuid4().hex}", "rows = []\n"
    words = f"tasks of {name} change rows. The change stays"
    for number in range(2):
        function = cell(f"{rows}def {name}(x):\n    rows.append(x)\n    return x + {number}")[name]
        with pytest.warns(RuntimeWarning, match=words):
            found = list(ex.map(function, range(3)))
        assert found == [x + number for x in range(3)]
    with nothing_told():  # it is what the cell before was
        function = cell(f"{rows}def {name}(x):\n    rows.append(x)\n    return x + 1")[name]
        assert list(ex.map(function, range(3))) == [1, 2, 3]


CACHES = {
    "composed flags": (
        "import enum\nclass E(enum.Flag):\n    A = 1\n    B = 2\n    C = 4",
        "return E(x + 1) | E.A",
    ),
    "abstract classes": (
        "import abc\nclass S(abc.ABC):\n    @abc.abstractmethod\n    def area(self): ...",
        "return isinstance(x, S)",
    ),
    "protocols": (
        "import typing\n@typing.runtime_checkable\nclass P(typing.Protocol):\n    def area(self): ...",
        "return isinstance(x, P), isinstance(x, P)",
    ),
    "cached properties": (
        "import functools\nclass A:\n    @functools.cached_property\n    def big(self): return 7\na = A()",
        "return a.big",
    ),
    "cached methods": (
        "import functools\nclass A:\n    @functools.lru_cache\n    def m(self, x): return x\na = A()",
        "return a.m(x)",
    ),
    "single dispatch": (
        "import functools\n@functools.singledispatch\ndef d(x): return 1\n@d.register\ndef _(x: int): return 2",
        "return d(x), d('')",
    ),
    "generics": (
        "import typing\nT = typing.TypeVar('T')\nclass G(typing.Generic[T]): pass",
        "return str(G[int]), typing.get_type_hints(G)",
    ),
    "dataclasses": (
        "import dataclasses\n@dataclasses.dataclass\nclass D:\n    a: int = 1\nd = D()",
        "return dataclasses.asdict(d), dataclasses.replace(d, a=x).a, repr(d)",
    ),
}


@later
@elsewhere
@pytest.mark.parametrize("kind", few_on_clusters(CACHES))
def test_a_cache_that_fills_is_no_change(ex: Executor, cell: Cell, kind: str) -> None:
    define, body = CACHES[kind]
    main = cell(f"{define}\ndef filling(x, _={uuid.uuid4().hex!r}):\n    {body}")
    with nothing_told():
        assert len(list(ex.map(main["filling"], range(4)))) == 4
        ex.submit(main["filling"], 2).result(SECONDS)


@later
@elsewhere
def test_a_change_of_a_class_with_caches_is_said(ex: Executor, cell: Cell) -> None:
    define, _ = CACHES["composed flags"]
    main = cell(f"{define}\ndef set_more(x, _={uuid.uuid4().hex!r}):\n    E.more = x\n    return x")
    with pytest.warns(RuntimeWarning, match="tasks of set_more change E"):
        assert ex.submit(main["set_more"], 2).result(SECONDS) == 2


@later
@elsewhere
def test_several_variables_are_said_at_once(ex: Executor, cell: Cell) -> None:
    main = cell(
        "a, b, c = [], {}, set()\n"
        f"def several(x, _={uuid.uuid4().hex!r}):\n    a.append(x)\n    b[x] = x\n    c.add(x)\n    return x"
    )
    with pytest.warns(RuntimeWarning, match="tasks of several change a, b and c") as said:
        ex.submit(main["several"], 2).result(SECONDS)
    assert len(said) == 1
    assert len(str(said[0].message)) < 300


@later
@elsewhere
def test_a_method_that_changes_its_object(ex: Executor, cell: Cell) -> None:
    name = f"Box{uuid.uuid4().hex}"
    main = cell(
        f"class {name}:\n    t = 0\n    def add(self, x):\n        self.t += x\n        return x\nbox = {name}()"
    )
    with pytest.warns(
        RuntimeWarning, match=rf"tasks of {name}\.add change self\. The change stays in the worker"
    ):
        list(ex.map(main["box"].add, range(3)))


@later
@elsewhere
def test_what_each_worker_may_set_once(ex: Executor, cell: Cell) -> None:
    function = cell(
        "model = None\ndef f(x):\n    global model\n    model = model or [7]\n    return model[0]"
    )["f"]
    with nothing_told():
        assert [ex.submit(function, x).result(SECONDS) for x in range(4)] == [7] * 4
        assert list(ex.map(function, range(4))) == [7] * 4


@elsewhere
def test_stores_are_said_at_the_definition(ex: Executor, cell: Cell) -> None:
    main = cell("total = 0\ndef add(x):\n    global total\n    total += x")
    with pytest.warns(RuntimeWarning, match="add assigns the global total"):
        cellmill.parallel(executor=ex)(main["add"])


@same_on_clusters
@later
@elsewhere
def test_a_costly_look_is_said_once(ex: Executor, cell: Cell) -> None:
    function = cell("import numpy as np\nhuge = np.zeros(8_000_000)\ndef f(x): return float(huge[x])")["f"]
    assert ex.submit(function, 0).result(SECONDS) == 0.0
    with pytest.warns(RuntimeWarning, match=r"each call of f .* huge has changed.*cellmill\.share\(huge\)"):
        ex.submit(function, 1).result(SECONDS)
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "error", message="each call of"
        )  # Dask may have to say that the function is large
        ex.submit(function, 2).result(SECONDS)


@later
@elsewhere
@pytest.mark.parametrize("kind", ["function", "method", "callable", "batch"])
def test_all_of_a_map_sees_the_state_of_its_start(ex: Executor, cell: Cell, kind: str) -> None:
    main = cell(
        """
w = [1]
class A:
    def go(self, x): return w[0], x
    def __call__(self, x): return w[0], x
def f(x): return w[0], x
def many(xs): return [(w[0], x) for x in xs]
"""
    )
    function = {
        "function": main["f"],
        "method": main["A"]().go,
        "callable": main["A"](),
        "batch": main["many"],
    }[kind]
    results = ex.options(batch=kind == "batch").map(function, range(20_000))
    main["w"][0] = 2  # most chunks are not sent yet
    assert list(results) == [(1, x) for x in range(20_000)]


@later
@elsewhere
def test_single_calls_of_a_batch_function(ex: Executor, cell: Cell) -> None:
    main = cell("w = [0]\ndef many(xs): return [(w[0], x) for x in xs]")
    futures = []
    for n in range(30):
        main["w"][0] = n
        futures.append(ex.options(batch=True).submit(main["many"], n))
    assert [future.result(SECONDS) for future in futures] == [(n, n) for n in range(30)]


def test_keyword_defaults_that_change(ex: Executor) -> None:
    def scaled(x: int, plus: int = 1, *, by: int = 2) -> int:
        return x * by + plus

    assert ex.submit(scaled, 3).result(SECONDS) == 7
    assert scaled.__kwdefaults__ is not None
    scaled.__kwdefaults__["by"] = 5
    assert ex.submit(scaled, 3).result(SECONDS) == 16
    scaled.__kwdefaults__ = {"by": 7}
    assert list(ex.map(scaled, [3, 4])) == [22, 29]
    scaled.__defaults__ = (0,)
    assert ex.submit(scaled, 3).result(SECONDS) == 21
