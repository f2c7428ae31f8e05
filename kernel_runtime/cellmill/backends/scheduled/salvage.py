"""The results of a chunk when one of them does not unpickle: the others are saved.

They came as one pickle, so one object whose class is not importable here, or whose ``__setstate__`` raises, ends the
loading of all. Here the pickle is read again, slowly: what fails becomes a mark in the place of its object, what is
made from a mark becomes it too, and every result without a mark in it is good.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any, ClassVar

from ...serialization.payload import Area, opened_own


class NotLoaded:
    """Placeholder of an object that could not be unpickled, with the reason."""

    def __init__(self, problem: BaseException) -> None:
        self.problem = problem

    def __hash__(self) -> int:
        return id(self)


def mark_in(value: Any) -> NotLoaded | None:
    """The first mark in plain containers; objects with a mark in their state are marks themselves."""
    seen: set[int] = set()
    todo = [value]
    while todo:
        current = todo.pop()
        if type(current) is NotLoaded:
            return current
        if type(current) not in (list, tuple, dict, set, frozenset) or id(current) in seen:
            continue
        seen.add(id(current))
        if type(current) is dict:
            todo.extend(current.keys())
            todo.extend(current.values())
        else:
            todo.extend(current)
    return None


_PLAIN = (list, dict, set)
Step = Callable[[Any], None]


class _Salvager(pickle._Unpickler):
    """Python's own slow unpickler, whose steps can be guarded one by one."""

    dispatch: ClassVar[dict[int, Step]] = dict(pickle._Unpickler.dispatch)

    def find_class(self, module: str, name: str) -> Any:
        try:
            return super().find_class(module, name)
        except BaseException as problem:
            return NotLoaded(problem)


def _making(step: Step, operands: int) -> Step:
    """A step that makes an object of the last so many on the stack."""

    def run(unpickler: Any) -> None:
        stack = unpickler.stack
        depth = len(stack) - operands
        mark = mark_in(stack[depth:])
        if mark is None:
            try:
                step(unpickler)
                return
            except BaseException as problem:
                mark = NotLoaded(problem)
        del stack[depth:]
        stack.append(mark)

    return run


def _filling(step: Step, operands: int) -> Step:
    """A step that puts the last so many on the stack, or all since the mark for 0, into the object before them."""

    def run(unpickler: Any) -> None:
        stack = unpickler.stack
        depth = len(stack) - operands if operands else 0
        target = stack[depth - 1] if operands else unpickler.metastack[-1][-1]
        mark = target if type(target) is NotLoaded else None
        if mark is None and type(target) not in _PLAIN:
            mark = mark_in(stack[depth:])
        if mark is None:
            try:
                step(unpickler)
                return
            except BaseException as problem:
                mark = NotLoaded(problem)
        if operands:
            del stack[depth:]
        elif unpickler.stack is stack:
            unpickler.pop_mark()
        unpickler.stack[-1] = mark
        for key, value in unpickler.memo.items():
            if value is target:
                unpickler.memo[key] = mark

    return run


def _closing(step: Step) -> Step:
    """A step that makes an object of all since the mark."""

    def run(unpickler: Any) -> None:
        try:
            step(unpickler)
        except BaseException as problem:
            unpickler.append(NotLoaded(problem))

    return run


_STEPS = _Salvager.dispatch
_STEPS[pickle.FROZENSET[0]] = _closing(_STEPS[pickle.FROZENSET[0]])
for _code, _operands in ((pickle.REDUCE, 2), (pickle.NEWOBJ, 2), (pickle.NEWOBJ_EX, 3)):
    _STEPS[_code[0]] = _making(_STEPS[_code[0]], _operands)
for _code, _operands in (
    (pickle.BUILD, 1),
    (pickle.APPEND, 1),
    (pickle.SETITEM, 2),
    (pickle.APPENDS, 0),
    (pickle.SETITEMS, 0),
    (pickle.ADDITEMS, 0),
):
    _STEPS[_code[0]] = _filling(_STEPS[_code[0]], _operands)


def salvage(view: memoryview, area: Area | None = None) -> Any:
    """Unpickle as much as possible, with `NotLoaded` in the place of objects that cannot be made."""
    data, buffers = opened_own(view, area)
    return _Salvager(io.BytesIO(data), buffers=buffers).load()
