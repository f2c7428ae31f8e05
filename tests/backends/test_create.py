"""Backends are picked by name and imported when they are asked for."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import cellmill
from cellmill.backends import KNOWN, create


@pytest.mark.parametrize(
    "name", [name for name in KNOWN if name not in ("dask", "ray")]
)  # those: tests/cluster
def test_known(name: str) -> None:
    backend = create(name, 1)
    assert backend.name == name
    assert backend.max_workers == 1
    backend.shutdown(True, False)


@pytest.mark.parametrize(
    ("name", "suggestion"), [("Local", "local"), ("inlin", "inline"), ("lokal", "local")]
)
def test_unknown_with_a_suggestion(name: str, suggestion: str) -> None:
    with pytest.raises(cellmill.BackendError, match=f"unknown backend '{name}'.*Did you mean '{suggestion}'"):
        create(name, 1)


@pytest.mark.parametrize("name", ["", "kubernetes"])
def test_unknown_without(name: str) -> None:
    with pytest.raises(cellmill.BackendError, match=f"this version has: {', '.join(KNOWN)}") as raised:
        create(name, 1)
    assert "Did you mean" not in str(raised.value)


@pytest.mark.parametrize(
    ("backend", "options", "said"),
    [
        ("local", {"memory": "2GB"}, "no option 'memory': memory_per_worker=\"2GB\" limits a worker"),
        ("threads", {"memory": "2GB"}, "no option 'memory': memory_per_worker="),
        ("local", {"ship": ["folder"]}, "ship= is an option of clusters"),
        ("dask", {"memory_per_worker": "2GB"}, 'is an option of local workers.*memory_limit="2GB"'),
        ("dask", {"memory": "2GB"}, 'memory_limit="2GB" limits the workers'),
        ("tcp://nowhere:1", {"max_tasks_per_child": 3}, "is an option of local workers"),
    ],
)
def test_an_option_of_other_backends_says_whose_it_is(
    backend: str, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(TypeError, match=said):
        create(backend, 1, **options)


@pytest.mark.parametrize("compiled", [True, False])
def test_inline_does_not_need_the_scheduler(compiled: bool) -> None:
    """The compiled module is there for tracebacks alone; without it one line more is shown."""
    code = (
        f"import sys, cellmill\nif not {compiled}: sys.modules['cellmill._csched_with_gil'] = None\n"
        "with cellmill.Executor(backend='inline') as ex:\n"
        "    assert list(ex.map(abs, [-1])) == [1]\n"
        "assert not [m for m in sys.modules if m.startswith('cellmill.backends.scheduled')]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
