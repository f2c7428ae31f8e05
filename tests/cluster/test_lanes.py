"""Lanes over an engine of threads: what packs hold, what comes back of them, and what becomes of it when workers go."""

from __future__ import annotations

import itertools
import os
import pickle
import queue
import random
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import pytest

import cellmill
from cellmill import BackendError, WorkerLostError, run_registry
from cellmill.backends.cluster import clocks, lane, pack, page
from cellmill.backends.cluster.backend import ClusterBackend
from cellmill.backends.cluster.engines.protocol import Heard, Lanes, RemoteWorker
from cellmill.backends.cluster.remote import entry
from cellmill.backends.common_options import CommonOptions
from cellmill.backends.map_options import MapOptions
from cellmill.backends.scheduled.sizes import CHUNK_NS
from cellmill.task import DEFAULT_OPTIONS, NO_RUN
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate


class Threads:
    """An engine whose remote workers are threads of this process."""

    name = "threads-of-a-test"
    where = "the threads of a test"
    owns = True
    refills = True
    keeps = True
    spares = 0

    def __init__(self, run: Callable[[list[Any]], Any] = entry.run) -> None:
        self.run = run
        self.lanes: Lanes
        self.inboxes: dict[Hashable, queue.Queue[tuple[int, list[Any]] | None]] = {}
        self.packs: list[list[Any]] = []
        self.closed = threading.Event()

    def open(self, lanes: Lanes, workers: int | None) -> int:
        self.lanes = lanes
        for i in range(workers or 1):
            self.start(i)
        return workers or 1

    def start(self, key: Hashable) -> None:
        inbox = self.inboxes[key] = queue.Queue()
        threading.Thread(target=self.serve, args=(inbox,), daemon=True).start()
        self.lanes.came(RemoteWorker(key, f"thread {key}", "here", 0))

    def serve(self, inbox: queue.Queue[tuple[int, list[Any]] | None]) -> None:
        while (item := inbox.get()) is not None:
            number, data = item
            try:
                reply = self.run(data)
            except BaseException as error:
                self.lanes.failed(number, error)
            else:
                self.lanes.replied(number, reply)

    def send(self, key: Hashable, pack: int, data: list[Any], name: str) -> None:
        self.packs.append(data)
        self.inboxes[key].put((pack, data))

    def tell(self, key: Hashable, message: bytes) -> None:
        entry.hear(message)

    def ask(self, key: Hashable, message: bytes) -> Any:
        return entry.hear(message)

    def dashboard(self) -> str:
        return ""

    def want(self, waiting: Any, there: int, more: int) -> None:
        """There are as many as there are."""

    def watch(self) -> None: ...

    def leave_alone(self, key: Hashable) -> None:
        """A thread that gets no packs waits."""

    def store(self) -> Any:
        raise NotImplementedError

    def measure(self, message: bytes, heard: Heard) -> None:
        """This process is the kernel's: there is nothing to tell of it."""

    def refer(self, thing: Any) -> None:
        """Nothing is here but tasks."""

    def values(self) -> None:
        """Results travel."""

    def kill(self, key: Hashable, reason: str) -> None:
        raise BackendError("threads cannot be ended")

    def resize(self, workers: int, gone: Any = ()) -> None:
        for i in range(len(self.inboxes), workers):
            self.start(i)

    def close(self) -> None:
        for inbox in self.inboxes.values():
            inbox.put(None)
        self.closed.set()

    def sizes(self) -> list[int]:
        """Tasks in each pack."""
        kinds = [
            [r[0] for r in pack.PACKED.iter_unpack(data[1])] for data in list(self.packs) if len(data) == 3
        ]
        return [found.count(pack.TASK) for found in kinds if pack.TASK in found]


class Line:
    """To a remote worker; while it is bad the next pack of tasks does not get there."""

    bad = False

    def run(self, data: list[Any]) -> bytes:
        if self.bad and len(data) == 3:
            self.bad = False
            raise OSError("the line is bad")
        return entry.run(data)


@pytest.fixture
def opened() -> Iterator[Callable[..., tuple[ClusterBackend, Threads]]]:
    made: list[ClusterBackend] = []

    def make(
        workers: int = 1, run: Callable[[list[Any]], Any] = entry.run, **options: Any
    ) -> tuple[Any, Threads]:
        engine = Threads(run)
        made.append(ClusterBackend(engine, workers, CommonOptions(**options)))
        made[-1].open()
        return made[-1], engine

    yield make
    for backend in made:
        backend.shutdown(True, True)
        assert backend.engine.closed.is_set()


def _learn(backend: ClusterBackend) -> None:
    """It knows then that these tasks are short."""
    for i in range(100):
        backend.submit_plain(tasks.double, (i,), {}).result(SECONDS)


def _behind_a_long_one(backend: ClusterBackend, gate: Gate) -> Any:
    """Short tasks in the pack of one that has begun and waits for the gate."""
    backend.pause(True)
    held = backend.submit_plain(tasks.hold, (gate.folder, 7), {})
    rest = [backend.submit_plain(tasks.double, (i,), {}) for i in range(100)]
    backend.pause(False)
    gate.wait_started()
    return held, rest


def test_fine_tasks_share_packs(opened: Any) -> None:
    backend, engine = opened()
    assert (
        backend.submit_plain(tasks.double, (1,), {}).result(SECONDS) == 2
    )  # how long they take is known now
    futures = [backend.submit_plain(tasks.double, (i,), {}) for i in range(5000)]
    assert [f.result(SECONDS) for f in futures] == [2 * i for i in range(5000)]
    sizes = engine.sizes()
    assert sum(sizes) >= 5001  # what a pack had no time for was sent again
    assert len(sizes) < 500
    assert max(sizes) <= 4096


def test_what_waits_behind_a_long_task_goes_elsewhere(opened: Any, gate: Gate) -> None:
    backend, _ = opened()
    _learn(backend)
    held, rest = _behind_a_long_one(backend, gate)
    backend.set_workers(2)
    assert [f.result(SECONDS) for f in rest] == [2 * i for i in range(100)]
    assert not held.done()
    gate.release()
    assert held.result(SECONDS) == 7


def test_what_waits_at_a_place_can_be_cancelled(opened: Any, gate: Gate) -> None:
    backend, _ = opened()
    _learn(backend)
    held, rest = _behind_a_long_one(backend, gate)
    assert all(f.cancel() for f in rest)
    gate.release()
    assert held.result(SECONDS) == 7


def _behind(backend: ClusterBackend, first: Any) -> Any:
    """Of a function that the remote worker has not had yet; with those of `first` they share a pack."""
    backend.pause(True)
    before = first()
    rest = [backend.submit_plain(_negative, (i,), {}) for i in range(5)]
    backend.pause(False)
    return before, rest


def _negative(x: int) -> int:
    return -x


def test_functions_are_heard_behind_tasks_for_which_there_was_no_time(
    opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane, "BUDGET_NS", 0)
    backend, _ = opened()
    _learn(backend)
    before, rest = _behind(backend, lambda: [backend.submit_plain(tasks.double, (i,), {}) for i in range(5)])
    assert [f.result(SECONDS) for f in before] == [2 * i for i in range(5)]
    assert [f.result(SECONDS) for f in rest] == [-i for i in range(5)]


@pytest.mark.parametrize("packs", [1, 2], ids=["in hand", "on its way"])
def test_a_function_behind_a_long_task_is_heard(opened: Any, gate: Gate, packs: int) -> None:
    """A function is in a pack whose tasks go elsewhere: the remote worker has it nevertheless."""
    backend, engine = opened()
    _learn(backend)

    def hold() -> Any:
        held = backend.submit_plain(tasks.hold, (gate.folder, 7), {})
        if packs == 2:
            backend.pause(False)
            gate.wait_started()
            backend.pause(True)
        return held

    held, rest = _behind(backend, hold)
    if packs == 1:
        gate.wait_started()
    backend.set_workers(2)
    assert [f.result(SECONDS) for f in rest] == [-i for i in range(5)]
    assert not held.done()
    gate.release()
    assert held.result(SECONDS) == 7
    engine.lanes.gone(1, "it was unplugged")
    for i in range(100):
        assert backend.submit_plain(_negative, (i,), {}).result(SECONDS) == -i


def test_a_lost_place_takes_one_task_along(opened: Any, gate: Gate) -> None:
    backend, engine = opened()
    _learn(backend)
    held, rest = _behind_a_long_one(backend, gate)
    engine.lanes.gone(0, "it was unplugged")
    engine.start("another")
    with pytest.raises(WorkerLostError, match="was lost: it was unplugged"):
        held.result(SECONDS)
    assert [f.result(SECONDS) for f in rest] == [2 * i for i in range(100)]
    gate.release()


def test_a_place_that_is_lost_while_its_reply_makes_no_sense(
    opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend, engine = opened()
    assert backend.submit_plain(tasks.double, (1,), {}).result(SECONDS) == 2
    decode, torn = pack.decode_reply, []

    def decode_all_but_the_first(buffer: Any) -> pack.Reply:
        if not torn:
            torn.append(buffer)
            engine.lanes.gone(0, "it was unplugged")
        if buffer is torn[0]:
            raise ValueError("these bytes are no reply to a pack")
        return decode(buffer)

    monkeypatch.setattr(pack, "decode_reply", decode_all_but_the_first)
    future = backend.submit_plain(tasks.double, (2,), {})
    engine.start("another")
    assert future.result(SECONDS) == 4


def test_without_a_page_suspects_run_alone(opened: Any, monkeypatch: pytest.MonkeyPatch, gate: Gate) -> None:
    """A remote worker on another machine: which task of its pack ran is not known."""
    monkeypatch.setattr(page, "opened", lambda *_: None)
    backend, engine = opened()
    _learn(backend)
    backend.pause(True)
    held = backend.submit_plain(tasks.hold, (gate.folder, 7), {})
    rest = [backend.submit_plain(tasks.double, (i,), {}) for i in range(20)]
    backend.pause(False)
    gate.wait_started()
    before = len(engine.sizes())
    engine.lanes.gone(0, "it was unplugged")
    engine.start("another")
    gate.release(2)
    assert held.result(SECONDS) == 7  # it was not to blame
    assert [f.result(SECONDS) for f in rest] == [2 * i for i in range(20)]
    assert set(engine.sizes()[before:]) == {1}


def test_a_task_with_a_limit_travels_alone(opened: Any) -> None:
    backend, engine = opened()
    limited = DEFAULT_OPTIONS.changed(timeout=30)
    futures = [backend.submit(tasks.double, (i,), {}, limited, NO_RUN) for i in range(20)]
    assert [f.result(SECONDS) for f in futures] == [2 * i for i in range(20)]
    assert set(engine.sizes()) == {1}


def test_large_arguments_share_packs() -> None:
    """Once it is known that there are some, and where they travel in packs."""
    goes = threading.Event()
    goes.set()

    def run(data: list[Any]) -> bytes:
        goes.wait(SECONDS)
        return entry.run(data)

    engine = Threads(run)
    backend = ClusterBackend(engine, 1, CommonOptions(), proxies=False)
    backend.open()
    try:
        assert backend.submit_plain(len, (bytes(1_000_000),), {}).result(SECONDS) == 1_000_000
        goes.clear()
        sent = [backend.submit_plain(len, (bytes(1_000_000 + i),), {}) for i in range(16)]
        goes.set()
        assert [each.result(SECONDS) for each in sent] == list(range(1_000_000, 1_000_016))
        assert max(engine.sizes()) >= 3
    finally:
        backend.shutdown(True, True)


def test_chunks_of_a_map_fill_two_packs(opened: Any, gate: Gate) -> None:
    """One that runs and one that waits there: their results come back with a pack, and the next ones go then."""
    backend, _ = opened()
    run = run_registry.begin(backend, backend.open_run(), "hold", 20)
    how = MapOptions(None, None, True, False, None, star=True)
    held = backend.map(tasks.hold, ([gate.folder] * 20, range(20)), DEFAULT_OPTIONS, run, how)
    gate.wait_started()
    (stream,) = backend.streams(run.key)
    assert stream.sent == backend.ahead
    assert backend.ahead * CHUNK_NS * backend.crowding >= 2 * lane.PACK_NS
    gate.release(20)
    assert list(held) == list(range(20))


def _filled(size: int) -> bytearray:
    return bytearray([size % 251]) * size


def test_replies_come_in_parts(opened: Any) -> None:
    """Large results are parts of their own; wherever a reply is cut, the values are the same."""
    drawn, counts = random.Random(1), list[int]()

    def in_parts(data: list[Any]) -> Any:
        reply = entry.run_in_parts(data)
        parts = reply if isinstance(reply, pack.ReplyParts) else [reply]
        counts.append(len(parts))
        pickled = pickle.loads(pickle.dumps(parts, 5)), pickle.loads(pickle.dumps(parts, 4))
        assert all(b"".join(one) == pack.joined_reply(reply) for one in pickled)
        first, *rest = parts
        decoded = pack.decode_reply(first)
        head = len(first) - sum(map(len, decoded.data))
        data = b"".join([first[head:], *rest])
        cuts = sorted(drawn.randrange(len(data) + 1) for _ in range(5))
        return [
            first[:head],
            *(data[at:to] for at, to in zip([0, *cuts], [*cuts, len(data)], strict=True)),
        ]

    backend, _ = opened(run=in_parts)
    sizes = [10, 5_000, 70_000, 300_000, 100, 1_000_000]
    for _ in range(5):
        futures = [backend.submit_plain(_filled, (size,), {}) for size in sizes]
        for size, future in zip(sizes, futures, strict=True):
            assert future.result(SECONDS) == _filled(size)
        many = [size for size in sizes for _ in range(20)]
        run = run_registry.begin(backend, backend.open_run(), "filled", len(many))
        how = MapOptions(None, None, True, False, None, star=False)
        assert list(backend.map(_filled, (many,), DEFAULT_OPTIONS, run, how)) == list(map(_filled, many))
    assert max(counts) > 1


def test_a_reply_that_is_cut_off_is_an_error(opened: Any) -> None:
    def cut(data: list[Any]) -> Any:
        reply = entry.run(data)
        return reply[:-1] if data and pack.pack_head(data[0]).kind == pack.TASKS else reply

    backend, _ = opened(run=cut)
    with pytest.warns(RuntimeWarning), pytest.raises(WorkerLostError):
        backend.submit_plain(_filled, (100_000,), {}).result(SECONDS)


def test_clocks_of_other_machines_are_aligned(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "now", lambda: time.monotonic_ns() + 5_000_000_000_000)
    boots = itertools.count()
    monkeypatch.setattr(clocks, "boot", lambda: str(next(boots)))
    backend, _ = opened()
    started = time.monotonic_ns()
    assert backend.submit_plain(tasks.double, (1,), {}).result(SECONDS) == 2
    row = list(backend.journey_rows())[-1]
    stamps = [row[stage] for stage in cellmill.telemetry.schema.STAGES]
    assert None not in stamps
    assert stamps == sorted(stamps)
    assert started <= stamps[0] <= stamps[-1] <= time.monotonic_ns()


def test_other_versions_are_refused(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def older(data: list[Any]) -> Any:
        reply = pack.decode_reply(entry.run(data))
        answer = {**pickle.loads(b"".join(reply.data)), "versions": {"cellmill": "0.0.1", "Python": "2.7"}}
        return pack.encode_reply(b"", 0, [], [pickle.dumps(answer)], reply.begun, reply.ended)

    backend, _ = opened(run=older)
    with pytest.raises(
        WorkerLostError, match=r"has cellmill 0\.0\.1 \(here: .*Python 2\.7.*same versions"
    ) as raised:
        backend.submit_plain(tasks.double, (1,), {}).result(SECONDS)
    assert isinstance(raised.value.__cause__, BackendError)


def test_remote_workers_without_cellmill(opened: Any) -> None:
    def nowhere(data: list[Any]) -> bytes:
        raise ModuleNotFoundError("No module named 'cellmill'")

    backend, _ = opened(run=nowhere)
    with pytest.raises(WorkerLostError, match=r"cannot import Cellmill.*pip install cellmill"):
        backend.submit_plain(tasks.double, (1,), {}).result(SECONDS)


def test_a_pack_that_cannot_be_run_fails_its_tasks_alone(opened: Any) -> None:
    line = Line()
    backend, _ = opened(run=line.run)
    assert backend.submit_plain(tasks.double, (1,), {}).result(SECONDS) == 2
    line.bad = True
    with pytest.raises(BackendError, match="could not run a pack of tasks: OSError: the line is bad"):
        backend.submit_plain(tasks.double, (1,), {}).result(SECONDS)
    assert backend.submit_plain(tasks.double, (3,), {}).result(SECONDS) == 6


def test_what_a_pack_said_that_could_not_be_run_is_said_again(opened: Any) -> None:
    line = Line()
    backend, _ = opened(run=line.run)
    assert backend.submit_plain(tasks.double, (1,), {}).result(SECONDS) == 2
    line.bad = True
    with pytest.raises(BackendError, match="the line is bad"):
        backend.submit_plain(_negative, (1,), {}).result(SECONDS)
    assert [backend.submit_plain(_negative, (i,), {}).result(SECONDS) for i in range(3)] == [0, -1, -2]
    line.bad = True
    with pytest.raises(BackendError, match="the line is bad"):
        backend.run_on_workers(tasks.pid)
    assert backend.run_on_workers(tasks.pid) == [os.getpid()]


def test_a_function_that_did_not_come(opened: Any) -> None:
    """Its pack failed when the next one was on its way."""
    gone: list[list[Any]] = []

    def run(data: list[Any]) -> bytes:
        known = (
            [r for r in pack.PACKED.iter_unpack(data[1]) if r[0] == pack.FUNCTION] if len(data) == 3 else []
        )
        if known and not gone:
            gone.append(data)
            data[1] = b"".join(
                pack.PACKED.pack(*r) for r in pack.PACKED.iter_unpack(data[1]) if r not in known
            )
        return entry.run(data)

    backend, _ = opened(run=run)
    with pytest.raises(BackendError, match=r"did not reach its worker.*repeat the call"):
        backend.submit_plain(_negative, (1,), {}).result(SECONDS)


def test_an_initializer_that_fails(opened: Any) -> None:
    backend, _ = opened(initializer=tasks.double, initargs=())
    with pytest.raises(WorkerLostError, match="initializer of the workers failed"):
        backend.submit_plain(tasks.double, (1,), {}).result(SECONDS)
