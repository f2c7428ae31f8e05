"""What `%%speedup` found, as text and as HTML."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from cellmill.diagnostics.short_text import counted, duration_text
from cellmill.magics.promise import Cost, Promise
from cellmill.magics.timed_loops import Times

WORTH_TELLING = 0.05  # of a loop's time: what its iterable takes


@dataclass(frozen=True, slots=True)
class Finding:
    """One loop: its line, its text, the verdict and why; its times and the promise where it ran."""

    line: int
    text: str
    verdict: str  # independent, unproven, impossible; unknown: not run
    reason: str
    times: Times | None = None
    promise: Promise | None = None

    def ran(self) -> str:
        """How long it took."""
        if self.times is None or not self.times.items:
            return "" if self.times is None or self.verdict == "impossible" else "no items"
        times = self.times
        whole = times.total + times.waiting
        items = f"{counted(times.items, 'item')} of {duration_text(times.total / times.items)}"
        if times.waiting < max(0.001, WORTH_TELLING * whole):
            return f"{duration_text(whole)}, {items}"
        source = "iterable and filter" if times.filtered else "iterable"
        return f"{duration_text(whole)}, {items} and {duration_text(times.waiting)} of its {source}"

    def said(self, cost: Cost | None) -> str:
        """Verdict and promise in words."""
        if self.verdict == "impossible":
            return f"no: {self.reason}"
        if self.verdict == "unknown":
            return f"not known: {self.reason}"
        head = "independent" if self.verdict == "independent" else f"not proved independent; if {self.reason}"
        if self.promise is None:
            return head
        promise = self.promise
        workers = counted(promise.workers, "worker")
        if promise.holds:
            bound = f" (bound by {promise.bound})" if promise.bound else ""
            condition = f", if {promise.condition}" if promise.condition else ""
            return f"{head}: about {duration_text(promise.then)} with {workers}{bound}{condition}"
        if promise.bound == "what tasks cost" and cost is not None:
            figures = (
                f"a loop of tasks costs {duration_text(cost.once)}, and {duration_text(cost.each)} an item"
            )
            return f"{head}, too short to be worth it: {figures}"
        why = (
            f", as {promise.bound}"
            if promise.bound.endswith("already")
            else f": {promise.bound}"
            if promise.bound
            else ""
        )
        return f"{head}, with no gain worth a promise with {workers}{why}"


@dataclass(frozen=True, slots=True)
class Speedup:
    """The loops of a cell, and the cell with those as tasks that would gain; ``wall`` is None where it has not run.

    ``possible`` has all loops as tasks that can be, also those that would not gain.
    """

    findings: tuple[Finding, ...]
    rewritten: str
    possible: str
    wall: float | None
    cost: Cost | None

    @property
    def promised(self) -> float | None:
        """Seconds that the cell is promised to take as tasks: as now where no loop would gain; None: it has not run."""
        if self.wall is None:
            return None
        return self.wall - sum(each.now - each.then for each in self._held())

    def _held(self) -> list[Promise]:
        return [each.promise for each in self.findings if each.promise is not None and each.promise.holds]

    def _first(self) -> str:
        if not self.findings:
            return "%%speedup: no loop at the top level of this cell"
        if self.wall is None or self.promised is None:
            return f"%%speedup: {counted(len(self.findings), 'loop')}, not run"
        text = f"%%speedup: {duration_text(self.wall)}"
        if not self._held():
            return f"{text}; nothing of it would gain as tasks"
        sure = all(
            e.verdict == "independent" and not e.promise.condition
            for e in self.findings
            if e.promise is not None and e.promise.holds
        )
        condition = "" if sure else ", if what is said below holds"
        return f"{text}; as tasks about {duration_text(self.promised)}{condition}"

    def _measured(self) -> str:
        if self.cost is None or not self.cost.counted:
            return ""
        items = counted(self.cost.counted, "item")
        return (
            f"What tasks cost was measured once, by {items} on the cluster: views count them with your tasks."
        )

    def _last(self) -> str:
        return "The rewritten cell (not run; %speedup puts it into a new cell):" if self.rewritten else ""

    def __repr__(self) -> str:
        rows = [self._first()]
        for each in self.findings:
            ran = f" [{each.ran()}]" if each.ran() else ""
            rows += [f"line {each.line}: {each.text}{ran}", f"    {each.said(self.cost)}"]
        if self._measured():
            rows.append(self._measured())
        if self.rewritten:
            rows += ["", self._last(), "", *(f"    {line}" for line in self.rewritten.splitlines())]
        return "\n".join(rows)

    def _repr_html_(self) -> str:
        left = 'style="text-align:left;vertical-align:top"'
        rows = "".join(
            f"<tr><td {left}>{each.line}</td><td {left}><code>{escape(each.text)}</code></td>"
            f"<td {left}>{escape(each.ran())}</td><td {left}>{escape(each.said(self.cost))}</td></tr>"
            for each in self.findings
        )
        heads = "".join(f"<th scope=col {left}>{name}</th>" for name in ("line", "loop", "took", "as tasks"))
        table = f"<table><tr>{heads}</tr>{rows}</table>" if rows else ""
        code = f"<p>{escape(self._last())}</p><pre>{escape(self.rewritten)}</pre>" if self.rewritten else ""
        measured = f"<p>{escape(self._measured())}</p>" if self._measured() else ""
        return f"<p>{escape(self._first())}</p>{table}{measured}{code}"
