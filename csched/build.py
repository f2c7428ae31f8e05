"""Makes both cffi modules of the scheduler from the marked region of include/csched.h.

``cellmill._csched`` releases the GIL around every call, as cffi does: for waits and large copies.
``cellmill._csched_held`` keeps it: for the bounded calls of the task path, which beside a busy Python thread would
otherwise wait a switch interval each.  The C code has no global state, so both work on the same objects.
"""

from __future__ import annotations

import os
from pathlib import Path

from cffi import FFI
from setuptools import Extension

HERE = Path(__file__).resolve().parent
HEADER = HERE / "include" / "csched.h"
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


def declarations() -> str:
    """The part of the public header that Python sees."""
    text = HEADER.read_text()
    return text.split("/* cffi: begin */")[1].split("/* cffi: end */")[0]


def _emit(name: str, prelude: str, out_dir: Path) -> Path:
    ffi = FFI()
    ffi.cdef(declarations())
    ffi.set_source(f"cellmill.{name}", prelude + '#include "csched.h"\n')
    out_dir.mkdir(parents=True, exist_ok=True)
    target = out_dir / f"{name}.c"
    ffi.emit_c_code(str(target))
    return target


def extensions(out_dir: Path) -> list[Extension]:
    """Emit the C of both modules into ``out_dir`` and return their setuptools extensions (limited API)."""
    sources = sorted(str(path) for path in (HERE / "src").glob("*.c"))
    flags = FLAGS + os.environ.get("CELLMILL_CFLAGS", "").split()
    return [
        Extension(
            f"cellmill.{name}",
            sources=[str(_emit(name, prelude, Path(out_dir))), *sources],
            include_dirs=[str(HERE / "include"), str(HERE / "src")],
            define_macros=[("Py_LIMITED_API", "0x030A0000")],
            py_limited_api=True,
            extra_compile_args=flags,
            extra_link_args=["-pthread", *os.environ.get("CELLMILL_CFLAGS", "").split()],
        )
        for name, prelude in (("_csched", ""), ("_csched_held", KEEP_GIL))
    ]
