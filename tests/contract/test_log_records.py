"""Log records of tasks go through the kernel's own loggers: its handlers, filters and formats; each once."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cellmill import Executor
from tests.contract.abilities import elsewhere, own_cluster
from tests.support.helpers import SECONDS, comes_down

NAME = "cellmill_test.tasks"


class Kept(logging.Handler):
    """Keeps the records that it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    def texts(self) -> list[str]:
        return [record.getMessage() for record in self.records]


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """One that is as it was when the test is over."""
    made = logging.getLogger(NAME)
    yield made
    made.setLevel(logging.NOTSET)
    made.propagate = True
    for each in (made, logging.getLogger("cellmill_test")):
        each.handlers.clear()
        each.filters.clear()


@pytest.fixture
def kept(logger: logging.Logger) -> Kept:
    made = Kept()
    logger.addHandler(made)
    return made


def log(level: int, text: str, *args: object) -> int:
    logging.getLogger(NAME).log(level, text, *args)
    return os.getpid()


def fail_and_tell(number: int) -> None:
    try:
        1 // number
    except ZeroDivisionError:
        logging.getLogger(NAME).exception("no part of %d", number, extra={"shelf": number})


def element(number: int) -> int:
    logging.getLogger(NAME).info("element %d", number)
    return number


def test_handlers_of_the_kernel(
    ex: Executor, logger: logging.Logger, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A file, a stream and a handler of the parent, each with its format; a handler's level; nothing else is told."""
    file = logging.FileHandler(tmp_path / "log", mode="w")
    file.setFormatter(logging.Formatter("{levelname} {name} {message} {lineno}", style="{"))
    stream = logging.StreamHandler(sys.stderr)
    stream.setLevel(logging.ERROR)
    above = Kept()
    logger.addHandler(file)
    logger.addHandler(stream)
    logging.getLogger("cellmill_test").addHandler(above)
    capfd.readouterr()
    logger.setLevel(logging.INFO)
    for level in (logging.DEBUG, logging.INFO, logging.ERROR):
        ex.submit(log, level, "at %d", level).result(SECONDS)
    file.close()
    line = log.__code__.co_firstlineno + 1
    assert (tmp_path / "log").read_text() == f"INFO {NAME} at 20 {line}\nERROR {NAME} at 40 {line}\n"
    assert above.texts() == ["at 20", "at 40"]
    assert capfd.readouterr().err == "at 40\n"


def test_filters_of_the_kernel(ex: Executor, logger: logging.Logger, kept: Kept) -> None:
    logger.addFilter(lambda record: "secret" not in record.getMessage())
    other = Kept()
    other.addFilter(lambda record: record.levelno > logging.WARNING)
    logger.addHandler(other)
    ex.submit(log, logging.WARNING, "a %s", "secret").result(SECONDS)
    ex.submit(log, logging.WARNING, "careful").result(SECONDS)
    ex.submit(log, logging.ERROR, "wrong").result(SECONDS)
    assert (kept.texts(), other.texts()) == (["careful", "wrong"], ["wrong"])
    logger.disabled = True
    ex.submit(log, logging.ERROR, "not heard").result(SECONDS)
    logger.disabled = False
    assert kept.texts() == ["careful", "wrong"]


def test_levels_of_the_kernel(ex: Executor, logger: logging.Logger, kept: Kept) -> None:
    for level in (logging.DEBUG, logging.ERROR, logging.INFO):
        logger.setLevel(level)
        ex.submit(log, logging.INFO, "under %d", level).result(SECONDS)
    assert kept.texts() == ["under 10", "under 20"]


@own_cluster
def test_a_level_set_before_the_workers_began(
    another: Callable[..., Executor], logger: logging.Logger, kept: Kept
) -> None:
    logger.setLevel(logging.DEBUG)
    another().submit(log, logging.DEBUG, "in detail").result(SECONDS)
    assert kept.texts() == ["in detail"]


def test_a_record_keeps_what_it_has(ex: Executor, kept: Kept) -> None:
    ex.submit(fail_and_tell, 0).result(SECONDS)
    (record,) = kept.records
    assert (record.msg, record.args, record.getMessage()) == ("no part of %d", (0,), "no part of 0")
    assert (record.levelname, record.funcName, record.shelf) == ("ERROR", "fail_and_tell", 0)  # type: ignore[attr-defined]
    text = logging.Formatter("%(message)s").format(record)
    assert "1 // number" in text
    assert text.endswith("ZeroDivisionError: integer division or modulo by zero")


@elsewhere
def test_a_record_says_where_it_comes_from(ex: Executor, kept: Kept) -> None:
    pid = ex.submit(log, logging.WARNING, "here").result(SECONDS)
    (record,) = kept.records
    assert record.process == pid != os.getpid()
    assert record.task.startswith("log #")  # type: ignore[attr-defined]
    assert abs(record.relativeCreated / 1000 - (record.created - start_of_logging())) < 1
    list(ex.map(element_at_warning, range(3), chunksize=1))
    assert comes_down(lambda: 4 - len(kept.records), 0)
    assert sorted(r.task for r in kept.records[1:]) == [f"element_at_warning {i}" for i in range(3)]  # type: ignore[attr-defined]


def element_at_warning(number: int) -> None:
    logging.getLogger(NAME).warning("element %d", number)


def start_of_logging() -> float:
    made = logging.makeLogRecord({})
    return made.created - made.relativeCreated / 1000


def test_each_record_of_a_map_once(ex: Executor, logger: logging.Logger, kept: Kept) -> None:
    logger.setLevel(logging.INFO)
    assert list(ex.map(element, range(200))) == list(range(200))
    assert comes_down(lambda: 200 - len(kept.records), 0)
    assert sorted(kept.texts()) == sorted(f"element {i}" for i in range(200))


@elsewhere
def test_arguments_that_do_not_travel(ex: Executor, kept: Kept) -> None:
    def tell() -> None:
        class Odd:
            def __str__(self) -> str:
                return "odd"

        logging.getLogger(NAME).warning("it is %s", Odd(), extra={"thing": (i for i in ())})
        logging.getLogger(NAME).warning("%s", "x" * 100_000)
        logging.getLogger(NAME).warning(ValueError("an object"))

    ex.submit(tell).result(SECONDS)
    assert kept.texts() == ["it is odd", "x" * 100_000, "an object"]
    assert kept.records[0].thing.startswith("<generator")  # type: ignore[attr-defined]


def test_without_a_handler_warnings_go_to_stderr(
    ex: Executor, logger: logging.Logger, capfd: pytest.CaptureFixture[str]
) -> None:
    logger.propagate = False
    capfd.readouterr()
    ex.submit(log, logging.WARNING, "careful").result(SECONDS)
    ex.submit(log, logging.INFO, "by the way").result(SECONDS)
    assert capfd.readouterr() == ("", "careful\n")


def test_a_handler_that_a_task_makes(
    ex: Executor, logger: logging.Logger, kept: Kept, tmp_path: Path
) -> None:
    """It works where it is, and the kernel's get the record, too."""

    def tell(path: str) -> None:
        own = logging.FileHandler(path)
        found = logging.getLogger("cellmill_test.tasks")
        found.addHandler(own)
        try:
            found.warning("to both")
        finally:
            found.removeHandler(own)
            own.close()

    ex.submit(tell, str(tmp_path / "own")).result(SECONDS)
    assert (tmp_path / "own").read_text() == "to both\n"
    assert kept.texts() == ["to both"]


@elsewhere
def test_basic_config_in_a_task_does_nothing_where_the_kernel_has_handlers(
    ex: Executor, tmp_path: Path
) -> None:
    kept = Kept()
    logging.root.addHandler(kept)

    def configure(path: str) -> None:
        logging.basicConfig(filename=path, level=1)
        logging.getLogger("cellmill_test.tasks").warning("once")

    try:
        ex.submit(configure, str(tmp_path / "own")).result(SECONDS)
    finally:
        logging.root.removeHandler(kept)
    assert [text for text in kept.texts() if text == "once"] == ["once"]
    assert not (tmp_path / "own").exists()


@elsewhere
def test_a_handler_that_fails(
    ex: Executor, logger: logging.Logger, kept: Kept, capfd: pytest.CaptureFixture[str]
) -> None:
    """It is told of, the task and later records go on."""

    class Fails(logging.Handler):
        def handle(self, record: logging.LogRecord) -> bool:
            raise OSError("no room")

    failing = Fails()
    logger.addHandler(failing)
    ex.submit(log, logging.WARNING, "one").result(SECONDS)
    told = capfd.readouterr().err
    assert "A log record of log #" in told
    assert "OSError: no room" in told
    logger.removeHandler(failing)
    ex.submit(log, logging.WARNING, "two").result(SECONDS)
    assert kept.texts() == ["one", "two"]
