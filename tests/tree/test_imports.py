"""Imports point one way: leaves <- futures, telemetry <- backends <- executor <- parallel <- magics, comm, plug-ins.

Every import statement of the packages is read, those inside functions and those for types too.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tree.test_circles import Arrows, circles

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {
    "cellmill": ROOT / "kernel_runtime" / "cellmill",
    "cellmill_widgets": ROOT / "widgets" / "cellmill_widgets",
    "benchmarks": ROOT / "benchmarks",
}

# From below to above; a module may import those of its own layer and of lower ones.
LAYERS = [
    {
        "errors",
        "diagnostics.tracebacks",
        "diagnostics.places",
        "diagnostics.boundary",
        "diagnostics.blame",
        "process_context.interrupts",
        "by_value.import_log",
        "by_value.bindings",
        "by_value.module_sources",
        "cell_output.origin",
        "cell_output.listeners",
        "cell_output.present_cell",
        "cell_output.request",
        "cell_output.printed",
        "cell_output.recent",
        "cell_output.tail",
        "process_context.reporting",
        "process_context.modules_by_file",
        "process_context.native_threads",
        "process_context.settings",
        "process_context.library_settings",
        "process_context.context",
        "process_context.process_looks",
        "process_context.process_tree",
        "process_context.cpus",
        "process_context.machine",
        "process_context.stacks",
        "worker_process.protocol",
        "examples",
        "process_context.thread_context",
        "views.pace",
        "diagnostics.notices",
        "randomness.generators",
        "randomness.given",
        "serialization.fixed",
        "serialization.remedies",
        "diagnostics.signatures",
        "diagnostics.short_text",
        "diagnostics.lasting_ids",
        "diagnostics.literals",
        "diagnostics.inner_calls",
        "by_value.replacements",
        "by_value.own_files",
        "by_value.iterators",
        "by_value.stream_looks",
        "by_value.class_making",
        "by_value.pickle_texts",
        "by_value.sentinels",
        "by_value.subclasses",
        "by_value.unsettled",
        "by_value.views",
        "by_value.molecules",
        "by_value.changed_arguments",
    },
    {
        "by_value.references",
        "by_value.methods",
        "by_value.wrappers",
        "by_value.pickling",
        "by_value.capture",
        "by_value.capture_kinds",
        "by_value.identities",
        "by_value.object_state",
        "by_value.capture_entries",
        "by_value.capture_arrays",
        "by_value.brought",
        "by_value.module_reads",
        "by_value.class_reads",
        "by_value.function_reads",
        "by_value.worker_data",
        "by_value.watched",
        "by_value.first_calls",
        "by_value.parts",
        "by_value.package_changes",
        "by_value.argument_names",
    },
    {
        "task",
        "serialization.payload",
        "serialization.unpacked",
        "serialization.unpicklable",
        "diagnostics.failure_counts",
        "diagnostics.failing_lines",
    },
    {"serialization.class_parts"},
    {"serialization.shared", "serialization.error_parts", "serialization.read_only"},
    {
        "serialization.preview",
        "serialization.piece_loading",
        "serialization.exceptions",
        "diagnostics.naming",
        "diagnostics.questions",
        "randomness.streams",
        "randomness.own_streams",
    },
    {"history", "by_value.kernel_modules"},
    {"run_registry"},
    {
        "serialization.foreign",
        "serialization.pieces",
        "serialization.awaited",
        "serialization.packer",
        "futures",
        "diagnostics.unasked",
        "worker_process.output_frames",
        "cell_output.log_records",
        "cell_output.warning_messages",
        "cell_output.transcript",
        "serialization.function_code",
        "serialization.functions",
        "serialization.function_entries",
        "telemetry",
    },
    {
        "worker_process.worker",
        "worker_process.output_capture",
        "worker_process.displays",
        "worker_process.standard_streams",
        "worker_process.blocks",
        "worker_process.fork",
        "worker_process.plain_calls",
        "worker_process.chunk",
        "worker_process.profiler",
        "serialization.chunk_outcomes",
        "worker_process.zygote",
    },
    {"backends"},
    {"memo"},
    {"registry"},
    {"records", "outside"},
    {"executor", "api", "failure_folds", "profiling", "randomness.seeds"},
    {"parallel"},
    {
        "magics",
        "dask",
        "pandas",
        "parsl",
        "joblib",
        "pool",
        "sweeping",
        "taps",
        "views.comm",
        "views.subscribers",
        "views.publisher",
        "views.cells",
        "views.samples",
        "views.scope",
        "views.section_set",
        "views.inline_dashboard",
        "views.commands",
        "views.sections",
        "bench",
        "cli",
        "views.recording",
        "views.replay",
        "views.played",
        "views.terminal",
    },
]
ROOMS = {f"cellmill.{name.partition('.')[0]}" for names in LAYERS for name in names if "." in name}
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
SCHEDULER = "cellmill.backends.scheduled.scheduler"  # the worker side shares the binding with the kernel side
MAY_IMPORT_CSCHED = (
    "cellmill.backends.scheduled",
    "cellmill.backends.local",
    "cellmill.backends.threads",
    "cellmill.backends.cluster",
    "cellmill.by_value.capture",  # compares Python objects, and knows no scheduler
    "cellmill.by_value.pickle_texts",  # reads pickles
    "cellmill.serialization.pieces",  # packs them
    "cellmill.diagnostics.boundary",  # shortens tracebacks
    "cellmill.process_context.stacks",  # reads frames of threads
    "cellmill.outside.pages",  # reads shared memory of another process
    "benchmarks.csched_lab",  # a module of its own
)
WIDGETS_MAY_USE = {
    *("errors", "task", "run_registry", "telemetry", "process_context.interrupts"),
    *(
        "diagnostics.failure_counts",
        "diagnostics.short_text",
        "cell_output.present_cell",
        "cell_output.printed",
    ),
}


def module_name(package: str, path: Path) -> str:
    parts = path.relative_to(PACKAGES[package]).with_suffix("").parts
    return ".".join([package, *(parts[:-1] if parts[-1] == "__init__" else parts)])


@functools.cache
def imports(module: str, path: Path) -> tuple[tuple[int, str], ...]:
    """(line, absolute name) of everything a file imports; every file is parsed once for all tests."""
    return tuple(_imports(module, path))


def _imports(module: str, path: Path) -> Iterator[tuple[int, str]]:
    base = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    for node in statements(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            start = base[: len(base) - node.level + 1] if node.level else []
            source = ".".join([*start, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node.lineno, f"{source}.{alias.name}"


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements of a file, those within others too, without a look into expressions: imports are statements."""
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        inner = getattr(node, field, ())
        if isinstance(inner, list):  # an expression is the body of a lambda
            for each in inner:
                yield each
                yield from statements(each)


def room(name: str) -> str | None:
    """The part of the package that a name is in; None for the package itself and for others."""
    parts = name.split(".")
    if parts[0] != "cellmill":
        return None
    known = (".".join(parts[1:end]) for end in (3, 2))
    return next((part for part in known if part in LEVEL), None)


def wrong_arrows(module: str, path: Path) -> Iterator[str]:
    mine = room(module)
    for line, target in imports(module, path):
        theirs = room(target)
        where = f"{path.relative_to(ROOT)}:{line} imports {target}"
        if "._csched" in target and not module.startswith(MAY_IMPORT_CSCHED):
            yield f"{where}: only the local and threads backends know csched"
        if target.startswith("benchmarks.") and not module.startswith("benchmarks"):
            yield f"{where}: the laboratory is not installed"
        if module.startswith("cellmill_widgets"):
            if target.startswith("cellmill.") and theirs not in WIDGETS_MAY_USE:
                yield f"{where}: widgets use the leaves, the registry of runs and telemetry"
        elif target.startswith("cellmill_widgets"):
            if mine is None or LEVEL[mine] < LEVEL["magics"]:
                yield f"{where}: only the magics draw"
        elif mine is not None and theirs is not None and LEVEL[theirs] > LEVEL[mine]:
            of_the_worker = mine in LAYERS[LEVEL["worker_process.worker"]] and target.startswith(SCHEDULER)
            if not of_the_worker:
                yield f"{where}: against the layers"


def files() -> list[tuple[str, Path]]:
    return [(package, path) for package, folder in PACKAGES.items() for path in sorted(folder.rglob("*.py"))]


@pytest.mark.parametrize("package", PACKAGES)
def test_arrows(package: str) -> None:
    found = [
        each for of, path in files() if of == package for each in wrong_arrows(module_name(of, path), path)
    ]
    assert not found, "\n".join(found)


DOORS = {  # rooms that only their own files import, but for these modules of theirs; and who does so nevertheless
    "worker_process": (
        ("protocol", "output_frames"),
        {"cellmill.backends.threads.call"},
    ),  # it runs chunks in threads
    "backends.local": (("backend",), {"benchmarks.killer"}),  # it kills the zygote, too
    "backends.cluster": (("backend", "engines", "left"), set[str]()),
}


@pytest.mark.parametrize("place", DOORS)
def test_rooms_are_entered_by_their_doors(place: str) -> None:
    doors, others = DOORS[place]
    inside = f"cellmill.{place}."
    allowed = tuple(f"{inside}{door}" for door in doors)
    wrong = {
        module
        for package, path in files()
        if not (module := module_name(package, path)).startswith(inside)
        for _, target in imports(module, path)
        if target.startswith(inside) and not target.startswith(allowed)
    }
    assert wrong == others


def test_every_module_has_a_layer() -> None:
    modules = [module_name(package, path) for package, path in files() if package == "cellmill"]
    homeless = [name for name in modules if name.count(".") and room(name) is None]
    assert [name for name in homeless if name not in ROOMS] == ["cellmill.__main__"]


def test_the_top_has_what_users_call() -> None:
    """Everything else has a room."""
    assert len(list(PACKAGES["cellmill"].glob("*.py"))) <= 15


def arrows() -> Arrows:
    """Which files import which."""
    paths = {module_name(package, path): path for package, path in files()}
    found: Arrows = {}
    for module, path in paths.items():
        targets = (target for _, target in imports(module, path))
        homes = (next((home for home in _prefixes(target) if home in paths), module) for target in targets)
        found[module] = {home for home in homes if home not in (module, "cellmill")}
    return found


def _prefixes(name: str) -> Iterator[str]:
    while name:
        yield name
        name = name.rpartition(".")[0]


def test_no_files_import_each_other() -> None:
    """Neither directly nor in a circle, for types and inside functions as well."""
    assert not circles(arrows())


@pytest.mark.parametrize(
    ("module", "code", "count"),
    [
        ("cellmill.futures", "from . import executor", 1),
        ("cellmill.futures", "def f():\n    from .backends.local import pool", 1),
        ("cellmill.task", "from .errors import UsageError", 0),
        ("cellmill.executor", "from ._csched import lib", 1),
        ("cellmill.backends.local.pool", "from ... import _csched", 0),
        ("cellmill.backends.local.pool", "from ...parallel import parallel", 1),
        ("cellmill.worker_process.worker", "from ..backends.scheduled.scheduler import held", 0),
        ("cellmill.worker_process.worker", "from ..backends.local.pool import Pool", 1),
        ("cellmill.task", "if TYPE_CHECKING:\n    from .executor import Executor", 1),
        ("cellmill_widgets.progress", "from cellmill.executor import Executor", 1),
        ("cellmill_widgets.progress", "from cellmill.run_registry import Run", 0),
        ("cellmill.bench.page", "from benchmarks.figures import Figures", 1),
    ],
)
def test_the_check_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, code: str, count: int
) -> None:
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    path = tmp_path / "made.py"
    path.write_text(code)
    assert len(list(wrong_arrows(module, path))) == count
