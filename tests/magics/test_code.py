"""The right code: what was redefined in any cell, or edited on disk, is what the next cell's tasks run."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.helpers import Gate
from tests.support.notebook import Notebook, Output

_names = (f"edited_{i}" for i in itertools.count())
_times = itertools.count(1_700_000_000, 10)


class Source:
    """A module of the user's own, written anew with a later time stamp each time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.stem

    def write(self, text: str) -> None:
        self.path.write_text(text)
        os.utime(self.path, (now := next(_times), now))


@pytest.fixture
def source(notebook: Notebook, tmp_path: Path) -> Iterator[Source]:
    """A module that the kernel finds, whose f() is 1."""
    notebook.run("import importlib, os, sys; from cellmill import default_executor as ex").ok()
    notebook.run(f"sys.path.insert(0, {str(tmp_path)!r})").ok()
    made = Source(tmp_path / f"{next(_names)}.py")
    made.write("def f(): return 1\n")
    yield made
    notebook.run(f"sys.path.remove({str(tmp_path)!r})").ok()


def quiet(output: Output) -> str:
    """What the cell printed; fails when it failed or was warned."""
    assert output.ok().stderr == ""
    return output.stdout.strip()


def call(notebook: Notebook, expression: str = "sorted(set(g.map(range(20))))") -> str:
    return quiet(notebook.run(f"print(({expression}))"))


def everywhere(notebook: Notebook) -> str:
    """The values of g(0), called once on each worker."""
    return call(notebook, "sorted(set(map(str, ex().run_on_workers(lambda: g.__wrapped__(0)))))")


# -- modules edited on disk


def test_imported_inside_the_function(notebook: Notebook, source: Source) -> None:
    quiet(notebook.run(f"%%parallel\ndef g(_):\n    import {source.name}\n    return {source.name}.f()"))
    assert call(notebook) == "[1]"
    assert call(notebook, "g(0).result()") == "1"
    source.write("def f(): return 22\n")
    assert call(notebook, "g(0).result()") == "22"
    assert call(notebook) == "[22]"
    source.write("def f(): return 333\n")
    assert call(notebook) == "[333]"


def test_workers_stay_when_nothing_was_edited(notebook: Notebook, source: Source, tmp_path: Path) -> None:
    unrelated = Source(tmp_path / f"{next(_names)}.py")
    unrelated.write("x = 1\n")
    quiet(notebook.run(f"import {unrelated.name}"))
    quiet(notebook.run(f"%%parallel\ndef g(_):\n    import {source.name}\n    return {source.name}.f()"))
    assert everywhere(notebook) == "['1']"
    before = call(notebook, "sorted(ex().run_on_workers(os.getpid))")
    unrelated.write("x = 22\n")  # the kernel has it, no task uses it
    assert call(notebook) == "[1]"
    assert call(notebook, "sorted(ex().run_on_workers(os.getpid))") == before
    source.write("def f(): return 22\n")
    assert call(notebook) == "[22]"
    assert call(notebook, "sorted(ex().run_on_workers(os.getpid))") != before


def test_imported_at_the_top_and_not_reloaded(notebook: Notebook, source: Source) -> None:
    """The notebook has the old one: tasks go on with it too, and the user is told once what to type."""
    quiet(notebook.run(f"import {source.name} as m"))
    quiet(notebook.run("%%parallel\ndef g(_): return m.f()"))
    assert everywhere(notebook) == "['1']"
    source.write("def f(): return 22\n")
    told = notebook.run("print(m.f(), sorted(set(g.map(range(20)))))").ok()
    assert told.stdout.strip() == "1 [1]"
    assert f"{source.name}.py was changed after this notebook imported {source.name}" in told.stderr
    assert f"importlib.reload({source.name})" in told.stderr
    assert "%autoreload 2" in told.stderr
    assert call(notebook, "m.f(), sorted(set(g.map(range(20))))") == "(1, [1])"
    source.write("def f(): return 333\n")
    assert "was changed" in notebook.run("g(0).result()").ok().stderr
    typed = f"import importlib, sys, {source.name}; importlib.reload({source.name})"
    assert quiet(notebook.run(f"{typed}\nprint(m.f(), sorted(set(g.map(range(20)))))")) == "333 [333]"


@pytest.mark.parametrize("way", ["import {} as m", "from {} import f"])
def test_edited_before_a_task_uses_it(notebook: Notebook, source: Source, way: str) -> None:
    """Right after the import, before there is anything parallel, and before the function that uses it."""
    quiet(notebook.run(way.format(source.name)))
    source.write("def f(): return 22\n")
    cells = (
        "%%parallel\ndef other(_): return 0",
        "other(0).result()",
        f"%%parallel\ndef g(_): return {'m.f()' if 'as m' in way else 'f()'}",
        "g(0).result()",
    )
    told = "".join(notebook.run(cell).ok().stderr for cell in cells)
    assert f"{source.name}.py was changed after this notebook imported {source.name}" in told


def test_edited_before_a_worker_imported_it(notebook: Notebook, source: Source) -> None:
    """Kernel and workers differ: the user is told."""
    quiet(notebook.run(f"import {source.name} as m"))
    quiet(notebook.run("%%parallel\ndef g(_): return m.f()"))
    source.write("def f(): return 22\n")
    told = notebook.run("print(m.f(), g(0).result())").ok().stderr
    told += notebook.run("g(0).result()").ok().stderr
    assert told.count("was changed after this notebook imported") == 1


def test_reloaded_by_hand(notebook: Notebook, source: Source) -> None:
    quiet(notebook.run(f"import {source.name} as m\nfrom {source.name} import f"))
    quiet(notebook.run("%%parallel\ndef g(_): return m.f(), f()"))
    assert call(notebook) == "[(1, 1)]"
    source.write("def f(): return 22\n")
    quiet(notebook.run("importlib.reload(m)"))
    assert call(notebook, "m.f(), f()") == "(22, 1)"
    assert call(notebook) == "[(22, 1)]"  # what the kernel itself would call
    quiet(notebook.run(f"from {source.name} import f"))
    assert call(notebook) == "[(22, 22)]"


def test_a_function_of_the_module_itself(notebook: Notebook, source: Source) -> None:
    source.write("def f(_): return 1\n")
    quiet(notebook.run(f"import {source.name} as m"))
    assert call(notebook, "sorted(set(ex().map(m.f, range(20))))") == "[1]"
    source.write("def f(_): return 22\n")
    assert "was changed" in notebook.run("ex().submit(m.f, 0).result()").ok().stderr
    quiet(notebook.run("importlib.reload(m)"))
    assert call(notebook, "sorted(set(ex().map(m.f, range(20))))") == "[22]"
    assert call(notebook, "ex().submit(m.f, 0).result()") == "22"


@pytest.mark.parametrize("mode", ["2", "complete"])
def test_autoreload(notebook: Notebook, source: Source, mode: str) -> None:
    source.write("X = 1\ndef f(): return X\nclass K:\n    def who(self): return 'a'\n")
    quiet(notebook.run("%load_ext autoreload"))
    quiet(notebook.run(f"%autoreload {mode}\nimport {source.name} as m"))
    try:
        quiet(notebook.run("%%parallel\ndef g(_): return m.X, m.f(), m.K().who()"))
        assert call(notebook) == "[(1, 1, 'a')]"
        source.write("X = 22\ndef f(): return X + 1\nclass K:\n    def who(self): return 'bb'\n")
        assert call(notebook, "m.f(), sorted(set(g.map(range(20))))") == "(23, [(22, 23, 'bb')])"
        source.write("X = 22\ndef f(): return X + 22\nclass K:\n    def who(self): return 'bb'\n")
        assert call(notebook, "m.f()") == "44"
        assert everywhere(notebook) == "[\"(22, 44, 'bb')\"]"
        source.write("X = 22\ndef f(: return X + 22\n")
        failed = notebook.run("print(m.f(), sorted(set(g.map(range(20)))))").ok()
        assert failed.stdout.strip() == "44 [(22, 44, 'bb')]"
        assert "SyntaxError" in failed.stderr
        assert "autoreload could not load the new one; it does so before a cell once" in failed.stderr
        assert "%load_ext autoreload" not in failed.stderr
        source.write("X = 5\ndef f(): return X\nclass K:\n    def who(self): return 'c'\n")
        assert call(notebook, "m.f(), sorted(set(g.map(range(20))))") == "(5, [(5, 5, 'c')])"
    finally:
        notebook.run("%autoreload 0").ok()


def test_a_module_of_a_package(notebook: Notebook, source: Source, tmp_path: Path) -> None:
    package = tmp_path / next(_names)
    package.mkdir()
    outer, inner = Source(package / "__init__.py"), Source(package / "inner.py")
    outer.write("from . import inner\n")
    inner.write("def f(): return 1\n")
    quiet(
        notebook.run(f"%%parallel\ndef g(_):\n    import {package.name}\n    return {package.name}.inner.f()")
    )
    assert call(notebook) == "[1]"
    inner.write("def f(): return 22\n")
    assert call(notebook) == "[22]"
    quiet(notebook.run(f"import {package.name} as p"))
    quiet(notebook.run("%%parallel\ndef h(_): return p.inner.f()"))
    assert call(notebook, "h(0).result()") == "22"
    inner.write("def f(): return 333\n")
    told = notebook.run("g(0).result()").ok().stderr
    assert f"importlib.reload(sys.modules['{package.name}.inner'])" in told
    quiet(notebook.run("importlib.reload(p.inner)"))
    assert call(notebook) == "[333]"


def test_a_preloaded_module(notebook: Notebook, source: Source) -> None:
    quiet(notebook.run(f"%cellmill preload {source.name}"))
    quiet(notebook.run(f"%%parallel\ndef g(_): return sys.modules[{source.name!r}].f()"))
    assert call(notebook) == "[1]"
    source.write("def f(): return 22\n")
    assert call(notebook) == "[22]"
    quiet(notebook.run("%cellmill restart"))
    assert call(notebook) == "[22]"


def test_a_busy_worker_ends_its_task_first(notebook: Notebook, source: Source, tmp_path: Path) -> None:
    folder = tmp_path / "gate"
    folder.mkdir()
    gate = Gate(folder)
    quiet(
        notebook.run(
            f"def g(folder=None):\n    import {source.name}\n    from tests.support import tasks\n"
            f"    if folder: tasks.hold(folder)\n    return {source.name}.f()"
        )
    )
    quiet(notebook.run(f"long = ex().submit(g, {gate.folder!r})"))
    gate.wait_started()
    assert call(notebook, "ex().submit(g).result()") == "1"
    source.write("def f(): return 22\n")
    assert call(notebook, "[f.result() for f in [ex().submit(g) for _ in range(20)]] == [22] * 20") == "True"
    assert call(notebook, "long.done()") == "False"
    gate.release()
    assert call(notebook, "long.result()") == "1"
    gate.close()


def test_a_child_of_a_task_imports(notebook: Notebook, source: Source) -> None:
    """Workers tell what they import; processes that tasks fork have no kernel to tell."""
    quiet(
        notebook.run(
            "%%parallel\ndef g(_):\n    import os\n    read, write = os.pipe()\n    if not os.fork():\n"
            f"        import {source.name}\n        os.write(write, str({source.name}.f()).encode())\n"
            "        os._exit(0)\n    os.wait()\n    return os.read(read, 9).decode()"
        )
    )
    assert call(notebook, "g(0).result()") == "1"
    source.write("def f(): return 22\n")
    assert call(notebook, "g(0).result()") == "22"


# -- what is defined in cells


def test_everything_that_cells_redefine(notebook: Notebook) -> None:
    quiet(
        notebook.run(
            "import functools, dataclasses, enum\n"
            "K = 1\n"
            "def twice(f): return lambda x: f(x) * 2\n"
            "class Base:\n    def who(self): return 'old'\n"
            "class Tool(Base):\n    size = 1\n"
            "@dataclasses.dataclass\nclass Row:\n    a: int = 1\n"
            "class Colour(enum.Enum):\n    RED = 1\n"
            "def deep(x): return x + K\n"
            "def helper(x): return deep(x)\n"
            "def make():\n    n = 1\n    return lambda x: x + n + K\n"
            "closure = make()\n"
            "part = functools.partial(helper, 1)\n"
            "table = [1, 2]\n"
        )
    )
    quiet(notebook.run("@twice\ndef wrapped(x): return deep(x)"))
    quiet(
        notebook.run(
            "%%parallel\ndef g(x, scale=K):\n"
            "    return (helper(x), closure(x), part(), wrapped(x), Tool().who(), Tool.size, Row().a,\n"
            "            Colour.RED.value, table[0], scale)"
        )
    )
    assert call(notebook, "g(0).result()") == "(1, 2, 2, 2, 'old', 1, 1, 1, 1, 1)"
    for cell, answer in (
        ("K = 10", "(10, 11, 11, 20, 'old', 1, 1, 1, 1, 1)"),
        ("def deep(x): return 100", "(100, 11, 100, 200, 'old', 1, 1, 1, 1, 1)"),
        ("closure = lambda x: 7", "(100, 7, 100, 200, 'old', 1, 1, 1, 1, 1)"),
        (
            "part = functools.partial(helper, 5); helper = lambda x: -1",
            "(-1, 7, 100, 200, 'old', 1, 1, 1, 1, 1)",
        ),
        ("wrapped = lambda x: 8", "(-1, 7, 100, 8, 'old', 1, 1, 1, 1, 1)"),
        ("Base.who = lambda self: 'new'", "(-1, 7, 100, 8, 'new', 1, 1, 1, 1, 1)"),
        ("Tool.size = 2", "(-1, 7, 100, 8, 'new', 2, 1, 1, 1, 1)"),
        ("class Row:\n    a = 3", "(-1, 7, 100, 8, 'new', 2, 3, 1, 1, 1)"),
        ("class Colour(enum.Enum):\n    RED = 4", "(-1, 7, 100, 8, 'new', 2, 3, 4, 1, 1)"),
        ("table[0] = 5", "(-1, 7, 100, 8, 'new', 2, 3, 4, 5, 1)"),
        ("g.__wrapped__.__defaults__ = (6,)", "(-1, 7, 100, 8, 'new', 2, 3, 4, 5, 6)"),
    ):
        quiet(notebook.run(cell))
        assert call(notebook, "g(0).result()") == answer, cell
        assert call(notebook, "set(g.map(range(1)))") == f"{{{answer}}}", cell


def test_within_one_cell(notebook: Notebook) -> None:
    """Names bound anew and containers whose members changed are noticed at once."""
    quiet(notebook.run("K = 1\ntable = [1, 2, 3]\nlook = {'a': 1}"))
    quiet(notebook.run("%%parallel\ndef g(_): return K, sum(table), look['a']"))
    out = quiet(
        notebook.run(
            "print(g(0).result())\nK = 2\nprint(g(0).result())\ntable.append(4)\nprint(g(0).result())\n"
            "del table[0]\ntable.append(9)\nprint(g(0).result())\nlook['a'] = 5\nprint(g(0).result())\n"
            "table[0] = 100\nprint(list(g.map([0])))"
        )
    )
    assert out.splitlines() == [
        "(1, 6, 1)",
        "(2, 6, 1)",
        "(2, 10, 1)",
        "(2, 18, 1)",
        "(2, 18, 5)",
        "[(2, 116, 5)]",
    ]


def test_results_of_classes_that_were_redefined(notebook: Notebook) -> None:
    """A result is of the class that the task was sent with; the next task's is of the new one."""
    quiet(notebook.run("class Point:\n    def __init__(self): self.v = 1"))
    quiet(notebook.run("%%parallel\ndef g(_): return Point()"))
    quiet(notebook.run("old = g(0).result(); first = Point"))
    assert call(notebook, "isinstance(old, Point), type(old) is first") == "(True, True)"
    quiet(notebook.run("class Point:\n    def __init__(self): self.v = 2"))
    quiet(notebook.run("new = g(0).result()"))
    assert (
        call(notebook, "isinstance(old, Point), isinstance(new, Point), old.v, new.v")
        == "(False, True, 1, 2)"
    )


def test_recursion_across_cells(notebook: Notebook) -> None:
    quiet(notebook.run("def even(n): return True if n == 0 else odd(n - 1)"))
    quiet(notebook.run("def odd(n): return False if n == 0 else even(n - 1)"))
    quiet(notebook.run("%%parallel\ndef g(n): return even(n), n and g(n - 1)"))
    assert call(notebook, "g(2).result()") == "(True, (False, (True, 0)))"
    quiet(notebook.run("def odd(n): return 'new'"))
    assert call(notebook, "g(2).result()") == "('new', ('new', (True, 0)))"
