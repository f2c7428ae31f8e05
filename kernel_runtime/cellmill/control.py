"""Work as a whole: hold it, let it go on, end it; what the panel's buttons do, for code."""

from __future__ import annotations

from concurrent.futures import Future as BaseFuture

from . import runs
from .diagnostics.blame import cancelling
from .diagnostics.boundary import bounded
from .errors import UsageError
from .executor import default_executor, peek_default_executor
from .futures import Future
from .runs import Run

__all__ = ["cancel", "pause", "resume"]


@bounded
def pause() -> None:
    """No task of the default executor begins any more until `resume`; what runs goes on, calls are still taken."""
    default_executor().pause()


@bounded
def resume() -> None:
    """The default executor's tasks go on after `pause`."""
    default_executor().resume()


@bounded
def cancel(what: Run | Future | int | None = None) -> int:
    """End a run (itself, or its number), one task (by its future), or without one all work of the default executor.

    What has not begun is cancelled, what runs is interrupted; without one single calls that run go on. Returns how many
    tasks that were: 0 when all was over. Raises `UsageError` for the number of a run that does not go on.
    """
    with cancelling("cellmill.cancel()"):
        return _cancel(what)


def _cancel(what: Run | Future | int | None) -> int:
    if isinstance(what, Run):
        return what.stop()
    if isinstance(what, BaseFuture):
        if what.done():
            return 0
        return int(what.cancel(force=True) if isinstance(what, Future) else what.cancel())
    if what is None:
        executor = peek_default_executor()
        if executor is None:
            return 0
        ours = [run for run in runs.active_runs() if run._backend is executor._backend]
        return sum(run.stop() for run in ours) + executor.stop()  # calls of submit are part of no run
    if not isinstance(what, int) or isinstance(what, bool):
        raise UsageError(f"cancel takes a run or its number, or a future, not {what!r}")
    found = [run for run in runs.active_runs() if run.id == what]
    if not found:
        going = ", ".join(str(run.id) for run in runs.active_runs()) or "none"
        raise UsageError(f"no run {what} goes on; these do: {going}")
    return found[0].stop()
