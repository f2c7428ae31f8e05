"""Time by stack, as the process that takes the samples keeps it, and as it tells what is new."""

from __future__ import annotations

import os
from typing import Any

from ..errors import OWN_FOLDER

OTHERS = "…"  # the name of a frame that stands for those that did not fit
MOST_NODES = 4000
MOST_DEPTH = 96  # frames of user code; what is called below counts for the last of them
MOST_NAME, MOST_FILE = 120, 240  # characters
ROOT = -1

NewNode = tuple[
    int, str, str, int
]  # parent, function's name, file, first line; a root: ROOT, "", "", function
Times = dict[tuple[int, int], list[int]]  # by node and line: nanoseconds, samples

_IMPORTS = "<frozen importlib"
_OURS = OWN_FOLDER + os.sep
_NOT_USER_CODE = os.path.join(OWN_FOLDER, "serialization", "")  # arguments are loaded, results packed
# What looks at arguments, captured objects and random streams around a call; of it these call the function.
_LOOKS = os.path.join(OWN_FOLDER, "by_value", ""), os.path.join(OWN_FOLDER, "randomness", "")
_CALLS = frozenset(("__call__", "batch", "call"))
_RUNS_BATCHES = os.path.join(_NOT_USER_CODE, "chunk_outcomes.py")


def user_part(stack: list[Any], base: Any) -> list[Any] | None:
    """Return code and line of each frame of user code in turn, the outermost first; empty while a task that is native
    code runs, None where none runs.

    ``stack`` has the innermost frame first (see `process_context.stacks`). ``base`` is the code of the loop that calls
    tasks: what is above it, and Cellmill's own frames next to it, are left out.
    """
    try:
        end = len(stack) - 1 - stack[::-1].index(base)
    except ValueError:  # deeper than what is read
        return _outermost_first(stack) if stack else None
    while end >= 0 and stack[end].co_filename.startswith(_OURS):
        name = stack[end].co_filename
        if name.startswith(_NOT_USER_CODE) and name != _RUNS_BATCHES:
            return None
        end -= 2
    if end >= 0 and stack[end].co_filename.startswith(_IMPORTS):
        return None  # an import of Cellmill's own
    caller = stack[end + 2]
    if caller.co_filename.startswith(_LOOKS) and caller.co_name not in _CALLS:
        return None  # such as `random.getstate`, called by Cellmill
    return _outermost_first(stack[: end + 2])


def _outermost_first(stack: list[Any]) -> list[Any]:
    turned: list[Any] = []
    for at in range(len(stack) - 2, -1, -2):
        if not stack[at].co_filename.startswith(
            _OURS
        ):  # a parallel function that a task calls is a plain one
            turned += stack[at : at + 2]
    return turned


class CallTree:
    """A tree of calls with the time of each; not thread-safe."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[int, Any], int] = {}  # by parent, and identity of the code
        self._kept: list[Any] = []  # codes, so that their identities stay theirs
        self._python: set[int] = set()  # functions that were seen in Python code
        self._new: list[NewNode] = []
        self._times: Times = {}

    def add(self, function: int, frames: list[Any], ns: int) -> None:
        """A sample: the function's number, the frames as `user_part` returns them, and the time it stands for.

        Without frames it is of a function that is native code, or it came between two calls of one that is not.
        """
        if not frames and function in self._python:
            return
        node = self._nodes.get((ROOT, function))
        if node is None:
            node = self._make((ROOT, function), (ROOT, "", "", function))
        if frames:
            self._python.add(function)
        line = 0
        for at in range(0, min(len(frames), 2 * MOST_DEPTH), 2):
            code, line = frames[at], frames[at + 1] or 0
            key = (node, id(code))
            found = self._nodes.get(key)
            if found is None:
                if len(self._nodes) >= MOST_NODES:
                    node, line = self._others(node), 0
                    break
                self._kept.append(code)
                place = (code.co_qualname[:MOST_NAME], code.co_filename[-MOST_FILE:], code.co_firstlineno)
                found = self._make(key, (node, *place))
            node = found
        time = self._times.setdefault((node, line), [0, 0])
        time[0] += ns
        time[1] += 1

    def _make(self, key: tuple[int, Any], node: NewNode) -> int:
        number = self._nodes[key] = len(self._nodes)
        self._new.append(node)
        return number

    def _others(self, parent: int) -> int:
        key = (parent, None)
        found = self._nodes.get(key)
        return self._make(key, (parent, OTHERS, "", 0)) if found is None else found

    def news(self) -> tuple[int, list[NewNode], Times]:
        """Return what came since the last call: number of the first new node, the new nodes, and the times."""
        new, times = self._new, self._times
        self._new, self._times = [], {}
        return len(self._nodes) - len(new), new, times
