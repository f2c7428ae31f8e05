"""The distributions, built once from what git tracks, and fresh environments to install them into."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WIDGET = "widgets/cellmill_widgets/static"
PANEL = "kernel_runtime/cellmill/labextension"
REPLAY = "kernel_runtime/cellmill/assets"


@dataclass(frozen=True, slots=True)
class Distributions:
    """The source archive, and the wheel that was built from it without node."""

    sdist: Path
    wheel: Path
    log: str


def run(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    """Run a command; its output, which is also the message when it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.fail(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout[-6000:]}")
    return done.stdout


PLAINLY = "-O0 -g0"  # for the compiler, where only what is built counts: a third of its time


def clean_environment(**more: str) -> dict[str, str]:
    """This environment without what points at the source tree or at an active virtual environment."""
    dropped = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME", "CELLMILL_SKIP_JS", "PIP_QUIET")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, **more}


def path_without_node(scratch: Path) -> str:
    """A PATH with every program of this one but node's."""
    hidden = {"node", "nodejs", "npm", "npx", "yarn", "jlpm", "corepack"}
    scratch.mkdir()
    for folder in os.environ["PATH"].split(os.pathsep):
        if not Path(folder).is_dir():
            continue
        for program in Path(folder).iterdir():
            link = scratch / program.name
            if program.name not in hidden and not link.is_symlink() and "pyenv/shims" not in folder:
                link.symlink_to(program)
    return str(scratch)


def checkout(target: Path, *, panel: bool) -> Path:
    """Copy what git tracks; with `panel` also the panel built from it, as in an unpacked source archive."""
    names = run("git", "ls-files", "-z", "--cached", cwd=ROOT).split("\0")
    for name in filter(None, names):
        source = ROOT / name
        if source.is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target / name)
            shutil.copymode(source, target / name)
    if panel:
        if not (ROOT / PANEL / "package.json").exists():
            pytest.fail("the panel is not built; `make setup` builds it")
        for built in (PANEL, WIDGET, REPLAY):
            shutil.copytree(ROOT / built, target / built)
    return target


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    tree = checkout(tmp_path_factory.mktemp("tree"), panel=True)
    out = tmp_path_factory.mktemp("dist")
    env = clean_environment(
        PATH=path_without_node(tmp_path_factory.mktemp("bin") / "bin"), CELLMILL_CFLAGS=PLAINLY
    )
    # `build` makes the source archive and then, from that archive alone, the wheel.
    log = run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, tree, cwd=out, env=env)
    (sdist,) = out.glob("*.tar.gz")
    (wheel,) = out.glob("*.whl")
    return Distributions(sdist, wheel, log)
