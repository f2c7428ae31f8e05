"""`memo=`: whatever a value follows from counts, so that no result is found that would be another one now."""

from __future__ import annotations

import contextlib
import decimal
import importlib
import locale
import subprocess
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib
import numpy
import pytest

import cellmill
from cellmill import Executor, UsageError
from cellmill.by_value import import_log
from cellmill.memo import calls, sources
from tests.memo.work import memo
from tests.support.helpers import prepend_to_path

_SOURCE = """
scale = 2

def scaled(x):
    return scale * x

class Kind:
    rate = 1

    def of(self, x):
        return self.rate * x
"""


def test_settings_that_values_depend_on_count(ex: Executor) -> None:
    """And where all is as it was, so is what is found."""

    def third() -> str:
        return str(decimal.Decimal(1) / 3)

    def shown() -> str:
        return repr(numpy.array([1 / 3]))

    def plot() -> int:
        return 1

    for function, setting in (
        (third, lambda: decimal.localcontext(decimal.Context(prec=5))),
        (shown, lambda: numpy.printoptions(precision=2)),
        (plot, lambda: matplotlib.rc_context({"lines.linewidth": 7.5})),
    ):
        f = memo(function, ex)
        assert f().result() == f().result() == function()
        assert f.cache_info()[:2] == (1, 1)
        with setting():
            assert f().result() == f().result() == function()
            assert f.cache_info()[:2] == (2, 2)
        assert f().result() == function()
        assert f.cache_info()[:2] == (3, 2)


@contextlib.contextmanager
def _zone(name: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", name)
        time.tzset()
        yield
    time.tzset()


@contextlib.contextmanager
def _sorted_as_in(name: str) -> Iterator[None]:
    before = locale.setlocale(locale.LC_COLLATE)
    locale.setlocale(locale.LC_COLLATE, name)
    yield
    locale.setlocale(locale.LC_COLLATE, before)


def test_the_time_zone_and_the_locale_count(ex: Executor) -> None:
    hour = memo(lambda: time.localtime(0).tm_hour, ex)
    order = memo(lambda: locale.setlocale(locale.LC_COLLATE), ex)
    for f, one, other, values in (
        (hour, _zone("UTC0"), _zone("XYZ-3"), (0, 3)),
        (order, _sorted_as_in("C"), _sorted_as_in("C.UTF-8"), ("C", "C.UTF-8")),
    ):
        for setting, value in zip((one, other), values, strict=True):
            with setting:
                assert f().result() == f().result() == value
        assert f.cache_info()[:2] == (2, 2)


def test_a_kept_result_hides_no_warning_that_is_to_be_an_error(ex: Executor) -> None:
    def warns() -> int:
        warnings.warn("as asked", stacklevel=1)
        return 1

    f = memo(warns, ex)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert f().result() == f().result() == 1
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="as asked"):
            f().result()
        warnings.simplefilter("ignore")
        assert f().result() == 1
    assert f.cache_info()[:2] == (1, 3)


def test_what_arguments_read_of_modules_counts(
    ex: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Functions and classes, of the user's modules and of cells."""
    (tmp_path / "cellmill_test_memo_module.py").write_text(_SOURCE)
    prepend_to_path(monkeypatch, tmp_path)
    own = importlib.import_module("cellmill_test_memo_module")

    def call(function: Any, x: int) -> Any:
        return function(x)

    def of(kind: Any, x: int) -> Any:
        return kind.of(x)

    f, g = memo(call, ex), memo(of, ex)
    try:
        for number in (3, 5, 3):
            own.scale = own.Kind.rate = number
            assert f(own.scaled, 4).result() == 4 * number
            assert f(lambda x: own.scale * x, 4).result() == 4 * number
            assert g(own.Kind(), 4).result() == 4 * number
        assert (f.cache_info().hits, g.cache_info().hits) == (2, 1)
    finally:
        sys.modules.pop(own.__name__)


STEP = 1


def stepped(x: int) -> int:
    return x + STEP


def _changes(f: Any, change: Callable[[], object]) -> bool:
    """Whether the call runs anew after a change."""
    f(1).result()
    f(1).result()
    before = f.cache_info().misses
    change()
    f(1).result()
    return bool(f.cache_info().misses == before + 1)


def test_code_captured_state_and_helpers_at_any_depth(ex: Executor) -> None:
    space: dict[str, Any] = {"numpy": numpy}
    source = """
    SHIFT, TABLE, ARRAY, TOLD = 1, [1, 2], numpy.arange(3), 0

    class Scale:
        factor = 2

        def of(self, x):
            return x * self.factor

    def deepest(x):
        return x + SHIFT + eval("TOLD")

    def helper(x, bound=[5]):
        return deepest(x) + TABLE[0] + ARRAY[1] + bound[0]

    def f(x):
        return Scale().of(helper(x))
    """
    exec(textwrap.dedent(source), space)
    f = memo(space["f"], ex)
    assert f(1).result() == 2 * (1 + 1 + 1 + 1 + 5)
    changes: list[Callable[[], object]] = [
        lambda: space.update(SHIFT=7),
        lambda: space.update(TOLD=3),
        lambda: space["TABLE"].__setitem__(0, 100),
        lambda: space["ARRAY"].__setitem__(1, 50),
        lambda: space["helper"].__defaults__[0].append(1),
        lambda: setattr(space["Scale"], "factor", 3),
        lambda: setattr(space["Scale"], "of", lambda self, x: x),
        lambda: exec("def deepest(x):\n    return x - SHIFT", space),
        lambda: setattr(space["helper"], "__code__", (lambda x, bound=0: x).__code__),
    ]
    for change in changes:
        assert _changes(f, change), change
        assert f(1).result() == space["f"](1)


def test_what_functions_tell_of_themselves(ex: Executor) -> None:
    def made(change: Callable[[Any], object] = id) -> Any:
        def metric(x: int) -> int:
            """Once."""
            return x

        change(metric)
        return lambda _: (metric.__name__, metric.__qualname__, metric.__doc__, str(metric.__annotations__))

    assert [memo(made(), ex)(1).result() for _ in range(2)] == [made()(1)] * 2
    changes: list[Callable[[Any], object]] = [
        lambda metric: setattr(metric, "__name__", "twice"),
        lambda metric: setattr(metric, "__qualname__", "twice"),
        lambda metric: setattr(metric, "__doc__", None),
        lambda metric: setattr(metric, "__doc__", "Twice."),
        lambda metric: metric.__annotations__.update(x=float),
        lambda metric: metric.__annotations__.update(x=list[float]),
    ]
    for change in changes:
        function = made(change)
        first, again = memo(function, ex), memo(made(change), ex)
        assert first(1).result() == again(1).result() == function(1)
        assert (first.cache_info().hits, again.cache_info().hits) == (0, 1)


def test_a_changed_name_counts_from_then_on(inline: Executor) -> None:
    def metric(x: int) -> int:
        return x

    f = memo(lambda x: (metric.__name__, metric(x)), inline)
    assert _changes(f, lambda: setattr(metric, "__name__", "twice"))
    assert f(1).result() == ("twice", 1)


def test_closures_and_what_comes_back_as_it_was(ex: Executor) -> None:
    shift = 1

    def f(x: int) -> int:
        return x + shift

    g = memo(f, ex)
    assert g(1).result() == 2
    shift = 10
    assert g(1).result() == 11
    shift = 1
    assert g(1).result() == 2
    assert g.cache_info()[:2] == (1, 2)


def test_the_same_code_under_another_name_and_place_is_found(ex: Executor) -> None:
    spaces: list[dict[str, Any]] = [{}, {}]
    for space, text in zip(
        spaces, ("def f(x):\n    return x", "# moved\n\ndef f(x):\n    return x"), strict=True
    ):
        exec(text, space)
    first, second = (memo(space["f"], ex) for space in spaces)
    first(1).result()
    second(1).result()
    assert second.cache_info().hits == 1


def test_files_that_it_depends_on(ex: Executor, tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text("1")

    def f(x: int) -> str:
        return file.read_text() * x

    g = memo(f, ex, depends_on=[file])
    for text in "1", "2", "1", "3":  # each of one size, within one tick of the file's clock
        file.write_text(text)
        assert g(2).result() == text * 2
    copy = file.with_name("copy.csv")
    copy.write_text(file.read_text())
    of_file, of_copy = (memo(len, ex, depends_on=[path]) for path in (file, copy))
    assert (of_file("abc").result(), of_copy("abc").result()) == (3, 3)
    assert of_copy.cache_info().hits == 1  # by its content, wherever it is
    with pytest.raises(UsageError, match="which is no file"):
        memo(f, ex, depends_on=[tmp_path / "none"])
    with pytest.raises(UsageError, match="depends_on names files for memo="):
        cellmill.parallel(depends_on=[file])(f)


OWN = {
    "steps.py": "import deeper\nfrom package import part\nSIZE = 1\ndef step(x):\n    return x + SIZE + deeper.add()"
    " + part.LEVEL",
    "deeper.py": "def add():\n    import lazy\n    return lazy.VALUE",
    "lazy.py": "VALUE = 100",
    "package/__init__.py": "",
    "package/part.py": "from .base import LEVEL",
    "package/base.py": "LEVEL = 1000",
}
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import cellmill, steps

class Result:
    def __init__(self, x): self.x = x

def f(x): return steps.step(x)
def lazily(x):
    import lazy
    return lazy.VALUE + x
def of_class(x): return Result(x)

if __name__ == "__main__":
    if len(sys.argv) > 3:
        steps.SIZE = int(sys.argv[3])
    with cellmill.Executor(1) as ex:
        made = [cellmill.parallel(memo=sys.argv[2], executor=ex)(g) for g in (f, lazily)]
        print(*[g(1).result() for g in made], *[g.cache_info().hits for g in made])
        kept = cellmill.parallel(memo=sys.argv[2], executor=ex)(of_class)
        assert type(kept(1).result()) is type(kept(1).result()) is Result
"""


def test_the_users_own_modules_in_other_kernels(tmp_path: Path) -> None:
    """Their code, what they import at any depth and inside functions, and data that was bound anew."""
    folder = tmp_path / "own"
    for name, text in OWN.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)

    def run(*more: str) -> str:
        done = subprocess.run(
            [sys.executable, "-B", program, folder, tmp_path / "store", *more],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "class of a cell" in done.stderr or "classes that a cell defines" in done.stderr
        return done.stdout.strip()

    assert run() == "1102 101 0 0"
    assert run("5") == "1106 101 0 1"
    (folder / "package" / "base.py").write_text("LEVEL = 2000")
    assert run() == "2102 101 0 1"
    (folder / "lazy.py").write_text("VALUE = 300")
    assert run() == "2302 301 0 0"
    assert run() == "2302 301 1 1"


def test_packages_count_by_their_version(ex: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    f = memo(lambda x: numpy.sqrt(x), ex)

    def upgrade() -> None:
        monkeypatch.setattr(numpy, "__version__", "99.0")
        sources.version_of_package.cache_clear()
        calls._memos.clear()

    f(4.0).result()
    assert f.cache_info()[:2] == (0, 1)
    upgrade()
    f(4.0).result()
    assert f.cache_info()[:2] == (0, 1)
    sources.version_of_package.cache_clear()
    monkeypatch.undo()
    sources.version_of_package.cache_clear()


def _as_in_another_kernel(*modules: str) -> None:
    """With none of these modules imported, and nothing known of packages."""
    for name in modules:
        sys.modules.pop(name, None)
    importlib.invalidate_caches()
    sources.version_of_package.cache_clear()
    sources._installed_as.cache_clear()
    calls._memos.clear()


@pytest.mark.parametrize("named", [True, False])
def test_packages_that_the_kernel_has_not_imported(
    inline: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    """One that is installed under another name (``named``), and one without a version."""
    monkeypatch.setattr(import_log, "_INSTALLED", (*import_log._INSTALLED, f"{tmp_path}/"))
    prepend_to_path(monkeypatch, tmp_path)
    facts = tmp_path / "PyYamlish-1.dist-info"

    def install(version: str) -> None:
        (tmp_path / "yamlish.py").write_text(f"VERSION = {version!r}")
        if named:
            facts.mkdir(exist_ok=True)
            (facts / "top_level.txt").write_text("yamlish")
            (facts / "METADATA").write_text(f"Name: PyYamlish\nVersion: {version}\n")
        _as_in_another_kernel("yamlish")

    def f() -> str:
        import yamlish

        return str(yamlish.VERSION)

    kept = memo(f, inline)
    for version in "1.0", "2.00":  # Python tells files of one second by their sizes
        install(version)
        assert [kept().result(), kept().result()] == [version, version]
    assert kept.cache_info().results == 2
    _as_in_another_kernel("yamlish")
