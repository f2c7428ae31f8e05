"""What the wheel and the source archive hold, and what a build without node does."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename

from tests.packaging.conftest import (
    ROOT,
    Distributions,
    checkout,
    clean_environment,
    path_without_node,
    run,
)

pytestmark = pytest.mark.packaging

SHARE = "cellmill-0.1.0.data/data/share/jupyter/labextensions/cellmill"


@pytest.fixture(scope="module")
def wheel_names(distributions: Distributions) -> list[str]:
    return zipfile.ZipFile(distributions.wheel).namelist()


def test_wheel_is_for_the_stable_abi(distributions: Distributions) -> None:
    _, _, _, tags = parse_wheel_filename(distributions.wheel.name)
    (tag,) = tags
    assert (tag.interpreter, tag.abi) == ("cp311", "abi3")
    assert tag in set(sys_tags())


def test_wheel_holds_c_python_and_panel(wheel_names: list[str]) -> None:
    wanted = [
        "cellmill/_csched.abi3.so",
        "cellmill/_csched_with_gil.abi3.so",
        "cellmill/__init__.py",
        "cellmill/py.typed",
        "cellmill/telemetry/schema.json",
        "cellmill/assets/replay.js",
        "cellmill/assets/replay.css",
        "cellmill_widgets/__init__.py",
        "cellmill_widgets/static/dashboard.js",
        "cellmill_widgets/static/dashboard.css",
        "cellmill/example_modules/docking/__init__.py",
        "cellmill/example_modules/docking/data/scores.csv",
        f"{SHARE}/install.json",
        f"{SHARE}/package.json",
        f"{SHARE}/schemas/cellmill/plugin.json",
        f"{SHARE}/static/style.js",
    ]
    assert [name for name in wanted if name not in wheel_names] == []
    assert any(name.startswith(f"{SHARE}/static/remoteEntry.") for name in wheel_names)


def test_wheel_holds_nothing_else(wheel_names: list[str]) -> None:
    tops = {name.split("/")[0] for name in wheel_names}
    assert tops == {"cellmill", "cellmill_widgets", "cellmill-0.1.0.dist-info", "cellmill-0.1.0.data"}
    assert [name for name in wheel_names if name.startswith("cellmill/labextension")] == []
    assert [name for name in wheel_names if "__pycache__" in name] == []
    assert [name for name in wheel_names if "benchmarks" in name] == []


def test_wheel_metadata(distributions: Distributions) -> None:
    with zipfile.ZipFile(distributions.wheel) as archive:
        text = archive.read("cellmill-0.1.0.dist-info/METADATA").decode()
        entry_points = archive.read("cellmill-0.1.0.dist-info/entry_points.txt").decode()
    assert "Requires-Python: >=3.11" in text
    assert "cellmill = cellmill.cli:main" in entry_points
    core = [
        line for line in text.splitlines() if line.startswith("Requires-Dist:") and "extra ==" not in line
    ]
    assert sorted(line.split()[1].split(">")[0].split("<")[0] for line in core) == [
        "anywidget",
        "cffi",
        "cloudpickle",
        "ipykernel",
        "ipywidgets",
        "pyzmq",
    ]
    for extra in ("docking", "dask", "ray", "report", "sweep", "top", "dashboard", "lab", "test", "all"):
        assert f"Provides-Extra: {extra}" in text


def test_sdist_holds_the_built_panel_and_no_binaries(distributions: Distributions) -> None:
    with tarfile.open(distributions.sdist) as archive:
        names = ["/".join(name.split("/")[1:]) for name in archive.getnames()]
    assert "kernel_runtime/cellmill/labextension/package.json" in names
    assert "widgets/cellmill_widgets/static/dashboard.js" in names
    assert "kernel_runtime/cellmill/assets/replay.js" in names
    assert "csched/include/csched.h" in names
    assert "benchmarks/__main__.py" in names
    assert "LICENSE" in names
    stray = [
        name for name in names if name.endswith((".so", ".o")) or "node_modules" in name or ".venv" in name
    ]
    assert stray == []


def test_build_without_node_says_so_and_still_builds(tmp_path: Path) -> None:
    """Without the C as well, which is compiled in the other build: that it would have been compiled is said."""
    checkout(tmp_path / "tree", panel=False)
    (tmp_path / "tree" / "csched" / "build.py").unlink()
    env = clean_environment(PATH=path_without_node(tmp_path / "bin"))
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "-v",
        "-w",
        "out",
        "./tree",
    ]
    log = run(*command, cwd=tmp_path, env=env)
    assert "node was not found" in log
    assert "apt-get install nodejs" in log
    assert "without the JupyterLab panel" in log
    (wheel,) = (tmp_path / "out").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "cellmill/__init__.py" in names
    assert "csched/build.py is missing; building without the C scheduler" in log
    assert [name for name in names if "labextensions" in name] == []


def test_versions_agree() -> None:
    import cellmill

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert json.loads((ROOT / "package.json").read_text())["version"] == project["version"]
    assert cellmill.__version__ == project["version"]
    assert f"## [{project['version']}]" in (ROOT / "CHANGELOG.md").read_text()


def test_no_registry_is_named() -> None:
    """A lock file that names a host cannot be installed where another mirror serves the packages."""
    assert "://" not in (ROOT / "yarn.lock").read_text()
    assert "Server" not in (ROOT / ".yarnrc.yml").read_text()


def test_makefile_targets_exist() -> None:
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    for target in ("demo", "test", "test-long", "lab", "check", "bench", "clean"):
        assert f"make {target} " in done.stdout
