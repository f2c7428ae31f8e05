"""A caller's tasks as guests of a remote worker's process: what they find there, besides threads' own things."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ....process_context.settings import Settings
from . import modules
from .context import State
from .modules import CallerModules, Listing
from .turns import turns


class Visit(NamedTuple):
    """See `turns.Guest`. ``found``: the settings of the process; ``alone``: no other caller's tasks may run beside;
    ``greets``: a lane begins, beside whatever tasks of its caller run. These may know more of its context by now, and
    need not end first.
    """

    state: State
    modules: CallerModules
    found: Settings
    alone: bool = False
    greets: bool = False

    @property
    def owner(self) -> bytes:
        """Return the caller's token."""
        return self.state.owner

    def agrees(self, other: Any) -> bool:
        """Whether tasks of both find the same."""
        if self.owner == other.owner and self.greets:
            return True
        if (self.alone or other.alone) and self.owner != other.owner:
            return False
        same = self.modules is other.modules or (self.modules.plain and other.modules.plain)
        return same and self.state.agrees(other.state)

    def put_in(self) -> None:
        self.state.put_in(self.found)
        modules.put_in(self.modules)

    def take_out(self, alone: bool) -> None:
        modules.take_out()
        self.state.take_out(alone)


def learn(token: bytes, generation: int, listing: Listing, texts: Mapping[bytes, bytes]) -> None:
    """Take in sources of a caller's modules."""
    turns.change(token, lambda alone: modules.learn(token, generation, listing, texts, alone=alone))
