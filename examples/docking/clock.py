"""How long each stage of a session takes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class Stage:
    """What took how long: ``seconds`` of wall time for ``tasks`` tasks, and a remark."""

    name: str
    seconds: float = 0.0
    tasks: int = 0
    remark: str = ""


class Stopwatch:
    """Keeps how long each stage of a session took, in ``stages``."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []

    @contextmanager
    def stage(self, name: str, tasks: int = 0, remark: str = "") -> Iterator[Stage]:
        """Measure the wall time of a step of ``tasks`` tasks."""
        record = Stage(name, tasks=tasks, remark=remark)
        start = time.monotonic()
        try:
            yield record
        finally:
            record.seconds = time.monotonic() - start
            self.stages.append(record)
