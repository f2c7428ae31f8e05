"""The user's own modules on their way to remote workers: as the kernel has them, and again when it has others.

A remote worker gets their sources before its first task, and those that the kernel imports later ahead of the next
task. Where the kernel has loaded one anew from another text, new lanes take the places of all: as on this machine new
workers do. So do they where a task has imported a module that the kernel does not have, and its file was edited.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from ...by_value import kernel_modules
from ...by_value.import_log import Imported
from ...by_value.module_sources import Source
from ...cell_output import present_cell
from ...serialization.functions import FunctionTable
from ..scheduled.requests import Requests
from ..scheduled.scheduler import Scheduler
from ..scheduled.stale import StaleModules
from .pack import MODULES
from .remote.shipped import Shipment
from .shipping import Shipping

# which version of all it is, the modules by name, and what is shipped
Listed = tuple[int, dict[str, Source], Shipment | None]
Texts = dict[bytes, bytes]  # by digest

MOST_BYTES = 1 << 18  # of texts in a request; one alone may be longer
LONGEST = 1 << 20
_ENGINES = frozenset(("cellmill", "cloudpickle", "dask", "distributed", "ray"))  # are each process's own


class Pool(Protocol):
    """The pool of lanes."""

    @property
    def members(self) -> Mapping[int, Any]:
        """Return the lanes, by the scheduler's numbers."""

    requests: Requests

    def renew(self) -> None:
        """New lanes in the place of all."""


class SentModules:
    """What the remote workers of one pool have of them; from any thread."""

    def __init__(
        self,
        pool: Pool,
        functions: FunctionTable,
        scheduler: Scheduler,
        shipping: Shipping,
        look_again: Callable[[], Any],
    ) -> None:
        """``look_again``: has the next call look at what it sends."""
        self.shipping = shipping
        self._pool = pool
        self._functions = functions
        self._stale = StaleModules(
            pool.members, lambda *_: self._begin_anew(), functions, scheduler, look_again, sent=True
        )
        self._lock = threading.RLock()
        self._count = 0  # of modules in this process at the last look
        self._epoch = 0
        self.close = kernel_modules.watch_imports(look_again)
        kernel_modules.modules.note()
        self.listed: Listed = (1, _present(), shipping.shipment)

    def hear(self, worker: int, inherited: bool, imported: Iterable[Imported]) -> None:
        """A remote worker tells what tasks have imported there from files."""
        self._stale.hear(worker, inherited, imported)

    def gone(self, worker: int) -> None:
        """A lane has ended."""
        self._stale.gone(worker)

    def touched(self) -> bool:
        """Whether there is a reason to look; takes about a microsecond."""
        return len(sys.modules) != self._count or present_cell.epoch() != self._epoch or self._stale.touched()

    def look(self) -> None:
        """Have remote workers get what the kernel has imported, or loaded anew, since the last look."""
        if not self.touched():
            return
        with self._lock:
            self._stale.look()
            kernel_modules.modules.note()
            new_cell = present_cell.epoch() != self._epoch
            self._count, self._epoch = len(sys.modules), present_cell.epoch()
            generation, before, shipment = self.listed
            now = _present()
            other = any(now.get(name) != source for name, source in before.items())
            if other:
                self._functions.look_up_again()
            if (new_cell and self.shipping.look()) or other:
                self.listed = (generation, now, self.shipping.shipment)
                self._begin_anew()
            elif len(now) > len(before):
                self.listed = (generation, now, shipment)
                self._send({name: source for name, source in now.items() if name not in before})

    def renew(self) -> None:
        """Have remote workers load all of them anew, once new lanes have taken the places of all."""
        with self._lock:
            self.shipping.look()
            self.listed = (self.listed[0] + 1, self.listed[1], self.shipping.shipment)

    def _begin_anew(self) -> None:
        self.renew()
        self._pool.renew()

    def _send(self, added: dict[str, Source]) -> None:
        generation = self.listed[0]
        texts, same = self.texts(added), kernel_modules.modules.is_as_loaded
        parts: list[dict[str, Source]] = [{}]
        size = 0
        for name, source in added.items():
            length = len(texts.get(source.digest, b""))
            if size and size + length > MOST_BYTES:
                parts.append({})
                size = 0
            parts[-1][name] = source
            size += length
        for index, lane in list(self._pool.members.items()):
            for part in parts:
                there = {
                    source.digest: texts[source.digest]
                    for name, source in part.items()
                    if source.digest in texts and not (lane.page.known and same(name))
                }
                self._pool.requests.send(index, 0, (MODULES, (generation, part, there)))

    def texts(self, names: Iterable[str]) -> Texts:
        """Return the texts of these, but for those that are far too long."""
        found = {}
        for name in names:
            source, text = self.listed[1].get(name), kernel_modules.modules.text(name)
            if source is not None and text is not None and len(text) <= LONGEST:
                found[source.digest] = text
        return found


def _present() -> dict[str, Source]:
    sources = kernel_modules.modules.sources()
    return {name: source for name, source in sources.items() if name.partition(".")[0] not in _ENGINES}
