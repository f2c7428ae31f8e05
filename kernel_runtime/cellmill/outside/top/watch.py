"""Which kernel `cellmill top` shows: the one that was chosen, and the next one when that ends."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import CellmillError
from ..attached import HOW
from ..folder import Served, served
from ..kernel import Following, Kernel

__all__ = ["Frame", "Watch"]


@dataclass(frozen=True, slots=True)
class Frame:
    """One look."""

    known: list[Served]  # all that can be watched, the latest first
    kernel: Kernel | None = None
    problem: str = ""  # why there is none, or what has become of the last one


class Watch:
    """Looks at one kernel after another. For one thread at a time."""

    def __init__(self, pid: int | None = None) -> None:
        """``pid``: of the first one; else that which was served last."""
        self._wanted = pid
        self._following: Following | None = None
        self._gone = ""  # what has become of the one before

    def choose(self, pid: int) -> None:
        """Look at this one from now on."""
        self._wanted = pid

    def look(self) -> Frame:
        """Return what there is now. Where the kernel has gone the next one is taken, and that is said."""
        try:
            known = served()
        except (CellmillError, OSError) as error:
            return Frame([], None, str(error))
        if self._following is not None and self._following.served not in known:
            gone = self._following.served
            name = f"process {gone.pid} ({gone.title})"
            self._gone = f"{name} has ended, or is not watched any more"
            self._leave()
        chosen = self._choice(known)
        if chosen is None:
            none = f"no process can be watched: {HOW}"
            return Frame(known, None, f"{self._gone}; now {none}" if self._gone else none)
        if self._following is None or chosen != self._following.served:
            self._leave()
            self._following = Following(chosen)
        try:
            kernel = self._following.look()
            problem, self._gone = self._gone, ""
            return Frame(known, kernel, problem)
        except CellmillError as error:
            return Frame(known, None, str(error))

    def _choice(self, known: list[Served]) -> Served | None:
        if self._wanted is not None:
            found = next((each for each in known if each.pid == self._wanted), None)
            if found is not None:
                return found
            self._wanted = None
        if self._following is not None:
            return self._following.served
        return next(iter(known), None)

    def _leave(self) -> None:
        if self._following is not None:
            self._following.close()
        self._following = None

    close = _leave

    # -- control

    def pause(self, kernel: Served, on: bool) -> None:
        """Have no more tasks begin, or go on. Raises `CellmillError` where the kernel does not answer."""
        present = self._present(kernel)
        present.pause() if on else present.resume()

    def cancel(self, kernel: Served, run: int | None) -> int:
        """End a run, or all work; return how many tasks that were to begin. Raises `CellmillError`."""
        return self._present(kernel).cancel(run)

    def _present(self, kernel: Served) -> Following:
        """Return the kernel that a person saw: meanwhile another one may have taken its place."""
        if self._following is None or self._following.served != kernel:
            raise CellmillError(
                f"process {kernel.pid} is not the one that is looked at any more: nothing was done"
            )
        return self._following
