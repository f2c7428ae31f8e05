"""The number of threads of a worker's numeric libraries (BLAS, OpenMP): its share of the cores.

A library reads the environment once, when it is loaded; one that is loaded already is told by its own function. The
zygote loads all of them with one thread, so that it can be forked. What a task, an initializer or a module has set by
itself is left alone: only a library that uses as many threads as the environment said is told anew.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

COMMON = "OMP_NUM_THREADS"  # which the others go by where their own variable is not set
VARIABLES = (
    COMMON,
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


class _Kind(NamedTuple):
    variable: str
    file: re.Pattern[str]
    functions: tuple[tuple[str, str], ...]  # names under which it may have them: to ask, to set


def _named(prefix: str, suffix: str) -> tuple[str, str]:
    return f"{prefix}openblas_get_num_threads{suffix}", f"{prefix}openblas_set_num_threads{suffix}"


_KINDS = (
    _Kind(
        "OPENBLAS_NUM_THREADS",
        re.compile(r"lib(scipy_)?(openblas|blas)"),
        tuple(_named(prefix, suffix) for prefix in ("scipy_", "") for suffix in ("64_", "_64", "")),
    ),
    _Kind("MKL_NUM_THREADS", re.compile(r"libmkl_rt"), (("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),)),
    _Kind(
        "BLIS_NUM_THREADS",
        re.compile(r"libblis"),
        (("bli_thread_get_num_threads", "bli_thread_set_num_threads"),),
    ),
    _Kind(COMMON, re.compile(r"lib(gomp|iomp|omp)\b"), (("omp_get_max_threads", "omp_set_num_threads"),)),
)


class _Library(NamedTuple):
    variable: str
    get: Any
    set: Any


_found: dict[str, _Library] = {}  # by path
_told: dict[str, int] = {}  # by path: what was set here, as the library took it


def shared_out(count: int, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables to set for so many threads, without those that the user has set."""
    if COMMON in environment:
        return {}  # for all of them
    return {name: str(count) for name in VARIABLES if name not in environment}


def find() -> None:
    """See which libraries are loaded by now."""
    try:
        maps = Path("/proc/self/maps").read_text("utf-8", "replace")
    except OSError:
        return
    for path in set(re.findall(r"(/.*\.so\S*)$", maps, re.MULTILINE)):
        if path not in _found:
            for library in _opened(path):
                _found[path] = library


def _opened(path: str) -> Iterator[_Library]:
    kinds = [kind for kind in _KINDS if kind.file.match(path.rpartition("/")[2])]
    for kind in kinds:
        with contextlib.suppress(OSError):
            library = ctypes.CDLL(path)
            for get, to_set in kind.functions:
                if hasattr(library, get) and hasattr(library, to_set):
                    yield _Library(kind.variable, library[get], library[to_set])
                    return


def follow(now: Mapping[str, str], before: Mapping[str, str]) -> None:
    """Tell the libraries that were found what the environment says by now, where it said otherwise before."""
    for path, library in _found.items():
        count, was = (_count(each, library.variable) for each in (now, before))
        if count and count != was and library.get() == _told.get(path, was):
            library.set(count)
            _told[path] = library.get()


@contextlib.contextmanager
def limited(count: int | None) -> Iterator[None]:
    """Within it the environment and the libraries that were found say so many threads; None: as before."""
    if count is None:
        yield
        return
    before = dict(os.environ)
    os.environ.update(dict.fromkeys(VARIABLES, str(count)))
    now = dict(os.environ)
    follow(now, before)
    try:
        yield
    finally:
        for name in VARIABLES:
            if name in before:
                os.environ[name] = before[name]
            else:
                os.environ.pop(name, None)
        follow(before, now)


def changed(now: Mapping[str, str], before: Mapping[str, str]) -> bool:
    """Whether some library has something to be told."""
    return any(now.get(name) != before.get(name) for name in VARIABLES)


def _count(environment: Mapping[str, str], variable: str) -> int:
    """So many threads; 0: it does not say. OpenMP takes a list, by depth."""
    text = environment.get(variable) or environment.get(COMMON, "")
    first = text.partition(",")[0].strip()
    return int(first) if first.isdecimal() else 0
