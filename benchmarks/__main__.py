"""``python -m benchmarks [NAME]``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from cellmill.bench.command import RESULTS, add_arguments, perform

from .suite import SUITE


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the arguments say; the process's exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure Cellmill, its rivals and ceilings side by side. Without NAME: list the benchmarks. "
        f"Results go to {RESULTS}/NAME.json (and .html with bokeh), those of --quick to NAME-quick.json.",
    )
    add_arguments(parser)
    return perform(SUITE, parser, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())
