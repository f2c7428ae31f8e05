"""Makes the cffi modules of the scheduler from the marked regions of its headers.

``cellmill._csched`` releases the GIL around every call, as cffi does: for waits and large copies.
``cellmill._csched_with_gil`` keeps it: for the bounded calls of the task path, which beside a busy Python thread would
otherwise wait a switch interval each; and for what touches Python objects (python/).  The C code has no global state,
so both work on the same objects.  Both are of csched.h, csched_views.h,
csched_rows.h and csched_outside.h in include/.

``benchmarks._csched_lab`` has what only the laboratory needs, of lab/csched_lab.h.  It is made in a checkout and not
installed.

``python csched/build.py FOLDER`` makes a package for tests in FOLDER: a copy of ``cellmill`` whose modules are compiled
with CSCHED_FAULTS, so that workers can be made to end at each point of a task's path (src/fault.h).
"""

from __future__ import annotations

import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cffi import FFI
from setuptools import Distribution, Extension
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).resolve().parent
HEADERS = [
    HERE / "include" / name for name in ("csched.h", "csched_views.h", "csched_rows.h", "csched_outside.h")
]
WITH_GIL = [
    HERE / "python" / name
    for name in (
        "aside.h",
        "boundary.h",
        "calls.h",
        "capture.h",
        "elements.h",
        "pickle_texts.h",
        "plain_data.h",
        "settings.h",
        "stacks.h",
        "submit.h",
        "take.h",
        "threads.h",
    )
]
FOLDERS = [HERE / folder for folder in ("include", "src", "python", "lab")]
FLAGS = [
    "-std=c11",
    "-O2",
    "-g",
    "-Wall",
    "-Wextra",
    "-Wno-unused-parameter",
    "-fvisibility=hidden",
    "-pthread",
]
KEEP_GIL = """
#include <Python.h>
#undef Py_BEGIN_ALLOW_THREADS
#undef Py_END_ALLOW_THREADS
#define Py_BEGIN_ALLOW_THREADS {
#define Py_END_ALLOW_THREADS }
"""


def declarations(header: Path, faults: bool = False) -> str:
    """The part of a header that Python sees."""
    text = header.read_text()
    seen = text.split("/* cffi: begin */")[1].split("/* cffi: end */")[0]
    if faults and "/* cffi: faults begin */" in text:
        seen += text.split("/* cffi: faults begin */")[1].split("/* cffi: faults end */")[0]
    return seen


def _emit(name: str, prelude: str, headers: list[Path], out_dir: Path, faults: bool) -> Path:
    ffi = FFI()
    for header in headers:
        ffi.cdef(declarations(header, faults))
    ffi.set_source(name, prelude + "".join(f'#include "{header.name}"\n' for header in headers))
    out_dir.mkdir(parents=True, exist_ok=True)
    target = out_dir / f"{name.rpartition('.')[2]}.c"
    ffi.emit_c_code(str(target))
    return target


def extensions(out_dir: Path, faults: bool = False) -> list[Extension]:
    """Emit the C of both modules into ``out_dir`` and return their setuptools extensions (limited API)."""
    calls = [str(path) for path in sorted((HERE / "python").glob("*.c"))]
    return [
        _extension("cellmill._csched", "", HEADERS, [], out_dir, faults),
        _extension("cellmill._csched_with_gil", KEEP_GIL, [*HEADERS, *WITH_GIL], calls, out_dir, faults),
    ]


def lab_extension(out_dir: Path) -> Extension:
    """The same of the module of the laboratory, which keeps the GIL as well."""
    sources = [str(path) for path in sorted((HERE / "lab").glob("*.c"))]
    return _extension("benchmarks._csched_lab", KEEP_GIL, [HERE / "lab" / "csched_lab.h"], sources, out_dir)


def _extension(
    name: str, prelude: str, headers: list[Path], more: list[str], out_dir: Path, faults: bool = False
) -> Extension:
    """A module of ``more`` and, added when it is built, of the objects of src/."""
    flags = os.environ.get("CELLMILL_CFLAGS", "").split()
    return Extension(
        name,
        sources=[str(_emit(name, prelude, headers, Path(out_dir), faults)), *more],
        depends=[*_headers(), *_sources()],
        include_dirs=[str(folder) for folder in FOLDERS],
        define_macros=[("Py_LIMITED_API", "0x030B0000"), *([("CSCHED_FAULTS", "1")] if faults else [])],
        py_limited_api=True,
        extra_compile_args=FLAGS + flags,
        extra_link_args=["-pthread", *flags],
    )


def _sources() -> list[str]:
    return sorted(str(path) for path in (HERE / "src").glob("*.c"))


def _headers() -> list[str]:
    return sorted(str(path) for folder in FOLDERS for path in folder.glob("*.h"))


class _Build(build_ext):
    """Compiles src/ once for all modules, on all processors."""

    def build_extensions(self) -> None:
        one = self.extensions[0]
        newest = max(os.stat(header).st_mtime for header in _headers())

        def compiled(source: str) -> str:
            (target,) = self.compiler.object_filenames([source], output_dir=self.build_temp)
            if not os.path.exists(target) or os.stat(target).st_mtime < max(newest, os.stat(source).st_mtime):
                self.compiler.compile(
                    [source],
                    output_dir=self.build_temp,
                    macros=one.define_macros,
                    include_dirs=one.include_dirs,
                    extra_postargs=one.extra_compile_args,
                )
            return str(target)

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(pool.map(compiled, _sources()))
        for extension in self.extensions:
            extension.extra_objects = objects
        super().build_extensions()


def compile_modules(modules: list[Extension], library: Path, scratch: Path) -> None:
    """Compile these modules into the folder ``library``; objects stay in ``scratch`` for the next time."""
    command = _Build(Distribution({"name": "cellmill", "ext_modules": modules}))
    command.build_lib = str(library)
    command.build_temp = str(scratch)
    command.ensure_finalized()
    command.run()


def build_with_faults(folder: Path) -> None:
    """Make or renew the package for tests in ``folder``, which is then put in front of PYTHONPATH.

    It is a copy, not links: the zygote starts from the place where its own files really lie.
    """
    package = HERE.parent / "kernel_runtime" / "cellmill"
    shutil.copytree(
        package,
        folder / "cellmill",
        ignore=shutil.ignore_patterns("*.so", "__pycache__", "labextension"),
        dirs_exist_ok=True,
    )
    scratch = folder / "build"
    compile_modules(extensions(scratch, faults=True), folder, scratch / "objects")


if __name__ == "__main__":
    build_with_faults(Path(sys.argv[1]).resolve())
