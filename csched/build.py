"""Makes both cffi modules of the scheduler from the marked region of include/csched.h.

``cellmill._csched`` releases the GIL around every call, as cffi does: for waits and large copies.
``cellmill._csched_held`` keeps it: for the bounded calls of the task path, which beside a busy Python thread would
otherwise wait a switch interval each; and for what touches Python objects (python/).  The C code has no global state,
so both work on the same objects.
"""

from __future__ import annotations

import os
from pathlib import Path

from cffi import FFI
from setuptools import Extension

HERE = Path(__file__).resolve().parent
HEADER = HERE / "include" / "csched.h"
CALLS = HERE / "python" / "calls.h"  # needs the GIL
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


def declarations(header: Path) -> str:
    """The part of a header that Python sees."""
    return header.read_text().split("/* cffi: begin */")[1].split("/* cffi: end */")[0]


def _emit(name: str, prelude: str, headers: list[Path], out_dir: Path) -> Path:
    ffi = FFI()
    for header in headers:
        ffi.cdef(declarations(header))
    ffi.set_source(f"cellmill.{name}", prelude + "".join(f'#include "{header.name}"\n' for header in headers))
    out_dir.mkdir(parents=True, exist_ok=True)
    target = out_dir / f"{name}.c"
    ffi.emit_c_code(str(target))
    return target


def extensions(out_dir: Path) -> list[Extension]:
    """Emit the C of both modules into ``out_dir`` and return their setuptools extensions (limited API)."""
    sources = sorted(str(path) for path in (HERE / "src").glob("*.c"))
    calls = [str(path) for path in sorted((HERE / "python").glob("*.c"))]
    flags = FLAGS + os.environ.get("CELLMILL_CFLAGS", "").split()
    return [
        Extension(
            f"cellmill.{name}",
            sources=[str(_emit(name, prelude, headers, Path(out_dir))), *more, *sources],
            include_dirs=[str(HERE / "include"), str(HERE / "src"), str(HERE / "python")],
            define_macros=[("Py_LIMITED_API", "0x030A0000")],
            py_limited_api=True,
            extra_compile_args=flags,
            extra_link_args=["-pthread", *os.environ.get("CELLMILL_CFLAGS", "").split()],
        )
        for name, prelude, headers, more in (
            ("_csched", "", [HEADER], []),
            ("_csched_held", KEEP_GIL, [HEADER, CALLS], calls),
        )
    ]
