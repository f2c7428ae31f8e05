"""``python -m docking demo``: the docking notebook executed in a real kernel, with progress on the
terminal."""

from __future__ import annotations

import copy
import json
import os
import re
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from docking.progress import FILE_VARIABLE, INTERVAL, Ticker
from docking.records import DockingInputError

EXAMPLES = Path(__file__).resolve().parent.parent
NOTEBOOK = EXAMPLES / "02_docking_inference.ipynb"
OUT_VARIABLE = "CELLMILL_DEMO_OUT"
BACKEND_VARIABLE = "CELLMILL_DEMO_BACKEND"
FRESH_VARIABLE = "CELLMILL_DEMO_FRESH"
SUMMARY = "summary.json"
SUMMARY_FIELDS = (
    "docked", "scored", "best", "score", "spearman", "baseline", "redock_rmsd", "redock", "tasks", "seconds",
)  # fmt: skip
WIDGET = "application/vnd.jupyter.widget-view+json"
CELL_TIMEOUT = 1800
"""Seconds a cell may take before the demo gives up."""


def run_demo(
    out: Path, notebook: Path = NOTEBOOK, *, backend: str = "", fresh: bool = True, stream: Any = None
) -> str:
    """Execute ``notebook``, leave it with its HTML and the hits in ``out``, and return the summary line.

    ``backend`` says where its tasks run; empty: where the notebook says. A demo docks anew what is in ``out`` already,
    unless ``fresh`` is False.

    A cell that fails raises ``nbclient``'s CellExecutionError after the partly executed notebook was written.
    """
    start = time.monotonic()
    out = out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    summary = out / SUMMARY
    summary.unlink(missing_ok=True)
    ticker = Ticker(stream)
    with tempfile.TemporaryDirectory(prefix="docking-demo-") as folder:
        followed = Path(folder) / "progress"
        followed.touch()
        environment = {**os.environ, OUT_VARIABLE: str(out), FILE_VARIABLE: str(followed)}
        environment[FRESH_VARIABLE] = str(int(fresh))
        if backend:
            environment[BACKEND_VARIABLE] = backend
        follower = _Follower(followed, ticker)
        try:
            execute(notebook, out, environment, Path(folder), ticker)
        finally:
            follower.close()
    if not summary.is_file():
        raise DockingInputError(f"The notebook left no {summary}.")
    facts = json.loads(summary.read_text())
    facts["seconds"] = round(time.monotonic() - start)
    return summary_line(facts)


def summary_line(facts: dict[str, Any]) -> str:
    """The one line a demo ends with: ``demo: docked=... scored=... best=... ...``."""
    return "demo: " + " ".join(f"{field}={facts[field]}" for field in SUMMARY_FIELDS)


def execute(notebook: Path, out: Path, environment: dict[str, str], folder: Path, ticker: Ticker) -> None:
    """Run the notebook with this interpreter's kernel in ``examples/`` and write it, and its HTML, into
    ``out``."""
    import nbformat
    from jupyter_core.utils import run_sync
    from nbclient import NotebookClient

    document = nbformat.read(notebook, as_version=4)
    titles = _titles(document)

    def started(cell: Any, cell_index: int) -> None:
        if cell_index in titles:
            ticker.say(titles[cell_index])

    manager = kernel_manager(folder)
    client = NotebookClient(
        document,
        timeout=CELL_TIMEOUT,
        km=manager,
        resources={"metadata": {"path": str(EXAMPLES)}},
        on_cell_start=started,
    )
    ticker.say(f"starting a kernel ({sys.executable})")
    try:
        client.execute(env=environment)
    finally:
        run_sync(manager.shutdown_kernel)()
        nbformat.write(document, out / notebook.name)
    ticker.say("writing the HTML")
    _write_html(document, out / notebook.with_suffix(".html").name)


def _write_html(document: Any, path: Path) -> None:
    """Write ``document`` as a page without a network: bars as text, no script from elsewhere."""
    from nbconvert import HTMLExporter

    still = copy.deepcopy(document)
    still.metadata.pop("widgets", None)
    for cell in still.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(WIDGET, None)
    exporter = HTMLExporter(template_name="lab", embed_images=True)
    page, _resources = exporter.from_notebook_node(still)
    path.write_text(_without_remote_scripts(page))


def _without_remote_scripts(page: str) -> str:
    """``page`` without scripts that load something: require.js, MathJax and mermaid are not used here."""

    def keep(match: re.Match[str]) -> str:
        opening, body = match[1], match[2]
        remote = re.search(r"src=.https?:", opening) or ('type="module"' in opening and "https:" in body)
        return "" if remote else match[0]

    return re.sub(r"(<script[^>]*>)(.*?)</script>", keep, page, flags=re.DOTALL)


def kernel_manager(folder: Path) -> Any:
    """A manager whose only kernel runs this very interpreter, whatever kernels the user has registered."""
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager

    spec = folder / "kernels" / "demo"
    spec.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "--log-level=ERROR", "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(
        json.dumps({"argv": command, "display_name": "Cellmill demo", "language": "python"})
    )
    specs = KernelSpecManager(kernel_dirs=[str(spec.parent)], ensure_native_kernel=False)
    return AsyncKernelManager(kernel_name="demo", kernel_spec_manager=specs)


def _titles(document: Any) -> dict[int, str]:
    """For every code cell that follows a heading, the heading."""
    titles: dict[int, str] = {}
    heading = ""
    for index, cell in enumerate(document.cells):
        if cell.cell_type == "markdown":
            headings = [line.lstrip("#").strip() for line in cell.source.splitlines() if line.startswith("#")]
            heading = headings[-1] if headings else heading
        elif heading:
            titles[index] = heading
            heading = ""
    return titles


class _Follower:
    """Shows what the kernel appends to the progress file until closed."""

    def __init__(self, path: Path, ticker: Ticker) -> None:
        self._path, self._ticker = path, ticker
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="demo-progress", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()

    def _follow(self) -> None:
        with self._path.open() as file:
            while not self._stop.wait(INTERVAL):
                whole = [line for line in file.readlines() if line.endswith("\n")]
                if whole:
                    self._ticker.show(json.loads(whole[-1]))
