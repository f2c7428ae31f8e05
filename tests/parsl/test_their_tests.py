"""Parsl's own tests that take a configuration, with Cellmill's executor in it."""

from __future__ import annotations

from pathlib import Path

import parsl
import pytest

from tests.support.their_tests import passed_beneath

CONFIG = """
from parsl.config import Config
from cellmill.parsl import CellmillExecutor


def fresh_config():
    return Config(executors=[CellmillExecutor(max_workers=2)])
"""
# Theirs has a hook in a form that pytest no longer takes. It leaves out the folders that are left out here.
PLUGIN = """
from _pytest.config import PytestPluginManager

register = PytestPluginManager.register


def without_old_hook(self, plugin, name=None):
    if str(getattr(plugin, "__file__", "")).endswith("parsl/tests/conftest.py"):
        vars(plugin).pop("pytest_ignore_collect", None)
    return register(self, plugin, name)


PytestPluginManager.register = without_old_hook
"""
FOLDERS_NOT_HERE = {
    "run by hand": ("integration", "manual_tests"),
    "of sites of their own": ("site_tests",),
    "load configurations of the high-throughput executor, with a data base": (
        "test_monitoring",
        "test_shutdown",
    ),
}
NOT_HERE = {
    "they need the internet": ("test_docs_1", "test_staging_ftp", "test_staging_https"),
    "they need a folder that the user may not write to, and make it where it is root who runs them": (
        "test_bad_stdout_file",
        "test_bad_stderr_file",
    ),
    "three executors of Parsl's, by name, may refuse what does not fit": (
        "test_resource_spec and test_resource",
    ),
}


@pytest.mark.long
def test_pass_with_cellmill_beneath(tmp_path: Path) -> None:
    theirs = Path(parsl.__file__).parent / "tests"
    (tmp_path / "with_cellmill.py").write_text(CONFIG)
    ignored = [f"--ignore={theirs / name}" for names in FOLDERS_NOT_HERE.values() for name in names]
    options = ["--config", "with_cellmill.py", *ignored]
    assert passed_beneath(tmp_path, PLUGIN, (), NOT_HERE, [theirs], options=options, timeout=300) >= 140
