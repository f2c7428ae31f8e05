"""What the kernel tells its views, and the stages of a journey.

Generated from telemetry/schema.json by scripts/generate_schema.py; do not edit.
"""

# fmt: off
from __future__ import annotations

from typing import Literal, TypedDict, get_args

VERSION = 1
CONTROL_TARGET = "cellmill.control"
FRAME_TARGET = "cellmill.frames"
Stage = Literal["submitted", "ready", "dispatched", "received", "started", "finished", "returned", "resolved"]
STAGES: tuple[Stage, ...] = get_args(Stage)
INTERVALS: tuple[str, ...] = ("wait-for-inputs", "queue", "deliver", "unpack", "run", "pack", "collect")
# fields of a frame that travel as buffers, by its kind
BUFFERS: dict[str, tuple[str, ...]] = {
    "graph": ("functions", "depths", "states", "seconds", "tickets", "edges"),
    "graph-states": ("states", "seconds"),
    "timeline": ("spans", "running"),
    "timeline-detail": ("spans",),
    "state-map": ("cells",),
    "map-part": ("cells",),
}

class Message(TypedDict):
    """What every frame has."""
    cellmill: int  # version of this schema

class Counts(TypedDict):
    """Task counts since the present piece of work began."""
    total: int  # tasks submitted, and those a running map is known to submit yet
    done: int  # succeeded, failed and cancelled
    failed: int  # ended with an exception
    cancelled: int  # given up before they ran
    running: int  # in user code now
    queued: int  # submitted and not running: waiting for inputs or for a worker

class RunState(TypedDict):
    """One call of map, one cell's calls of one function, or one %%task."""
    id: int  # unique in the kernel
    name: str  # the function's name
    total: int | None  # tasks expected, null when not known
    done: int  # succeeded, failed and cancelled
    failed: int  # ended with an exception
    priority: int  # from -100 to 100, larger first: the one that it was given last

class Hello(Message):
    """Cellmill is loaded in this kernel."""
    kind: Literal["hello"]
    release: str  # version of the Python package

class Goodbye(Message):
    """Cellmill was unloaded from this kernel."""
    kind: Literal["goodbye"]

class Snapshot(Message):
    """The state of the default executor at one moment."""
    kind: Literal["snapshot"]
    time: float  # seconds on the kernel's monotonic clock
    work: int  # number of the piece of work the counts belong to; a new one starts at zero
    elapsed: float  # seconds from the start of this piece of work to the last change of its counts
    backend: str  # where the tasks run
    workers: int  # worker processes alive
    wanted: int  # worker processes asked for
    paused: bool  # no more tasks are sent to workers
    counts: Counts  # tasks of this piece of work
    runs: list[RunState]  # runs in progress, oldest first

class WorkerState(TypedDict):
    """One worker process."""
    index: int  # its place in the pool; a worker that replaces it has another
    pid: int | None  # its process, null while it starts
    state: str  # starting, idle, busy, stopping or lost
    done: int  # tasks it has finished
    function: str | None  # of the task it runs, null when it runs none
    task: str | None  # the number of that task, in decimals
    element: int | None  # its place in its chunk
    seconds: float | None  # for which it has run
    cpu: float | None  # processor time of the last second, in processors
    memory: int | None  # bytes of its own

class WorkerEnd(TypedDict):
    """A worker process that ended and was not asked to."""
    index: int  # the place it had
    how: str  # what happened, for people; follows 'the worker'
    memory: int | None  # the most bytes it had

class Machine(TypedDict):
    """What there is for the workers and the kernel."""
    cpus: int  # processors that may be used
    memory: int  # bytes, of the machine or its control group
    free: int  # of these, bytes that can still be had
    pid: int  # of the kernel
    cpu: float | None  # of the kernel: processor time of the last second
    used: int  # of the kernel: bytes of its own

class Workers(Message):
    """The worker processes, for views that show them."""
    kind: Literal["workers"]
    restarts: int  # workers that were replaced
    workers: list[WorkerState]  # in the order of their places
    ends: list[WorkerEnd]  # the last few that ended by themselves, oldest first
    machine: Machine | None  # null where there are no worker processes

class Graph(Message):
    """Tasks with inputs or dependents, or groups of them. Columns of little-endian numbers."""
    kind: Literal["graph"]
    structure: int  # another number when there are other tasks or dependencies
    tasks: int  # tasks with inputs or dependents
    dependencies: int  # pairs of a task and an input of it
    partial: bool  # the oldest dependencies are not kept any more
    folded: bool  # each column has an entry a group, not a task
    span: int  # depths that a group holds
    names: list[str]  # of functions; empty: not known, or several
    functions: bytes  # places among the names, 2 bytes each
    depths: bytes  # longest path from a task without inputs, in spans, 2 bytes each
    states: bytes  # waiting queued running done failed cancelled skipped; of groups: 7 columns of counts
    seconds: bytes  # time in user code, floats of 4 bytes
    tickets: bytes  # of the tasks, 8 bytes each; of groups: none
    edges: bytes  # positions of input and dependent, 2 bytes each; of groups: these and how often, 4 bytes

class GraphStates(Message):
    """How the tasks of the last graph stand now."""
    kind: Literal["graph-states"]
    structure: int  # of the graph that it belongs to
    states: bytes  # as in the graph
    seconds: bytes  # as in the graph

class Refused(Message):
    """A command could not be obeyed."""
    kind: Literal["refused"]
    command: str  # the command's kind
    reason: str  # what was wrong, for people

class Show(Message):
    """Every page that hears it opens its panel and answers with shown."""
    kind: Literal["show"]
    request: int  # the number that the answer carries

class FunctionName(TypedDict):
    """What a function's number stands for."""
    number: int  # the scheduler's number for one content of the function
    name: str  # its name

class Timeline(Message):
    """What each worker did when, in this piece of work; from one frame to the next only what changed."""
    kind: Literal["timeline"]
    known: bool  # whether this backend tells when its tasks ran
    work: int  # number of the piece of work
    number: int  # of this frame
    follows: int  # the frame whose spans stay where these have none; 0: none, these are all
    now: float  # seconds on the kernel's monotonic clock, to which open spans reach
    tasks: int  # tasks in the spans
    sampled: int  # of them: estimated from a sample
    dropped: int  # tasks that were gone before they were read
    threshold: float  # seconds; shorter spans hold several tasks
    workers: list[int]  # places of the workers in the pool now
    names: list[FunctionName]  # those not told before
    spans: bytes  # csched_span_t, 64 bytes each
    running: bytes  # the same for tasks that run now, always all

class TimelineDetail(Message):
    """Single tasks of a part of the timeline, as far as their journeys are kept."""
    kind: Literal["timeline-detail"]
    request: int  # the number that the view gave its question
    start: float  # seconds on the kernel's monotonic clock
    end: float  # the same
    found: int  # tasks that ran then; an even choice of them when they are many
    names: list[FunctionName]  # of the functions in it
    spans: bytes  # csched_span_t, 64 bytes each

class IntervalFigures(TypedDict):
    """How long one interval of the journeys of one function took, in seconds."""
    known: int  # tasks that tell it; 0: it is unknown
    total: float  # sum over those
    median: float  # half of them took less; within a few percent
    p95: float  # 95 % took less
    p99: float  # 99 % took less
    longest: float  # the longest one

class FunctionJourney(TypedDict):
    """The journeys of one function's tasks."""
    number: int  # the function's
    name: str  # the function's name
    tasks: int  # tasks that are over; attempts count
    failed: int  # of them: with an error
    cut: int  # of them: cancelled, stopped or lost
    intervals: list[IntervalFigures]  # the seven, then pickling, then waiting beside others of a chunk

class Journey(Message):
    """Where the time of this piece of work's tasks went, by function."""
    kind: Literal["journey"]
    known: bool  # whether this backend tells of journeys
    work: int  # number of the piece of work
    tasks: int  # tasks folded
    sampled: int  # of them: estimated from a sample
    dropped: int  # tasks that were gone before they were read
    hidden: int  # functions with fewer tasks that are left out
    functions: list[FunctionJourney]  # those with the most time first

class MapCounts(TypedDict):
    """Tasks of a part of the state map, by state."""
    waiting: int  # for inputs, or to be tried again
    queued: int  # for a worker
    running: int  # in user code now
    done: int  # ended well
    failed: int  # ended with an exception, a failed input or at the time limit
    cancelled: int  # given up
    lost: int  # their worker died

class StateMap(Message):
    """The state of every task of the present piece of work, in the order of submission."""
    kind: Literal["state-map"]
    work: int  # number of the piece of work
    origin: int  # position of its first task in the kernel
    start: int  # position of the first task told: those before it are forgotten
    end: int  # position after the last one told: later ones have not been sent yet
    total: int  # tasks of this work, those to come included
    span: int  # tasks a cell, a power of two
    counts: MapCounts  # of the tasks told
    cells: bytes  # one byte a cell, PackBits; as csched.h says, a state where span is 1, else a sum

class MapPart(Message):
    """A part of the state map, as zoom-map asked for it."""
    kind: Literal["map-part"]
    request: int  # the number that the view gave
    start: int  # position of the first task told
    end: int  # position after the last one told
    span: int  # tasks a cell, a power of two
    counts: MapCounts  # of the tasks told
    cells: bytes  # as in StateMap

class TaskRow(TypedDict):
    """A task that is not over, or one attempt at a task or an element that is."""
    task: str  # its ticket, in decimal digits
    number: int  # its serial number, as people see it
    element: int | None  # its place in a chunk of a map
    count: int  # elements that it stands for
    function: str  # the function's name
    # waiting, delayed, queued, sent, running, stopping, done, failed, lost, cancelled, not-run or retried
    state: str
    worker: int | None  # the worker's place in the pool
    attempt: int  # 1 for the first
    priority: int | None  # of a task that is not over
    age: float  # seconds since it was submitted
    queued: float | None  # seconds from ready to a worker, so far for one that waits
    run: float | None  # seconds in user code, so far for one that runs

class FailureGroup(TypedDict):
    """All failures of one type with one traceback."""
    type: str  # of the exception
    function: str  # of the first
    message: str  # of the first
    count: int  # how many there were
    tasks: list[str]  # tickets of the first few
    elements: list[int]  # their elements

class TaskList(Message):
    """The rows that a view asked for."""
    kind: Literal["task-list"]
    request: int  # of the command
    matched: int  # tasks and elements that fulfil the conditions, of those that are known still
    rows: list[TaskRow]  # the best of them, in order
    failures: list[FailureGroup]  # all failures of this pool, folded, the latest first

class TaskAttempt(TypedDict):
    """One attempt at a task that is over, or the task as it stands."""
    state: str  # as in TaskRow
    worker: int | None  # the worker's place in the pool
    element: int | None  # its place in a chunk
    attempt: int  # 1 for the first
    stamps: list[float]  # seconds from its submission to each of the stages, -1 where that is not known
    pack: float  # seconds spent pickling its arguments in the kernel

class TaskDetail(Message):
    """All that is known of one task."""
    kind: Literal["task-detail"]
    request: int  # of the command
    task: str  # its ticket, in decimal digits
    number: int  # its serial number, as people see it; 0: there is no such task any more
    element: int | None  # the element that was asked for
    count: int  # elements that it stands for
    function: str  # the function's name
    state: str  # as in TaskRow, or unknown
    priority: int | None  # of a task that is not over
    why: str  # why it waits, in words
    attempts: list[TaskAttempt]  # the latest first
    arguments: str | None  # as short text; null: not kept
    output: str  # the end of what it printed
    error: str  # type of what it failed with, or nothing
    message: str  # of that
    traceback: str  # from the worker
    memory: float | None  # the most that its worker took, in bytes, where that is known
    result: str | None  # of a call that was made again from here, as short text
    reruns: list[str]  # tickets of later runs of this call
    can: list[str]  # what may be done: cancel, priority, rerun, debug

class TaskRecord(TypedDict):
    """One attempt at a task or an element that is over, as recordings keep it."""
    row: TaskRow  # as tables have it
    position: int  # in the state map
    attempt: TaskAttempt  # its way through the stages
    arguments: str | None  # as short text; null: not kept
    output: str  # the end of what it printed
    error: str  # type of what it failed with, or nothing
    message: str  # of that
    traceback: str  # from the worker
    memory: float | None  # as in TaskDetail

class TaskRecords(Message):
    """Tasks that are over, for recordings alone: those that views would list, each once."""
    kind: Literal["task-records"]
    records: list[TaskRecord]  # in no order

class TaskRerun(Message):
    """The call of a failed task was submitted again."""
    kind: Literal["task-rerun"]
    request: int  # of the command
    task: str  # the new task's ticket, in decimal digits

# What the kernel sends.
Frame = (
    Hello | Goodbye | Snapshot | Workers | Refused | Show | Graph | GraphStates | Timeline | TimelineDetail |
    Journey | StateMap | MapPart | TaskList | TaskDetail | TaskRerun | TaskRecords
)
