"""Turns Ray's errors into messages that say what to do."""

from __future__ import annotations

import re

_DETAIL = re.compile(r"Worker exit type: (\w+) Worker exit detail: (.*)", re.DOTALL)
_MISSING = re.compile(
    r"No module named '?cellmill|cannot import name .* from 'cellmill|ModuleNotFoundError.*cellmill"
)


def in_plain_words(error: BaseException, address: str | None) -> str:
    """Why no cluster could be had, and the next step."""
    text = str(error).strip() or type(error).__name__
    where = f"the Ray cluster at {address}" if address else "a local Ray"
    if _MISSING.search(text):
        return missing(where)
    if "Version mismatch" in text or ("version" in text.lower() and "differ" in text):
        return (
            f"{where} has other versions than this kernel: {first_lines(text, 6)}. "
            "Install the versions of Ray and Python here that the cluster has."
        )
    if "ray[client]" in text or (isinstance(error, ImportError) and "grpc" in text):
        return f"an address with ray:// needs Ray's client: pip install 'ray[client]'. Ray says: {first_lines(text)}"
    if "find an active node" in text or "node has an IP address" in text or "Can't find a node" in text:
        return (
            f"{where} answers, but this machine is no node of it. Use its client port, ray://HOST:10001, or run "
            f"`ray start --address={address}` here first. Ray says: {first_lines(text)}"
        )
    if address:
        return f"{where} cannot be used: {type(error).__name__}: {first_lines(text, 6)}"
    return (
        f"a local Ray did not start: {type(error).__name__}: {first_lines(text, 6)}. "
        "Is there memory and room in /dev/shm and in the folder for temporary files?"
    )


def is_missing(text: str) -> bool:
    """Whether the workers lack Cellmill: trying again would not help."""
    return _MISSING.search(text) is not None


def missing(where: str) -> str:
    """Cellmill cannot be imported by the workers."""
    return (
        f"the workers of {where} cannot import Cellmill. Install it on its nodes, or let Ray do so: "
        'Executor(backend="ray", ..., init={"runtime_env": {"pip": ["cellmill"]}}).'
    )


def not_made(error: BaseException, where: str) -> str:
    """Why an actor did not come to life."""
    text = str(error)
    if _MISSING.search(text):
        return missing(where)
    return f"a worker did not start on {where}. Ray says: {last_lines(text, 8)}"


def lost(error: BaseException) -> str:
    """Return how an actor ended, in words."""
    text = str(error)
    if "OutOfMemory" in type(error).__name__ or "memory monitor" in text:
        return f"its node ran out of memory, and Ray ended it ({first_lines(text)})"
    found = _DETAIL.search(text)
    if found is None:
        return f"Ray says: {first_lines(text)}"
    detail = first_lines(found[2].partition(" Some common causes")[0].partition(" There are some")[0])
    if "End of file" in detail:
        return (
            "its process ended from one moment to the next, as by a signal (out of memory, a crash of native code) or "
            "os._exit, and Ray does not tell by which"
        )
    return f"{detail} ({found[1]})"


def first_lines(text: str, count: int = 1) -> str:
    """The first lines that say something, in one."""
    return " ".join(line.strip() for line in text.strip().splitlines()[:count]).removesuffix(".")


def last_lines(text: str, count: int) -> str:
    """The last lines, as they are."""
    return "\n".join(text.strip().splitlines()[-count:])
