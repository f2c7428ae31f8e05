"""Imports point one way: leaves <- futures, telemetry <- backends <- executor <- parallel <- magics, comm, plug-ins.

Every import statement of the packages is read, those inside functions too. A type-checking import is no arrow: it
does not run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {
    "cellmill": ROOT / "kernel_runtime" / "cellmill",
    "cellmill_widgets": ROOT / "widgets" / "cellmill_widgets",
}

# From below to above; a module may import those of its own layer and of lower ones.
LAYERS = [
    {
        "errors",
        "tracebacks",
        "boundary",
        "blame",
        "schema",
        "interrupts",
        "imported",
        "origin",
        "printed",
        "tail",
        "reporting",
        "native_threads",
        "settings",
        "examples",
        "inside",
        "pace",
        "notices",
        "randomness",
        "unpacked",
        "fixed",
        "signatures",
        "inner_calls",
        "sentinels",
        "molecules",
        "changed_arguments",
    },
    {
        "references",
        "by_value",
        "pickling",
        "captured",
        "captured_kinds",
        "entry_kinds",
        "captured_frames",
        "module_reads",
        "watched",
    },
    {"task", "payload", "mishaps"},
    {"shared", "error_parts", "read_only"},
    {"preview", "raised", "naming", "questions", "drawing"},
    {"runs", "kernel_modules", "unasked"},
    {
        "pieces",
        "packer",
        "preview",
        "futures",
        "frames",
        "log_records",
        "transcript",
        "functions",
        "function_entries",
        "telemetry",
    },
    {
        "worker",
        "speech",
        "displays",
        "standard_streams",
        "worker_blocks",
        "worker_fork",
        "calls",
        "chunk",
        "chunk_outcomes",
        "zygote",
    },
    {"backends"},
    {"map_calls"},
    {"living", "executor", "control", "journeys", "output", "tasks", "seeds"},
    {"parallel"},
    {
        "magics",
        "comm",
        "listeners",
        "publisher",
        "dashboards",
        "commands",
        "sections",
        "bench",
        "cli",
        "recording",
        "replay",
    },
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
SCHEDULER = "cellmill.backends.scheduled.scheduler"  # the worker side shares the binding with the kernel side
MAY_IMPORT_CSCHED = (
    "cellmill.backends.scheduled",
    "cellmill.backends.local",
    "cellmill.backends.threads",
    "cellmill.backends.cluster",
    "cellmill.captured",  # compares Python objects, and knows no scheduler
    "cellmill.pieces",  # packs them
    "cellmill.boundary",  # shortens tracebacks
)
WIDGETS_MAY_USE = {"errors", "schema", "task", "runs", "telemetry", "interrupts", "mishaps", "printed"}


def module_name(package: str, path: Path) -> str:
    parts = path.relative_to(PACKAGES[package]).with_suffix("").parts
    return ".".join([package, *(parts[:-1] if parts[-1] == "__init__" else parts)])


def imports(module: str, path: Path) -> Iterator[tuple[int, str]]:
    """(line, absolute name) of everything a file imports."""
    base = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    for node in running(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            start = base[: len(base) - node.level + 1] if node.level else []
            source = ".".join([*start, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node.lineno, f"{source}.{alias.name}"


def running(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those below ``if TYPE_CHECKING:``."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for part in node.orelse:
                yield part
                yield from running(part)
            continue
        yield node
        yield from running(node)


def room(name: str) -> str | None:
    """The part of the package that a name lies in; None for the package itself and for others."""
    parts = name.split(".")
    return parts[1] if parts[0] == "cellmill" and len(parts) > 1 and parts[1] in LEVEL else None


def wrong_arrows(module: str, path: Path) -> Iterator[str]:
    mine = room(module)
    for line, target in imports(module, path):
        theirs = room(target)
        where = f"{path.relative_to(ROOT)}:{line} imports {target}"
        if "._csched" in target and not module.startswith(MAY_IMPORT_CSCHED):
            yield f"{where}: only the local and threads backends know csched"
        if module.startswith("cellmill_widgets"):
            if target.startswith("cellmill.") and theirs not in WIDGETS_MAY_USE:
                yield f"{where}: widgets use the leaves, runs and telemetry"
        elif target.startswith("cellmill_widgets"):
            if mine is None or LEVEL[mine] < LEVEL["magics"]:
                yield f"{where}: only the magics draw"
        elif mine is not None and theirs is not None and LEVEL[theirs] > LEVEL[mine]:
            of_the_worker = mine in LAYERS[LEVEL["worker"]] and target.startswith(SCHEDULER)
            if not of_the_worker:
                yield f"{where}: against the layers"


def files() -> list[tuple[str, Path]]:
    return [(package, path) for package, folder in PACKAGES.items() for path in sorted(folder.rglob("*.py"))]


@pytest.mark.parametrize(("package", "path"), files(), ids=lambda value: getattr(value, "stem", value))
def test_arrows(package: str, path: Path) -> None:
    assert not list(wrong_arrows(module_name(package, path), path))


def test_every_module_has_a_layer() -> None:
    tops = {p.stem if p.is_file() else p.name for p in PACKAGES["cellmill"].iterdir()}
    modules = {
        name
        for name in tops
        if (PACKAGES["cellmill"] / f"{name}.py").exists()
        or (PACKAGES["cellmill"] / name / "__init__.py").exists()
    }
    assert modules - {"__init__", "__main__"} <= LEVEL.keys()


@pytest.mark.parametrize(
    ("module", "code", "count"),
    [
        ("cellmill.futures", "from . import executor", 1),
        ("cellmill.futures", "def f():\n    from .backends.local import pool", 1),
        ("cellmill.task", "from .errors import UsageError", 0),
        ("cellmill.executor", "from ._csched import lib", 1),
        ("cellmill.backends.local.pool", "from ... import _csched, payload", 0),
        ("cellmill.backends.local.pool", "from ...parallel import parallel", 1),
        ("cellmill.worker", "from .backends.scheduled.scheduler import held", 0),
        ("cellmill.worker", "from .backends.local.pool import Pool", 1),
        (
            "cellmill.task",
            "if TYPE_CHECKING:\n    from .executor import Executor\nelse:\n    import cellmill.magics",
            1,
        ),
        ("cellmill_widgets.progress", "from cellmill.executor import Executor", 1),
        ("cellmill_widgets.progress", "from cellmill.runs import Run", 0),
    ],
)
def test_the_check_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, code: str, count: int
) -> None:
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    path = tmp_path / "made.py"
    path.write_text(code)
    assert len(list(wrong_arrows(module, path))) == count
