"""Build hook: compiles the C scheduler and the JupyterLab panel into the wheel.

The wheel holds both cffi modules (stable ABI, one file for every supported Python), the two Python packages
and the prebuilt panel. Environment variables: ``CELLMILL_SKIP_JS=1`` leaves the panel as it is (fast work on
Python alone), ``CELLMILL_CFLAGS`` is appended to the compiler's flags by ``csched/build.py``.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LABEXTENSION = "kernel_runtime/cellmill/labextension"
WIDGET = "widgets/cellmill_widgets/static/dashboard.js"
REPLAY = "kernel_runtime/cellmill/assets/replay.js"
EXAMPLE_MODULES = "examples/docking"
SHARE = "share/jupyter/labextensions/cellmill"
STABLE_ABI = "cp311"
TYPESCRIPT_INPUTS = (
    "examples/01_quickstart.ipynb",
    "examples/02_docking_inference.ipynb",
    "labextension/src",
    "labextension/style",
    "labextension/schema",
    "package.json",
    "tsconfig.json",
)


class CellmillBuildHook(BuildHookInterface[Any]):
    """Compiles what is not Python and tells hatchling where it is."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Run before the archive is written; `version` is "standard" or "editable"."""
        root = Path(self.root)
        has_panel = self._build_panel(root)
        if self.target_name != "wheel":
            return
        self._build_extensions(root, version)
        build_data["pure_python"] = False
        build_data["tag"] = f"{STABLE_ABI}-abi3-{platform_tag()}"
        if version == "standard":  # an editable installation finds them in the tree
            build_data["force_include"] = {EXAMPLE_MODULES: "cellmill/example_modules/docking"}
        if has_panel:
            build_data["shared_data"] = {
                LABEXTENSION: SHARE,
                "labextension/install.json": f"{SHARE}/install.json",
            }

    def _build_extensions(self, root: Path, version: str) -> None:
        if not sys.platform.startswith("linux"):
            self.app.display_warning(
                "cellmill: the local backend is for Linux; building without the C scheduler"
            )
            return
        if not (root / "csched" / "build.py").exists():
            self.app.display_warning("cellmill: csched/build.py is missing; building without the C scheduler")
            return
        compile_extensions(root, laboratory=version == "editable")

    def _build_panel(self, root: Path) -> bool:
        """Build what the page needs when it is missing or older than its sources; say whether there is a panel."""
        built = root / LABEXTENSION / "package.json"
        others = all((root / path).exists() for path in (WIDGET, REPLAY))
        if os.environ.get("CELLMILL_SKIP_JS") == "1":
            return built.exists()
        if built.exists() and others and (not (root / "yarn.lock").exists() or is_newer(built, root)):
            return True
        problem = run_jlpm(root)
        if problem is None:
            return True
        what = "with the panel as it was built before" if built.exists() else "without the JupyterLab panel"
        message = f"cellmill: {problem}; installing {what}. Everything else works."
        self.app.display_warning(message)
        tell_terminal(message)
        return built.exists()


def platform_tag() -> str:
    """The wheel's platform tag of this machine, for example linux_x86_64."""
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def is_newer(built: Path, root: Path) -> bool:
    """Whether `built` is at least as new as every source of the panel."""
    stamp = built.stat().st_mtime
    for name in TYPESCRIPT_INPUTS:
        path = root / name
        files = path.rglob("*") if path.is_dir() else [path]
        if any(file.is_file() and file.stat().st_mtime > stamp for file in files):
            return False
    return True


def compile_extensions(root: Path, *, laboratory: bool) -> None:
    """Compile the cffi modules of csched/build.py into the package folder, against the stable ABI.

    ``laboratory``: also the one of the folder benchmarks/, which is for checkouts; nothing where it is missing.
    """
    with tempfile.TemporaryDirectory(prefix="cellmill-build-") as scratch:
        build = load_csched_build(root)
        modules = build.extensions(Path(scratch) / "c")
        if laboratory and (root / "benchmarks").is_dir():
            modules.append(build.lab_extension(Path(scratch) / "c"))
        build.compile_modules(modules, Path(scratch) / "lib", Path(scratch) / "tmp")
        for library in Path(scratch, "lib").rglob("*.so"):
            # Replaced, not overwritten: a running kernel may have the old file mapped.
            package = library.parent.name
            target = (
                root / ("benchmarks" if package == "benchmarks" else "kernel_runtime/cellmill") / library.name
            )
            fresh = target.with_suffix(".new")
            shutil.copy2(library, fresh)
            os.replace(fresh, target)


def tell_terminal(message: str) -> None:
    """Say it where a person sees it: pip shows a build's output only when the build fails."""
    with contextlib.suppress(OSError), open("/dev/tty", "w") as terminal:
        terminal.write(f"\nwarning: {message}\n")


def run_jlpm(root: Path) -> str | None:
    """Install what the panel's build needs and build it; return the problem, or None when it worked."""
    if shutil.which("node") is None:
        return "node was not found (on Debian: apt-get install nodejs), so the panel was not built"
    env = dict(os.environ, PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    env["YARN_ENABLE_PROGRESS_BARS"] = "false"
    for command in (["jlpm", "install", "--immutable"], ["jlpm", "run", "build"]):
        try:
            done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False)
        except OSError as error:
            return f"the panel's build did not start ({error})"
        if done.returncode != 0:
            tail = "\n".join((done.stdout + done.stderr).splitlines()[-15:])
            return f"the panel's build failed in `{' '.join(command)}`:\n{tail}\n"
    return None


def load_csched_build(root: Path) -> ModuleType:
    """The module csched/build.py, by path: the name `build` belongs to others too."""
    spec = importlib.util.spec_from_file_location("cellmill_csched_build", root / "csched" / "build.py")
    if spec is None or spec.loader is None:
        raise ImportError("csched/build.py could not be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    compile_extensions(Path(__file__).resolve().parent, laboratory=True)
