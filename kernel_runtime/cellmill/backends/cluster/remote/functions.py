"""The functions that a remote worker knows for one lane, and what its tasks share, by their numbers."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from ....errors import BackendError
from ....serialization.function_code import load_function
from .shared import Borrowed

MOST_FUNCTIONS = 256


class KnownFunctions:
    """They come as pickles ahead of their tasks, and are loaded by the first of these."""

    def __init__(self, token: bytes) -> None:
        self.loaded: OrderedDict[int, Any] = OrderedDict()
        self._pickled: dict[int, bytes] = {}
        self._names: dict[int, str] = {}
        self.shares = Borrowed(token, self._pickled)

    def learn(self, number: int, body: memoryview) -> None:
        """Remember the pickle under this number; an empty one makes it forget the number."""
        for known in (self.loaded, self._pickled, self._names, self.shares):
            known.pop(number, None)
        if body.nbytes:
            self._pickled[number] = bytes(body)

    def load(self, number: int) -> Any:
        """Raises what its pickle raises, and `BackendError` for one that did not come."""
        if number not in self._pickled:
            raise BackendError(
                "the function of this task did not reach its worker: the cluster could not deliver the message that "
                "carried it. The next one carries it again: repeat the call."
            )
        found = load_function(memoryview(self._pickled[number]))
        self._names[number] = found.name
        self.loaded[number] = found.function
        if len(self.loaded) > MOST_FUNCTIONS:
            self.loaded.popitem(last=False)
        return found.function

    def name(self, number: int, function: Any) -> str:
        """Return a function's name for error messages; number 0 means that ``function`` is given itself."""
        if number or function is None:
            return self._names.get(number, "?")
        return str(getattr(function, "__qualname__", type(function).__name__))
