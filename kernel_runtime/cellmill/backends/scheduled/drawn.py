"""Puts the random number streams of tasks into their payloads; see `cellmill.randomness.generators`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

from ...by_value import pickling
from ...cell_output import present_cell
from ...futures import Future
from ...process_context.settings import Settings
from ...randomness import streams
from ...randomness.generators import Board, Draws, in_shared_process, mentioned
from ...randomness.streams import Calls, Late, Root
from ...serialization import payload, read_only
from ...serialization.function_code import function_name
from ...serialization.functions import FunctionTable
from ...serialization.payload import Encoded
from .call_encoding import Inputs
from .chunks import Chunk

Pack = Callable[[Any, Callable[[Any], Encoded], Inputs], Encoded]


class Drawn:
    """Packs calls and chunks of one backend with the random number streams that they draw from."""

    def __init__(self, functions: FunctionTable) -> None:
        self._functions = functions
        self._calls = Calls()
        self._said_again = -1

    def call(self, function: Any, before: Draws | None) -> tuple[int, Draws | None]:
        """The function's number, and what this call of it draws from; ``before``: as it was said for the same call."""
        number = self._functions.number(function)
        generators: Sequence[Any] = ()
        if not number:
            number, generators = self._functions.drawing(function)
        if not generators and streams.seed is None:
            return number, None
        name = function_name(function)
        if generators:
            streams.say(function, name, generators)
        if before is None or len(before.keys) != len(generators):
            before = self._calls.next(streams.owner_of(function, name), generators)
        return number, before

    def travelling(
        self,
        function: Any,
        settings: Settings | None,
        draws: Draws | None,
        args: Any,
        kwargs: Any,
        pack: Pack,
    ) -> tuple[Encoded, Inputs]:
        """Pack a call that its function travels with."""
        name = function_name(function)
        owner, met = streams.owner_of(function, name), list[list[Any]]()

        def make(generators: list[Any], board: Board) -> Draws:
            met.append(generators)
            if draws is None:
                return self._calls.next(owner, generators, board)
            return draws._replace(keys=streams.keys_of(generators, owner, streams.CALL), board=board)

        body = [settings, function, draws, args, kwargs]
        if draws is None:
            body = [function, args, kwargs] if settings is None else [settings, function, args, kwargs]
        packed = _travelling(body, pack, make, lambda late: [settings, function, late, args, kwargs])
        for generators in filter(None, met):
            streams.say(function, name, generators)
        return packed

    def in_thread(self, function: Any) -> Any:
        """The function for one call with a seed in this process."""
        streams.say_shared()
        owner = streams.owner_of(function, function_name(function))
        made = in_shared_process(self._calls.next(owner, ()), function)
        return update_wrapper(made, function)

    # -- chunks

    def number(self, function: Any) -> int:
        """The function's number, also where it draws."""
        return self._functions.number(function) or self._functions.drawing(function)[0]

    def chunk(self, function: Any, chunk: Chunk) -> Draws | None:
        """Return the streams that a chunk's elements draw from: the state at the start of their map."""
        stream = chunk.stream
        place, generators = stream.generators_for(chunk.keys)
        if not generators and streams.seed is None and not stream.roots:
            return None
        root = stream.roots.get(place)
        if root is None:
            owner = streams.owner_of(function, function_name(function))
            root, again = self._calls.begin_map(owner, generators)
            stream.roots[place] = root
            self._say(function, chunk, generators, again)
        return root.draws(self._indexes(function, chunk, root))

    def _say(self, function: Any, chunk: Chunk, generators: Sequence[Any], again: bool) -> None:
        if not generators:
            return
        name = function_name(function)
        streams.say(function, name, generators, batch=chunk.stream.options.batch)
        if again and not isinstance(chunk.keys[0], Future) and self._said_again != present_cell.epoch():
            self._said_again = present_cell.epoch()  # once in a cell
            streams.say_again(function, name, generators)

    def _indexes(self, function: Any, chunk: Chunk, root: Root) -> Sequence[int]:
        """Places in the map; single calls of a batch function are counted."""
        keys = chunk.keys
        if type(keys) is range or all(type(key) is int for key in keys):
            return keys
        for key in keys:
            if key.index is None:
                key.index = self._calls.next_of_batch(
                    streams.owner_of(function, function_name(function)), root
                )
        return [key.index for key in keys]


def _travelling(
    body: Any,
    pack: Pack,
    make: Callable[[list[Any], Board], Draws],
    with_late: Callable[[Late], Any],
) -> tuple[Encoded, Inputs]:
    """Packed as it is; and where the function may have generators, again with stand-ins for them."""
    inputs = Inputs()
    encoded = pack(body, payload.encode, inputs)
    if not mentioned(encoded.texts):
        return encoded, inputs
    board, others = Board(), Inputs()

    def drawn(generators: list[Any]) -> Draws | None:
        return make(generators, board) if generators or board.streams else None

    late = with_late(Late(board, drawn))
    again = pack(late, lambda value: read_only.encode(value, board, pickling.Pickler), others)
    return (again, others) if board.generators or board.streams else (encoded, inputs)
