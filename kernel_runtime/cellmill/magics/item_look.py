"""Items that a `%%pfor` loop cannot have: those that lead to an object which the loop changes, and would not see it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cellmill.magics.items import MOST_OUTER, is_array, parts, share_memory
from cellmill.magics.reach import changed_arrays, changed_itself
from cellmill.magics.reads import Reads, given_and_changed, late_reads


@dataclass(slots=True)
class ItemLook:
    """``changed``: names of what the loop changes itself, by identity; ``arrays``: by name, those whose elements it
    changes; ``given``: to what items may give objects of theirs which the loop changes there, "" for nothing;
    ``late``: an item itself may read such an object afterwards.
    """

    changed: dict[int, str]
    arrays: dict[str, Any]
    given: str
    late: bool
    _met: set[int] = field(default_factory=set)  # parts of the items so far, where they may be given away

    @staticmethod
    def of(
        reads: Reads,
        body: list[ast.stmt],
        names: set[str],
        namespace: Mapping[str, Any],
        own_key: Callable[[str], str],
    ) -> ItemLook:
        """``names``: the loop's targets, and what the body binds; ``own_key``: see `reads.own_keys`."""
        late = late_reads(reads, body)

        def only_own(thing: str, key: str) -> bool:
            return key == own_key(thing) and not any(of == thing and name != key for name, of in late)

        given = given_and_changed(reads, names)
        return ItemLook(
            changed_itself(reads.effects, namespace, only_own),
            changed_arrays(reads.effects, namespace, only_own),
            min(given, default=""),
            any(of in given for _, of in late),
        )

    def leads_to(self, item: Any) -> str:
        """The name of what the loop changes that this item leads to, or is a view of; "" if there is none."""
        if not (self.changed or self.given):
            return ""
        own = parts(item, MOST_OUTER)
        for name, array in self.arrays.items():
            if share_memory(filter(is_array, own), array):
                return name
        for each in own:
            if id(each) in self.changed:
                return self.changed[id(each)]
        if self.given and own:
            known = set(map(id, own))
            if self.late or not known.isdisjoint(self._met):
                return self.given
            self._met |= known
        return ""
