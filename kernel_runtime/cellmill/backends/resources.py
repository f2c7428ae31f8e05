"""The resources of an executor beside workers: memory, and resources that the user names and counts."""

from __future__ import annotations

import difflib
import threading
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import UsageError
from ..process_context.machine import left_and_total
from ..task import TaskOptions, amount_of, amount_text, check_name, memory_of, size_text

MEMORY = "memory"
MOST_NAMES = 63
MOST_ASKED = 7  # by one task, beside memory
MOST_BYTES = 1 << 60


def machine_memory() -> int:
    """Bytes that this process may use together with its workers."""
    return left_and_total()[1]


class Resources:
    """The totals of one executor, by name; ``...`` in their place: whatever is asked for is there.

    ``memory`` tells how many bytes there are where no total was given (0: unknown). ``tell(number, total)`` lets
    the scheduler know of a total; it is false where a task asks for more.
    """

    def __init__(
        self,
        totals: Any = None,
        memory: Callable[[], int] = machine_memory,
        tell: Callable[[int, int], bool] = lambda number, total: True,
        per_worker: int = 0,
    ) -> None:
        self._everything = totals is ...
        self._memory = memory
        self._tell = tell
        self._per_worker = per_worker  # bytes that a task can have at most
        self._numbers = {MEMORY: 0}
        self._totals: dict[str, int] = {}  # in units; memory in bytes, if it was given
        self._told = 0  # bytes
        self._lock = threading.Lock()
        if totals is not None and totals is not ...:
            self.set(totals)

    def set(self, totals: Any) -> None:
        """Set the totals by name; raises `UsageError` for a total that makes no sense."""
        if not isinstance(totals, Mapping):
            raise UsageError(f'resources takes names and numbers, such as {{"gpu": 2}}, not {totals!r}')
        wanted = {
            check_name(name): memory_of("resources['memory']", value)
            if name == MEMORY
            else amount_of(f"resources[{name!r}]", value)
            for name, value in totals.items()
        }
        if len({*self._numbers, *wanted}) > MOST_NAMES + 1:
            raise UsageError(f"an executor counts at most {MOST_NAMES} resources")
        with self._lock:
            for name, total in wanted.items():
                if not self._tell(self._numbers.setdefault(name, len(self._numbers)), min(total, MOST_BYTES)):
                    raise UsageError(
                        f"{name} cannot become {self.text(name, total)}: a task that is not over asks for more, and "
                        "would wait for ever. Cancel it first, or let it end."
                    )
                self._totals[name] = total
                self._told = total if name == MEMORY else self._told

    def totals(self) -> dict[str, float]:
        """The totals as they were given; memory in bytes."""
        return {
            name: total if name == MEMORY else float(amount_text(total))
            for name, total in self._totals.copy().items()
        }

    def numbers(self) -> dict[str, int]:
        """The scheduler's numbers of resources by name, of those that it knows."""
        return {name: n for name, n in self._numbers.copy().items() if name != MEMORY or self._told}

    def name(self, number: int) -> str:
        """The name of the scheduler's number."""
        return next((name for name, n in self._numbers.copy().items() if n == number), "?")

    @staticmethod
    def text(name: str, amount: int) -> str:
        """So much of it, as people write it."""
        if name != MEMORY:
            return amount_text(amount)
        return size_text(amount)

    def check(self, options: TaskOptions) -> list[tuple[int, int]]:
        """Return the number and amount of each resource that such a task asks for; raises `UsageError` where the
        total is less.
        """
        if self._everything:
            return []
        asked = [self._number(name, amount) for name, amount in options.resources or ()]
        if len(asked) > MOST_ASKED:
            raise UsageError(f"a task asks for at most {MOST_ASKED} different resources, not {len(asked)}")
        if options.memory is not None:
            asked.append(self._bytes(options.memory))
        return asked

    def refresh(self) -> None:
        """The workers are others now, and so may be what they have."""
        if self._told and MEMORY not in self._totals:
            self._tell_memory()

    def _number(self, name: str, amount: int) -> tuple[int, int]:
        total = self._totals.get(name)
        if total is None:
            has = ", ".join(f"{self.text(n, t)} {n}" for n, t in sorted(self._totals.items()) if n != MEMORY)
            close = difflib.get_close_matches(name, self._totals, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise UsageError(
                f"the task asks for {name!r}, of which this executor has none; it has {has or 'nothing to give out'}."
                f"{hint} Say how much there is: Executor(resources={{{name!r}: 2}}), or `%cellmill resources {name}=2`."
            )
        if amount > total:
            wanted = self.text(name, amount)
            raise UsageError(
                f"the task asks for {wanted} {name}, and this executor has {self.text(name, total)} in all: it would "
                f"wait for ever. Ask for less, or raise the total: executor.set_resources({{{name!r}: {wanted}}}), or "
                f"`%cellmill resources {name}={wanted}`."
            )
        return self._numbers[name], amount

    def _bytes(self, amount: int) -> tuple[int, int]:
        total, wanted = self._tell_memory(), self.text(MEMORY, amount)
        if not total:
            raise UsageError(
                "the task reserves memory, and this cluster does not tell how much it has. Say so: "
                'Executor(..., resources={"memory": "64GB"}), or `%cellmill resources memory=64GB`.'
            )
        if self._per_worker and amount > self._per_worker:
            raise UsageError(
                f"the task reserves {wanted} of memory, and each worker is limited to "
                f"{self.text(MEMORY, self._per_worker)}: reserve less, or raise memory_per_worker of the executor."
            )
        if amount > total:
            raise UsageError(
                f"the task reserves {wanted} of memory, and there are {self.text(MEMORY, total)} in all: it would wait "
                "for ever. Reserve less, or, if there is more, say how much: `%cellmill resources memory=64GB`."
            )
        return 0, amount

    def _tell_memory(self) -> int:
        """Bytes in all, which the scheduler knows after this."""
        with self._lock:
            total = min(self._totals.get(MEMORY) or self._memory(), MOST_BYTES)
            if total and total != self._told and self._tell(0, total):
                self._told = total
            return self._told
