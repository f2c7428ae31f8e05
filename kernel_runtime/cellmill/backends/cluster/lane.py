"""One lane in the kernel: a worker of the scheduler whose tasks go to a place of a cluster, and its relay thread.

The relay takes what lies in the lane's ring, sends it as a pack, and publishes what comes back. It waits in C, without
the GIL. Two packs at most are outstanding: one runs, one waits there, and only while tasks are so short that the way
back and forth matters. A pack holds about as much work as its budget; of tasks nobody knows it holds one.
"""

from __future__ import annotations

import contextlib
import pickle
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from ...errors import BackendError, CellmillError, PayloadError
from ...raised import encode_error
from ..scheduled.scheduler import check, free, free_ffi, held
from . import clocks, pack, remote
from .engine import Place
from .page import Page

if TYPE_CHECKING:
    from .lanes import LanePool

BUDGET_NS = 100_000_000  # of a pack: after that its tasks that have not begun come back
PACK_NS = 50_000_000  # work in a pack
MOST_TASKS = 4096  # in a pack
MOST_RECORDS = MOST_TASKS + 256  # with functions and requests
FIRST_ROOM = 1 << 18
MOST_ROOM = 4 << 20  # bytes of a pack of several tasks; a larger one travels alone
SLICE_MS = 500  # of a wait
GREETING_SECONDS = 60.0
TAKEN_SECONDS = 1.0  # for the relay to take back what a place gave up
STUCK_SECONDS = 0.15  # after which what waits behind a task may go elsewhere
HELLOS = 4  # to a place on another machine, for the clock


class Pack:
    """Tasks on their way."""

    __slots__ = ("answer", "asked", "error", "number", "sent", "tasks")

    def __init__(self, number: int, tasks: int) -> None:
        self.number = number
        self.tasks = tasks
        self.sent = time.monotonic()
        self.asked = False  # whether what has not begun of it was withdrawn
        self.answer: Any = None
        self.error: BaseException | None = None


class Lane:
    """See the module. Everything but `wake`, `answered` and `lose` belongs to its relay thread."""

    def __init__(self, pool: LanePool, place: Place, number: int) -> None:
        self.pool = pool
        self.place = place
        self.number = number
        self.pid = place.pid
        scheduler = pool.backend.scheduler
        index, out = free_ffi.new("uint32_t *"), free_ffi.new("csched_lane_t **")
        check(free.csched_lane_open(scheduler.free_handle, index, out), "opening a lane")
        self.index = int(index[0])
        self._handle = out[0]
        self.retiring = False
        self.ready = False
        self.lost: str | None = None  # why
        self.over = threading.Event()
        self.clock = clocks.Clock()
        self._lock = threading.Lock()
        self._closed = False
        self._packs: deque[Pack] = deque()  # outstanding, in the order they were sent
        self._mean_ns = 0.0  # of the latest tasks; 0: unknown
        self._withdrawn: deque[tuple[dict[int, int], threading.Event]] = deque()  # answers of the place
        self._patient = False  # nothing more is sent until what runs there has come back
        self._alone = False  # what is outstanding has the lane for itself
        self._room = free_ffi.new("char[]", FIRST_ROOM)
        self._records = free_ffi.new("csched_packed_t[]", MOST_RECORDS)
        self._used = free_ffi.new("uint64_t *")
        self._page = Page(pool.folder, number)
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
                free.csched_lane_wake(self._handle)

    def answered(self, number: int, answer: Any, error: BaseException | None) -> None:
        """A pack's reply, or why there is none."""
        for found in list(self._packs):
            if found.number == number:
                found.answer, found.error = answer, error
        self.wake()

    def lose(self, reason: str) -> None:
        """Its place is gone."""
        if self.lost is None:
            self.lost = reason
        self.wake()

    @property
    def idle(self) -> bool:
        """It is ready, and nothing is outstanding."""
        return self.ready and not self._packs and not self.retiring

    def holds_others_back(self, now: float) -> bool:
        """Tasks wait here behind one that takes long; asked once."""
        packs = list(self._packs)
        if not self.ready or self.lost is not None or not packs or packs[0].asked:
            return False
        if now - packs[0].sent < STUCK_SECONDS or sum(p.tasks for p in packs) < 2:
            return False
        packs[0].asked = True
        return True

    def runs(self, ticket: int) -> bool:
        """Whether that is known of a task."""
        return self._page.known and self._page.read()[0] == ticket

    def ask_back(self) -> None:
        """Have what has not begun there go elsewhere; waits for the place's answer."""
        taken = threading.Event()
        numbers = [p.number for p in list(self._packs)]
        message = pickle.dumps((pack.WITHDRAW, self.pool.token, self.number, numbers))
        with contextlib.suppress(Exception):  # a place that is going, or does not hear: they stay there
            answer = self.pool.engine.ask(self.place.key, message)
            if isinstance(answer, dict):
                self._withdrawn.append((answer, taken))
                self.wake()
                taken.wait(TAKEN_SECONDS)

    # -- the relay

    def _relay(self) -> None:
        try:
            if self._greet():
                self._serve()
        except BaseException as error:
            self.pool.failed_lane(self, error)
        finally:
            self._end()

    def _serve(self) -> None:
        handle = self._handle
        while self.lost is None:
            self._publish_answers()
            self._take_back()
            if not self._may_send():
                free.csched_lane_wait(handle, SLICE_MS)
                continue
            n = free.csched_lane_take(
                handle,
                SLICE_MS,
                self._most(),
                self._room,
                len(self._room),
                self._records,
                MOST_RECORDS,
                self._used,
            )
            if n > 0:
                self._send(n)
            elif n == held.CSCHED_ETOOBIG:
                self._room = free_ffi.new("char[]", int(self._used[0]) + FIRST_ROOM)
            elif n == held.CSCHED_EAGAIN:  # the next one waits until nothing is outstanding
                free.csched_lane_wait(handle, SLICE_MS)
            elif n == held.CSCHED_ESTOPPED:
                if not self._packs:
                    return
                free.csched_lane_wait(handle, SLICE_MS)
            else:
                check(n, "taking tasks for a cluster")

    def _may_send(self) -> bool:
        if not self._packs:
            return True
        return len(self._packs) < 2 and not self._alone and not self._patient and 0 < self._mean_ns < PACK_NS

    def _take_back(self) -> None:
        """What a place has promised not to begin."""
        while self._withdrawn:
            begun, taken = self._withdrawn.popleft()
            for sent in reversed(self._packs):
                if sent.answer is not None or sent.error is not None or sent.number not in begun:
                    break  # its reply says more; and only the newest ones can be taken back
                count = sent.tasks - begun[sent.number]
                if count > 0:
                    check(free.csched_lane_take_back(self._handle, count), "tasks that come back")
                    sent.tasks -= count
                    self._patient = True
                if begun[sent.number]:
                    break
            taken.set()

    def _most(self) -> int:
        if not self._mean_ns:
            return 1
        return max(1, min(MOST_TASKS, int(PACK_NS / self._mean_ns)))

    def _send(self, n: int) -> None:
        records = bytes(free_ffi.buffer(self._records, n * pack.PACKED.size))
        count = int(free.csched_lane_outstanding(self._handle)) - sum(p.tasks for p in self._packs)
        self._alone = bool(self._records[n - 1].alone)
        data = bytes(free_ffi.buffer(self._room, int(self._used[0])))
        if len(self._room) > MOST_ROOM and len(data) < FIRST_ROOM:
            self._room = free_ffi.new("char[]", FIRST_ROOM)
        self._dispatch(pack.TASKS, count, [records, data])

    def _dispatch(self, kind: int, tasks: int, body: list[Any]) -> Pack:
        number = self.pool.next_pack(self)
        sent = Pack(number, tasks)
        self._packs.append(sent)
        head = pack.PackHead(pack.PROTOCOL, kind, self.pool.token, self.number, number, BUDGET_NS)
        try:
            self.pool.engine.send(self.place.key, number, [head.encode(), *body])
        except Exception as error:
            sent.error = error
            self.pool.forget_pack(number)
            self.wake()
        return sent

    # -- what comes back

    def _publish_answers(self) -> None:
        while self._packs and (self._packs[0].answer is not None or self._packs[0].error is not None):
            first = self._packs[0]
            if first.error is not None:
                self._could_not(first, first.error)
                continue
            try:
                reply = pack.decode_reply(first.answer)
            except Exception as error:
                self._could_not(first, error)
                continue
            first.answer = None
            self._publish(first, reply)

    def _publish(self, first: Pack, reply: pack.Reply) -> None:
        backend = self.pool.backend
        if reply.frames.nbytes:
            backend.listener.hear_lane(self, reply.frames)
        mean = reply.mean_ns()
        if mean:
            self._mean_ns = 0.5 * (self._mean_ns or mean) + 0.5 * mean
        self._packs.popleft()
        self._alone = self._patient = False
        at, records, data = 0, reply.records, reply.data
        count = reply.rows
        while True:
            n = int(
                free.csched_lane_publish(
                    self._handle,
                    count - at,
                    free_ffi.cast("csched_outcome_t *", free_ffi.from_buffer(records)) + at,
                    free_ffi.from_buffer(data),
                    self.clock.ahead,
                )
            )
            if n == held.CSCHED_ESTOPPED:
                return
            check(n, "publishing what came from a cluster")
            at += n
            if at == count:
                break
            records, data = self._too_large(records, data, at, n)
        if reply.tasks < first.tasks:
            check(
                free.csched_lane_give_back(self._handle, first.tasks - reply.tasks, 0), "tasks that come back"
            )

    def _too_large(
        self, records: memoryview, data: memoryview, at: int, published: int
    ) -> tuple[memoryview, memoryview]:
        """The result at this place finds no room here: an error takes it."""
        rows = list(pack.OUTCOME.iter_unpack(records))
        used = sum(r[3] * 8 + r[5] for r in rows[at - published : at])
        row = rows[at]
        size = row[3] * 8 + row[5]
        problem = PayloadError(
            f"no room for a result of {row[5]:,} bytes in the kernel, in memory or on disk. Return it in parts, let go "
            "of earlier results, free the disk, or name another by TMPDIR."
        )
        failed = encode_error(problem, "the task")
        rows[at] = (row[0], pack.ERROR, 1, 0, row[4], len(failed), *row[6:])
        rest = failed + bytes(data[used + size :])
        return memoryview(b"".join(pack.OUTCOME.pack(*r) for r in rows)), memoryview(rest)

    def _could_not(self, first: Pack, error: BaseException) -> None:
        """The engine could not run it; the place stands. Each of its tasks fails with the reason."""
        self._packs.popleft()
        self._alone = False
        if self.lost is not None:
            self._packs.appendleft(first)
            return
        problem = self.pool.explain(error)
        failed = encode_error(problem, "the task")
        tickets = free_ffi.new("uint64_t[]", max(1, first.tasks))
        n = int(free.csched_lane_oldest(self._handle, first.tasks, tickets))
        now = time.monotonic_ns()
        rows = b"".join(
            pack.OUTCOME.pack(pack.TASK, pack.ERROR, 1, 0, tickets[i], len(failed), now, now, now)
            for i in range(n)
        )
        free.csched_lane_publish(
            self._handle,
            n,
            free_ffi.cast("csched_outcome_t *", free_ffi.from_buffer(rows)),
            free_ffi.from_buffer(failed * n),
            0,
        )

    # -- the first exchange

    def _greet(self) -> bool:
        """Who is there; True: tasks may come."""
        settings = self.pool.settings(self._page.path)
        for count in range(HELLOS):
            sent = time.monotonic_ns()
            asked = self._dispatch(pack.HELLO, 0, [settings] if count == 0 else [])
            deadline = time.monotonic() + GREETING_SECONDS
            while asked.answer is None and asked.error is None and self.lost is None:
                free.csched_lane_wait(self._handle, SLICE_MS)
                if self.pool.closed or self.retiring:
                    return False
                if time.monotonic() > deadline:
                    self.pool.note_slow(self)
                    deadline = time.monotonic() + GREETING_SECONDS
            if self.lost is not None:
                return False
            received = time.monotonic_ns()
            self._packs.clear()
            if asked.error is not None:
                raise self.pool.explain(asked.error)
            reply = pack.decode_reply(asked.answer)
            self.clock.exchanged(sent, reply.begun, reply.ended, received)
            if count == 0 and not self._meet(pickle.loads(reply.data)):
                return False
            if reply.frames.nbytes:
                self.pool.backend.listener.hear_lane(self, reply.frames)
            if self.clock.same:
                break
        self.ready = True
        free.csched_lane_ready(self._handle)
        self.pool.backend.scheduler.poll()
        return True

    def _meet(self, answer: dict[str, Any]) -> bool:
        mine, theirs = remote.versions(), answer["versions"]
        if mine != theirs:
            differ = ", ".join(
                f"{k} {theirs.get(k, '?')} (here: {v})" for k, v in mine.items() if theirs.get(k) != v
            )
            raise BackendError(
                f"the worker {self.place.label} has {differ}. Tasks and results cannot be exchanged between them: "
                "install the same versions at both ends."
            )
        self._page.known = bool(answer["page"])
        self.clock.same = bool(answer["boot"]) and answer["boot"] == clocks.boot()
        self.pid = self.pid or int(answer["pid"])
        if "error" in answer:
            self.pool.initializer_failed(answer["error"])
            return False
        return True

    # -- the end

    def _end(self) -> None:
        """What is outstanding is sent again elsewhere; one that was alone there has killed its place."""
        backend = self.pool.backend
        if not backend.resolver.stopped or self._packs:
            self._give_back()
        self.pool.ended(self)  # not under our lock: the pool wakes lanes under its own
        with self._lock:
            self._closed = True
            free.csched_worker_lost(backend.scheduler.free_handle, self.index)
            free.csched_lane_close(self._handle)
            self._page.close()
        self.over.set()
        self.pool.after_end(self)

    def _give_back(self) -> None:
        packs = [p for p in self._packs if p.tasks]
        outstanding = int(free.csched_lane_outstanding(self._handle))
        if not packs or not outstanding:
            return
        if self._page.known:
            self._give_back_but_one(outstanding)
        elif outstanding > 1 or self.lost is None:  # one alone is lost, or tried again as its options say
            suspects = min(packs[0].tasks, outstanding)
            free.csched_lane_give_back(self._handle, suspects, self.lost is not None)
            free.csched_lane_give_back(self._handle, outstanding - suspects, 0)

    def _give_back_but_one(self, outstanding: int) -> None:
        """It is known which task ran, if any did: that one alone is lost."""
        ticket, element = self._page.read()
        tickets = free_ffi.new("uint64_t[]", outstanding)
        free.csched_lane_oldest(self._handle, outstanding, tickets)
        before = (
            next((i for i in range(outstanding) if tickets[i] == ticket), outstanding)
            if ticket
            else outstanding
        )
        free.csched_lane_give_back(self._handle, before, 0)
        if before < outstanding:
            free.csched_lane_blame(self._handle, element)
            free.csched_lane_give_back(self._handle, outstanding - before - 1, 0)


def describe(error: BaseException) -> CellmillError:
    """An engine's error in ours."""
    if isinstance(error, CellmillError):
        return error
    found = BackendError(f"the cluster could not run a pack of tasks: {type(error).__name__}: {error}")
    found.__cause__ = error
    return found
