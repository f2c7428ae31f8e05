"""Where the time of a run went: worker-seconds in user code, in handling, and idle, and the longest chain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from ..diagnostics.short_text import duration_text
from ..history import LEAST_TOLD, TimeSpent
from .advice import Advice
from .idle import Idle


@dataclass(frozen=True, slots=True)
class Account:
    """Where the time of a run, or of a piece of work, went; ``str()`` gives it as a sentence.

    All times are in seconds. ``busy + overhead + idle`` is ``wall * workers``: the time of all workers from the first
    task's submission to the last one's end. The figures are sums that the scheduler keeps as tasks end, exact for any
    number of tasks; of what still runs they tell what is over.
    """

    began: float  # when the first task was submitted, on the monotonic clock; 0: there was none
    wall: float  # from the first submission to the last task's end on its worker
    workers: float  # on average over that time; of one run without the part that other runs took
    busy: float  # of workers in user code
    overhead: float  # of workers loading arguments and packing results
    idle: float  # of workers without a task
    head: float  # part of `idle`: before each worker's first task; of one run 0, as the next two
    tail: float  # part of `idle`: after each worker's last task
    unused: float  # part of `idle`: of workers that had no task at all
    wasted: float  # part of `busy`: attempts that were retried, lost or stopped
    span: float  # run time of the longest chain of tasks, each of which takes the result of the one before
    chain: tuple[
        tuple[str, int], ...
    ]  # its functions in order, and how many tasks of each follow one another
    whole_chain: (
        bool  # False: some of its tasks ended so long ago that `span` is at least that, and `chain` its end
    )
    longest: float  # run time of the longest task, or chunk of a map
    tasks: int  # attempts that ran
    processor: float | None = (
        None  # processor time of the workers meanwhile, all their threads; None: unknown
    )
    sent: int | None = None  # bytes of packed arguments of tasks that ended; None: nothing is packed
    received: int | None = None  # bytes of packed results
    reasons: Idle | None = (
        None  # `idle` by reason, once the work is over; None: not known, or too many tasks for that
    )
    advice: tuple[Advice, ...] = ()  # what would have helped, best first
    explained: bool = (
        False  # the work is over and its time understood: without advice nothing known would help
    )

    @property
    def sentence(self) -> str:
        """The account's conclusion, with the best advice, in a few sentences; says so where no task has ended."""
        best = self.advice[0].what if self.advice else ""
        return " ".join(part for part in (self.where, best) if part)

    @property
    def where(self) -> str:
        """The conclusion without advice: where the time went, and the chain that limits it."""
        if not self.tasks:
            return "No task has run."
        return " ".join(part for part in (self._shares(), self._limit()) if part)

    @property
    def nothing(self) -> str:
        """Says that nothing would help; "" where something would, or where it is unknown."""
        if not self.tasks or self.advice or not self.explained:
            return ""
        return "No single change that Cellmill knows of would make it a sixth shorter."

    def spent(self) -> TimeSpent | None:
        """What the record of a run keeps of it; None where no task has run."""
        whole = self.busy + self.overhead + self.idle
        if not self.tasks or whole <= 0:
            return None
        reasons = () if self.reasons is None else self.reasons.parts()
        shares = tuple((reason, what, seconds / whole) for reason, what, seconds in reasons)
        return TimeSpent(self.where, self.idle / whole, shares)

    def __str__(self) -> str:
        return " ".join(part for part in (self.sentence, self.nothing) if part)

    def _shares(self) -> str:
        whole = self.busy + self.overhead + self.idle
        if whole <= 0:
            return f"{duration_text(self.wall)}."
        parts = [
            (self.busy, "in your code"),
            (self.overhead, "handling arguments and results"),
            *self._idle(),
        ]
        told = [(share / whole, words) for share, words in parts if share / whole >= LEAST_TOLD]
        shares = [f"{100 * share:.0f} % {words}" for share, words in told]
        workers = _workers(self.workers)
        text = f"{duration_text(self.wall)}: {workers} {', '.join(shares) if shares else 'idle'}."
        if self.busy and self.wasted / self.busy >= LEAST_TOLD:
            text += f" {100 * self.wasted / self.busy:.0f} % of your code's time was of attempts that came to nothing."
        return text

    def _idle(self) -> Iterable[tuple[float, str]]:
        if self.reasons is not None:
            yield from self.reasons.words()
            return
        between = max(0.0, self.idle - self.head - self.tail - self.unused)
        yield self.unused, "idle for want of tasks"
        yield self.head, "idle before the first tasks"
        yield between, "idle between tasks"
        yield self.tail, "idle at the end"

    def _limit(self) -> str:
        tasks = sum(count for _, count in self.chain)
        if tasks < 2 or self.span < self.wall / 100:
            return ""
        names = [name if count == 1 else f"{name} ({count:,} times)" for name, count in self.chain]
        if len(names) > 6:
            names = [*names[:3], "…", *names[-2:]]
        words = " → ".join(names if self.whole_chain else ["…", *names])
        at_least = "" if self.whole_chain else "at least "
        return (
            f"The chain {words} takes {at_least}{duration_text(self.span)}, however many workers there are."
        )


def _workers(mean: float) -> str:
    """Their number, or its mean where it changed by more than the time of a start."""
    if mean < 0.1:  # they came late
        return "less than 0.1 workers on average"
    if abs(mean - round(mean)) > 0.1 or round(mean) == 0:
        return f"{mean:.1f} workers on average"
    return f"{mean:.0f} worker{'' if round(mean) == 1 else 's'}"


def chain_of(names: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """Names in order, those that follow one another as one with their number."""
    return tuple((name, len(list(same))) for name, same in groupby(names))
