"""A report of one run, or of two beside each other: one page that any browser opens, without a network or a kernel."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from ..diagnostics.short_text import counted, duration_text
from ..errors import BackendError
from ..task import size_text
from .catalogue import What, compare, open_record, or_latest
from .record import Record

_MISSING = (
    "Not in this report: arguments and results, what tasks printed, their tracebacks, and which task took whose "
    "result. Calls by executor.submit are part of no run. Times of tasks are those between the stamps of begin and "
    "end on their worker."
)
_STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --soft: #59636e; --line: #d1d9e0; --ground: #ffffff; --card: #f6f8fa }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8eb; --soft: #9aa4af; --line: #3d444d; --ground: #16191d; --card: #20252b } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--ground); max-width: 1080px;
  margin: 0 auto; padding: 24px }
h1 { font-size: 24px; margin: 0 } h2 { font-size: 18px; margin: 32px 0 8px } p { margin: 8px 0; max-width: 80ch }
.soft { color: var(--soft) } .cards { display: flex; flex-wrap: wrap; gap: 12px; margin: 16px 0 }
.cards div { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: 8px 14px }
.cards b { display: block; font-size: 20px } .scroll { overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { text-align: left; padding: 4px 16px 4px 0; border-bottom: 1px solid var(--line); vertical-align: top }
td.n, th.n { text-align: right } .note { border-left: 3px solid #d9822b; padding-left: 12px }
"""
_LOOK = """
(function () {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  function paint() {
    const ink = dark.matches ? '#c8ced6' : '#3a424b', line = dark.matches ? '#4a525c' : '#d5dbe1';
    for (const made of Bokeh.documents) for (const model of made._all_models.values()) {
      for (const name of ['major_label_text_color', 'axis_label_text_color', 'text_color', 'label_text_color'])
        if (name in model.properties) model[name] = ink;
      for (const name of ['grid_line_color', 'axis_line_color', 'major_tick_line_color', 'minor_tick_line_color'])
        if (name in model.properties && model[name] !== null) model[name] = line;
    }
  }
  dark.addEventListener('change', paint);
  (function ready() { Bokeh.documents.length ? paint() : setTimeout(ready, 20); })();
})();
"""
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
font-src data:; script-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}</style>
{library}
</head>
<body>
{body}
{scripts}
<script>{look}</script>
</body>
</html>
"""


def report(path: str | os.PathLike[str], run: What = None, other: What = None) -> Path:
    """Write a page about a run, for people who were not there: what ran, how long, where the time went, throughput and
    queue over time, run times by function, what each worker did, failures, machine and versions.

    ``run`` is a run, its number, a record or its file; without one the latest run. With ``other`` the page has the two
    beside each other, and what changed from the first to the second. It needs Bokeh, and holds all that it shows.
    """
    try:
        import bokeh  # noqa: F401
    except ImportError as error:
        raise BackendError("reports need Bokeh: pip install 'cellmill[report]'") from error
    records = [open_record(or_latest(run))] + ([open_record(other)] if other is not None else [])
    title = " and ".join(_name(record) for record in records)
    parts, plots = _two(records) if len(records) == 2 else _one(records[0])
    page = _page(f"{title} – Cellmill", parts, plots)
    target = Path(path).expanduser()
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w") as file:
            file.write(page)
        fresh.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            fresh.unlink()
        raise
    return target


def _page(title: str, parts: list[str | int], plots: list[Any]) -> str:
    from bokeh.embed import components
    from bokeh.resources import Resources

    scripts, places = components(tuple(plots)) if plots else ("", ())
    body = "\n".join(places[part] if isinstance(part, int) else part for part in parts)
    library = Resources(mode="inline", components=["bokeh"]).render() if plots else ""
    look = _LOOK if plots else ""
    return _PAGE.format(
        title=escape(title), style=_STYLE, library=library, body=body, scripts=scripts, look=look
    )


def _name(record: Record) -> str:
    return record.label or record.run.name


def _one(record: Record) -> tuple[list[str | int], list[Any]]:
    """The parts of a page, plots by their places, and the plots."""
    parts: list[str | int] = [_head(record), _cards(record), *_sentences(record)]
    plots: list[Any] = []
    if len(record):
        from . import plots as draw
        from .figures import MOST_FUNCTIONS, Figures

        figures = Figures(record)
        sides = [(_name(record), figures)]
        plots += [draw.throughput(sides), draw.queue(sides), draw.timeline(figures)]
        shown = [each for each in figures.functions if len(each.seconds)]
        plots += [draw.histogram(each.name, [("", each.seconds)]) for each in shown[:MOST_FUNCTIONS]]
        drawn = (
            "Each bar is a task, coloured by function; failed ones are red."
            if figures.drawn_one_by_one
            else f"{counted(len(record), 'task')} are too many to draw one by one: the stronger the colour, the "
            "busier the worker was."
        )
        parts += ["<h2>Over time</h2>", 0, 1, f"<h2>What each worker did</h2><p class=soft>{drawn}</p>", 2]
        parts += ["<h2>How long tasks ran</h2>", _functions(figures), *range(3, len(plots))]
        if len(shown) > MOST_FUNCTIONS:
            parts.append(
                f"<p class=soft>{counted(len(shown) - MOST_FUNCTIONS, 'more function')} without a picture.</p>"
            )
    parts += [_failures(record), _machine([record]), f"<p class=soft>{_MISSING}</p>"]
    return parts, plots


def _two(records: Sequence[Record]) -> tuple[list[str | int], list[Any]]:
    before, after = records
    told = compare(before, after)
    parts: list[str | int] = [
        f"<h1>{escape(told.before.label)} and {escape(told.after.label)}</h1>",
        f"<div class=scroll>{told._repr_html_()}</div>",
    ]
    plots: list[Any] = []
    if len(before) and len(after):
        from . import plots as draw
        from .figures import MOST_FUNCTIONS, Figures

        both = [Figures(record) for record in records]
        labels = [told.before.label, told.after.label]
        sides = list(zip(labels, both, strict=True))
        plots += [draw.throughput(sides), draw.queue(sides)]
        plots += [draw.timeline(each, f"Timeline of {label}") for label, each in sides]
        times = [{each.name: each.seconds for each in one.functions if len(each.seconds)} for one in both]
        common = [name for name in times[0] if name in times[1]][:MOST_FUNCTIONS]
        plots += [
            draw.histogram(name, [(label, one[name]) for label, one in zip(labels, times, strict=True)])
            for name in common
        ]
        parts += ["<h2>Over time</h2>", 0, 1, "<h2>What each worker did</h2>", 2, 3]
        parts += ["<h2>How long tasks ran</h2>"] * bool(common) + list(range(4, len(plots)))
    for record in records:
        parts += [f"<h2>{escape(_name(record))}</h2>", _cards(record), *_sentences(record), _failures(record)]
    return [*parts, _machine(records), f"<p class=soft>{_MISSING}</p>"], plots


def _head(record: Record) -> str:
    run, head = record.run, record.head
    cell = f", cell {run.cell}" if run.cell else ""
    name = f"{record.label}: " if record.label else ""
    return (
        f"<h1>{escape(name + run.name)}</h1><p class=soft>{run.began:%Y-%m-%d %H:%M:%S} on "
        f"{escape(str(head.get('host', '?')))}{escape(cell)}</p>"
    )


def _sentences(record: Record) -> list[str]:
    run, head = record.run, record.head
    ends = [
        f"{count:,} {word}"
        for count, word in ((run.failed, "failed"), (run.cancelled, "were cancelled"))
        if count
    ]
    ended = f"; {' and '.join(ends)}" if ends else ""
    going = (
        "" if run.finished or run.ends or not run.outstanding else " It had not ended when this was written."
    )
    ran, tasks = record.ran, counted(run.submitted, "task")
    which = (
        f"{tasks} of {run.name} ran"
        if ran == run.submitted
        else f"{ran:,} of {tasks} of {run.name} ran to an end"
    )
    hits = f", beside {counted(run.hits, 'result')} from the cache" if run.hits else ""
    workers = counted(int(head.get("workers") or 0), "worker")
    first = f"{which} on {workers} ({head.get('backend', '?')}) in {duration_text(run.wall)}{hits}{ended}."
    where = str(record.account.get("sentence", ""))
    found = [f"<p>{escape(first + going)}</p>"] + ([f"<p>{escape(where)}</p>"] if where else [])
    return found + [f"<p class=note>{escape(note)}</p>" for note in record.notes]


def _cards(record: Record) -> str:
    run = record.run
    cards = [
        (f"{run.submitted:,}", "task" if run.submitted == 1 else "tasks"),
        (duration_text(run.wall), "from begin to end"),
        (f"{record.ran / run.wall:,.0f}" if run.wall > 0 else "–", "tasks a second"),
        ("–" if run.busy is None else f"{100 * run.busy:.0f} %", "of the workers' time in your code"),
        (f"{run.failed:,}", "failed"),
    ]
    if run.memory is not None:
        cards.append((size_text(run.memory), "the most that a worker had"))
    return f"<div class=cards>{''.join(f'<div><b>{value}</b>{what}</div>' for value, what in cards)}</div>"


def _functions(figures: Any) -> str:
    heads = ("function", "tasks", "failed", "in all", "median", "95 %", "longest")
    rows = [
        (
            each.name,
            f"{each.tasks:,}",
            f"{each.failed:,}",
            duration_text(float(each.seconds.sum())),
            *(duration_text(each.quantile(share)) for share in (0.5, 0.95, 1.0)),
        )
        for each in figures.functions
        if len(each.seconds)
    ]
    return _table(heads, rows, numbers=True)


def _failures(record: Record) -> str:
    if not record.failures:
        return "" if not record.run.failed else "<h2>Failures</h2><p>Their kinds were not recorded.</p>"
    rows = [(each.kind, f"{each.count:,}", each.message) for each in record.failures]
    return f"<h2>Failures</h2>{_table(('error', 'tasks', 'what the first one said'), rows)}"


def _machine(records: Sequence[Record]) -> str:
    names = {
        "host": "machine",
        "system": "system",
        "cpus": "processors",
        "memory": "memory",
        "python": "Python",
        "release": "Cellmill",
        "backend": "backend",
        "workers": "workers",
        "program": "program",
    }
    rows = []
    for key, words in names.items():
        values = [record.head.get(key, "") for record in records]
        if any(values):
            texts = [size_text(value) if key == "memory" and value else str(value) for value in values]
            rows.append((words, *texts))
    heads = ("", *(_name(record) for record in records)) if len(records) > 1 else ("", "")
    return f"<h2>Machine and versions</h2>{_table(heads, rows)}"


def _table(heads: Iterable[str], rows: Iterable[Sequence[str]], *, numbers: bool = False) -> str:
    kinds = ["", *(" class=n" for _ in list(heads)[1:])] if numbers else ["" for _ in heads]
    first = "".join(f"<th{kind}>{escape(head)}</th>" for head, kind in zip(heads, kinds, strict=True))
    body = "".join(
        f"<tr>{''.join(f'<td{kind}>{escape(cell)}</td>' for cell, kind in zip(row, kinds, strict=True))}</tr>"
        for row in rows
    )
    return f"<div class=scroll><table><thead><tr>{first}</tr></thead><tbody>{body}</tbody></table></div>"
