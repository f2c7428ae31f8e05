"""`cellmill replay FILE`: a recorded run as one HTML page that needs nothing else, no kernel and no network."""

from __future__ import annotations

import base64
from html import escape
from importlib import resources
from pathlib import Path

from ..errors import BackendError
from ..telemetry.journal import read_journal

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
script-src 'unsafe-inline'">
<title>{title}</title>
<style>
{style}</style>
</head>
<body class="cellmill-replay">
<script type="text/plain" id="cellmill-journal">{journal}</script>
<script>
{script}</script>
</body>
</html>
"""


def write_page(journal: Path, page: Path | None = None) -> Path:
    """Write the page beside the journal, or to ``page``; where it is.

    Raises `UsageError` for what is no journal, and `BackendError` when this installation was built without node.
    """
    for _ in read_journal(journal):
        pass
    assets = resources.files("cellmill") / "assets"
    try:
        script, style = (assets / "replay.js").read_text(), (assets / "replay.css").read_text()
    except FileNotFoundError:
        raise BackendError(
            "this installation lacks the page's script: it was built without node; install node and Cellmill again"
        ) from None
    target = page or journal.with_name(journal.name + ".html")
    target.touch(0o600)
    target.write_text(
        _PAGE.format(
            title=escape(f"{journal.name} – Cellmill"),
            style=style,
            journal=base64.b64encode(journal.read_bytes()).decode(),
            script=script.replace("</script", "<\\/script"),
        )
    )
    return target
