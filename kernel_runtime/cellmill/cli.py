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
    from .bench.harness import Settings

COMMANDS = ("bench",)
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
    return _bench(parser, options)


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
    bench.add_argument("name", nargs="?", metavar="NAME", help="a benchmark, or 'all'")
    bench.add_argument("--quick", action="store_true", help="small sizes, one repetition: does it work?")
    bench.add_argument("--repeats", type=int, metavar="N", help="repetitions, interleaved (default 5)")
    bench.add_argument("--workers", type=int, default=2, metavar="N", help="worker processes (default 2)")
    bench.add_argument(
        "--rivals", metavar="A,B", help="measure only these beside Cellmill ('none': Cellmill alone)"
    )
    bench.add_argument("--json", type=Path, metavar="PATH", help="where to write the JSON")
    bench.add_argument("--html", type=Path, metavar="PATH", help="where to write the HTML page")
    return parser


def _bench(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    from . import bench

    if options.name is None:
        width = max(map(len, bench.INDEX))
        for name, question in bench.INDEX.items():
            print(f"{name:<{width}}  {question}")
        print(
            "\nStart one with `cellmill bench NAME`, or all with `cellmill bench all`; --quick takes seconds."
        )
        return 0
    if options.name != "all" and options.name not in bench.INDEX:
        parser.error(
            f"there is no benchmark {options.name!r}{suggestion(options.name, [*bench.INDEX, 'all'])}"
        )
    if options.name == "all" and (options.json or options.html):
        parser.error("--json and --html name one file each: give them with one benchmark, not with 'all'")
    for flag, value in (("--repeats", options.repeats), ("--workers", options.workers)):
        if value is not None and value < 1:
            parser.error(f"{flag} must be at least 1, not {value}")
    rivals = None if options.rivals is None else [r for r in options.rivals.split(",") if r and r != "none"]
    from .bench.harness import Settings
    from .bench.rivals import RUNTIMES

    for rival in rivals or ():
        if rival not in RUNTIMES:
            parser.error(f"there is no rival {rival!r}{suggestion(rival, RUNTIMES)}")
    settings = Settings(
        quick=options.quick,
        repeats=options.repeats or (1 if options.quick else 5),
        workers=options.workers,
        rivals=None if rivals is None else tuple(rivals),
    )
    names = list(bench.INDEX) if options.name == "all" else [options.name]
    codes = [_run_one(name, settings, options.json, options.html) for name in names]
    return max(codes)


def _run_one(name: str, settings: Settings, json: Path | None, html: Path | None) -> int:
    """Run one benchmark, print its table, write its files; 1 when it could not run."""
    from . import bench
    from .bench.harness import BenchmarkError, table

    stem = RESULTS / (f"{name}-quick" if settings.quick else name)
    target = json or stem.with_name(stem.name + ".json")
    try:
        report = bench.run(name, settings)
    except BenchmarkError as error:
        print(f"cellmill bench {name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"cellmill bench {name}: interrupted; nothing was written", file=sys.stderr)
        return 130
    print(table(report))
    report.write(target)
    print(f"JSON: {target}")
    try:
        from .bench.page import write_page
    except ImportError:
        print("No HTML page: it needs bokeh (`pip install 'cellmill[report]'`)")
        return 1 if html else 0
    page = html or target.with_suffix(".html")
    write_page(report, page)
    print(f"HTML: {page}")
    return 0
