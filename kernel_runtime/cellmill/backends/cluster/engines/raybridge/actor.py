"""The actor that is a remote worker. It runs in a worker process of Ray, which needs Cellmill but not its scheduler."""

from __future__ import annotations

import os
import pickle
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ...remote import ray_values

OUT_OF_BAND = 64 << 10  # bytes; larger buffers are in Ray's object store and are read in place

GROUPS = {"run": 1, "control": 1, "watch": 1}  # threads: one for packs, one that hears while a pack runs
THREADS = 16  # where there are no groups: for the packs that wait for their turn, and those two


def wrap(buffers: Any, copied: bool = False) -> list[Any]:
    """Buffers as Ray shall take them: the large ones without a copy of their own, or (for Ray's client) all copied."""
    return [
        pickle.PickleBuffer(each) if memoryview(each).nbytes >= OUT_OF_BAND and not copied else bytes(each)
        for each in buffers
    ]


class PackActor:
    """Made into an actor by the bridge; its methods run in the thread of their group. ``client``: that of Ray takes
    copies alone, and knows no groups.
    """

    def __init__(self, client: bool) -> None:
        from ...remote import entry

        self._remote = entry
        self._client = client
        # calls come in any thread there: packs run one at a time, and in the same one
        self._runs = ThreadPoolExecutor(1, "cellmill-run") if client else None

    def run(self, data: list[Any]) -> tuple[bool, list[Any]]:
        """A pack's reply: whether it is one buffer, and its buffers."""
        views = [memoryview(each) for each in data]
        reply: Any
        if self._runs is None:
            reply = self._remote.run(views)
        else:
            reply = self._runs.submit(self._remote.run, views).result()
        single = not isinstance(reply, list)
        return single, wrap([reply] if single else reply, self._client)

    def run_and_keep(self, data: list[Any]) -> tuple[tuple[bool, list[Any], bytes, int], list[Any] | None]:
        """The same, and results that stay in Ray's object store: by which mark the reply names them, and how many there
        are. Two values for Ray.
        """
        bundle = ray_values.begin(memoryview(data[1]).nbytes if len(data) > 1 else 0)
        try:
            single, buffers = self.run(data)
        finally:
            ray_values.end()
        kept = [[pickle.PickleBuffer(part) for part in parts] for parts in bundle.values]
        return (single, buffers, bundle.mark, len(kept)), kept or None

    def hear(self, message: bytes) -> Any:
        """A word beside the packs, and the answer to it."""
        return self._remote.hear(message)

    def about(self) -> dict[str, Any]:
        """Return where the actor runs: host, process, and the name space of its process number."""
        return {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "space": process_space(),
        }

    def watch(self) -> None:
        """Never returns: that it fails is how the bridge hears of the actor's end."""
        threading.Event().wait()


def process_space() -> tuple[str, str]:
    """Equal in two processes if one's process number means the same to the other."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip(), os.readlink("/proc/self/ns/pid")
    except OSError:
        return "", ""
