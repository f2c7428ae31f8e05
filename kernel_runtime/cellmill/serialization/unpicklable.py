"""What cannot be pickled is named, with the place in it, the reason and what to do instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import CoroutineType, GeneratorType
from typing import Any

from ..by_value import unsettled
from ..errors import PayloadError, in_words, text_of
from . import remedies
from .payload import Encoded, encode

_TOO_LARGE = (
    "Strided and broadcast arrays are copied whole: send the parts they are made of, or the name of a file."
)
_TOO_DEEP = (
    "it is nested deeper than Python's recursion limit lets pickle go. sys.setrecursionlimit(20_000) {where} lets it "
    "go deeper; a flat structure, such as a list of the nodes, needs no limit."
)
_USUAL_PICKLING = ("__reduce_ex__", "__reduce__", "__getstate__")
_CONTAINERS = (list, tuple, set, frozenset, dict)
_DEEPEST, _MOST_PARTS = 20, 10_000  # of what is looked through for something that cannot be pickled
_DATA = "Return data (numbers, text, arrays, dicts) instead."
_INSTEAD: dict[type, str] = {
    GeneratorType: f"{_DATA} Of a generator that is list(...) of it.",
    CoroutineType: "An async function has not run when it returns: submit one that runs it, asyncio.run(f(x)).",
}
Passed = tuple[type[BaseException], ...]  # kinds of errors that end the search


def explain_argument(
    function: str,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    error: BaseException,
    passed: Passed = (),
    owner: Any = None,
) -> PayloadError:
    """Find the argument that cannot be pickled and say so; errors of the kinds ``passed`` end the search.

    ``owner``: the object whose method is called.
    """
    named = [(f"argument {i + 1}", a) for i, a in enumerate(args)] + [
        (f"argument {k!r}", v) for k, v in kwargs.items()
    ]
    culprit, inside, advice = f"the arguments of {function}", "", ""
    for name, value in [*named, ("the object", owner)]:
        found = _problem(value, passed)
        if found is not None:
            culprit = f"{name} of {function}, a {type(value).__name__},"
            inside, error, advice = _inside(value, found, passed)
            break
    if isinstance(error, MemoryError):
        return PayloadError(
            f"{culprit} cannot be sent to a worker: there is not enough memory to pickle it. {_TOO_LARGE}"
        )
    if unsettled.changed_meanwhile(error):
        return PayloadError(f"{culprit} cannot be sent to a worker: {unsettled.ADVICE}")
    if _endless(error, passed):
        return PayloadError(
            f"{culprit} cannot be sent to a worker: {_TOO_DEEP.format(where='before the call')}"
        )
    if advice:
        return PayloadError(
            f"{culprit} cannot be sent to a worker{f': {inside}' if inside else '. '}{advice}"
        )
    return PayloadError(
        f"{culprit} cannot be sent to a worker: {inside}{in_words(error, passed)}. Open files, locks, sockets, "
        "generators and the like stay in one process: create them inside the function, or once per worker "
        "with @cellmill.per_worker."
    )


def explain_shared(value: Any, error: BaseException, passed: Passed = ()) -> PayloadError:
    """An object that tasks are to share cannot be pickled: say what in it, and why; ``passed`` as above."""
    if isinstance(error, MemoryError):
        reason = f"there is not enough memory to pickle it. {_TOO_LARGE}"
    elif unsettled.changed_meanwhile(error):
        reason = unsettled.ADVICE
    else:
        inside, error, _ = _inside(value, error, passed)
        words = in_words(error, passed)
        reason = f"{inside}{words}. What stays in one process is made in each worker: @cellmill.per_worker."
    return PayloadError(f"the shared {type(value).__qualname__} cannot be sent to workers: {reason}")


class Partial:
    """A result of which the rest can be sent where a part cannot."""

    __slots__ = ()

    def without(self, error: BaseException) -> Any:
        """The rest; ``error`` is why it cannot be pickled as a whole."""
        raise NotImplementedError


def encode_rest(function: str, value: Any, error: BaseException) -> Encoded:
    """Encode the rest of a partial result that cannot be pickled; raise PayloadError for other results."""
    return encode(rest(function, value, error))


def rest(function: str, value: Any, error: BaseException) -> Any:
    """The same, not encoded."""
    if issubclass(type(value), Partial):  # `isinstance` would ask a proxy for its class
        return value.without(error)
    raise explain_result(function, value, error).with_traceback(error.__traceback__) from None


def explain_result(function: str, value: Any, error: BaseException) -> PayloadError:
    """Return an error that says what in a task's result cannot be pickled, and why."""
    return explain_sent_back(f"the result of {function}", value, error)


def explain_sent_back(what: str, value: Any, error: BaseException) -> PayloadError:
    """Return an error that says why a value cannot be sent back; ``what`` names the value."""
    if isinstance(error, MemoryError):
        reason = f"there is not enough memory to pickle it. {_TOO_LARGE}"
    elif _endless(error, ()):
        reason = _TOO_DEEP.format(where="in the function")
    else:
        inside, error, _ = _inside(value, error)
        reason = f"{inside}{in_words(error)}. {_INSTEAD.get(type(value), _DATA)}"
    return PayloadError(f"{what}, a {type(value).__name__}, cannot be sent back: {reason}")


def _problem(value: Any, passed: Passed = ()) -> BaseException | None:
    """Return the error that pickling a value raises, or None."""
    try:
        encode(value)
    except passed:
        raise
    except BaseException as error:
        return error
    return None


def _inside(value: Any, error: BaseException, passed: Passed = ()) -> tuple[str, BaseException, str]:
    """Return the path in ``value`` to the innermost object that cannot be pickled, as text, its error, and what to do
    in the place of sending it, where it is there by itself or in plain containers: what an object has is its own.
    """
    path, seen, of_object, advice = "", {id(value)}, False, ""
    while path.count("[") + path.count(".") < _DEEPEST and not _endless(error, passed):
        if not of_object and (advice := remedies.advice(value)):
            break
        of_object = of_object or type(value) not in _CONTAINERS
        for step, part in _parts(value, passed):
            found = None if id(part) in seen else _problem(part, passed)
            seen.add(id(part))
            if found is not None:
                path, value, error = path + step, part, found
                break
        else:
            break
    return (f"in it, {path} is a {type(value).__name__}. " if path else ""), error, advice


def _endless(error: BaseException, passed: Passed) -> bool:
    return isinstance(error, RecursionError) or "recursion" in text_of(error, passed)


def _parts(value: Any, passed: Passed) -> Iterator[tuple[str, Any]]:
    """Yield (path step, part) of plain containers, and of objects that are pickled by their attributes."""
    kind = type(value)
    if kind in (list, tuple, set, frozenset):
        what = "[{}]" if kind in (list, tuple) else ".element{}"
        yield from ((what.format(i), part) for i, part in enumerate(unsettled.first_of(value, _MOST_PARTS)))
    elif kind is dict:
        yield from (
            (f"[{text_of(key, passed)[:40]!r}]", part)
            for key, part in unsettled.first_of(value.items(), _MOST_PARTS)
        )
    elif all(getattr(kind, name) is getattr(object, name) for name in _USUAL_PICKLING):
        attributes = getattr(value, "__dict__", None)
        if type(attributes) is dict:
            yield from ((f".{name}", part) for name, part in attributes.copy().items())
