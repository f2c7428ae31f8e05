"""What the panel tells when there is nothing to show: each kind of kernel, in a real JupyterLab."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

OpenLab = Callable[..., Any]
LOAD = "%load_ext cellmill\nprint('loaded', 'now')"
# A kernel of a language of its own; with a marker file it dies as it starts.
ECHO = """
import pathlib, sys
from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel

if pathlib.Path("dying").exists():
    sys.exit(1)


class Echo(Kernel):
    implementation = language = banner = "echo"
    implementation_version = language_version = "1"
    language_info = {"name": "echo", "mimetype": "text/plain", "file_extension": ".txt"}

    def do_execute(self, code, silent, store_history=True, user_expressions=None, allow_stdin=False, **_):
        if code == "die":
            pathlib.Path("dying").touch()
            import os
            os._exit(1)
        self.send_response(self.iopub_socket, "stream", {"name": "stdout", "text": code})
        return {"status": "ok", "execution_count": self.execution_count, "payload": [], "user_expressions": {}}


IPKernelApp.launch_instance(kernel_class=Echo)
"""


def install_echo(folder: Path) -> None:
    """Write the kernel where this tree's server looks for kernels."""
    spec = folder / "kernels" / "echo"
    spec.mkdir(parents=True, exist_ok=True)
    (spec / "echo_kernel.py").write_text(ECHO)
    argv = [sys.executable, str(spec / "echo_kernel.py"), "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "Echo", "language": "echo"}))


def text(one: Any) -> str:
    return str(one.page.locator("#cellmill-panel .cellmill-dashboard").inner_text())


def change_kernel(one: Any, name: str) -> None:
    one.page.evaluate(
        """name => window.jupyterapp.shell.currentWidget.sessionContext.changeKernel({ name })""", name
    )


def test_kernels_with_nothing_to_show(lab_in_use: OpenLab, server: Any) -> None:
    """Another version, Cellmill unloaded, an unreadable frame, another language, no kernel, no notebook."""
    install_echo(server.jupyter_path)
    send = "from comm import create_comm\ncreate_comm(target_name='x').send({'cellmill': %s, 'kind': 'snapshot'})"
    one = lab_in_use(send % 99, send % 0, send % 1, LOAD, "%unload_ext cellmill")
    one.open_panel()
    one.wait_panel("d.presence === 'absent'")
    assert "%load_ext cellmill" in text(one)
    one.run_cell(0)
    one.wait_panel("d.presence === 'old-page'")
    assert "reload the page" in text(one)
    one.run_cell(1)
    one.wait_panel("d.presence === 'old-kernel'")
    assert "Restart the kernel" in text(one)
    one.page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    one.wait_panel("d.presence === 'absent'")
    one.run_cell(3)
    one.wait_panel("d.presence === 'loaded'")
    one.run_cell(4)
    one.wait_panel("d.presence === 'absent'")  # it has said goodbye
    one.run_cell(3)
    one.wait_panel("d.presence === 'loaded'")
    one.run_cell(2)
    one.page.get_by_text("could not be read (Snapshot.time is no number)").wait_for()
    assert one.panel("presence") == "loaded"

    change_kernel(one, "echo")
    one.wait_panel("d.presence === 'foreign'")
    assert "Cellmill is for Python kernels" in text(one)
    one.wait_kernel("idle")
    one.page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    one.wait_panel("d.presence === 'no-kernel'")
    one.page.evaluate("() => window.jupyterapp.shell.currentWidget.context.save()")
    one.page.evaluate("() => window.jupyterapp.shell.currentWidget.close()")
    one.wait_panel("d.presence === 'none'")
    assert "Open a notebook" in text(one)
    assert one.errors == []


@pytest.mark.long
def test_a_kernel_that_has_died(lab: OpenLab, server: Any) -> None:
    install_echo(server.jupyter_path)
    one = lab("die")
    one.open_panel()
    change_kernel(one, "echo")
    one.wait_panel("d.presence === 'foreign'")
    one.wait_kernel("idle")
    one.run_cell(0)
    one.wait_panel("d.presence === 'dead'")
    assert "has died" in text(one)
    assert one.errors == []


@pytest.mark.long
def test_a_busy_kernel_that_has_not_answered(lab: OpenLab, tmp_path: Path) -> None:
    one = lab(
        f"import pathlib, time\nwhile not pathlib.Path({str(tmp_path / 'door')!r}).exists(): time.sleep(0.05)"
    )
    one.command("docmanager:save")
    one.run_cell(0)
    one.wait_kernel("busy")
    one.load()
    one.open_panel()
    one.wait_panel("d.presence === 'busy'")
    assert "has not answered yet" in text(one)
    (tmp_path / "door").touch()
    one.wait_panel("d.presence === 'absent'")
    assert one.errors == []
