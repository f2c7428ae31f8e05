"""What the worker threads execute: sampled by one more thread of the kernel, while it is wanted."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping

from ...process_context.stacks import stacks
from ...telemetry.call_tree import CallTree, user_part
from ..scheduled.profiling import RATE, Profiling
from .thread import WorkerThread

FOLD_SECONDS = 0.3
MOST_SHARE = 0.01  # of processor time for the samples of all threads together


class ThreadProfiling(Profiling):
    """``members`` are the pool's threads, as they come and go; ``names`` those of the functions, by number."""

    note = (
        "Threads are sampled where the interpreter passes from one to another: calls that release it, as reading files "
        "does, look longer than they are beside Python code."
    )

    def __init__(self, members: Mapping[int, WorkerThread], names: Mapping[int, str]) -> None:
        super().__init__()
        self._members = members
        self._names = names
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def _change(self, epoch: int) -> None:
        before, self._thread = self._thread, None
        if before is not None:
            self._ended.set()
            before.join()
        if epoch:
            self._ended = threading.Event()
            self._thread = threading.Thread(
                target=self._run, args=(self._ended,), name="cellmill-profile", daemon=True
            )
            self._thread.start()

    def _run(self, ended: threading.Event) -> None:
        tree = CallTree()
        before = folded = time.monotonic()
        pause = 1 / RATE
        while not ended.wait(pause):
            began, now = time.thread_time(), time.monotonic()
            self._sample(tree, int((now - before) * 1e9))
            before = now
            if now - folded > FOLD_SECONDS:
                folded = now
                self._fold(tree)
            pause = max(1 / RATE, (time.thread_time() - began) / MOST_SHARE)
        self._fold(tree)

    def _sample(self, tree: CallTree, ns: int) -> None:
        busy = [member for member in list(self._members.values()) if member.form.ticket]
        found = stacks([int(member.form.ident) for member in busy])
        for member, stack in zip(busy, found, strict=True):
            frames = None if stack is None else user_part(stack, WorkerThread._serve.__code__)
            if frames is not None:
                tree.add(member.function, frames, ns)

    def _fold(self, tree: CallTree) -> None:
        with self._lock:
            self._profile.take(0, self._names, *tree.news())
