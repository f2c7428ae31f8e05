"""`%trace`: a run as a trace that Perfetto opens."""

from __future__ import annotations

from typing import Any

import cellmill
from cellmill.magics.lines import Line

USAGE = "%trace save FILE [RUN]"

HELP = """Write a run as a trace that Perfetto opens (https://ui.perfetto.dev), as Chrome trace events.

    %trace save run.json           of the latest run
    %trace save run.json RUN       of one run: its number in cellmill.runs(), or the file of a record

A track for each worker, one for calls and one for results in the kernel, arrows between them, counters of waiting and
running tasks and of the memory of workers where it was recorded. Of more than 100,000 tasks some are left out, and a
sentence says which.
"""


def run_trace(text: str) -> Any:
    """The magic: `text` is the rest of its line; what was written is returned to be displayed."""
    line = Line("%trace", text, USAGE)
    words = line.words()
    if not words or words[0].text != "save":
        raise line.error("%trace save writes a trace: give it the name of a file")
    if not 2 <= len(words) <= 3:
        raise line.error("save needs the name of a file, and maybe a run")
    run = None if len(words) == 2 else int(words[2].text) if words[2].text.isdecimal() else words[2].text
    try:
        return cellmill.save_trace(words[1].text, run)
    except (cellmill.CellmillError, OSError) as error:
        raise line.at(str(error), words[-1]) from None
