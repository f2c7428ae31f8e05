"""The other end of a lane: what engines call in a worker of the cluster.

`run` and `hear` are all that an engine calls. Nothing here needs the C scheduler; what a remote worker knows (functions
by number, the caller's context) it keeps in a `RemoteRunner`, one for each lane.
"""

from __future__ import annotations

import os
import pickle
import platform
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any

import cloudpickle

from .... import __version__
from ....errors import BackendError
from ....serialization.exceptions import encode_error
from .. import clocks, pack
from ..pack import LEAVE
from . import kept, measure, modules
from .ending import end_with
from .profiler import RemoteProfiler
from .runner import RemoteRunner
from .turns import turns
from .visit import learn

_runners: dict[tuple[bytes, int], RemoteRunner] = {}
_profilers: dict[bytes, RemoteProfiler] = {}  # by token
_lock = threading.Lock()
leaving: dict[bytes, list[Callable[[], Any]]] = {}  # by token: what else ends when its caller has gone


def run(data: list[Any]) -> bytes:
    """Run a pack; its reply."""
    return pack.joined_reply(run_in_parts(data))


def run_in_parts(data: list[Any]) -> bytes | pack.ReplyParts:
    """The same; large results in the reply are not copied."""
    begun = clocks.now()
    head = pack.pack_head(data[0])
    if head.kind == pack.HELLO:
        return _greet(data, begun)
    runner = _runners.get((head.token, head.runner))
    if runner is None:
        raise BackendError(
            "the worker does not know this kernel any more: its client of the cluster had gone"
        )
    return runner.run(head.number, memoryview(data[1]), memoryview(data[2]), begun, head.budget_ns)


def hear(message: bytes) -> Any:
    """A word beside the packs; from any thread, also while one runs.

    (INTERRUPT, token, runner, tickets): these tasks end. (WITHDRAW, token, runner, packs): what has not begun of these
    packs will not; how many tasks of each have is returned. (GIVE_UP, token, runner, packs): the same, and nothing of
    them is awaited any more; what has ended of the pack in hand is returned, too. (MEASURE, token): what this process
    uses is returned. (PROFILE, token, epoch, rate): its tasks are sampled for this profile, 0: no more; new samples are
    returned. (LEAVE, token): the caller has gone, nothing of it remains.
    """
    kind, token, *rest = pickle.loads(message)
    if kind == pack.INTERRUPT:
        runner = _runners.get((token, rest[0]))
        if runner is not None:
            runner.interrupt(rest[1])
    elif kind == pack.WITHDRAW:
        runner = _runners.get((token, rest[0]))
        return runner.withdraw(rest[1]) if runner is not None else {}
    elif kind == pack.GIVE_UP:
        runner = _runners.get((token, rest[0]))
        return runner.give_up(rest[1]) if runner is not None else ({}, 0, b"")
    elif kind == pack.MEASURE:
        return measure.measured(
            {key[1]: one.ticket for key, one in _runners.copy().items() if key[0] == token}
        )
    elif kind == pack.PROFILE:
        return _profiler(token).ask(*rest)
    elif kind == LEAVE:
        with _lock:
            for key in [key for key in _runners if key[0] == token]:
                runner = _runners.pop(key)
                runner.leave(alone=not _runners)
            left = leaving.pop(token, [])
        kept.forget(token)
        modules.forget(token)
        turns.forget(token)
        for leave in left:
            leave()
    return None


def latest_packs(token: bytes) -> dict[int, int]:
    """Return the number of the latest pack, by lane of this caller's."""
    return {key[1]: one.latest for key, one in _runners.copy().items() if key[0] == token}


def abandon(token: bytes) -> bool:
    """The caller has gone without a word: what runs for it is interrupted, and once that is over nothing of it remains.
    Returns whether that is so.
    """
    over = [one.abandon() for key, one in _runners.copy().items() if key[0] == token]
    if not all(over):
        return False
    hear(pickle.dumps((LEAVE, token)))
    return True


def _profiler(token: bytes) -> RemoteProfiler:
    with _lock:
        found = _profilers.get(token)
        if found is None:
            found = _profilers[token] = RemoteProfiler(
                lambda: [runner for key, runner in _runners.copy().items() if key[0] == token]
            )
            leaving.setdefault(token, []).extend([found.leave, lambda: _profilers.pop(token, None)])
    return found


def in_task() -> bool:
    """Whether this code runs inside a task."""
    here = threading.get_ident()
    runners = list(_runners.values())
    if any(runner.thread == here for runner in runners):
        return True
    # a thread that a task has started: only where this process is no kernel
    return "cellmill._csched_with_gil" not in sys.modules and any(runner.ticket for runner in runners)


def versions() -> dict[str, str]:
    """Return the versions that must be the same at both ends."""
    return {
        "cellmill": __version__,
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "cloudpickle": ".".join(cloudpickle.__version__.split(".")[:2]),
    }


def _greet(data: list[Any], begun: int) -> bytes:
    """The first exchange: who the worker is. With settings, also the initializer, once the texts of all modules are
    here; without them only the clock.
    """
    answer: dict[str, Any] = {
        "page": False,
        "versions": versions(),
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "boot": clocks.boot(),
    }
    if len(data) > 1 and len(data[1]):
        head = pack.pack_head(data[0])
        try:
            settings = pickle.loads(data[1])
            end_with(settings["ends_with"])
            if len(data) > 2 or not _lacks(head.token, settings, answer):
                if settings["process"] != measure.process():
                    generation, listing, shipment = settings["modules"]
                    texts, archive = pickle.loads(data[2]) if len(data) > 2 else ({}, None)
                    learn(head.token, generation, listing, texts)
                    modules.take_shipment(head.token, shipment, archive)
                answer["page"] = _runner(head.token, head.runner).settle_in(settings)
                if settings["watch"] is not None and settings["process"] != measure.process():
                    settings["watch"](head.token)
        except BaseException as error:
            answer["error"] = encode_error(error, "the initializer")
    return pack.joined_reply(pack.encode_reply(b"", 0, [], [pickle.dumps(answer)], begun, clocks.now()))


def _lacks(token: bytes, settings: dict[str, Any], answer: dict[str, Any]) -> bool:
    """Whether texts of modules, or what is shipped, have to come first; the answer names them."""
    if settings["process"] != measure.process():
        _, listing, shipment = settings["modules"]
        names, archive = modules.lacking(token, listing, shipment)
        if names or archive:
            answer["lacking"] = names, archive
    return "lacking" in answer


def _runner(token: bytes, number: int) -> RemoteRunner:
    key = (token, number)
    runner = _runners.get(key)
    if runner is None:
        with _lock:
            runner = _runners.setdefault(key, RemoteRunner(token))
    return runner
