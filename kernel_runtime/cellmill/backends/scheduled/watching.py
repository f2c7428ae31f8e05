"""Watches what a map's function refers to while its input is taken and its results are read."""

from __future__ import annotations

from ...by_value.capture import Capture, capture
from ...diagnostics import notices
from ...serialization.function_code import function_name
from .stream import Stream


class Watch:
    """Distinguishes changes by the input's own code, which later elements see, from other changes, which no element
    sees.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.capture = self._sent_as(stream.number)
        self._said = False

    def _sent_as(self, number: int) -> Capture:
        """The state that was sent under this number, which the table has mostly noted: a walk through it is long."""
        function = self._stream.function
        return self._stream.host.functions.capture_of(function, number) or capture(function)

    def look(self, key: int) -> None:
        """The input's code has run and changed something, which holds from this element on."""
        self.capture = self._sent_as(self._stream.renew(key))

    def look_between(self, *, last: bool, several: bool) -> None:
        """Before more results are read. ``last``: there are none; ``several`` were read since the look before.

        What costs more than a microsecond to compare is looked at once, at the end.
        """
        light = self.capture.light
        if self._said or (last and light and not several) or not (last or light):
            return
        self._look_for_others()

    def taking(self) -> None:
        """The input's code is about to run: what has changed since it ran last is not its doing."""
        self._look_for_others()

    def _look_for_others(self) -> None:
        changed = self.capture.changed()
        if changed is None:
            return
        self.capture = capture(self._stream.function)
        if self._said:
            return
        self._said = True
        name = function_name(self._stream.function)
        own = changed.removeprefix("its ")  # arguments or defaults, attributes
        what = f"{changed}, which {name} refers to, was" if own == changed else f"the {own} of {name} were"
        notices.warn(
            f"{what} changed while the results of a map of it were read. The map keeps the state of its start: no "
            "element of it sees the change. Begin a new map after the change, or pass what has changed as an argument "
            "of each call (f.map(items, values)). This is said once per map."
        )
