"""One lane in the kernel: a worker of the scheduler whose tasks go to a remote worker, and its relay thread.

The relay takes tasks from the lane's ring, sends it as a pack, and publishes what comes back. It waits in C, without
the GIL. Two packs at most are outstanding: one runs, one waits there, and only while tasks are so short that the way
back and forth matters. A pack holds about as much work as its budget; of tasks of unknown length it holds one.
"""

from __future__ import annotations

import contextlib
import pickle
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from ..scheduled.requests import Requests
from ..scheduled.scheduler import Scheduler, check, nogil, nogil_ffi, with_gil
from . import clocks, diagnostics, pack
from .engines.protocol import Engine, RemoteWorker
from .handshake import greet
from .modules import Texts
from .packs_in_flight import SentPack, SentPacks, reply_to
from .page import Page
from .tasks_in_flight import Taken
from .values.own_memory import own_room

BUDGET_NS = 100_000_000  # of a pack: after that its tasks that have not begun come back
PACK_NS = 50_000_000  # work in a pack
AHEAD_NS = 2 * PACK_NS  # for a task; packs of longer ones do not wait there
MOST_TASKS = 4096  # in a pack
MOST_RECORDS = MOST_TASKS + 256  # with functions and requests
ROOM = 8 << 20  # bytes of a pack of several tasks; a larger one travels alone
LARGE = 64 << 10  # bytes of a pack, from which on its room is sent, not a copy
SLICE_MS = 500  # of a wait
TAKEN_SECONDS = 1.0  # for the relay to take back what a remote worker gave up
STUCK_SECONDS = 0.15  # after which what waits behind a task may go elsewhere


class LaneHost(Protocol):
    """The pool that a lane belongs to."""

    scheduler: Scheduler
    engine: Engine
    token: bytes
    folder: str
    closed: bool
    sent: SentPacks
    requests: Requests

    @property
    def stopped(self) -> bool:
        """Whether completions are not settled any more."""

    def settings_for(self, remote: RemoteWorker, page: str) -> bytes:
        """Return the settings that a remote worker needs before its first task."""

    def hear(self, index: int, frames: memoryview) -> None:
        """Take what tasks of this lane have printed."""

    def texts(self, names: Iterable[str], shipped: bool) -> tuple[Texts, bytes | None]: ...

    def name_of(self, function: int | None) -> str: ...

    def initializer_failed(self, data: bytes) -> None: ...

    def failed_lane(self, lane: Lane, error: BaseException) -> None:
        """Its relay gave up."""

    def ended(self, lane: Lane) -> None:
        """Just before the scheduler hears of it."""

    def after_end(self, lane: Lane) -> None: ...


class _Withdrawn:
    """What a remote worker answers when packs are withdrawn."""

    def __init__(self, begun: dict[int, int], number: int = 0, reply: bytes = b"") -> None:
        self.begun = begun  # how many tasks, by pack
        self.number = number  # of the pack in hand of which there is a reply before its end; 0: none
        self.reply = reply
        self.taken = threading.Event()  # set when the lane has heeded it


class Lane:
    """See the module. All but the section "from other threads" is called by its relay thread."""

    def __init__(self, pool: LaneHost, remote: RemoteWorker, number: int) -> None:
        self.pool = pool
        self.remote = remote
        self.number = number
        self.pid = remote.pid
        scheduler = pool.scheduler
        index, out = nogil_ffi.new("uint32_t *"), nogil_ffi.new("csched_lane_t **")
        check(nogil.csched_lane_open(scheduler.nogil_handle, index, out), "opening a lane")
        self.index = int(index[0])
        self.handle = out[0]
        self._taken = Taken(self.handle)
        self.retiring = False
        self.ready = False
        self.lost: str | None = None  # why
        self.over = threading.Event()
        self.clock = clocks.Clock()
        self._lock = threading.Lock()
        self._closed = False
        self.packs: deque[SentPack] = deque()  # outstanding, in the order they were sent
        self._mean_ns = 0.0  # of the latest tasks; 0: unknown
        self._unheard: list[pack.Word] = []  # for the next pack: the one that had them failed
        self._withdrawn: deque[_Withdrawn] = deque()  # answers of the remote worker
        self.blameless = False  # its process is ended because of another lane's task, or by the cluster
        self.left = False  # by the cluster: no loss that users are told of
        self._patient = False  # nothing more is sent until what runs there has come back
        self._alone = False  # what is outstanding has the lane for itself
        self._room = own_room(ROOM)
        self._records = nogil_ffi.new("csched_packed_t[]", MOST_RECORDS)
        self._used = nogil_ffi.new("uint64_t *")
        self.page = Page(pool.folder, number)
        self._thread = threading.Thread(target=self._relay, name=f"cellmill-lane-{self.index}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self, seconds: float) -> None:
        if self._thread is not threading.current_thread():
            self._thread.join(seconds)

    # -- from other threads

    def wake(self) -> None:
        with self._lock:
            if not self._closed:
                nogil.csched_lane_wake(self.handle)

    def answered(self, number: int, answer: Any, error: BaseException | None) -> None:
        """A pack's reply, or why there is none."""
        for found in list(self.packs):
            if found.number == number:
                found.answer, found.error = answer, error
        self.wake()

    def lose(self, reason: str) -> None:
        """Mark the remote worker as lost."""
        if self.lost is None:
            self.lost = reason
        self.wake()

    @property
    def idle(self) -> bool:
        """Whether the lane is ready and has nothing outstanding."""
        return self.ready and not self.packs and not self.retiring

    def holds_others_back(self, now: float) -> bool:
        """Tasks wait here behind one that takes long; asked once."""
        packs = list(self.packs)
        if not self.ready or self.lost is not None or not packs or packs[0].asked:
            return False
        if now - packs[0].sent < STUCK_SECONDS or sum(p.tasks for p in packs) < 2:
            return False
        packs[0].asked = True
        return True

    def runs(self, ticket: int) -> bool:
        """Whether the remote worker is known to run this task now."""
        return self.page.known and self.page.read()[0] == ticket

    def ask_back(self) -> None:
        """Have what has not begun there go elsewhere; waits for the remote worker's answer."""
        with contextlib.suppress(
            Exception
        ):  # a remote worker that is going, or does not hear: they stay there
            answer = self._ask(pack.WITHDRAW)
            if isinstance(answer, dict):
                self._hear_back(_Withdrawn(answer))

    def give_up(self, reason: str) -> None:
        """Leave what runs there to itself, and end: what has ended there is taken over, what has not begun goes
        elsewhere.
        """
        asking = threading.Thread(target=self._ask_all, name="cellmill-ask", daemon=True)
        asking.start()
        asking.join(TAKEN_SECONDS)  # a process that does not answer: what it has may run twice
        self.lose(reason)

    def _ask_all(self) -> None:
        with contextlib.suppress(Exception):  # a remote worker that is going
            self._hear_back(_Withdrawn(*self._ask(pack.GIVE_UP)))

    def _ask(self, kind: int) -> Any:
        numbers = [p.number for p in list(self.packs)]
        return self.pool.engine.ask(
            self.remote.key, pickle.dumps((kind, self.pool.token, self.number, numbers))
        )

    def _hear_back(self, answer: _Withdrawn) -> None:
        self._withdrawn.append(answer)
        self.wake()
        answer.taken.wait(TAKEN_SECONDS)

    # -- for the handshake

    @property
    def closed(self) -> bool:
        """Whether the lane's pool is closed."""
        return self.pool.closed

    def hear(self, frames: memoryview) -> None:
        """Pass on output that tasks of this lane have printed."""
        self.pool.hear(self.index, frames)

    def texts(self, names: Iterable[str], shipped: bool) -> tuple[Texts, bytes | None]:
        """Return what the remote worker lacks: texts of modules of these names, the archive of what is shipped."""
        return self.pool.texts(names, shipped)

    def initializer_failed(self, error: bytes) -> None:
        self.pool.initializer_failed(error)

    # -- the relay

    def _relay(self) -> None:
        try:
            if greet(self, self.pool.settings_for(self.remote, self.page.path)):
                self.ready = True
                nogil.csched_lane_ready(self.handle)
                self.pool.scheduler.poll()
                self._serve()
        except BaseException as error:
            self.pool.failed_lane(self, error)
        finally:
            self._end()

    def _serve(self) -> None:
        handle = self.handle
        while self.lost is None:
            self._publish_answers()
            self._take_back()
            if not self._may_send():
                nogil.csched_lane_wait(handle, SLICE_MS)
                continue
            n = nogil.csched_lane_take(
                handle,
                SLICE_MS,
                self._most(),
                nogil_ffi.from_buffer(self._room),
                len(self._room),
                self._records,
                MOST_RECORDS,
                self._used,
            )
            if n > 0:
                self._send(n)
            elif n == with_gil.CSCHED_ETOOBIG:
                self._room = own_room(int(self._used[0]))
            elif n == with_gil.CSCHED_EAGAIN:  # the next one waits until nothing is outstanding
                nogil.csched_lane_wait(handle, SLICE_MS)
            elif n == with_gil.CSCHED_ESTOPPED:
                if not self.packs:
                    return
                nogil.csched_lane_wait(handle, SLICE_MS)
            else:
                check(n, "taking tasks for a cluster")

    def _may_send(self) -> bool:
        if not self.packs:
            return True
        if len(self.packs) >= self.remote.packs or self._alone or self._patient:
            return False
        return 0 < self._mean_ns < AHEAD_NS

    def _take_back(self) -> None:
        """Take back the tasks that a remote worker has promised not to begin."""
        while self._withdrawn:
            answer = self._withdrawn.popleft()
            begun = answer.begun
            for sent in reversed(self.packs):
                if sent.over or sent.number not in begun:
                    break  # its reply says more; and only the newest ones can be taken back
                count = sent.tasks - begun[sent.number]
                if count > 0:
                    self._taken.give_back_newest(count)
                    sent.tasks -= count
                    self._patient = True
                if begun[sent.number]:
                    break
            first = self.packs[0] if self.packs else None
            if (
                first is not None
                and first.number == answer.number
                and not (first.over or first.given_up)  # who asks again is told the same outcomes
            ):
                first.given_up = True
                reply = pack.decode_reply(answer.reply)
                if reply.frames.nbytes:
                    self.hear(reply.frames)
                self._taken.publish(reply, self.clock.ahead)
                first.tasks -= reply.tasks
            answer.taken.set()

    def _most(self) -> int:
        if not self._mean_ns:
            return 1
        return max(1, min(MOST_TASKS, int(PACK_NS / self._mean_ns)))

    def _send(self, n: int) -> None:
        records = bytes(nogil_ffi.buffer(self._records, n * pack.PACKED.size))
        count = len(self._taken) - sum(p.tasks for p in self.packs)
        self._alone = bool(self._records[n - 1].alone)
        data: Any = self._room[: int(self._used[0])]
        if len(data) < LARGE:
            data = bytes(data)
        else:
            self._room = own_room(ROOM)
        if self._unheard:
            records, data = pack.with_words(self._unheard, records, data)
        words = pack.words(records, data) if n > count or self._unheard else []
        self._unheard = []
        name = self.pool.name_of(next((r.function for r in self._records[0:n] if r.kind == pack.TASK), None))
        self.dispatch(pack.TASKS, count, [records, data], words, name)

    def dispatch(
        self,
        kind: int,
        tasks: int,
        body: list[Any],
        words: Sequence[pack.Word] = (),
        name: str = pack.UNNAMED,
    ) -> SentPack:
        number = self.pool.sent.add(self)
        sent = SentPack(number, tasks, words)
        self.packs.append(sent)
        head = pack.PackHead(pack.PROTOCOL, kind, self.pool.token, self.number, number, BUDGET_NS)
        try:
            self.pool.engine.send(self.remote.key, number, [head.encode(), *body], name)
        except Exception as error:
            sent.error = error
            self.pool.sent.take(number)
            self.wake()
        return sent

    # -- what comes back

    def _publish_answers(self) -> None:
        while self.packs and self.packs[0].over:
            first = self.packs[0]
            reply = reply_to(first)
            if not isinstance(reply, BaseException):
                first.answer = None
                self._publish(first, reply)
            elif self.lost is not None:
                return  # its tasks go elsewhere
            else:  # the engine could not run it, and the worker exists: each of its tasks fails with the reason
                self.packs.popleft()
                self._alone = False
                problem = diagnostics.explain(reply)
                self._taken.fail(first.tasks, problem)
                self._say_again(first.words, problem)

    def _say_again(self, words: Sequence[pack.Word], problem: BaseException) -> None:
        """Queue these words for the next pack; a caller that waits for an answer gets the error."""
        for word in words:
            if word.kind == pack.CONTROL and word.number:
                self.pool.requests.refuse(word.number, problem)
            else:
                self._unheard.append(word)

    def _publish(self, first: SentPack, reply: pack.Reply) -> None:
        if reply.frames.nbytes:
            self.hear(reply.frames)
        mean = reply.mean_ns()
        if mean:
            self._mean_ns = 0.5 * (self._mean_ns or mean) + 0.5 * mean
        self.packs.popleft()
        self._alone = self._patient = False
        if self._taken.publish(reply, self.clock.ahead) and reply.tasks < first.tasks:
            self._taken.give_back(first.tasks - reply.tasks)

    # -- the end

    def _end(self) -> None:
        """Close the lane. Outstanding tasks are sent elsewhere; one that was alone in its pack has killed it."""
        try:
            if not self.pool.stopped or self.packs:
                self._give_back()
        except Exception as error:  # its tasks go elsewhere, as those of a worker that was lost
            self.pool.failed_lane(self, error)
        self.pool.ended(self)  # not under our lock: the pool wakes lanes under its own
        with self._lock:
            self._closed = True
            nogil.csched_worker_lost(self.pool.scheduler.nogil_handle, self.index)
            nogil.csched_lane_close(self.handle)
            self.page.close()
        self.over.set()
        self.pool.after_end(self)

    def _give_back(self) -> None:
        self._publish_answers()
        self._take_back()
        packs = [p for p in self.packs if p.tasks]
        if not packs or not len(self._taken):
            return
        if self.blameless:
            self._taken.give_back(len(self._taken))
        elif self.page.known:
            self._taken.give_back_but(*self.page.read())
        elif len(self._taken) > 1 or self.lost is None:  # one alone: lost, or tried again as its options say
            self._taken.give_back_suspects(packs[0].tasks, self.lost is not None)
