"""The digest of a function with all that it refers to, computed again only where some of that has changed."""

from __future__ import annotations

import platform
import sys
import types
from hashlib import blake2b
from typing import Any, NamedTuple

from ..by_value.capture import Capture, walked
from ..by_value.watched import all_names_used
from ..process_context import process_looks
from . import settings_key, sources
from .structure import SIZE, Structure, annotations_of

FORMAT = 4  # of keys and of what is kept under them
_MOST_TRIES = 3


def _signs_of(function: types.FunctionType) -> tuple[Any, ...]:
    """Equal as long as a function has the same name, description and annotations, which are kept alive elsewhere."""
    noted = annotations_of(function)
    return function.__name__, function.__qualname__, function.__doc__, *noted, *map(id, noted.values())


class _Found(NamedTuple):
    """A digest, and what it is fresh by."""

    digest: bytes
    capture: Capture | None  # None: not all of it is comparable
    functions: list[types.FunctionType]  # and helpers
    signs: list[Any]  # of these
    annotations: list[Any]  # their values
    files: dict[str, str]  # with the names of modules, "" for others
    states: list[Any]  # of the files
    draws_figures: bool


class FunctionKey:
    """What a function does: its code, defaults and closure, the globals and helpers that it refers to, at any depth,
    the data of the user's modules that it reads, the versions of packages, and the files that it ``depends_on``.
    """

    def __init__(self, function: Any, depends_on: tuple[str, ...], *, generators: bool) -> None:
        self._function = function
        self._depends_on = depends_on
        self._generators = generators
        # set as one: a new capture beside an old digest, where Stop comes between, would keep that digest for ever
        self._found: _Found | None = None
        sources.look()

    def digest(self) -> bytes:
        """The present digest, of the settings that values depend on, too.

        Raises:
            Unkeyed: something that it refers to has none.
        """
        sources.look()
        found = self._present()
        told = settings_key.told(figures=found.draws_figures)
        return blake2b(found.digest + told, digest_size=SIZE).digest()

    def of_function(self) -> bytes:
        """The present digest without settings.

        Raises:
            Unkeyed: something that it refers to has none.
        """
        sources.look()
        return self._present().digest

    def _present(self) -> _Found:
        found = self._found
        if found is None or not self._fresh(found):
            found = self._found = self._compute()
        return found

    def _fresh(self, found: _Found) -> bool:
        return (
            type(self._function) is types.FunctionType
            and found.capture is not None
            and found.capture.changed() is None
            and self._states_of(found.files) == found.states
            and [*map(_signs_of, found.functions)] == found.signs
        )

    @staticmethod
    def _states_of(files: dict[str, str]) -> list[Any]:
        return [sources.state_of(path, module) for path, module in files.items()]

    def _compute(self) -> _Found:
        for _ in range(_MOST_TRIES):
            walk = walked(self._function)
            capture = Capture(walk, 0)
            draws_figures = not process_looks.DRAWING.isdisjoint(all_names_used(self._function))
            made = Structure(generators=self._generators)
            made.add((FORMAT, sys.version, platform.machine()))
            made.add(self._function)
            for place in sorted(walk.reads):
                made.add((place, walk.reads[place]))
            for place in sorted(walk.package_names):
                made.add((place, walk.package_names[place]))
            made.add(tuple(map(sources.content_of, self._depends_on)))
            digest = made.digest()
            files = {**dict.fromkeys(self._depends_on, ""), **made.files}
            states = self._states_of(files)
            if capture.changed() is None and sources.unchanged(
                files
            ):  # else another thread changes something
                break
        comparable = sources.settled(files) and not made.draws  # the state of generators is not compared
        annotations = [value for each in made.functions for value in annotations_of(each).values()]
        return _Found(
            digest,
            capture if comparable else None,
            made.functions,
            [*map(_signs_of, made.functions)],
            annotations,
            files,
            states,
            draws_figures,
        )
