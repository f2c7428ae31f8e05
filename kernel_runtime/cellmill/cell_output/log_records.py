"""Log records of tasks: made in a worker, given to the kernel's own loggers, with their filters, handlers and formats.

In a worker the levels are the kernel's, so a record that is not enabled costs what it costs in the kernel. One that is
goes along with what its task prints. Handlers that are the kernel's too (made by a module that both have imported, say)
are left to the kernel; those that a task makes by itself work in its worker.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

from ..process_context import reporting
from ..worker_process.output_frames import LOG

MOST_ARGUMENTS = 1 << 16  # bytes of their pickle; of more than that the text goes
_STANDARD = {
    getattr(logging, name): name for name in ("CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG", "NOTSET")
}
TEXT = logging.Formatter("%(levelname)s:%(name)s:%(message)s")  # in what is kept of a task's output


class Channel(Protocol):
    """The destination of a worker's frames."""

    streams: list[Any]

    def send(self, kind: int, data: bytes) -> None: ...


class _Message(NamedTuple):
    fields: dict[str, Any]
    arguments: bytes | None  # pickled; None: the message is formatted
    text: str  # the message, formatted
    until: str | None  # name of the logger that does not propagate in the worker
    heard: bool  # by a handler in the worker


# -- in a worker


def forward(channel_here: Callable[[], Channel | None]) -> Callable[[], None]:
    """Forward records to ``channel_here()``, or leave them to this process where that is None; returns a function
    that undoes it.
    """
    plain = logging.Logger.callHandlers

    def call_handlers(self: logging.Logger, record: logging.LogRecord) -> None:
        channel = channel_here()
        if channel is None:
            plain(self, record)
            return
        until, heard = _call_own(self, record)
        for stream in channel.streams:
            stream.flush()  # earlier text comes before it
        channel.send(LOG, packed(record, until, heard))

    def undo() -> None:
        if logging.Logger.callHandlers is call_handlers:
            logging.Logger.callHandlers = plain  # type: ignore[method-assign]

    logging.Logger.callHandlers = call_handlers  # type: ignore[method-assign]
    return undo


def _call_own(logger: logging.Logger, record: logging.LogRecord) -> tuple[str | None, bool]:
    """Have it handled by what is this process's alone: where propagation ends, and whether a handler was there."""
    heard = False
    for each in _upwards(logger):
        for handler in list(each.handlers):
            if reporting.is_kernels(each.name, handler):
                continue
            heard = True
            if record.levelno >= handler.level:
                handler.handle(record)
        if not each.propagate:
            return each.name, heard
    return None, heard


def _upwards(logger: logging.Logger | None) -> Iterator[logging.Logger]:
    while logger is not None:
        yield logger
        logger = logger.parent


def packed(record: logging.LogRecord, until: str | None = None, heard: bool = False) -> bytes:
    """A record as it travels: what refers to objects that do not goes as text."""
    fields = dict(record.__dict__)
    fields.pop("args", None)
    arguments, text = _arguments(record)
    if fields.get("exc_info"):
        exc_text = fields.get("exc_text") or _traceback(fields["exc_info"])
        fields |= {"exc_info": None, "exc_text": exc_text}
    if type(fields["msg"]) is not str:
        fields["msg"] = text
    try:
        return pickle.dumps(_Message(fields, arguments, text, until, heard), 5)
    except Exception:
        plain = {name: _as_it_can(value) for name, value in fields.items()}
        return pickle.dumps(_Message(plain, arguments, text, until, heard), 5)


def _arguments(record: logging.LogRecord) -> tuple[bytes | None, str]:
    try:
        text = record.getMessage()
    except Exception:  # a message that does not fit its arguments: as the handler would tell it
        text = f"{record.msg} {record.args!r}"
        wrong = True
    else:
        wrong = False
    if type(record.msg) is not str:
        return None, text
    try:
        arguments = pickle.dumps(record.args, 5)
    except Exception:
        return None, text
    return (arguments, text) if len(arguments) <= MOST_ARGUMENTS or wrong else (None, text)


def _traceback(exc_info: Any) -> str:
    try:
        return logging.Formatter().formatException(exc_info)
    except Exception:
        return str(exc_info)


def _as_it_can(value: Any) -> Any:
    try:
        pickle.dumps(value, 5)
    except Exception:
        return _shown(value)
    return value


def _shown(value: Any) -> str:
    try:
        return repr(value)
    except Exception:
        return f"<{type(value).__name__}>"


# -- in the kernel


def unpacked(data: bytes, task: str) -> tuple[logging.LogRecord, str | None, bool]:
    """The record, made by the kernel's factory; where its propagation ends, and whether a handler has heard it.

    It says which task it is of by its attribute ``task``. Its level has the kernel's name, but where the task or a
    factory of records has given it one.
    """
    message = _Message(*pickle.loads(data))
    record = logging.makeLogRecord({"task": task})
    since_start = record.relativeCreated + (message.fields["created"] - record.created) * 1000
    record.__dict__.update(message.fields, relativeCreated=since_start)
    if record.levelname == _STANDARD.get(record.levelno, f"Level {record.levelno}"):
        record.levelname = logging.getLevelName(record.levelno)
    try:
        if message.arguments is None:
            raise ValueError("the message is formatted")
        record.args = pickle.loads(message.arguments)
    except Exception:
        record.msg, record.args = message.text, None
    return record, message.until, message.heard


def handle(record: logging.LogRecord, until: str | None, heard: bool, stderr: Any) -> None:
    """Do what `logging.Logger.handle` does. ``stderr``: where it is told if there is no handler at all."""
    logger = logging.getLogger(record.name)
    if logger.disabled:
        return
    kept: Any = logger.filter(record)  # from Python 3.12 on a filter may return another record
    if not kept:
        return
    record = kept if isinstance(kept, logging.LogRecord) else record
    if until is None and logger.hasHandlers():
        logger.callHandlers(record)
        return
    for each in _upwards(logger):
        for handler in list(each.handlers):
            heard = True
            if record.levelno >= handler.level:
                handler.handle(record)
        if not each.propagate or each.name == until:
            break
    last = logging.lastResort
    if heard or last is None or record.levelno < last.level:
        return
    if type(last).__name__ == "_StderrHandler" and stderr is not None:
        stderr.write(last.format(record) + "\n")
        stderr.flush()
    else:
        last.handle(record)
