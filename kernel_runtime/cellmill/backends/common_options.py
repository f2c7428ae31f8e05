"""Options that every backend takes; `Executor` describes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any

from ..by_value.argument_names import pickled_call
from ..cell_output.transcript import OUTPUT_LINES, Settings, whole_lines


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

    @property
    def shown(self) -> Settings:
        """How output is shown. Raises `UsageError` where the number of lines makes no sense."""
        return Settings(self.label_output, whole_lines(self.output_lines))


DEFAULTS = CommonOptions()
NAMES = tuple(field.name for field in fields(CommonOptions))
