"""The words and the HTML of progress bars: pure functions of what is known about each run.

The map of states and the table of failures below the bars are in `picture`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from cellmill.diagnostics.failure_counts import FailureCount
from cellmill.diagnostics.short_text import one_line
from cellmill.telemetry.text_bar import shares, text_bar
from cellmill.telemetry.time_left import TimeLeft
from cellmill_widgets import picture

LIMIT = 8
"""Bars shown side by side; the rest is folded into one line."""
LABEL = 24
"""Characters of a name before a bar; the whole name is in the tooltip."""

MAPS = 3
"""With more bars than these none has a map of states below it."""

_PACES = (("s", 1), ("min", 60), ("h", 3600), ("day", 86_400))
_RED = "var(--jp-error-color1, #d32f2f)"
_FAINT = "var(--jp-ui-font-color2, #616161)"
_BACK = "var(--jp-layout-color3, #ddd)"
_STYLE = "font:12px/1.7 var(--jp-code-font-family, monospace);padding-left:var(--jp-code-padding, 0)"


@dataclass(frozen=True, slots=True)
class View:
    """One run at one moment. Times in seconds; ``done``: tasks that ran, failed ones too; total: None if not known;
    ``lost``: of the failed ones, those whose worker ended; ``hits``: results from the cache, beside the tasks.
    """

    name: str
    done: int
    total: int | None
    failed: int = 0
    lost: int = 0
    cancelled: int = 0
    hits: int = 0
    elapsed: float = 0.0
    rate: float = 0.0
    finished: bool = False
    shared: bool = False
    """Other runs go on beside it, or it waits for them, or for the end of a pause."""
    running: int = 0
    began: float = 0.0
    failures: tuple[FailureCount, ...] = ()
    runs: int = 1
    """How many runs it stands for."""
    states: str = ""
    """The state of each task in their order, where it is known: letters of `text_bar.LETTERS`."""

    @property
    def cells(self) -> list[tuple[str, int]]:
        """The map of its states."""
        if self.states:
            return picture.runs_of(self.states)
        total = max(self.total or 0, self.over + self.running)
        return shares(self.ended | {"r": self.running}, total, picture.WIDTH)

    @property
    def raised(self) -> int:
        """Tasks that failed with an error of their own."""
        return self.failed - self.lost

    @property
    def ended(self) -> dict[str, int]:
        """Tasks that are over, by the letter of their state."""
        return {
            "d": self.done - self.failed,
            "f": self.raised,
            "l": self.lost,
            "c": self.cancelled,
        }

    @property
    def over(self) -> int:
        """Tasks that ran or were cancelled."""
        return self.done + self.cancelled

    @property
    def fraction(self) -> float | None:
        """Share of the run that is over, 0 to 1; None where its size is not known."""
        if not self.total:
            return 1.0 if self.finished else None
        return min(1.0, self.over / self.total)

    @property
    def remaining(self) -> float | None:
        """Seconds to go at the present rate; None beside other runs, which share the workers, and in a pause."""
        if self.total is None or self.finished or self.shared or self.rate <= 0:
            return None
        return max(0, self.total - self.over) / self.rate


def duration(seconds: float) -> str:
    """A length of time in words: `28 ms`, `0.8 s`, `42 s`, `2 min 05 s`, `1 h 04 min`."""
    if 0 < seconds < 0.05:
        return f"{max(1, round(1000 * seconds))} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def time_left(left: TimeLeft) -> str:
    """An estimate in words: `about 42 s left`; `at least` where it is no more than a bound, and why."""
    if left.seconds is None:
        return f"time left not known ({', '.join(left.unknown)} not timed yet)"
    bound = "at least" if left.unknown or left.late else "about"
    seconds = max(1, round(left.seconds))
    time = f"{seconds} s" if seconds < 10 else duration(seconds)
    reason = ""
    if left.unknown:
        reason = f" ({', '.join(left.unknown)} not timed yet)"
    elif left.late:
        reason = f" ({', '.join(left.late)} {'runs' if len(left.late) == 1 else 'run'} longer than before)"
    return f"{bound} {time} left{reason}"


def pace(rate: float) -> str:
    """A rate in words, by the shortest of these times in which there is one at least."""
    if rate >= 100:
        return f"{rate:,.0f}/s"
    unit, seconds = next((each for each in _PACES if rate * each[1] >= 1), _PACES[-1])
    return f"{rate * seconds:.1f}/{unit}"


def counts(view: View) -> str:
    """Done, total, rate and time to go (or the time it took)."""
    if view.finished:
        rate = f" ({pace(view.done / view.elapsed)})" if view.done and view.elapsed > 0 else ""
        return f"{view.done:,} done in {duration(view.elapsed)}{rate}"
    parts = [f"{view.done:,}/{view.total:,}" if view.total is not None else f"{view.done:,} done"]
    if view.rate > 0:
        parts.append(pace(view.rate))
    if view.remaining:
        parts.append(f"{duration(view.remaining)} left")
    return ", ".join(parts)


def _said(view: View) -> list[tuple[str, str]]:
    """How far it is, its failures, and what came from the cache: each with the letter of its state, "" without one."""
    ran = [("", counts(view))] if view.over or view.total or not view.hits else []
    numbers = (("f", view.raised, "failed"), ("l", view.lost, "lost"), ("c", view.cancelled, "cancelled"))
    troubles = [(letter, f"{number:,} {word}") for letter, number, word in numbers if number]
    return ran + troubles + ([("", f"{view.hits:,} from the cache")] if view.hits else [])


def text(view: View) -> str:
    """Return one line without a bar: what stays of a run."""
    return f"{one_line(view.name, picture.MESSAGE)}: {', '.join(words for _, words in _said(view))}"


def drawn(view: View, width: int) -> str:
    """Return one line with a bar, for a terminal of that many columns."""
    words = text(view)
    room = min(30, width - len(words) - 4)
    if view.fraction is None or room < 5:
        return words[: max(1, width - 1)]
    return f"[{_track(view, room)}] {words}"


def _track(view: View, room: int) -> str:
    """A bar in characters: `#` done, `!` failed, `x` lost, `-` cancelled, `.` to come; what there is at all is seen."""
    return text_bar(view.ended, max(view.total or 0, view.over), room)


def fold(views: Sequence[View]) -> tuple[Sequence[View], View | None]:
    """The bars to show, running ones first, and one for the rest."""
    if len(views) <= LIMIT:
        return views, None
    running = [view for view in views if not view.finished]
    ended = [view for view in views if view.finished]
    shown = running[:LIMIT]
    room = LIMIT - len(shown)
    recent = ended[len(ended) - room :] if room else []
    return [*recent, *shown], total([*ended[: len(ended) - room], *running[LIMIT:]])


def total(views: Sequence[View]) -> View:
    """Several runs as one."""
    finished = all(view.finished for view in views)
    totals = [view.over if view.finished else view.total for view in views]
    known = [each for each in totals if each is not None]
    elapsed = _together(views) if finished else max(view.elapsed for view in views)
    runs = sum(view.runs for view in views)
    return View(
        name=f"{runs:,} more run{'s' if runs != 1 else ''}",
        done=sum(view.done for view in views),
        total=sum(known) if len(known) == len(views) else None,
        failed=sum(view.failed for view in views),
        lost=sum(view.lost for view in views),
        cancelled=sum(view.cancelled for view in views),
        hits=sum(view.hits for view in views),
        elapsed=elapsed,
        rate=sum(view.rate for view in views if not view.finished),
        finished=finished,
        shared=any(view.shared for view in views),
        running=sum(view.running for view in views),
        began=min(view.began for view in views),
        failures=picture.merged([view.failures for view in views]),
        runs=runs,
    )


def _together(views: Sequence[View]) -> float:
    """Seconds in which any of them went on: they may have gone on beside each other."""
    seconds, until = 0.0, 0.0
    for view in sorted(views, key=lambda view: view.began):
        end = view.began + view.elapsed
        seconds += max(0.0, end - max(view.began, until))
        until = max(until, end)
    return seconds


def listing(views: Sequence[View], note: str = "") -> str:
    """Return the final text of several runs, a line each, then their failures and a note."""
    shown, rest = fold(views)
    lines = [text(view) for view in [*shown, *([rest] if rest else [])]]
    failures = picture.words(picture.merged([view.failures for view in views]))
    return "\n".join(line for line in (*lines, failures, note) if line)


def html(views: Sequence[View], note: str = "") -> str:
    """Return bars for the runs that go on, a line of text for those that ended, their failures, and a note."""
    shown, rest = fold(views)
    views = [*shown, *([rest] if rest else [])]
    width = min(LABEL, max((len(view.name) for view in views if not view.finished), default=0))
    maps = len(views) <= MAPS
    rows = "".join(_row(view, width) + (picture.strip(view.cells) if maps else "") for view in views)
    rows += picture.table(picture.merged([view.failures for view in views]))
    if note:
        rows += f'<div style="color:{_FAINT};white-space:normal">{escape(note)}</div>'
    return f'<div class="cellmill-progress" style="{_STYLE}">{rows}</div>'


def svg(views: Sequence[View], note: str = "") -> str:
    """Return the final state of several runs as an SVG picture, for pages that take no HTML."""
    shown, rest = fold(views)
    lines = [(text(view), view.cells) for view in [*shown, *([rest] if rest else [])]]
    return picture.svg(lines, picture.merged([view.failures for view in views]), textwrap.wrap(note, 84))


def _row(view: View, width: int) -> str:
    parts = [
        f'<span style="color:{_FAINT if letter == "c" else _RED}">{words}</span>' if letter else words
        for letter, words in _said(view)
    ]
    if view.finished:
        return f"<div>{escape(one_line(view.name, picture.MESSAGE))}: {', '.join(parts)}</div>"
    name = escape(one_line(view.name, picture.MESSAGE))
    column = f"flex:0 0 {width}ch;overflow:hidden;text-overflow:ellipsis"
    label = f'<span title="{name}" style="{column}">{name}</span>'
    # Where it is narrow the bar gives way first, then parts go to a further line: none is cut off.
    style = "display:flex;flex-wrap:wrap;gap:0 10px;align-items:center;white-space:nowrap"
    each = "".join(f"<span>{part}</span>" for part in parts)
    return f'<div style="{style}">{label}{_bar(view)}{each}</div>'


def _bar(view: View) -> str:
    if view.fraction is None:
        return ""
    percent = 100 * view.fraction
    whole = max(view.total or 0, view.over, 1)
    parts = {letter: 100 * number / whole for letter, number in view.ended.items() if letter != "d"}
    parts = {"d": max(0.0, percent - sum(parts.values())), **parts}
    pieces = "".join(_piece(letter, share) for letter, share in parts.items() if letter == "d" or share)
    size = "flex:1 1 60px;max-width:180px;height:10px"
    frame = f"display:flex;{size};border-radius:2px;overflow:hidden;background:{_BACK}"
    roles = f'role="progressbar" aria-valuemin="0" aria-valuemax="100" aria-valuenow="{int(percent + 1e-9)}"'
    return f'<span {roles} style="{frame}">{pieces}</span>'


def _piece(letter: str, percent: float) -> str:
    """A state's part of a bar: lost tasks are striped, which tells them from failed ones without colour."""
    least = "" if letter == "d" else "min-width:2px;"
    colour = picture.COLOURS[letter]
    striped = f"repeating-linear-gradient(90deg,{colour} 0 2px,{_BACK} 2px 4px)"
    background = striped if letter == "l" else colour
    return f'<span style="width:{percent:.2f}%;{least}background:{background}"></span>'
