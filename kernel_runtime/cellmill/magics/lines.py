"""Reading the line of a magic: options first, then the rest; every error points at its column."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from IPython.core.error import UsageError as IPythonUsageError

from cellmill import errors
from cellmill.task import MOST_RETRIES, PRIORITIES, amount_of, memory_of


class UsageError(IPythonUsageError, errors.UsageError):
    """A magic was used wrongly: one message, the place in the source, and how it is used.

    IPython shows it without a traceback.
    """

    def __init__(
        self, message: str, *, text: str = "", start: int = 0, stop: int = 0, usage: str = ""
    ) -> None:
        parts = [message]
        if text:
            caret = " " * start + "^" * max(1, stop - start)
            parts += [f"    {text}", f"    {caret}"]
        if usage:
            parts.append(f"usage: {usage}")
        super().__init__("\n".join(parts))

    def _render_traceback_(self) -> list[str]:
        return f"UsageError: {self}".split("\n")


ELSEWHERE = {"--workers": "; the number of workers is set by %cellmill workers N"}
"""What is no option of a cell, and where it is set."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean X?` for the nearest known word, or nothing."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a magic line: its text without quotes, and its position."""

    text: str
    start: int
    stop: int


_WORD = re.compile(r"""(?:[^\s"'#]+|"[^"]*"|'[^']*')+""")


@dataclass(frozen=True, slots=True)
class Line:
    """The rest of a magic's line, with what is needed to point into it."""

    magic: str
    text: str
    usage: str

    def error(self, message: str, start: int | None = None, stop: int | None = None) -> UsageError:
        """An error at columns start to stop of the text (at its end when start is None)."""
        if start is None:
            start = stop = len(self.text.rstrip()) + (1 if self.text.strip() else 0)
        shift = len(self.magic) + 1
        last = start + 1 if stop is None else stop
        whole = f"{self.magic} {self.text}".rstrip()
        return UsageError(message, text=whole, start=start + shift, stop=last + shift, usage=self.usage)

    def at(self, message: str, word: Word) -> UsageError:
        """An error at a word."""
        return self.error(message, word.start, word.stop)

    def words(self, start: int = 0) -> list[Word]:
        """The words from a column on; a comment ends the line."""
        found = []
        position = start
        while position < len(self.text):
            if self.text[position].isspace():
                position += 1
                continue
            if self.text[position] == "#":
                break
            match = _WORD.match(self.text, position)
            if match is None:
                raise self.error("this quote is not closed", position)
            found.append(Word(_unquoted(match.group()), match.start(), match.end()))
            position = match.end()
        return found


def _unquoted(word: str) -> str:
    return re.sub(r""""([^"]*)"|'([^']*)'""", lambda match: match.group(1) or match.group(2) or "", word)


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a magic; `read` turns its word into a value and is None for a flag. ``attached``: it has a value
    where one follows an equals sign, else it is a flag. ``join`` makes one value of two, where it may be given more
    than once.
    """

    name: str
    metavar: str
    help: str
    read: Callable[[str], Any] | None = None
    attached: bool = False
    join: Callable[[Any, Any], Any] | None = None

    @property
    def text(self) -> str:
        """How it is written."""
        return f"{self.flag}{'' if self.attached or not self.metavar else ' '}{self.metavar}"

    @property
    def flag(self) -> str:
        """The option as it is written, with its two dashes."""
        return f"--{self.name}"


def _within(word: str, allowed: range) -> int:
    value = int(word)
    if value not in allowed:
        raise ValueError(word)
    return value


def _retries(word: str) -> int:
    return _within(word, range(MOST_RETRIES + 1))


def _priority(word: str) -> int:
    return _within(word, PRIORITIES)


def _chunk(word: str) -> int:
    return _within(word, range(1, 1 << 31))


def _seconds(word: str) -> float:
    value = float(word)
    if not 0 < value < float("inf"):
        raise ValueError(word)
    return value


def read_amounts(word: str) -> dict[str, Any]:
    """``gpu=1,licence=0.5`` as names and numbers; raises `ValueError`."""
    found: dict[str, Any] = {}
    for part in word.split(","):
        name, equals, number = part.partition("=")
        if not equals or not name.strip() or name in found or name == "memory":
            raise ValueError(part)
        found[name] = float(number)
        amount_of(name, found[name])
    return found


def _joined(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    if one.keys() & other.keys():
        raise ValueError(other)
    return one | other


def _memory(word: str) -> str:
    if not memory_of("memory", int(word) if word.isdecimal() else word):
        raise ValueError(word)
    return word


def _names(word: str) -> list[str]:
    return [name.strip() for name in word.split(",") if name.strip()]


RETRIES = Option("retries", "N", "run a failed task again, at most N times", _retries)
BATCH = Option("batch", "", "the function takes a list of items and returns a list of as many results")
TIMEOUT = Option("timeout", "S", "seconds after which a running task is stopped", _seconds)
PRIORITY = Option("priority", "N", "a whole number; higher runs first", _priority)
RESOURCES = Option(
    "resources",
    "NAME=N,…",
    "so much of what the executor has in all is the task's own while it runs (%cellmill resources)",
    read_amounts,
    join=_joined,
)
MEMORY = Option("memory", "SIZE", "memory to reserve while it runs, such as 2GB", _memory)
NAME = Option("name", "NAME", "the name shown in bars and in the panel", str)
MEMO = Option(
    "memo", "[=FOLDER]", "keep results, in memory or in that folder, and give them to equal calls", str, True
)
DEPENDS_ON = Option(
    "depends-on",
    "FILE,…",
    "files that the function reads, for --memo and --checkpoint",
    _names,
    join=list.__add__,
)
CHECKPOINT = Option("checkpoint", "FILE", "keep the results of maps in that file, and go on from there", str)
CHUNKSIZE = Option("chunksize", "N", "items per task; chosen by the runtime when left out", _chunk)

_KINDS: dict[Callable[[str], Any], str] = {
    _retries: f"a whole number from 0 to {MOST_RETRIES}",
    _priority: f"a whole number from {PRIORITIES[0]} to {PRIORITIES[-1]}",
    _chunk: "a whole number, 1 or more",
    _seconds: "a number of seconds above 0",
    read_amounts: "names, each once, and numbers, such as gpu=1,licence=0.5 (memory is an option of its own)",
    _memory: "a number of bytes, or a size such as 2GB",
}


def usage_of(options: Sequence[Option]) -> str:
    """The options as shown in a usage line."""
    return " ".join(f"[{option.text}]" for option in options)


def help_of(options: Sequence[Option]) -> str:
    """Return one line of help for each option, for docstrings."""
    return "\n".join(f"    {option.text:20} {option.help}" for option in options)


def read_options(line: Line, options: Sequence[Option]) -> tuple[dict[str, Any], int]:
    """The options at the start of a line and the column at which the rest begins.

    Raises UsageError for an unknown option, one given twice, a missing value, or a value of the wrong kind.
    """
    known = {option.flag: option for option in options}
    values: dict[str, Any] = {}
    position = 0
    while True:
        word = _next_word(line, position)
        if word is None or not word.text.startswith("-"):
            return values, position if word is None else word.start
        flag, equals, attached = word.text.partition("=")
        option = known.get(flag)
        if option is None:
            meant = ELSEWHERE.get(flag, did_you_mean(flag, known))
            raise line.at(f"unknown option {flag}{meant}", word)
        position = word.stop
        name = option.name.replace("-", "_")
        if name in values and option.join is None:
            raise line.at(f"{flag} is given twice", word)
        if option.read is None or (option.attached and not equals):
            if equals:
                raise line.at(f"{flag} takes no value", word)
            values[name] = True
            continue
        value = (
            Word(attached, word.start + len(flag) + 1, word.stop) if equals else _next_word(line, position)
        )
        if value is None or not value.text:
            raise line.error(f"{flag} needs a value: {flag} {option.metavar}", word.start, word.stop)
        position = value.stop
        values[name] = _value(line, option, value, values.get(name))


def _value(line: Line, option: Option, word: Word, before: Any) -> Any:
    """The value of a word, joined to the one ``before`` where the option was given already."""
    assert option.read is not None
    try:
        value = option.read(word.text)
        return value if before is None or option.join is None else option.join(before, value)
    except ValueError:
        kind = _KINDS.get(option.read, "a value")
        raise line.at(f"{option.flag} takes {kind}, not {word.text!r}", word) from None


def _next_word(line: Line, start: int) -> Word | None:
    """The word after a column; only that far is the line read (the rest may be Python)."""
    rest = line.text[start:]
    position = start + len(rest) - len(rest.lstrip())
    if position >= len(line.text) or line.text[position] == "#":
        return None
    match = _WORD.match(line.text, position)
    if match is None:
        return Word(line.text[position:], position, len(line.text))
    return Word(_unquoted(match.group()), match.start(), match.end())
