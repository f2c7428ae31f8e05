"""Screens by ``python -m docking``: what they say and write, the same hits for any number of workers and backend."""

from __future__ import annotations

import csv
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.docking.command import BRIEFLY, SMALL_BOX, command


def screened(files: tuple[Path, Path], out: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A small screen."""
    protein, library = files
    done = command(
        "--receptor", str(protein), "--ligands", str(library), "--box", *SMALL_BOX, "--start", "10",
        "--rounds", "1", "--per-round", "2", "--workers", "2", "--out", str(out), *BRIEFLY, *arguments, cwd=out.parent,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "12 docked, 2 rows with a reason" in done.stdout
    return done


@pytest.mark.long
def test_the_same_hits_on_every_backend(files: tuple[Path, Path], tmp_path: Path) -> None:
    from docking.compare import available

    screened(files, tmp_path / "local")
    missing = []
    for backend, reason in available(("dask", "ray")).items():
        if reason:
            missing.append(f"{backend}: {reason}")
            continue
        screened(files, tmp_path / backend, "--backend", backend)
        for name in ("hits.csv", "hits.sdf", "predictions.csv"):
            assert (tmp_path / backend / name).read_bytes() == (tmp_path / "local" / name).read_bytes()
    if missing:
        pytest.skip(f"without {'; '.join(missing)}")


def asked(files: tuple[Path, Path], out: Path, workers: int) -> tuple[str, ...]:
    protein, library = files
    return (
        "--receptor", str(protein), "--ligands", str(library), "--box", *SMALL_BOX, "--start", "10",
        "--rounds", "1", "--per-round", "2", "--workers", str(workers), "--out", str(out), *BRIEFLY,
    )  # fmt: skip


def check_said(stdout: str, stderr: str) -> None:
    assert "13 molecules to screen, 2 rows rejected with a reason" in stderr
    assert "held-out Spearman" in stderr
    assert "12 docked, 2 rows with a reason" in stdout
    assert "Single searches of one molecule differ by" in stdout
    assert "is the best of 2 independent searches: as asked for" in stdout
    assert "NOT redocked: there is no reference ligand" in stdout
    assert "rejected: 1 SMILES does not parse, 1 no carbon" in stderr
    assert "to a worker, ms" in stdout
    assert "read again: 12 molecules from the folder, nothing docked anew, each with the same score" in stdout


def test_a_screen_says_and_writes_what_it_found(
    in_threads: Any, files: tuple[Path, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    code, said = in_threads(*asked(files, out, 1)), capsys.readouterr()
    assert code == 0, said.err
    check_said(said.out, said.err)
    assert (out / "hits.sdf").stat().st_size > 1000
    assert (out / "predictions.csv").read_text().count("\n") == 14
    rows = list(csv.DictReader((out / "hits.csv").read_text().splitlines()))
    reasons = {row["name"]: row["reason"] for row in rows if row["reason"]}
    assert {row["searches"] for row in rows if not row["reason"]} == {"2"}
    assert {row["redock"] for row in rows if not row["reason"]} == {"unchecked"}
    assert all(re.search(r"hydrophobic:\w+\.[AB]", row["contacts"]) for row in rows if not row["reason"])
    assert [row["final_searches"] for row in rows[:3]] == ["3", "3", ""]
    assert all(float(row["score"]) <= float(row["mean"]) for row in rows if not row["reason"])
    assert reasons == {"broken": "SMILES does not parse", "salt": "no carbon: not an organic molecule"}


@pytest.mark.long
def test_two_workers_of_a_screen_from_a_shell_find_the_hits_of_one_thread(
    in_threads: Any, files: tuple[Path, Path], tmp_path: Path
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    assert in_threads(*asked(files, one, 1)) == 0
    done = command(*asked(files, two, 2), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    check_said(done.stdout, done.stderr)
    assert (two / "hits.csv").read_bytes() == (one / "hits.csv").read_bytes()
    assert (two / "hits.sdf").stat().st_size > 1000
    assert (two / "predictions.csv").read_text().count("\n") == 14
