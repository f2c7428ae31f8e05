"""Stop at each instruction of Cellmill's code at which the interpreter answers signals, one after another."""

from __future__ import annotations

import dis
import signal
import sys
import weakref
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

# By identity: the hash of code is that of all its instructions.
_known: dict[int, tuple[CodeType, set[int]]] = {}


def _answers(code: CodeType) -> set[int]:
    """Offsets of the instructions before which signals are answered: after a call, at the begin, where a jump back
    leads to.
    """
    known = _known.get(id(code))
    if known is None:
        known = _known[id(code)] = code, set(_answered(code))
    return known[1]


def _answered(code: CodeType) -> Iterator[int]:
    after = False
    for each in dis.get_instructions(code):
        if after:
            yield each.offset
        after = each.opname.startswith(("RESUME", "CALL"))
        if "JUMP_BACKWARD" in each.opname and not each.opname.endswith("NO_INTERRUPT"):
            # not the instruction behind the jump: the end of a `with` there would never be interrupted
            yield each.argval


def _in_finalizer(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name == "__del__" or frame.f_code is weakref.finalize.__call__.__code__:
            return True
        frame = frame.f_back
    return False


class _Stop:
    """Traces calls, and sends SIGINT at one of these instructions."""

    def __init__(self, step: int) -> None:
        self.left = step

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        if "/cellmill/" not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes = True
        return self._trace

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "opcode" and frame.f_lasti in _answers(frame.f_code):
            self.left -= 1
            if not self.left and _in_finalizer(frame):  # Python prints what is raised there and goes on
                self.left = 1
            elif not self.left:
                signal.raise_signal(signal.SIGINT)
        return self._trace


def stopped(call: Callable[[], Any], step: int) -> bool:
    """Call it, with Stop at that step; whether there are so many."""
    stop = _Stop(step)
    sys.settrace(stop)
    try:
        call()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(None)
    return stop.left <= 0


def each_step(every: int, prepare: Callable[[int], Callable[[], Any]]) -> Iterator[int]:
    """Stop what ``prepare(step)`` gives at that step, one step after another; to be checked after each."""
    step = 1
    while True:
        reached = stopped(prepare(step), step)
        yield step
        if not reached:
            return
        step += every
