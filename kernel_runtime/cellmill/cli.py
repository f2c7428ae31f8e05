"""The ``cellmill`` command line."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from . import __version__, bench
from .bench.command import RESULTS, Suite, add_arguments, perform, suggestion

COMMANDS = ("bench", "dashboard", "replay", "runs", "top")


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
    if options.command == "bench":
        return _bench(parser, options)
    return {"runs": _runs, "replay": _replay, "top": _top, "dashboard": _dashboard}[options.command](options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cellmill", description="Notebook cells as fine-grained parallel tasks: the tools beside it."
    )
    parser.add_argument("--version", action="version", version=f"cellmill {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    measured = commands.add_parser(
        "bench",
        help="measure Cellmill and its rivals side by side",
        description="Measure Cellmill and its rivals side by side. Without NAME: list the benchmarks. "
        f"Results go to {RESULTS}/NAME.json (and .html with bokeh), those of --quick to NAME-quick.json.",
    )
    add_arguments(measured)
    replay = commands.add_parser(
        "replay",
        help="show a recorded run again, as one HTML page or in the terminal",
        description="Make one HTML page of a run recorded by cellmill.record(path) or %cellmill record: the views as "
        "they were, with a slider for the time. It opens in any browser, without a kernel or a network.",
    )
    replay.add_argument("file", type=Path, metavar="FILE", help="the recording")
    replay.add_argument(
        "--html", type=Path, metavar="PATH", help="where to write the page (default: FILE.html)"
    )
    replay.add_argument(
        "--terminal", action="store_true", help="play the record of a run here, as a bar, instead of a page"
    )
    replay.add_argument(
        "--speed",
        type=_speed,
        default=1.0,
        metavar="N",
        help="of --terminal: so many times as fast (default: 1)",
    )
    runs = commands.add_parser(
        "runs",
        help="list the runs that are recorded in a folder",
        description="List the runs recorded by cellmill.record(folder) or %cellmill record FOLDER, oldest first.",
    )
    runs.add_argument(
        "folder",
        type=Path,
        nargs="?",
        metavar="FOLDER",
        help="default: what CELLMILL_RECORD names, else ~/.local/state/cellmill/runs",
    )
    served = commands.add_parser(
        "dashboard",
        help="watch kernels and scripts that run, in a browser, and as metrics for Prometheus",
        description="Serve a page about the kernels and scripts of yours on this machine that can be watched "
        "(%cellmill serve, cellmill.serve() or CELLMILL_SERVE=1), for this machine and with a token only.",
    )
    served.add_argument("--port", type=_port, default=0, metavar="N", help="default: one that is free")
    served.add_argument("--open", action="store_true", help="open the page in the browser")
    served.add_argument("--grafana", action="store_true", help="print a board for Grafana as JSON, and end")
    top = commands.add_parser(
        "top",
        help="watch kernels and scripts that run, live in the terminal",
        description="Watch the kernels and scripts of yours on this machine that can be watched: %cellmill serve, "
        "cellmill.serve() or CELLMILL_SERVE=1 in one lets others watch it.",
    )
    top.add_argument("pid", type=int, nargs="?", metavar="PID", help="which process (default: served last)")
    top.add_argument("--once", action="store_true", help="print one look as text and end, for scripts")
    top.add_argument(
        "--interval", type=_speed, default=1.5, metavar="S", help="seconds between looks (default: 1.5)"
    )
    return parser


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0 < speed < float("inf"):
        raise argparse.ArgumentTypeError(f"it takes a number above 0, not {text!r}")
    return speed


def _port(text: str) -> int:
    try:
        port = int(text)
    except ValueError:
        port = -1
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"it takes the number of a port, 1 to 65535, not {text!r}")
    return port


def _replay(options: argparse.Namespace) -> int:
    from .errors import CellmillError, UsageError
    from .records import form
    from .records.record import read
    from .views import played, terminal
    from .views.replay import write_page

    try:
        if form.is_record(options.file) or options.file.is_dir():
            record = read(options.file)
            for note in record.notes:
                print(note, file=sys.stderr)
            if options.terminal:
                terminal.play(record, options.speed)
                return 0
            target = options.html or options.file.with_name(options.file.name + ".html")
            page = played.page_of(record, target)
        elif options.terminal:
            raise UsageError(
                f"{options.file} is no record of a run, which a terminal can play: cellmill.record(folder) makes those"
            )
        else:
            page = write_page(options.file, options.html)
    except (CellmillError, OSError) as error:
        print(f"cellmill replay: {error}", file=sys.stderr)
        return 1
    print(f"Open {page.resolve().as_uri()}")
    return 0


def _runs(options: argparse.Namespace) -> int:
    import warnings

    from .errors import CellmillError
    from .records import folders
    from .records.catalogue import runs

    try:
        folder = options.folder or folders.usual()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = runs(folder)
    except (CellmillError, OSError) as error:
        print(f"cellmill runs: {error}", file=sys.stderr)
        return 1
    for warning in told:
        print(f"cellmill runs: {warning.message}", file=sys.stderr)
    print(found if found else f"no runs are recorded in {folder}")
    return 0


def _top(options: argparse.Namespace) -> int:
    from .errors import CellmillError
    from .outside.top.command import run

    try:
        return run(options.pid, options.interval, once=options.once)
    except (CellmillError, OSError) as error:
        print(f"cellmill top: {error}", file=sys.stderr)
        return 1


def _dashboard(options: argparse.Namespace) -> int:
    from .errors import CellmillError
    from .outside.dashboard.command import run

    try:
        return run(options.port, browser=options.open, grafana=options.grafana)
    except (CellmillError, OSError) as error:
        print(f"cellmill dashboard: {error}", file=sys.stderr)
        return 1


def _bench(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if options.name in bench.IN_A_CHECKOUT:
        return _bench_of_a_checkout(parser, options)
    more = f"\nIn a checkout of the repository `python -m benchmarks` has more: {', '.join(bench.IN_A_CHECKOUT)}."
    return perform(Suite("cellmill bench", bench.INDEX, bench.run, more=more), parser, options)


def _bench_of_a_checkout(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """Run a benchmark of the folder ``benchmarks``, which is not installed."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    if not _is_of_a_checkout("benchmarks"):
        print(
            f"cellmill bench {options.name}: this benchmark is not installed; start it in a checkout of Cellmill's "
            f"repository, in its root: `python -m benchmarks {options.name}`",
            file=sys.stderr,
        )
        return 1
    suite: Suite = importlib.import_module("benchmarks.suite").SUITE
    return perform(suite, parser, options)


def _is_of_a_checkout(package: str) -> bool:
    """Return whether it can be imported and is beside this package's sources: other projects have folders of the
    same name.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return False
    return (Path(spec.origin).parents[1] / "kernel_runtime" / "cellmill").is_dir()
