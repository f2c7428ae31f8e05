"""One module of a caller's: how it is loaded from the text that came, and when one that is here already is the same."""

from __future__ import annotations

import ast
import contextlib
import os
from collections.abc import Mapping
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import resolve_name, spec_from_file_location
from types import ModuleType

from ....by_value.module_sources import Source, digest_of, process_began, text_of

MARGIN_SECONDS = 60.0  # between the clocks of file systems and machines


class _Loader(SourceFileLoader):
    """Loads from the text that came, whatever is in the file now; everything else is that of a source file."""

    def __init__(self, name: str, path: str, text: bytes) -> None:
        super().__init__(name, path)
        self._text = text

    def path_stats(self, path: object) -> dict[str, float]:
        """There are none: so no compiled file is read, or written."""
        raise OSError

    def get_data(self, path: str) -> bytes:
        return self._text if path == self.path else super().get_data(path)


def spec_of(name: str, source: Source, text: bytes) -> ModuleSpec | None:
    """Return how this module is loaded."""
    return spec_from_file_location(
        name,
        source.path,
        loader=_Loader(name, source.path, text),
        submodule_search_locations=[os.path.dirname(source.path)] if source.package else None,
    )


def as_loaded(module: ModuleType, source: Source) -> bool:
    """Whether a module that is here is known to come from this text: that of a file which has not changed since this
    process began.
    """
    path = str(getattr(getattr(module, "__spec__", None), "origin", None))
    with contextlib.suppress(OSError):
        told = os.stat(path)
        if max(told.st_mtime, told.st_ctime) < process_began() - MARGIN_SECONDS:
            return digest_of(text_of(path) or b"") == source.digest
    return False


def depend_on(name: str, source: Source, texts: Mapping[bytes, bytes], names: set[str]) -> bool:
    """Whether a module imports one of these, by what its text says."""
    try:
        tree = ast.parse(texts[source.digest])
    except (KeyError, SyntaxError, ValueError):
        return True
    package = name if source.package else name.rpartition(".")[0]
    for node in ast.walk(tree):
        targets: list[str] = []
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            with contextlib.suppress(ImportError):
                base = resolve_name("." * node.level + (node.module or ""), package)
                targets = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        if any(target == each or target.startswith(f"{each}.") for target in targets for each in names):
            return True
    return False
