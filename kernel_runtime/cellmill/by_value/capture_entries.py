"""Walk of captured state: their kinds, and what the visitors of single kinds of objects ask of a walk."""

from __future__ import annotations

import datetime
import decimal
import fractions
import logging
import operator
import pathlib
import re
import types
import uuid
from typing import Any, Protocol

# How each is compared: see csched/python/capture.h.

ITEM, CELL, ATTRIBUTE, EQUAL, LIST, DICT, ITERABLE, BUFFER, ARRAY, CALL = range(10)

# Kinds of objects that do not change and lead to no other ones.
ATOMS = frozenset(
    (
        *(
            int,
            float,
            complex,
            bool,
            str,
            bytes,
            type(None),
            type(Ellipsis),
            type(NotImplemented),
            range,
            slice,
        ),
        *(datetime.datetime, datetime.date, datetime.time, datetime.timedelta, datetime.timezone),
        *(
            decimal.Decimal,
            fractions.Fraction,
            uuid.UUID,
            re.Pattern,
            pathlib.PosixPath,
            pathlib.PurePosixPath,
        ),
        *(
            types.MethodDescriptorType,
            types.ClassMethodDescriptorType,
            types.WrapperDescriptorType,
            types.CodeType,
        ),
        *(types.GetSetDescriptorType, types.MemberDescriptorType, operator.itemgetter, operator.attrgetter),
        *(object, logging.Logger),
    )
)


class Entries(Protocol):
    """The entries of a walk so far, to which visitors add; implemented by `capture_kinds.Walk`."""

    in_worker: bool
    weight: int
    mutable: bool
    names: list[str]
    stores: set[str]
    entries: list[tuple[int, Any, Any, Any]]
    reads: dict[tuple[str, str], Any]
    package_names: dict[tuple[str, str], Any]

    def note(self, kind: int, value: Any, key: Any, held: Any, name: str) -> None: ...

    def follow(self, values: Any, name: str) -> None: ...

    def attribute(self, value: Any, key: str, name: str, *, follow: bool = True) -> Any: ...

    def members(self, value: Any, name: str, *, of_class: bool = False, mutable: bool = True) -> None: ...

    def buffer(self, value: Any, name: str) -> None: ...

    def of_module(self, value: Any, code: types.CodeType) -> None: ...

    def memory(self, kind: int, value: Any, key: Any, name: str) -> None: ...
