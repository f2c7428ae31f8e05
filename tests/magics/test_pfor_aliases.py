"""`%%pfor` loops whose items reach the notebook's objects by other ways than the names in the body: refused, and
nothing is done; and loops with objects of unusual classes, which leave what the plain loop leaves.
"""

from __future__ import annotations

import pytest

from tests.magics.loops import Case
from tests.magics.test_pfor_effects import compare
from tests.support.notebook import Notebook

OBJECTS = """
class Account:
    count, log = 0, []
    def __init__(self): self.total = 0
    def add(self, x): self.total += x; return self.total
    def note(self, x): self.total += x; Account.count += 1; return self.total
class Rows:
    def __init__(self): self.items = []
    def add(self, x): self.items.append(x)
class Layer:
    def __init__(self): self.w = [0] * 5
class Net:
    def __init__(self): self.layers = [Layer()]
class Bag:
    def __init__(self, items): self.items = items
    def __iter__(self): return iter(self.items)
def write(): log.append(1)
def walk():
    while stack: yield stack.pop()
account, rows, net, log, stack, xs, out = Account(), Rows(), Net(), [], [3], [1, 2], []
items, weights = rows.items, net.layers[0].w
table = {'rows': xs, 'n': 0}
nested = {'a': [log], 'b': log}
settings = {'m': {'log': []}}
inner = settings['m']['log']
walking, following, bag, d = walk(), iter(xs), Bag(xs), {'a': 1}
pairs = d.items()
"""

CALLED = {  # loops: what is said to change
    "f in [write]\nf()": "log",
    "f in [account.add]\nf(1)": "the object of add",
    "f in [xs.append]\nf(1)": "the object of append",
    "C in [Account]\nC.tag = 1": "Account",
    "a in [account]\na.note(1)": "Account",
}
READ = {  # loops: what is pointed at
    "x in range(3)\nxs.append(x); table['n'] = x; out.append(len(table['rows']))": "table",
    "x in range(3)\nnested['b'].append(x); out.append(len(nested['a'][0]))": "nested",
    "x in range(3)\nsettings['m']['log'].append(x); out.append(len(inner))": "inner",
    "x in range(3)\nrows.add(x); out.append(len(items))": "items",
    "i in range(1, 5)\nnet.layers[0].w[i] = weights[i - 1] + 1": "weights",
    "x in walking\nstack.append(x - 1)": "walking",
    "x in following\nif x < 5: xs.append(x + 3)": "following",
    "x in bag\nif x < 5: xs.append(x + 1)": "bag",
    "k, v in pairs\nd[k + 'x'] = v": "pairs",
}
NUMPY = "import numpy as np\nu = np.zeros(8); v = u[1:]; lo, hi = u[:4], u[4:]; out = []"
STATE = "repr((account.total, Account.count, items, weights, log, stack, xs, out, table, settings, d))"


@pytest.mark.parametrize("loop", CALLED)
def test_what_items_call_is_found_out(notebook: Notebook, loop: str) -> None:
    notebook.run(OBJECTS).ok()
    notebook.run(f"before = {STATE}").ok()
    output = notebook.run(f"%%pfor {loop}")
    assert output.error is not None
    assert f"what they call changes {CALLED[loop]}, of which each worker has a copy" in output.traceback
    assert notebook.value(f"before == {STATE}") == "True"


@pytest.mark.parametrize("loop", READ)
def test_what_reads_by_another_way_is_refused(notebook: Notebook, loop: str) -> None:
    notebook.run(OBJECTS).ok()
    notebook.run(f"before = {STATE}").ok()
    output = notebook.run(f"%%pfor {loop}")
    assert output.error is not None
    assert output.error["ename"] == "UsageError", output.traceback
    assert output.pointed_at() == READ[loop]
    assert notebook.value(f"before == {STATE}") == "True"


def test_views_of_an_array_are_the_array(notebook: Notebook) -> None:
    notebook.run(NUMPY).ok()
    for loop, place in {
        "i in range(7)\nv[i] = u[i] + 1": "u",
        "i in range(4)\nu[i] = i; out.append(v.sum())": "v",
    }.items():
        assert notebook.run(f"%%pfor {loop}").pointed_at() == place
    notebook.run("%%pfor i in range(4)\nlo[i] = hi[i] + 1").ok()  # other places of its memory
    assert notebook.value("u.tolist()") == "[1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]"


def test_state_of_a_module_that_its_functions_change(notebook: Notebook) -> None:
    notebook.run(
        "import pathlib, sys, tempfile\nfolder = tempfile.mkdtemp()\nsys.path.insert(0, folder)\n"
        "text = 'n = 0\\ndef bump(x):\\n    global n\\n    n += x\\n    return n\\ndef shifted(x): return x + n\\n'\n"
        "pathlib.Path(folder, 'cellmill_test_state.py').write_text(text)\nimport cellmill_test_state as m\nout = []"
    ).ok()
    notebook.run("%%pfor x in range(3)\nout.append(m.shifted(x))").ok()
    assert notebook.value("out") == "[0, 1, 2]"
    assert "items change cellmill_test_state.n" in notebook.run("%%pfor x in range(3)\nm.bump(x)").traceback
    assert notebook.value("m.n") == "0"


@pytest.mark.parametrize(
    ("body", "place", "words"),
    [
        (
            "with decimal.localcontext() as c:\n    c.prec = 4\n    total += D(x) / 7",
            "decimal.localcontext()",
            "behind it",
        ),
        ("out.append(globals().get('n'))", "globals()", "the notebook's"),
        ("exec(f'w{x} = {x}')", "exec(f'w{x} = {x}')", "the notebook's"),
    ],
)
def test_what_would_not_hold_later_is_refused(notebook: Notebook, body: str, place: str, words: str) -> None:
    notebook.run("import decimal\nD = decimal.Decimal\ntotal, out, n = D(0), [], 5").ok()
    output = notebook.run(f"%%pfor x in range(1, 6)\n{body}")
    assert output.pointed_at() == place
    assert words in output.traceback
    assert notebook.value("total, out") == "(Decimal('0'), [])"


LEFT = {
    "ordered dicts": Case(
        "i, d in enumerate(ods)",
        "d['c'] = i\nd.move_to_end('a')\nif i: d.popitem(last=False)",
        "from collections import OrderedDict\nods = [OrderedDict(a=1, b=2) for _ in range(3)]",
    ),
    "slots of a class's own": Case(
        "c in cs",
        "c.up()",
        "class C:\n    __slots__ = ('__v', 'w')\n    def __init__(self): self.__v = 1\n"
        "    def up(self): self.__v += 5\n    def __repr__(self): return f'C({self.__v})'\n"
        "    def __eq__(self, other): return repr(self) == repr(other)\ncs = [C(), C()]",
    ),
    "keys that change later": Case(
        "i in range(3)", "at = [i]; a[at] += 1; at[0] = 0", "import numpy as np\na = np.zeros(3, int)"
    ),
}


@pytest.mark.parametrize("case", LEFT.values(), ids=LEFT.keys())
def test_the_notebook_is_as_after_the_plain_loop(notebook: Notebook, case: Case) -> None:
    compare(notebook, case)


def test_the_largest_object_is_one_of_them(notebook: Notebook) -> None:
    notebook.run(
        "class P:\n    def __init__(self, n): self.n = n\n    def __gt__(self, other): return self.n > other.n\n"
        "    def __lt__(self, other): return self.n < other.n\nps = [P(3), P(9), P(4)]\nbest = ps[0]"
    ).ok()
    notebook.run("%%pfor p in ps\nbest = max(best, p)").ok()
    assert notebook.value("best is ps[1]") == "True"


def test_a_row_that_changes_after_it_was_written(notebook: Notebook) -> None:
    notebook.run("import csv, io\nbuf = io.StringIO()\nw = csv.writer(buf)").ok()
    notebook.run("%%pfor x in range(3)\nrow = [x]; w.writerow(row); row.append('late')").ok()
    assert notebook.value("buf.getvalue().split()") == "['0', '1', '2']"


def test_functions_that_are_kept_have_the_notebooks_names(notebook: Notebook) -> None:
    notebook.run("def add(a, b): return a + b\nops, fs, kept, table, k = {'+': add}, [], [], {}, 1").ok()
    notebook.run(
        "%%pfor x in range(3)\nfs.append(lambda: x + k)\nkept.append((ops['+'], {'f': add}))\ntable[add] = x"
    ).ok()
    notebook.run("k = 100").ok()
    assert notebook.value("[f() for f in fs]") == "[102, 102, 102]"
    assert notebook.value("{f is add and d['f'] is add for f, d in kept}, table[add]") == "({True}, 2)"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("jobs.append(lambda: found.append(x))", "a function that is made here and kept changes things"),
        ("jobs.append(found.append)", "items keep append, a method of an object of the notebook"),
        ("jobs.append(functools.partial(found.append, x))", "items keep append, a method"),
    ],
)
def test_what_is_kept_and_belongs_to_copies_is_refused(notebook: Notebook, body: str, words: str) -> None:
    notebook.run("import functools\nfound, jobs = [], []").ok()
    output = notebook.run(f"%%pfor x in range(3)\n{body}")
    assert words in output.traceback
    assert notebook.value("found, jobs") == "([], [])"
