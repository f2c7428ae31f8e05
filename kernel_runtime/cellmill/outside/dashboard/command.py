"""The command `cellmill dashboard`."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import webbrowser
from importlib import resources

from ...errors import CellmillError

__all__ = ["run"]

INTERVAL = 0.5  # seconds between looks at the kernels


def run(port: int, *, browser: bool, grafana: bool) -> int:
    """Serve until Ctrl-C; the exit code. Raises `CellmillError` where something is missing."""
    if grafana:
        print(resources.files(__package__).joinpath("grafana.json").read_text(), end="")
        return 0
    try:
        from .server import Dashboard
    except ImportError as error:
        what = f"it needs Bokeh and prometheus-client ({error}): pip install 'cellmill[dashboard]'"
        raise CellmillError(what) from error

    async def serve() -> None:
        task = asyncio.current_task()
        assert task is not None
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        try:
            dashboard = Dashboard(port, INTERVAL)
        except OSError as error:
            raise CellmillError(
                f"cannot listen on port {port}: {error.strerror}. Give another --port, or none: then it takes one that "
                "is free"
            ) from None
        print(f"Open {dashboard.address}")
        print(
            f"Metrics for Prometheus: http://127.0.0.1:{dashboard.port}/metrics (the same token, as bearer token)"
        )
        print("It listens on this machine only, and ends with Ctrl-C.", flush=True)
        if browser:
            webbrowser.open(dashboard.address)
        await dashboard.serve()

    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(serve())
    return 0
