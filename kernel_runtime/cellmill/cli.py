"""The ``cellmill`` command line."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from . import __version__

if TYPE_CHECKING:
    from .bench.harness import Report, Settings

COMMANDS = ("bench", "replay")
FIGURES = "figures"
RESULTS = Path("benchmarks") / "results"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the process's exit code. Wrong arguments end in `SystemExit` with code 2, as argparse does."""
    parser = _parser()
    given = list(sys.argv[1:] if arguments is None else arguments)
    command = next((word for word in given if not word.startswith("-")), None)
    if command is not None and command not in COMMANDS:
        parser.error(f"there is no command {command!r}{suggestion(command, COMMANDS)}")
    options = parser.parse_args(given)
    if options.command is None:
        parser.print_help()
        return 0
    return _replay(options) if options.command == "replay" else _bench(parser, options)


def suggestion(word: str, known: Iterable[str]) -> str:
    """What to say after an unknown name: the nearest known one, or all of them."""
    names = list(known)
    near = difflib.get_close_matches(word.lower(), names, n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else f"; there are: {', '.join(names)}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cellmill", description="Notebook cells as fine-grained parallel tasks: the tools beside it."
    )
    parser.add_argument("--version", action="version", version=f"cellmill {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    bench = commands.add_parser(
        "bench",
        help="measure Cellmill and its rivals side by side",
        description="Measure Cellmill and its rivals side by side. Without NAME: list the benchmarks. "
        f"Results go to {RESULTS}/NAME.json (and .html with bokeh), those of --quick to NAME-quick.json.",
    )
    bench.add_argument(
        "name", nargs="?", metavar="NAME", help="a benchmark, 'figures' (the whole table) or 'all'"
    )
    bench.add_argument("--quick", action="store_true", help="small sizes, one repetition: does it work?")
    bench.add_argument("--repeats", type=int, metavar="N", help="repetitions, interleaved (default 5)")
    bench.add_argument("--workers", type=int, default=2, metavar="N", help="worker processes (default 2)")
    bench.add_argument(
        "--rivals", metavar="A,B", help="measure only these beside Cellmill ('none': Cellmill alone)"
    )
    bench.add_argument("--json", type=Path, metavar="PATH", help="where to write the JSON")
    bench.add_argument("--html", type=Path, metavar="PATH", help="where to write the HTML page")
    replay = commands.add_parser(
        "replay",
        help="show a recorded run again, as one HTML page",
        description="Make one HTML page of a run recorded by cellmill.record(path) or %%cellmill record FILE: the "
        "views as they were, with a slider for the time. It opens in any browser, without a kernel or a network.",
    )
    replay.add_argument("file", type=Path, metavar="FILE", help="the recording")
    replay.add_argument(
        "--html", type=Path, metavar="PATH", help="where to write the page (default: FILE.html)"
    )
    return parser


def _replay(options: argparse.Namespace) -> int:
    from .errors import CellmillError
    from .views.replay import write_page

    try:
        page = write_page(options.file, options.html)
    except (CellmillError, OSError) as error:
        print(f"cellmill replay: {error}", file=sys.stderr)
        return 1
    print(f"Open {page.resolve().as_uri()}")
    return 0


def _bench(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    from . import bench

    if options.name is None:
        listed = {**bench.INDEX, FIGURES: "Every figure wanted and reached: the whole table, in minutes"}
        width = max(map(len, listed))
        for name, question in listed.items():
            print(f"{name:<{width}}  {question}")
        print(
            "\nStart one with `cellmill bench NAME`, or all with `cellmill bench all`; --quick takes seconds."
        )
        return 0
    known = [*bench.INDEX, FIGURES, "all"]
    if options.name not in known:
        parser.error(f"there is no benchmark {options.name!r}{suggestion(options.name, known)}")
    if options.name == "all" and (options.json or options.html):
        parser.error("--json and --html name one file each: give them with one benchmark, not with 'all'")
    settings = _settings(parser, options)
    reports: list[Report] = []
    if options.name != "all":
        return _run_one(options.name, settings, options.json, options.html, reports)
    codes = [_run_one(name, settings, None, None, reports) for name in [*bench.INDEX, FIGURES]]
    return max(codes)


def _settings(parser: argparse.ArgumentParser, options: argparse.Namespace) -> Settings:
    """What the flags ask for."""
    from .bench.harness import Settings
    from .bench.rivals import ELSEWHERE, RUNTIMES

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
    name: str, settings: Settings, json: Path | None, html: Path | None, reports: list[Report]
) -> int:
    """Run one benchmark, print its table, write its files; 1 when it could not run.

    The figures are read from the ``reports`` there are, or measured when there are none.
    """
    from . import bench
    from .bench import figures
    from .bench.harness import BenchmarkError, table

    stem = RESULTS / (f"{name}-quick" if settings.quick else name)
    target = json or stem.with_name(stem.name + ".json")
    found: Report | figures.Figures
    try:
        if name == FIGURES:
            found = figures.read(settings, reports) if reports else figures.run(settings)
            print(figures.text(found))
        else:
            found = bench.run(name, settings)
            reports.append(found)
            print(table(found))
    except BenchmarkError as error:
        print(f"cellmill bench {name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"cellmill bench {name}: interrupted; nothing was written", file=sys.stderr)
        return 130
    found.write(target)
    print(f"JSON: {target}")
    try:
        from .bench.page import write_page
    except ImportError:
        print("No HTML page: it needs bokeh (`pip install 'cellmill[report]'`)")
        return 1 if html else 0
    page = html or target.with_suffix(".html")
    write_page(found, page)
    print(f"HTML: {page}")
    return 0
