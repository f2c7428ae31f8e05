"""The command line of benchmarks: what it lists, runs, prints and writes."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .harness import Report, Settings

RESULTS = Path("benchmarks") / "results"
ALL = "all"


class Written(Protocol):
    """A report, or a table read from several."""

    def write(self, path: Path) -> None:
        """Write the JSON; folders are made."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A table that ``make`` reads from the reports there are, or measures when there are none."""

    question: str
    make: Callable[[Settings, list[Report]], Written]
    text: Callable[[Any], str]
    page: str  # the module whose ``write_page(table, path)`` writes its page; importing that needs bokeh


@dataclass(frozen=True, slots=True)
class Suite:
    """The benchmarks of one command: ``cellmill bench`` or ``python -m benchmarks``."""

    command: str
    questions: Mapping[str, str]
    run: Callable[[str, Settings], Report]
    summaries: Mapping[str, Summary] = field(default_factory=dict)
    more: str = ""  # printed below the list


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """NAME and the options that every benchmark has."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="a name from the list, or 'all'")
    parser.add_argument("--quick", action="store_true", help="small sizes, one repetition: does it work?")
    parser.add_argument("--repeats", type=int, metavar="N", help="repetitions, interleaved (default 5)")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="worker processes (default 2)")
    parser.add_argument(
        "--rivals", metavar="A,B", help="measure only these beside Cellmill ('none': Cellmill alone)"
    )
    parser.add_argument("--json", type=Path, metavar="PATH", help="where to write the JSON")
    parser.add_argument("--html", type=Path, metavar="PATH", help="where to write the HTML page")


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return the hint after an unknown name: the nearest known one, or all of them."""
    names = list(known)
    near = difflib.get_close_matches(word.lower(), names, n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else f"; there are: {', '.join(names)}"


def perform(suite: Suite, parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """Do what the options say; the exit code. Wrong arguments end in `SystemExit`, as argparse does."""
    if options.name is None:
        _list(suite)
        return 0
    known = [*suite.questions, *suite.summaries, ALL]
    if options.name not in known:
        parser.error(f"there is no benchmark {options.name!r}{suggestion(options.name, known)}")
    if options.name == ALL and (options.json or options.html):
        parser.error("--json and --html name one file each: give them with one benchmark, not with 'all'")
    settings = _settings(parser, options)
    reports: list[Report] = []
    if options.name != ALL:
        return _run_one(suite, options.name, settings, options.json, options.html, reports)
    names = [*suite.questions, *suite.summaries]
    return max(_run_one(suite, name, settings, None, None, reports) for name in names)


def _list(suite: Suite) -> None:
    listed = {**suite.questions, **{name: summary.question for name, summary in suite.summaries.items()}}
    width = max(map(len, listed))
    for name, question in listed.items():
        print(f"{name:<{width}}  {question}")
    command = suite.command
    print(
        f"\nStart one with `{command} NAME`, or all with `{command} all`; --quick takes seconds.{suite.more}"
    )


def _settings(parser: argparse.ArgumentParser, options: argparse.Namespace) -> Settings:
    """Return the settings that the flags ask for."""
    from .harness import Settings
    from .rivals import ELSEWHERE, RUNTIMES

    for flag, value in (("--repeats", options.repeats), ("--workers", options.workers)):
        if value is not None and value < 1:
            parser.error(f"{flag} must be at least 1, not {value}")
    rivals = None if options.rivals is None else [r for r in options.rivals.split(",") if r and r != "none"]
    known = [*RUNTIMES, *ELSEWHERE]
    for rival in rivals or ():
        if rival not in known:
            parser.error(f"there is no rival {rival!r}{suggestion(rival, known)}")
    return Settings(
        quick=options.quick,
        repeats=options.repeats or (1 if options.quick else 5),
        workers=options.workers,
        rivals=None if rivals is None else tuple(rivals),
    )


def _run_one(
    suite: Suite,
    name: str,
    settings: Settings,
    json: Path | None,
    html: Path | None,
    reports: list[Report],
) -> int:
    """Run one benchmark or make a summary, print its table, write its files; 1 when it could not run.

    A report is added to ``reports``, which summaries are read from.
    """
    from .harness import BenchmarkError, table

    stem = RESULTS / (f"{name}-quick" if settings.quick else name)
    target = json or stem.with_name(stem.name + ".json")
    summary = suite.summaries.get(name)
    found: Written
    try:
        if summary is not None:
            found = summary.make(settings, reports)
            print(summary.text(found))
        else:
            found = suite.run(name, settings)
            reports.append(found)
            print(table(found))
    except BenchmarkError as error:
        print(f"{suite.command} {name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{suite.command} {name}: interrupted; nothing was written", file=sys.stderr)
        return 130
    found.write(target)
    print(f"JSON: {target}")
    try:
        write_page = import_module(summary.page if summary else f"{__package__}.page").write_page
    except ImportError:
        print("No HTML page: it needs bokeh (`pip install 'cellmill[report]'`)")
        return 1 if html else 0
    page = html or target.with_suffix(".html")
    write_page(found, page)
    print(f"HTML: {page}")
    return 0
