"""Options that every backend takes; `Executor` describes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from types import FunctionType
from typing import Any

from ..by_value.argument_names import pickled_call
from ..by_value.references import helpers_of, importable, names_stored
from ..cell_output.transcript import OUTPUT_LINES, Settings, whole_lines
from ..diagnostics import notices


@dataclass(frozen=True, slots=True)
class CommonOptions:
    """How the workers of a backend begin, how the output of tasks is shown, and what tasks may ask for."""

    initializer: Callable[..., Any] | None = None
    initargs: tuple[Any, ...] = ()
    preload: Iterable[str] = ()  # names of modules; one name alone is allowed
    label_output: bool = False
    output_lines: int = OUTPUT_LINES
    resources: Any = None

    @property
    def modules(self) -> list[str]:
        """The names of the modules to preload."""
        return [self.preload] if isinstance(self.preload, str) else list(self.preload)

    def pickled_initializer(self) -> bytes | None:
        """Return the call of the initializer as it is sent to workers; None where there is none."""
        return pickled_call(self.initializer, self.initargs) if self.initializer is not None else None

    def tell_of_globals(self) -> None:
        """Warn of globals of a script or notebook that the initializer sets: its functions have the kernel's."""
        helpers = helpers_of(self.initializer) if self.initializer is not None else ()
        functions = [each for each in helpers if type(each) is FunctionType and not importable(each)]
        names = sorted({name for each in functions for name in names_stored(each.__code__)})
        if names:
            notices.give(
                ("initializer", *names),
                f"the initializer sets {notices.listed(names)} in its own copy of this program's globals. On this "
                "backend tasks have what these are here. Make the value once per worker with @cellmill.per_worker.",
                functions[0],
            )

    @property
    def shown(self) -> Settings:
        """How output is shown. Raises `UsageError` where the number of lines makes no sense."""
        return Settings(self.label_output, whole_lines(self.output_lines))


DEFAULTS = CommonOptions()
NAMES = tuple(field.name for field in fields(CommonOptions))
