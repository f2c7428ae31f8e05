"""The uncaught errors of a page: those that count, and known ones of JupyterLab and Notebook themselves."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from playwright.sync_api import Error, Page

# The extension's files, the widget's module (anywidget loads it from a blob), and messages that name either.
OURS = re.compile(r"/extensions/cellmill/|\bblob:|\bcellmill", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Known:
    """An error that comes with and without Cellmill: what it says, and the file it comes from."""

    message: str
    file: str = ""


NOTEBOOK = "/static/notebook/notebook_core."
KNOWN = (
    # A comm asks for a subshell when it is made; its kernel goes away before the answer.
    Known("Canceled future for create_subshell_request message before replies were done"),
    # So does JupyterLab's debugger of a kernel that is about to restart.
    Known("Canceled future for debug_request message before replies were done"),
    # Notebook 7's own plug-ins, for settings and for the page's path.
    Known("Cannot read properties of undefined (reading 'schema')", NOTEBOOK),
    Known("Command 'filebrowser:open-path' not registered", NOTEBOOK),
    # JupyterLab 4.4's table of contents, of a notebook that has just been written and opened.
    Known("Cannot read properties of undefined (reading 'type')", "/static/lab/jlab_core."),
)


@dataclass
class PageErrors:
    """Errors with their stacks, as they come.

    An unknown error counts, whatever code its frames belong to: a rejected promise of JupyterLab that Cellmill leaves
    without a handler is reported with a stack that has no frame of Cellmill.
    """

    counted: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)

    def take(self, error: Error) -> None:
        """Sort one error in."""
        text = error.stack or error.message
        known = not OURS.search(f"{error.message}\n{text}") and any(
            one.message in error.message and one.file in text for one in KNOWN
        )
        (self.known if known else self.counted).append(text)


def listen(page: Page) -> PageErrors:
    """Collect a page's uncaught errors from now on."""
    errors = PageErrors()
    page.on("pageerror", errors.take)
    return errors
