"""Packing a call: pickled arguments, and the futures among them as inputs of the task."""

from __future__ import annotations

from collections.abc import Callable, Collection
from types import FunctionType, ModuleType
from typing import Any

from ...by_value import iterators, replacements, views
from ...by_value.argument_names import Found, Sent, in_arguments
from ...by_value.iterators import ITERATORS
from ...by_value.module_reads import classes_in, is_own
from ...by_value.pickling import meeting
from ...diagnostics import notices
from ...errors import PayloadError, UsageError
from ...futures import FINISHED, OVER, Future, FutureOwner
from ...randomness import own_streams
from ...serialization import foreign, payload
from ...serialization.awaited import ElementInput
from ...serialization.function_code import function_name
from ...serialization.payload import Encoded
from ...serialization.pieces import Refusal
from ...serialization.shared import Shared, ShareError, share
from ...serialization.unpicklable import explain_argument
from .sharing import Sharing

MOST_IN_LINE = 256  # bytes of names in a call, of which views tell the arguments; more are shared


class Inputs(list[Future]):
    """The futures a call waits for, in order; the tickets of those that were over, whose values go along; the numbers
    of the shared objects it refers to; what has to be held until the task is over; and the worker that has it.
    """

    held: list[Any] | None = None
    warm: int | None = None
    stays = 0  # bytes that other workers than that one have to fetch from it
    over: list[int] | None = None
    shares: set[int] | None = None
    needs = 0  # one number for all of them
    places: dict[int, int] | None = None  # of those that several elements have

    def common(self, future: Future) -> int:
        """The place of a future that several elements have: it is an input once."""
        if self.places is None:
            self.places = {}
        place = self.places.setdefault(id(future), len(self))
        if place == len(self):
            self.append(future)
        return place

    def forget(self) -> None:
        """Be empty again."""
        self.clear()
        self.places = None
        self.held = self.warm = self.over = self.shares = None
        self.needs = self.stays = 0


class FailedInput(Exception):
    """An input of the call being packed has failed already."""

    def __init__(self, cause: Future) -> None:
        super().__init__()
        self.cause = cause


class AwaitedInput(Exception):
    """An input of the call being packed is not over, and the scheduler does not know it."""

    def __init__(self, future: Future) -> None:
        super().__init__()
        self.future = future

    def wait(self) -> None:
        """Return when it is over, also if it was cancelled."""
        if self.future._state not in OVER:
            self.future._owner.wait(self.future, None)


def pack(
    owner: FutureOwner,
    sharing: Sharing,
    function: Any,
    body: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    inputs: Inputs,
    encode: Callable[[Any], Encoded] = payload.encode,
) -> Encoded:
    """Pickle ``body``; futures in it, however deep, are added to ``inputs``.

    Raises `PayloadError` naming the argument that cannot be pickled, `FailedInput`, `AwaitedInput`, or `StaleInput`.
    """
    foreign.look()
    for value in (*args, *kwargs.values()):
        kind = type(value)
        if kind is FunctionType:
            replacements.look_at(value)
        elif kind is ModuleType and is_own(value):
            _tell_of_module(value, function)
        elif kind in ITERATORS:
            iterators.tell_of(kind, function_name(function), function)
    own_streams.given((*args, *kwargs.values()), function_name(function), function)
    here = payload.inputs
    # of a call whose arguments submit tasks while they are pickled
    before = here.packing, here.foreign, here.again
    here.packing = lambda future: _place(owner, sharing, future, inputs)
    here.foreign = lambda thing: _foreign(sharing, thing, inputs)
    here.again = inputs.forget
    try:
        encoded = encode(body)
    except (FailedInput, AwaitedInput, UsageError, KeyboardInterrupt):
        raise
    except Refusal as refused:  # an element could not be packed when it was taken
        raise refused.error from refused.error.__cause__
    except ShareError as error:
        raise PayloadError(f"{function_name(function)} cannot be called: {error}") from error.__cause__
    except BaseException as error:  # an object that exits when it is pickled does not end the notebook
        # Stop ends the search for the culprit, too: nothing is told in its place.
        passed = (KeyboardInterrupt,)
        name = function_name(function)
        its = None if type(function) is FunctionType else getattr(function, "__self__", function)
        raise explain_argument(name, args, kwargs, error, passed, its) from error
    finally:
        here.packing, here.foreign, here.again = before
    if inputs.shares:
        inputs.needs = sharing.group(inputs.shares)
    return encoded


class Packing:
    """Packs what is to be sent, and with it what functions and objects among the arguments read by name of modules.

    ``pack``: `pack` of the function; ``with_names`` returns a body with these names. ``readers``: functions that read
    data of the user's modules, as may what the results of other tasks are made of.
    """

    def __init__(
        self,
        function: Any,
        pack: Callable[..., Encoded],
        with_names: Callable[[Any, Any], Any],
        readers: Callable[[], Collection[Any]],
    ) -> None:
        self._function = function
        self._pack = pack
        self._with_names = with_names
        self._readers = readers
        self._names: Any = None  # once the arguments were packed

    def __call__(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        body: Any,
        encode: Callable[[Any], Encoded],
        inputs: Inputs,
        *,
        plain: bool = False,
    ) -> Encoded:
        """Pack a body with these arguments; a second one with what the first has found out about them. ``plain``: they
        are plain data.
        """
        if plain:
            return self._pack(body, args, kwargs, inputs, encode)
        if self._names is None:
            before, meeting.met = meeting.met, []
            try:
                encoded = self._pack(body, args, kwargs, inputs, encode)
                makers = self._readers() if inputs or inputs.held else None
                found = in_arguments(encoded.texts, meeting.met, makers)
                self._names = found and found.sent(_shared_if_large)
                self._tell(found)
            finally:
                meeting.met = before
            if self._names is None:
                return encoded
            inputs.forget()
        return self._pack(self._with_names(body, self._names), args, kwargs, inputs, encode)

    def _tell(self, found: Found | None) -> None:
        """Warn of random numbers that tasks would draw alike."""
        if found is not None and found.generators:
            name = function_name(self._function)
            shown = notices.listed(found.generators)
            notices.give(
                ("generators that arguments read", name, shown),
                f"a function or object among the arguments of {name} draws from {shown}. Each worker has a copy of it, "
                "and draws the numbers that the others draw. Give each call a generator or a seed of its own, or let "
                f"{name} refer to what draws by its name: then each task draws from a child of it.",
                self._function,
            )


def _shared_if_large(names: Sent) -> Sent | Shared:
    return names if len(names.data) <= MOST_IN_LINE else share(names)


def _tell_of_module(module: ModuleType, function: Any) -> None:
    name, called = module.__name__, function_name(function)
    notices.give(
        ("module as an argument", name, called),
        f"{called} is given the module {name}. A task finds in it what the module's file sets, or other tasks there "
        "have set, and not what was set in it here. Pass the values that it needs, or name the module in the function "
        f"(import {name}): what the function reads by name goes along.",
        function,
    )


def is_owned_by(owner: FutureOwner, future: Any) -> bool:
    """Whether the scheduler knows the future's task; others come to an end first, and their values are sent along."""
    return getattr(future, "_owner", None) is owner and future._ticket != 0


def _place(owner: FutureOwner, sharing: Sharing, future: Any, inputs: Inputs) -> tuple[Any, tuple[Any, ...]]:
    """Return what replaces a future or a shared object in pickled arguments: its position among the inputs, or its
    value.
    """
    if type(future) is Shared:
        if inputs.shares is None:
            inputs.shares = set()
        if meeting.met is not None:
            meeting.met.extend(classes_in(future.value))
        return sharing.refer(future, inputs.shares)
    element = None
    if type(future) is ElementInput:
        element, future = future, future.future
    owned = is_owned_by(owner, future)
    if future._state not in OVER:
        if owned:
            if element is not None and not element.alone:
                return payload.load_input, (inputs.common(future), True)
            inputs.append(future)
            return payload.load_input, (len(inputs) - 1,)
        raise AwaitedInput(future)
    if future._state != FINISHED or future._exception is not None:
        raise FailedInput(future)
    kept = None
    if owned:
        note_over(future, inputs)
        kept = future.unread() if element is None else element.awaited.outside or future.unread()
    if kept is None and element is not None:
        if not element.alone:  # or the elements of a chunk would get one object
            future.keep(element.awaited)
        packed = element.kept()
        if packed is not None:
            return packed
    if kept is None:
        views.keep_those_of(future._result)  # the look at the arguments has seen the future in its place
        return payload.same, (future._result,)
    _hold(kept, inputs)
    if inputs.warm is None or kept.stays > inputs.stays:
        inputs.warm, inputs.stays = kept.lane, kept.stays
    reduction: tuple[Any, tuple[Any, ...]] = kept.reduced()
    return reduction


def _foreign(sharing: Sharing, thing: Any, inputs: Inputs) -> tuple[Any, tuple[Any, ...]]:
    """Return what replaces something of another runtime in pickled arguments."""
    reduced, held = sharing.foreign(thing)
    _hold(held, inputs)
    return reduced


def _hold(thing: Any, inputs: Inputs) -> None:
    if inputs.held is None:
        inputs.held = []
    inputs.held.append(thing)


def note_over(future: Any, inputs: Inputs) -> None:
    """Log the edge for views: the scheduler does not know of this input, whose task it knows."""
    if inputs.over is None:
        inputs.over = []
    inputs.over.append(future._ticket)


def add_input(owner: FutureOwner, future: Any, inputs: Inputs) -> None:
    """An ``after=``: the task waits for it and does not use its value."""
    if future._state not in OVER:
        if is_owned_by(owner, future):
            inputs.append(future)
            return
        raise AwaitedInput(future)
    if future.cancelled() or future._exception is not None:  # which was not asked for
        raise FailedInput(future)
    if is_owned_by(owner, future):
        note_over(future, inputs)
