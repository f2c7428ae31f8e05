"""Single calls that travel as elements of a stream: those of a batch function, which go out together, and those that
take the future of such a call, or of another executor's, as an argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...process_context.interrupts import uninterrupted
from ...process_context.settings import Settings
from ...serialization.function_code import function_name
from ...serialization.functions import FunctionTable
from ...serialization.packer import Packer
from ...task import TaskOptions
from .batch_elements import BATCH_ELEMENTS, BatchElement
from .protocols import StreamHost
from .stream import Stream

MOST_KEPT = 32  # streams; of more, those without unfinished calls go

Packers = Callable[..., Callable[[bool], Packer] | None]


class GatheredCalls:
    """The streams of one backend's single calls, one for equal function, options, run and settings."""

    def __init__(
        self,
        host: StreamHost,
        functions: FunctionTable,
        settings: Callable[[], Settings | None],
        packer: Packers,
    ) -> None:
        self._host = host
        self._functions = functions
        self._settings = settings
        self._packer = packer
        self._streams: dict[tuple[Any, int, TaskOptions, int, Settings | None], Stream] = {}

    def streams(self) -> list[Stream]:
        """Return those that have, or had, calls."""
        return list(self._streams.values())

    def submit(
        self, function: Any, args: tuple[Any, ...], options: TaskOptions, run: int, context: Any = None
    ) -> BatchElement:
        """Send a call on its way; a batch function has one argument. ``context``: what a thread is to run it in."""
        number = self._functions.number(function)  # one that cannot be sent raises here, once
        key = (function, number, options, run, self._settings())
        star = not options.batch
        stream = self._streams.get(key)
        if stream is None or not stream.unfinished:
            if len(self._streams) > MOST_KEPT:
                self._streams = {k: s for k, s in self._streams.items() if s.unfinished}
            stream = self._streams[key] = Stream(
                self._host,
                function,
                options,
                run,
                BATCH_ELEMENTS,
                star=star,
                chunksize=1 if star else None,
            )
        element = BatchElement(stream, context)
        items: list[Any] = [args] if star else list(args)
        with uninterrupted():
            packers = self._packer(function_name(function), star=star)
            if packers is None:
                stream.add([element], items)
            else:
                packer = packers(False)
                packer.captured = stream.captured
                packed = packer.pack(items)
                stream.add([element], packed, packer.spent)
            stream.send()
        return element
