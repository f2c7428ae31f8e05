"""What workers execute inside of tasks: sampled while it is switched on, and shown as a tree of calls."""

from __future__ import annotations

from types import TracebackType

from .backends._protocol import Profiling
from .diagnostics.boundary import bounded
from .diagnostics.places import place_of
from .diagnostics.short_text import counted, duration_text
from .errors import UsageError
from .executor import Executor, checked_executor, default_executor
from .telemetry.profile import Bar

__all__ = ["Profiler", "profile"]

SETTLE_SECONDS = (
    2.0  # for samples on their way; native code that keeps the GIL may keep a worker from telling
)
MOST_LINES, LEAST_SHARE = 40, 0.01


class Profiler:
    """The profile of an executor's workers. In a ``with`` statement it is switched on for the block.

    The profile stays readable afterwards, until it is switched on again, which begins a new one.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    @property
    def on(self) -> bool:
        """Whether samples are taken."""
        return self._profiling.on

    @property
    def seconds(self) -> float:
        """Time in user code, of all workers, that the samples stand for."""
        return self._profiling.flame(1, 1.0).seconds

    @bounded
    def start(self) -> None:
        """Begin a new profile, also of tasks that run already; nothing if it is on. Raises `UsageError` where workers
        cannot be sampled.
        """
        self._profiling.switch(True)

    @bounded
    def stop(self) -> None:
        """Take no more samples; return when all that were taken are here."""
        profiling = self._profiling
        profiling.switch(False)
        profiling.settle(SETTLE_SECONDS)

    @bounded
    def bars(self, most: int = 400, least: float = 0.002) -> tuple[Bar, ...]:
        """Return the tree of calls: each function behind the one that calls it, with seconds in all (``total``) and of
        its own (``own``); at most so many, of at least this share of all time, the others as "…".
        """
        return self._profiling.flame(most, least).bars

    @property
    def _profiling(self) -> Profiling:
        found = self._executor._backend.profiling
        if found is None:
            raise UsageError(
                f"the {self._executor.backend} backend has no workers that can be sampled: choose another one"
            )
        return found

    def __enter__(self) -> Profiler:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        """The tree as text."""
        if self._executor._backend.profiling is None:
            return f"no profile: workers of the {self._executor.backend} backend cannot be sampled"
        flame = self._profiling.flame(MOST_LINES, LEAST_SHARE)
        state = "on" if self.on else "off"
        if not flame.bars:
            return f"profile: {state}, no samples"
        head = (
            f"profile: {state}, {counted(flame.samples, 'sample')} of {duration_text(flame.seconds)} in your code; "
            "share and seconds with what a function calls"
        )
        note = [self._profiling.note] if self._profiling.note else []
        return "\n".join([head, *(_line(bar, flame.seconds) for bar in flame.bars), *note])


def _line(bar: Bar, whole: float) -> str:
    name = f"{'  ' * bar.depth}{bar.name}"
    hottest = f", most at line {bar.hottest}" if bar.hottest and bar.own > bar.total / 2 else ""
    return f"{bar.total / whole:6.1%} {bar.total:9.2f}  {name:40}  {place_of(bar.file, bar.line)}{hottest}".rstrip()


@bounded
def profile(executor: Executor | None = None) -> Profiler:
    """Which functions tasks spend their time in: the profile of an executor's workers, the default one's if none is
    given.

    ``with cellmill.profile() as profile: …`` samples what runs meanwhile, ``print(profile)`` shows it as a tree, the
    panel's tab Profile as a flame graph. Samples are taken twenty times a second in each worker, which costs below 2 %
    of throughput. A native call that keeps the GIL is part of the Python function that makes it. A worker that dies
    takes the samples of its last third of a second with it.
    """
    return Profiler(checked_executor(executor) or default_executor())
