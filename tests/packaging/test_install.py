"""One wheel, installed into a fresh environment of every supported Python that this machine has."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from cellmill.backends.cluster.engines.raybridge.head import free_ports
from tests.packaging.conftest import Distributions, checkout, clean_environment, run

pytestmark = [pytest.mark.packaging, pytest.mark.timeout(900)]  # pip may wait long for what it downloads

ROOT = Path(__file__).resolve().parents[2]
CPYTHON_SUITE = "tests/executor/test_cpython_suite.py"

SMOKE = """
import cellmill
from concurrent.futures import wait

def main():
    with cellmill.Executor(max_workers=2) as executor:
        futures = [executor.submit(pow, number, 2) for number in range(100)]
        done, _ = wait(futures, timeout=60)
        assert len(done) == 100, len(done)
        assert [future.result() for future in futures] == [number ** 2 for number in range(100)]
        assert list(executor.map(str, range(1000))) == [str(number) for number in range(1000)]
        try:
            executor.submit(divmod, 1, 0).result(timeout=60)
        except ZeroDivisionError:
            print("smoke test passed")

main()
"""


@functools.cache
def interpreter(version: str) -> str | None:
    """A Python of this version that runs and can make environments, or None."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [shutil.which(f"python{version}"), *sorted(map(str, pyenv.glob(f"{version}.*/bin/python")))]
    for candidate in filter(None, candidates):
        probe = (
            f"import sys, venv, ensurepip; sys.exit(sys.version_info[:2] != ({version.replace('.', ', ')}))"
        )
        if subprocess.run([candidate, "-c", probe], capture_output=True, check=False).returncode == 0:
            return candidate
    return None


def fresh_environment(version: str, target: Path) -> Path:
    """A new virtual environment, without pip; the path of its Python."""
    python = interpreter(version)
    if python is None:
        pytest.skip(f"Python {version} with venv was not found on this machine")
    run(python, "-m", "venv", "--without-pip", target, cwd=target.parent, env=clean_environment())
    return target / "bin" / "python"


def install(python: Path, *wanted: str | Path) -> None:
    """Install into the environment of this Python; modules are compiled when they are imported."""
    uv = (sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python)
    run(*uv, *wanted, cwd=python.parent, env=clean_environment())


# The oldest and the newest; a forge runs every test with each of the three.
@pytest.mark.parametrize("version", ["3.11", pytest.param("3.12", marks=pytest.mark.long), "3.13"])
def test_wheel_works(version: str, distributions: Distributions, tmp_path: Path) -> None:
    python = fresh_environment(version, tmp_path / "env")
    env = clean_environment()
    install(python, distributions.wheel)
    (tmp_path / "smoke.py").write_text(SMOKE)
    assert "smoke test passed" in run(python, "smoke.py", cwd=tmp_path, env=env)
    installed = tmp_path / "env" / "share" / "jupyter" / "labextensions" / "cellmill"
    assert (installed / "install.json").exists()
    listing = run(
        python, "-c", "import cellmill_widgets, cellmill; print(cellmill.__file__)", cwd=tmp_path, env=env
    )
    assert str(tmp_path) in listing
    if version == "3.13":  # it ships the standard library's own tests of executors
        install(python, "pytest>=8.2", "pytest-timeout")
        outcome = run(
            python, "-m", "pytest", "-q", "-p", "no:cacheprovider", CPYTHON_SUITE, cwd=ROOT, env=env
        )
        assert re.search(r"\b[1-9]\d* passed", outcome), outcome


@pytest.mark.long
@pytest.mark.parametrize(("lab", "notebook"), [("4.4", "7.4"), ("4.5", "7.5")])
def test_panel_in_an_older_jupyterlab(
    lab: str, notebook: str, distributions: Distributions, tmp_path: Path
) -> None:
    """The panel is built against the newest one; its tests in a browser pass in the others too."""
    python = fresh_environment("3.11", tmp_path / "env")
    tree = checkout(tmp_path / "tree", panel=True)
    (tree / "node_modules").symlink_to(ROOT / "node_modules")  # what judges accessibility
    env = clean_environment(PATH=f"{python.parent}{os.pathsep}{os.environ['PATH']}")
    wanted = (f"{distributions.wheel}[test]", f"jupyterlab=={lab}.*", f"notebook=={notebook}.*")
    install(python, *wanted)
    chosen = ("-m", "browser and not long", "tests/browser")
    outcome = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen, cwd=tree, env=env)
    assert re.search(r"\b[1-9]\d* passed", outcome), outcome


@pytest.mark.long
def test_binder_post_build(tmp_path: Path) -> None:
    """As Binder does it: every dependency installed, the panel built."""
    python = fresh_environment("3.11", tmp_path / "env")
    install(python, "pip")
    tree = checkout(tmp_path / "tree", panel=False)
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    env = clean_environment(PATH=path, PIP_QUIET="1", PIP_NO_COMPILE="1")
    run(python, "-m", "pip", "install", "-r", tree / "binder" / "requirements.txt", cwd=tree, env=env)
    assert "cellmill" in run("bash", "binder/postBuild", cwd=tree, env=env)
    assert (tmp_path / "env/share/jupyter/labextensions/cellmill/package.json").exists()
    assert first_page(python, tmp_path / "tree").endswith("/lab/tree/examples/02_docking_inference.ipynb")


def first_page(python: Path, tree: Path) -> str:
    """Start JupyterLab as Binder does and say where its root leads."""
    [port] = free_ports(1)
    command = [str(python), "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}"]
    command += ["--IdentityProvider.token=", "--ServerApp.password=", "--ServerApp.port_retries=0"]
    log = tree.parent / "server.log"
    with log.open("wb") as sink:
        server = subprocess.Popen(
            command, cwd=tree, env=clean_environment(), stdout=sink, stderr=subprocess.STDOUT
        )
    try:
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as answer:
                    return str(answer.geturl()).split("?")[0]
            except urllib.error.URLError:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    server.wait(0.1)
                    break  # it ended
        pytest.fail(f"JupyterLab did not answer:\n{log.read_text()[-3000:]}")
    finally:
        server.terminate()
        server.wait(30)
