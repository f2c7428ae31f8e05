"""Failed calls, folded by error: to look at, to copy as Python, and to make again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from .diagnostics.questions import number
from .errors import UsageError

if TYPE_CHECKING:
    from .backends._observing import FailureFold, FailureRecord, TaskQuestions
    from .futures import Future

__all__ = ["FailedCall", "Failures", "folds_of", "source_of"]

_TEXT = 200  # characters of a value in a comment


class FailedCall:
    """One task, or element of a map, that failed for good."""

    def __init__(self, questions: TaskQuestions, record: FailureRecord) -> None:
        self._questions = questions
        self._record = record

    @property
    def task(self) -> str:
        """Its name, as the panel and messages have it: "#12", or "#12.3" for an element of a map."""
        return name_of(self._record)

    @property
    def function(self) -> str:
        """The function's name."""
        return self._record.function

    @property
    def arguments(self) -> str:
        """The arguments as short text."""
        return self._record.arguments

    @property
    def message(self) -> str:
        """The message of its exception."""
        return self._record.message

    @property
    def kept(self) -> bool:
        """Whether its arguments are kept, so that the call can be made again: those of up to 16 kB are."""
        return self._record.is_kept

    def call(self) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        """Return function, positional and keyword arguments, made anew of what was sent. Raises `UsageError`."""
        return self._record.call()

    def again(self) -> Future:
        """Submit the call anew. Raises `UsageError`."""
        return self._questions.call_again(self._record)

    def __repr__(self) -> str:
        return f"<{self.task} {self.function}({self.arguments})>"


class Failures(Sequence[FailedCall]):
    """All failures of one type with one traceback; as a sequence, those of its calls that are remembered."""

    def __init__(self, questions: TaskQuestions, fold: FailureFold, records: Sequence[FailureRecord]) -> None:
        self.type = fold.type
        self.function = fold.function  # of the first
        self.message = fold.message  # of the first
        self.traceback = fold.traceback  # of the first
        self.total = fold.count  # of the failures, remembered or not
        self._records = records
        self._calls = [FailedCall(questions, record) for record in records]

    @overload
    def __getitem__(self, place: int) -> FailedCall: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[FailedCall]: ...

    def __getitem__(self, place: int | slice) -> FailedCall | Sequence[FailedCall]:
        return self._calls[place]

    def __len__(self) -> int:
        return len(self._calls)

    def __repr__(self) -> str:
        known = "" if len(self) == self.total else f", {len(self):,} of them remembered"
        return f"<{self.total:,} × {self.type} in {self.function}: {shortened(self.message)}{known}>"

    def python(self) -> str:
        """Return the arguments as a list in Python; a comment stands for what has no exact source."""
        return source_of(self._records, self.type, self.total).text

    def retry(self, *, part: bool = False) -> list[Future]:
        """Submit exactly these calls anew; the futures, in their order.

        Raises `UsageError` before the first one where not all can be made again; ``part=True``: those that can.
        """
        calls = [call for call in self._calls if call.kept]
        if len(calls) < self.total and not part:
            raise UsageError(
                f"only {len(calls):,} of these {self.total:,} calls are kept; retry(part=True) makes those again"
            )
        return [call.again() for call in calls]


class Source(NamedTuple):
    """The arguments of failed calls as a list in Python."""

    text: str
    exact: int  # calls that have an entry


def folds_of(questions: TaskQuestions, most: int, run: int | None) -> list[Failures]:
    """Return the folds of a run (by the pool's number) or of all, the latest first."""
    found = (questions.failed_calls(fold.id, run) for fold in questions.failures(most, run))
    return [Failures(questions, *each) for each in found if each is not None]


def source_of(records: Sequence[FailureRecord], kind: str, count: int, most: int | None = None) -> Source:
    """Return the arguments of failed calls as a list in Python, of at most so many characters.

    An entry is a tuple of positional arguments; where a call has keyword arguments, all are pairs of a tuple and a
    dict. Comments stand for calls whose arguments have no exact source, and for those that are not remembered.
    """
    sources = [record.source() for record in records]
    pairs = any(source is not None and source[1] for source in sources)
    name = shortened(records[0].function) if records else "?"
    form = "(args, kwargs)" if pairs else "args"
    lines = [f"# {form} of {_calls(count)} of {name} that failed with {shortened(kind)}", "["]
    size = exact = 0
    for told, (record, source) in enumerate(zip(records, sources, strict=True)):
        if source is None:
            line = f"    # {name_of(record)}: no exact source of {shortened(record.arguments) or 'its arguments'}"
        else:
            line = f"    ({source[0]}, {source[1] or '{}'})," if pairs else f"    {source[0]},"
        size += len(line) + 1
        if most is not None and size > most:
            lines.append(f"    # {len(records) - told:,} more have no room here: see cellmill.failures()")
            break
        lines.append(line)
        exact += source is not None
    if count > len(records):
        lines.append(f"    # the arguments of {count - len(records):,} more are not kept")
    return Source("\n".join([*lines, "]"]) + "\n", exact)


def shortened(text: str) -> str:
    """Return text for one line of a comment: without line breaks and control characters, and short."""
    line = " ".join(text.split())
    line = "".join(each if each.isprintable() else "?" for each in line)
    return line if len(line) <= _TEXT else line[: _TEXT - 1] + "…"


def name_of(record: FailureRecord) -> str:
    """Return a failed task's name, as the panel has it."""
    return f"{number(record.task)}.{record.element}" if record.element else number(record.task)


def to_retry(records: Iterable[FailureRecord]) -> list[FailureRecord]:
    """Return those that can be made again and have not been, or whose latest run was cancelled."""
    return [
        record
        for record in records
        if record.is_kept and (not record.again or record.again[-1].state == "cancelled")
    ]


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count:,} calls"
