"""Log records of worker processes: handlers that a fork has copied, processes that a task has forked, what is kept."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

import cellmill
from cellmill import Executor
from cellmill.cell_output.log_records import packed, unpacked
from tests.support.helpers import SECONDS, run_script

START = """
import logging, os, sys
from cellmill import Executor
"""


def test_a_module_that_opens_a_log_file(script: Callable[..., str], tmp_path: Path) -> None:
    """Both the zygote and the kernel have imported it: only the kernel writes to the file, each record once."""
    (tmp_path / "logs_to_file.py").write_text(
        "import logging\n"
        f"logging.basicConfig(filename={str(tmp_path / 'log')!r}, level='INFO', format='%(process)d %(message)s')\n"
        "def work(i): logging.getLogger(__name__).info('work %d', i)\n"
    )
    out = script(
        START
        + f"""
sys.path.insert(0, {str(tmp_path)!r})
import logs_to_file
with Executor(2, preload=["logs_to_file"]) as ex:
    list(ex.map(logs_to_file.work, range(50)))
    ex.submit(logs_to_file.work, 50).result()
    pids = set(ex.run_on_workers(os.getpid))
lines = [line.split() for line in open({str(tmp_path / "log")!r})]
print(sorted(int(n) for _, _, n in lines) == list(range(51)), {{int(pid) for pid, _, _ in lines}} <= pids)
"""
    )
    assert out == "True True\n"


def test_a_process_that_a_task_forks(fresh: Executor, capfd: pytest.CaptureFixture[str]) -> None:
    """It has none of the kernel's handlers: what it logs is told as text."""

    def fork() -> int:
        import os

        pid = os.fork()
        if not pid:
            logging.getLogger("cellmill_test").warning("from a child")
            os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    capfd.readouterr()
    assert fresh.submit(fork).result(SECONDS) == 0
    assert "from a child\n" in capfd.readouterr().err


def test_records_are_kept_as_output(fresh: Executor) -> None:
    def talk() -> None:
        print("printed")
        logging.getLogger("cellmill_test").warning("logged")
        print("more")

    logger = logging.getLogger("cellmill_test")
    logger.addHandler(logging.NullHandler())
    try:
        future = fresh.submit(talk)
        future.result(SECONDS)
        assert cellmill.output(future) == "printed\nWARNING:cellmill_test:logged\nmore\n"
    finally:
        logger.handlers.clear()


def test_threads_that_a_task_starts(fresh: Executor, caplog: pytest.LogCaptureFixture) -> None:
    def fan_out() -> None:
        import threading

        def log(i: int) -> None:
            logging.getLogger("cellmill_test").warning("thread %d", i)

        threads = [threading.Thread(target=log, args=(i,), name=f"mine-{i}") for i in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    fresh.submit(fan_out).result(SECONDS)
    found = [r for r in caplog.records if r.name == "cellmill_test"]
    assert sorted(r.getMessage() for r in found) == [f"thread {i}" for i in range(10)]
    assert sorted(str(r.threadName) for r in found) == [f"mine-{i}" for i in range(10)]


def test_a_message_that_does_not_fit_its_arguments() -> None:
    """The handler tells of it, as it would of the kernel's own."""
    record = logging.LogRecord("x", logging.INFO, "file", 1, "%d of %d", ("one",), None)
    again, until, heard = unpacked(packed(record), "f 1")
    assert (again.msg, again.args, until, heard) == ("%d of %d", ("one",), None, False)


def test_a_user_factory_of_records_adds_what_it_adds() -> None:
    plain = logging.getLogRecordFactory()

    def make(*args: object, **how: object) -> logging.LogRecord:
        made: logging.LogRecord = plain(*args, **how)  # type: ignore[arg-type]
        made.site = "here"
        return made

    data = packed(logging.LogRecord("x", logging.INFO, "file", 1, "text", (), None))
    logging.setLogRecordFactory(make)
    try:
        record, _, _ = unpacked(data, "f 1")
    finally:
        logging.setLogRecordFactory(plain)
    assert (record.site, record.task, record.getMessage()) == ("here", "f 1", "text")  # type: ignore[attr-defined]


def test_levels_have_the_names_that_they_have_in_the_kernel() -> None:
    def named(level: int, name: str) -> str:
        record = logging.LogRecord("x", level, "file", 1, "text", (), None)
        record.levelname = name
        return unpacked(packed(record), "f 1")[0].levelname

    logging.addLevelName(25, "NOTICE")
    logging.addLevelName(logging.WARNING, "WARN")
    try:
        assert (named(25, "Level 25"), named(30, "WARNING"), named(20, "INFO")) == ("NOTICE", "WARN", "INFO")
        assert (named(26, "Level 26"), named(25, "MINE"), named(30, "<b>WARNING</b>")) == (
            *("Level 26", "MINE", "<b>WARNING</b>"),
        )
    finally:
        logging._levelToName.pop(25)
        logging._nameToLevel.pop("NOTICE")
        logging._nameToLevel.pop("WARN")
        logging.addLevelName(logging.WARNING, "WARNING")


def test_records_of_no_task_in_a_foreign_process(tmp_path: Path) -> None:
    """The stand-ins for the kernel's handlers write nothing: its own do, and where there is none stderr."""
    out, err = run_script(
        tmp_path,
        """
        import logging, sys
        from cellmill.process_context import reporting

        logging.getLogger("x").addHandler(logging.StreamHandler(sys.stdout))
        kernels = reporting.Reporting(handlers=frozenset({("x", "a handler", ""), ("root", "a handler", "")}))
        reporting.apply(kernels, reporting.Reporting())
        logging.getLogger("x").warning("to its own")
        logging.getLogger("y.z").warning("to nobody")
        reporting.apply(reporting.Reporting(), kernels)
        print(logging.root.handlers, len(logging.getLogger("x").handlers))
        """,
    )
    assert (out, err) == ("to its own\n[] 1\n", "to nobody\n")
