"""`%dashboard`: the tasks, live, in the side panel or in the output of a cell."""

from __future__ import annotations

import cellmill.views.comm
from cellmill.errors import UsageError
from cellmill.magics.lines import Line, Option, help_of, read_options, usage_of
from cellmill.views import inline_dashboard

ANSWER = 2.0  # seconds in which a page that has the panel says so

INLINE = Option("inline", "", "in the output of this cell")
PANEL = Option("panel", "", "in the side panel of JupyterLab or Notebook")
OPTIONS = (INLINE, PANEL)

USAGE = f"%dashboard {usage_of(OPTIONS)}"
HELP = f"""Show the tasks while they run.

{USAGE}

{help_of(OPTIONS)}

Without an option it is the side panel where the page has one, and the output of this cell elsewhere. For an executor
of your own: `executor.dashboard()`.
"""


def run_dashboard(line: str) -> None:
    """Run the magic."""
    read = Line("%dashboard", line, USAGE)
    values, rest = read_options(read, OPTIONS)
    for word in read.words(rest):
        raise read.at(f"%dashboard takes options only, not {word.text!r}", word)
    if len(values) == 2:
        raise read.error("--inline and --panel exclude each other", 0, len(line.rstrip()))
    if "inline" not in values and cellmill.views.comm.show_panel(ANSWER):
        return
    try:
        inline_dashboard.show()
    except UsageError as error:
        raise read.error(str(error), 0, 0) from None
    if "panel" in values:
        print("No page with Cellmill's panel answered; the dashboard is shown here.")
