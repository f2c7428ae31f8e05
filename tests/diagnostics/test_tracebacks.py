"""Remote tracebacks: the lines of the source, of cells too, and none of ours."""

from __future__ import annotations

from collections.abc import Callable

from cellmill import Executor
from tests.support import tasks
from tests.support.programs import WITH_EXECUTOR as START


def test_sources_of_cells_are_in_tracebacks(script: Callable[..., str]) -> None:
    out = script(
        START
        + """
import linecache, traceback
def cell(number, source):
    name = f"<cell {number}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), globals())
cell(1, "def helper(x):\\n    return 1 / x  # the culprit\\n")
cell(2, "def task(x):\\n    y = x\\n    return helper(y)  # from the other cell\\n")
for future in (ex.submit(task, 0),):
    text = "".join(traceback.format_exception(future.exception()))
    assert "the culprit" in text and "from the other cell" in text, text
    assert '<cell 1>", line 2' in text and '<cell 2>", line 3' in text, text
    assert "worker.py" not in text, text
try:
    list(ex.map(task, [1, 2, 0]))
except ZeroDivisionError as e:
    text = "".join(traceback.format_exception(e))
    assert "the culprit" in text and "from the other cell" in text, text
cell(1, "\\n\\ndef helper(x):\\n    return 2 / x  # the new culprit\\n")
text = "".join(traceback.format_exception(ex.submit(task, 0).exception()))
assert "the new culprit" in text and '<cell 1>", line 4' in text, text
class_source = "class Tool:\\n    def use(self):\\n        raise KeyError('x')  # in a method\\n"
cell(3, class_source)
text = "".join(traceback.format_exception(ex.submit(lambda: Tool().use()).exception()))
assert "# in a method" in text, text
print("good")
"""
    )
    assert out == "good\n"


def test_traceback_of_a_file(pool: Executor) -> None:
    error = pool.submit(tasks.fail).exception()
    assert error is not None
    cause = str(error.__cause__)
    assert "raise LookupError(message)" in cause
    assert "tasks.py" in cause
    assert "worker.py" not in cause


def test_chained_causes_of_a_task(pool: Executor) -> None:
    def translate() -> None:
        try:
            {}["x"]  # type: ignore[index]
        except KeyError as error:
            raise ValueError("second") from error

    error = pool.submit(translate).exception()
    assert isinstance(error, ValueError)
    assert type(error.__cause__) is KeyError
    remote = str(error.__cause__.__cause__)  # the first cause of all
    assert "KeyError: 'x'" in remote
    assert "direct cause" in remote


def test_exception_notes_and_groups(pool: Executor) -> None:
    def fail() -> None:
        error = ExceptionGroup("two", [ValueError("a"), KeyError("b")])
        error.add_note("a note")
        raise error

    error = pool.submit(fail).exception()
    assert isinstance(error, ExceptionGroup)
    assert [type(e) for e in error.exceptions] == [ValueError, KeyError]
    assert error.__notes__[0] == "a note"
