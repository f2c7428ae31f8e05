"""`memo=`: the user's own modules count by their files, however code reaches them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

WAYS = """
import sys
sys.path.insert(0, sys.argv[1])
import cellmill, importlib, pk, pk.deep.down, nspk.loaded, helper, setup

def by_import(): import pk.imported; return pk.imported.VALUE
def by_name(): from pk import named; return named.VALUE
def by_text(): return importlib.import_module("pk.text").VALUE
def by_relative_text(): return importlib.import_module(".relative", "pk").VALUE
def by_dunder(): return __import__("pk.dunder").dunder.VALUE
def by_table(): import pk.table; return sys.modules["pk.table"].VALUE
def by_attribute(): return pk.attribute.VALUE
def by_deep_attribute(): return pk.deep.down.VALUE
def by_lazy_attribute(): return pk.lazy.VALUE
def by_made_name(): return pk.made
def of_namespace(): return nspk.loaded.VALUE
def of_namespace_by_name(): from nspk import named; return named.VALUE
def of_helper(): return helper.attribute()
def of_lazy_helper(): return helper.lazily()

if __name__ == "__main__":
    with cellmill.Executor(1) as ex:
        for name, function in list(globals().items()):
            if name.startswith(("by_", "of_")):
                kept = cellmill.parallel(memo=sys.argv[2], executor=ex)(function)
                print(name, kept().result(), kept.cache_info().hits)
"""
MODULES = {  # by the function that uses each
    "by_import": "pk/imported.py",
    "by_name": "pk/named.py",
    "by_text": "pk/text.py",
    "by_relative_text": "pk/relative.py",
    "by_dunder": "pk/dunder.py",
    "by_table": "pk/table.py",
    "by_attribute": "pk/attribute.py",
    "by_deep_attribute": "pk/deep/down.py",
    "by_lazy_attribute": "pk/lazy.py",
    "by_made_name": "pk/maker.py",
    "of_namespace": "nspk/loaded.py",
    "of_namespace_by_name": "nspk/named.py",
    "of_helper": "pk/of_helper.py",
    "of_lazy_helper": "nspk/of_helper.py",
}
AROUND = {
    "pk/deep/__init__.py": "",
    "pk/__init__.py": """
import importlib

def __getattr__(name):
    if name == "made":
        return importlib.import_module(".maker", __name__).VALUE
    if name == "lazy":
        return importlib.import_module(f"pk.{name}")
    raise AttributeError(name)
""",
    "setup.py": "import pk.attribute, pk.of_helper",
    "helper.py": """
import pk

def attribute():
    return pk.of_helper.VALUE

def lazily():
    from nspk import of_helper
    return of_helper.VALUE
""",
}


def test_modules_of_the_users_packages_however_they_are_reached(tmp_path: Path) -> None:
    """An edit of each is seen by the function that uses it, in another process."""
    folder, program = tmp_path / "own", tmp_path / "program.py"
    program.write_text(WAYS)
    for file, text in {**dict.fromkeys(MODULES.values(), "VALUE = 1"), **AROUND}.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)

    def run() -> dict[str, str]:
        done = subprocess.run(
            [sys.executable, "-B", program, folder, tmp_path / "store"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return dict(line.split(" ", 1) for line in done.stdout.splitlines())

    assert run() == dict.fromkeys(MODULES, "1 0")
    for number, file in enumerate(MODULES.values()):
        (folder / file).write_text(f"VALUE = {number + 10}")
    assert run() == {name: f"{number + 10} 0" for number, name in enumerate(MODULES)}
    folder = folder.rename(tmp_path / "moved")
    assert run() == {name: f"{number + 10} 1" for number, name in enumerate(MODULES)}


EDITED = """
import importlib, sys
sys.path.insert(0, sys.argv[1])
import cellmill, table
from pathlib import Path

def f(): return table.VALUE, table.double()

if __name__ == "__main__":
    with cellmill.Executor(1) as ex:
        kept = cellmill.parallel(memo=sys.argv[2], executor=ex)(f)
        def show(): print(*kept().result(), kept.cache_info().hits)
        def edit(text): Path(table.__file__).write_text(text)
        show()
        before = Path(table.__file__).read_text()
        for text in sys.argv[3:]:
            edit(text)
            show()
            show()
        if sys.argv[3:]:
            edit(before)
            show()
            edit(text)
            importlib.reload(table)
            show()
"""
TABLE = "VALUE = 1\ndef double(): return {} * VALUE"


def test_a_module_that_was_edited_and_not_loaded_again(tmp_path: Path) -> None:
    """What it gives is found as long as this is so, and in no other process."""
    program, table = tmp_path / "program.py", tmp_path / "table.py"
    program.write_text(EDITED)
    table.write_text(TABLE.format(2))

    def run(*texts: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-B", program, tmp_path, tmp_path / "store", *texts],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    other, third = TABLE.format(3), TABLE.format(40)
    assert run(other, third) == ["1 2 0", "1 2 0", "1 2 1", "1 2 1", "1 2 2", "1 2 3", "1 40 3"]
    assert run() == ["1 40 1"]
    table.write_text(other)
    assert run() == ["1 3 0"]
