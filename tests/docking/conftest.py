"""Shared pieces of the docking tests: the prepared tutorial complex and a fast engine, made once."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docking.command import FRAGMENTS

MISSING = [
    name
    for name in ("rdkit", "gemmi", "dimorphite_dl", "meeko", "vina", "prolif", "sklearn")
    if importlib.util.find_spec(name) is None
]


class _Skipped(pytest.Module):
    """A test module that is named in the report as skipped, without being imported."""

    def collect(self) -> Any:
        pytest.skip(
            f"docking needs {', '.join(MISSING)} (vina has no wheel for 3.13)", allow_module_level=True
        )


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    return _Skipped.from_parent(parent, path=module_path) if MISSING else None


@pytest.fixture(scope="session", autouse=True)
def few_trees() -> Iterator[None]:
    """Forests of four trees in place of fifty: a validation grows a hundred forests, in most of its time.

    Linear algebra has one thread throughout: a limit is that of the whole process, and the first of several threads
    that train at once ends it for the others.
    """
    import sklearn.ensemble
    from threadpoolctl import threadpool_limits

    whole = sklearn.ensemble.RandomForestRegressor

    def few(_trees: int, **options: Any) -> Any:
        return whole(4, **options)

    with pytest.MonkeyPatch.context() as patch, threadpool_limits(1):
        patch.setattr(sklearn.ensemble, "RandomForestRegressor", few)
        yield


@pytest.fixture(scope="session")
def tutorial() -> Any:
    """(receptor, reference) of the tutorial complex."""
    from docking.receptor import tutorial_complex

    return tutorial_complex()


@pytest.fixture(scope="session")
def pocket() -> list[str]:
    """PDB lines of the tutorial's protein around its ligand: whole residues with an atom within 5 angstrom."""
    import numpy as np

    from docking.receptor import coordinates, tutorial_folder

    ligand = coordinates((tutorial_folder() / "lig.pdb").read_text())
    text = (tutorial_folder() / "rec.pdb").read_text()
    lines = [line for line in text.splitlines() if line.startswith("ATOM")]
    distances = np.linalg.norm(coordinates(text)[:, None] - ligand[None], axis=2).min(axis=1)
    near = {line[21:27] for line, distance in zip(lines, distances, strict=True) if distance < 5.0}
    return [line for line in lines if line[21:27] in near]


@pytest.fixture(scope="session")
def prepared_pocket(pocket: list[str], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The receptor of those lines as they are: preparing it takes a quarter of a second."""
    from docking.receptor import TUTORIAL_BOX, load_complex

    path = tmp_path_factory.mktemp("pocket") / "x.pdb"
    path.write_text("\n".join(pocket) + "\n")
    receptor, _reference = load_complex(path, box=TUTORIAL_BOX)
    return receptor


@pytest.fixture
def prepared(tmp_path: Path) -> Any:
    """A function that prepares the lines of a receptor file: prepared(lines, name="x.pdb", **options)."""
    from docking.receptor import TUTORIAL_BOX, load_complex

    def prepare(lines: list[str], name: str = "x.pdb", **options: Any) -> Any:
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n")
        if "reference" not in options:
            options.setdefault("box", TUTORIAL_BOX)
        receptor, _reference = load_complex(path, **options)
        return receptor

    return prepare


@pytest.fixture(scope="session")
def small_target(tutorial: Any) -> Any:
    """The tutorial receptor with a small box, whose maps take a fraction of a second."""
    from docking.receptor import with_box
    from docking.records import Box

    receptor, _reference = tutorial
    return with_box(receptor, Box((2.82, 0.28, 10.63), (12.0, 12.0, 12.0)))


@pytest.fixture(scope="session")
def engine(small_target: Any) -> Any:
    from docking.dock import Engine
    from docking.records import DockSettings

    # Vina's own number of evaluations takes six times as long, and shows no more here.
    return Engine(small_target, DockSettings(spacing=0.6, evaluations=60_000))


@pytest.fixture
def pocket_file(pocket: list[str], tmp_path: Path) -> Path:
    """A file with the pocket of the tutorial's receptor: the whole one takes seconds to be prepared each time."""
    path = tmp_path / "pocket.pdb"
    path.write_text("\n".join(pocket) + "\n")
    return path


@pytest.fixture
def known_file(engine: Any, tmp_path: Path) -> Path:
    """A small molecule's docked pose: the tutorial's ligand takes a second for each conformer."""
    from rdkit.Chem import MolToMolBlock, RemoveHs

    from docking.ligand import pose_to_mol

    pose = RemoveHs(pose_to_mol(engine.dock("Cc1ccc(CN)cc1").pose))
    path = tmp_path / "known.sdf"
    path.write_text(f"known{MolToMolBlock(pose)}$$$$\n")
    return path


@pytest.fixture(scope="session")
def library() -> Any:
    """A hundred and fifty molecules."""
    from tests.docking.quick_screen import molecules

    return molecules()


@pytest.fixture(scope="session")
def threads() -> Iterator[Any]:
    """Two threads for all these tests: they have the chemistry packages and the small forests of this process."""
    import cellmill

    with cellmill.Executor(2, backend="threads") as ex:
        yield ex


@pytest.fixture(scope="session")
def worker() -> Iterator[Any]:
    """A worker process, for what is asked of processes: it takes seconds to import the chemistry packages."""
    import cellmill

    with cellmill.Executor(1) as ex:
        yield ex


@pytest.fixture(autouse=True)
def executor(threads: Any) -> Iterator[Any]:
    """They are the default executor, also for a test whose screen asks for one by itself."""
    import cellmill

    cellmill.set_default_executor(threads)
    yield threads
    cellmill.set_default_executor(None)


@pytest.fixture(scope="session")
def screen(library: Any, threads: Any) -> Any:
    """A screen of two rounds whose scores are size alone, for all tests that only read it: training takes seconds."""
    import cellmill
    from tests.docking.quick_screen import screened

    cellmill.set_default_executor(threads)  # the fixture of each test comes after this one
    return screened(library)


@pytest.fixture
def command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The command line as a function, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    from docking.__main__ import main

    return main


@pytest.fixture
def in_threads(command_line: Any) -> Iterator[Callable[..., int]]:
    """The same, its tasks in threads: a process and its workers take seconds to import the chemistry packages."""
    import cellmill

    yield lambda *arguments: command_line([*arguments, "--backend", "threads"])
    cellmill.default_executor().shutdown()
    cellmill.set_default_executor(None)


@pytest.fixture
def files(pocket_file: Path, tmp_path: Path) -> tuple[Path, Path]:
    """(a receptor file of the user's own, a library with bad rows)."""
    library = tmp_path / "library.smi"
    library.write_text(FRAGMENTS)
    return pocket_file, library
