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
    "usage": ("start", "time", "busy", "idle", "memory", "used", "cpu", "kernel"),
    "worker-usage": ("start", "time", "memory", "cpu"),
    "state-map": ("cells",),
    "map-part": ("cells",),
}

class Message(TypedDict):
    """What every frame has."""
    cellmill: int  # version of this schema

class Counts(TypedDict):
    """Numbers of tasks of the present piece of work."""
    total: int  # tasks submitted, and those that a running map has yet to submit
    done: int  # tasks that succeeded, failed or were cancelled
    failed: int  # ended with an exception
    lost: int | None  # of `failed`, those whose worker ended; null in records of earlier releases
    cancelled: int  # cancelled before they ran
    running: int  # in user code now
    queued: int  # submitted and waiting for inputs or for a worker

class RunState(TypedDict):
    """One call of map, one cell's calls of one function, or one %%task."""
    id: int  # unique in the kernel
    name: str  # the function's name
    total: int | None  # tasks expected; null if unknown
    done: int  # tasks that succeeded, failed or were cancelled
    failed: int  # ended with an exception
    lost: int | None  # of `failed`, those whose worker ended; null in records of earlier releases
    cancelled: int | None  # of `done`, those that will not run; null in records of earlier releases
    priority: int  # from -100 to 100, larger first; the value that was set last

class TimeLeft(TypedDict):
    """An estimate, from the mean time of each function's tasks and from their dependencies."""
    # seconds from the frame's time on; null while no task of any function with outstanding tasks has ended
    seconds: float | None
    unknown: list[str]  # functions of which no task has ended yet: their tasks are not in it
    # functions of which a task runs far longer than others did: it is a bound; null in old records
    late: list[str] | None

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
    run: int | None  # id of the run that it is about; null for all tasks of the present piece of work
    time: float  # seconds on the kernel's monotonic clock
    work: int  # number of the piece of work the counts belong to; a new one starts at zero
    began: float  # the last moment at which this piece of work had no task, on the same clock
    elapsed: float  # seconds from the start of this piece of work to the last change of its counts
    backend: str  # where the tasks run
    workers: int  # worker processes alive
    wanted: int  # worker processes asked for
    paused: bool  # no more tasks are sent to workers
    # what the outstanding tasks still take; null if there are none, if they are paused, or if nothing is known
    left: TimeLeft | None
    counts: Counts  # tasks of this piece of work
    runs: list[RunState]  # runs in progress, oldest first

class CellRuns(TypedDict):
    """All runs that one execution of a cell began."""
    request: str  # msg_id of the execute_request
    cell: str  # name of the execution, such as In[3]; empty if unknown
    runs: list[int]  # ids of the last runs, oldest first
    total: int | None  # tasks expected; null if unknown
    done: int  # tasks that succeeded, failed or were cancelled
    failed: int  # ended with an exception
    lost: int | None  # of `failed`, those whose worker ended; null in records of earlier releases
    cancelled: int  # of `done`, those that will not run
    # results that came from the cache, beside the tasks; null in records of earlier releases
    hits: int | None
    over: bool  # the cell has ended, and all its tasks
    seconds: float | None  # from the first run's beginning to the last one's end; null before that
    lines: list[FailedLine]  # where its tasks failed

class FailedLine(TypedDict):
    """A line of a cell at which tasks failed with the same type of error."""
    request: str  # msg_id of the execute_request with this line in its code
    line: int  # from 1, as the interpreter counts: without empty lines at the cell's top
    text: str  # its beginning, without the indentation
    error: str  # type of the error
    message: str  # of the first of these errors, shortened
    count: int  # tasks that failed here

class Cells(Message):
    """Cells that began runs: all of them for a view that joins, later those that have changed."""
    kind: Literal["cells"]
    cells: list[CellRuns]  # in the order of their first runs

class Course(Message):
    """The counters of the present piece of work up to now, for a view that comes late or again."""
    kind: Literal["course"]
    run: int | None  # id of the run that it is about; null for all tasks of the present piece of work
    work: int  # number of the piece of work
    began: float  # when it began, in seconds on the kernel's monotonic clock
    time: list[float]  # moments on the same clock, ascending
    ran: list[int]  # tasks that succeeded or failed, at these times
    queued: list[int]  # tasks that waited then
    running: list[int]  # tasks in user code then

class RunRecord(TypedDict):
    """A run, in progress or over."""
    id: int  # unique in the kernel
    cell: str  # such as In[3]; empty outside of notebooks
    name: str  # the function's name
    began: float  # when it began, in seconds since 1970
    wall: float | None  # seconds that it took; null while it goes on
    submitted: int  # tasks so far
    succeeded: int  # tasks that gave a value
    failed: int  # tasks that ended with an exception
    lost: int | None  # of `failed`, those whose worker ended; null in records of earlier releases
    cancelled: int  # tasks that will not run
    # results that came from the cache, beside the tasks; null in records of earlier releases
    hits: int | None
    # share of the workers' time in user code, 0 to 1, without what other runs used; null if unknown
    busy: float | None
    kept: bool  # whether its tasks can be looked at: the pool that ran them is the present one

class Runs(Message):
    """The latest runs of this kernel: all at first, then those that changed."""
    kind: Literal["runs"]
    runs: list[RunRecord]  # oldest first

class WorkerState(TypedDict):
    """One worker process."""
    index: int  # its index in the pool; a worker that replaces it has another one
    pid: int | None  # process id; null while it starts
    state: str  # starting, idle, busy, stopping or lost
    done: int  # tasks it has finished
    function: str | None  # name of the function that it runs; null if it runs none
    task: str | None  # ticket of that task, in decimal digits
    element: int | None  # index of that task's element in its chunk
    seconds: float | None  # seconds for which that task has run
    cpu: float | None  # processors used, averaged over the last second
    memory: int | None  # private memory in bytes
    declared: int | None  # bytes of memory that its task declares; null if it declares none
    address: str | None  # where it is in its cluster; null for a process of this machine
    # index of the first worker that is in the same process, which has its processors and memory; null if there is none
    shares: int | None
    resident: int | None  # resident memory in bytes, which the limit is for; null if no limit is known
    limit: int | None  # bytes of memory that its cluster allows it; null if none is known

class WorkerHost(TypedDict):
    """A machine, or control group, with workers, that is not the kernel's."""
    name: str  # its host name
    cpus: int  # processors that may be used
    memory: int  # its memory in bytes
    free: int  # memory that is still available, in bytes

class ClusterDashboard(TypedDict):
    """The dashboard that the cluster of the workers has itself."""
    name: str  # the cluster's kind, as text
    link: str  # its address, by http or https

class WorkerEnd(TypedDict):
    """A worker process that ended unexpectedly."""
    index: int  # its index in the pool
    how: str  # what happened, as text that follows 'the worker'
    memory: int | None  # its peak memory in bytes

class Machine(TypedDict):
    """The resources of the machine, and the kernel's share of them."""
    cpus: int  # processors that may be used
    memory: int  # memory of the machine or its control group, in bytes
    free: int  # memory that is still available, in bytes
    pid: int  # process id of the kernel
    cpu: float | None  # processors that the kernel used, averaged over the last second
    used: int  # private memory of the kernel, in bytes

class Workers(Message):
    """The worker processes, for views that show them."""
    kind: Literal["workers"]
    restarts: int  # workers that were replaced
    workers: list[WorkerState]  # by index
    ends: list[WorkerEnd]  # the last few unexpected ends, oldest first
    machine: Machine | None  # null where there are no worker processes
    # the first few other machines with workers, by name; null if there are none
    hosts: list[WorkerHost] | None
    dashboard: ClusterDashboard | None  # the cluster's own dashboard; null if it has none

class Speaker(TypedDict):
    """A task, or element of a map, that has printed something."""
    name: str  # function and task, as a cell's output has it
    task: str | None  # its ticket, in decimal digits; null for output of a worker that belongs to no task
    element: int  # index of the element in its chunk
    worker: int | None  # the worker's index in the pool; null if unknown

class Output(Message):
    """What tasks have printed, logged and displayed since the last such frame, as pieces of text."""
    kind: Literal["output"]
    run: int | None  # id of the run that it is about; null for all tasks
    known: bool  # whether this backend collects what its tasks print
    feed: int  # number of the pool: the pieces of another one are numbered anew
    lines: int  # ends of lines that have been printed up to here, also those that are not kept
    gap: bool  # pieces between the last frame and this one are not kept
    speakers: list[Speaker]  # whose output it is
    speaker: list[int]  # index of the piece's speaker
    number: list[int]  # the piece's number, ascending; a page that has it already leaves it out
    stream: list[int]  # 1 stdout, 2 stderr, 3 log record, 4 display
    time: list[float]  # when it came, in seconds since 1970
    text: list[str]  # the text

class Graph(Message):
    """Tasks with inputs or dependents, or groups of such tasks, in columns of little-endian numbers."""
    kind: Literal["graph"]
    run: int | None  # id of the run that it is about; null for all tasks of the present piece of work
    structure: int  # changes with the tasks and dependencies
    tasks: int  # tasks with inputs or dependents
    # how many of these are tasks of the run; the others are their inputs and dependents; null if it is not about a run
    own: int | None
    dependencies: int  # pairs of a task and one of its inputs
    partial: bool  # the oldest dependencies have been dropped
    folded: bool  # columns have an entry for each group instead of each task
    span: int  # number of depths in a group
    names: list[str]  # names of functions; empty if unknown or several
    # each task's own arguments as short text, empty if unknown; null for groups and for many tasks
    arguments: list[str] | None
    functions: bytes  # indices into the names, 2 bytes each
    depths: bytes  # longest path from a task without inputs, in spans, 2 bytes each
    # waiting, queued, running, done, failed, cancelled, skipped, lost: 1 byte each; of groups, 8 columns of counts
    states: bytes
    seconds: bytes  # time in user code, floats of 4 bytes
    tickets: bytes  # tickets of the tasks, 8 bytes each; of groups, none
    # indices of input and dependent, 2 bytes each; of groups, also the number of dependencies, 4 bytes
    edges: bytes

class GraphStates(Message):
    """The present states of the tasks of the last graph."""
    kind: Literal["graph-states"]
    run: int | None  # id of the run that it is about; null for all tasks of the present piece of work
    structure: int  # structure of the graph that it belongs to
    states: bytes  # as in Graph
    seconds: bytes  # as in Graph

class Refused(Message):
    """A command was refused."""
    kind: Literal["refused"]
    command: str  # the command's kind
    reason: str  # the reason, as text for people

class Show(Message):
    """Every page that receives it opens its panel and answers with shown."""
    kind: Literal["show"]
    request: int  # the number that the answer has

class FunctionName(TypedDict):
    """The name that belongs to a function's number."""
    number: int  # the scheduler's number for one version of the function
    name: str  # its name
    colour: int  # index of its colour, which every function of this name has while the kernel lives

class Timeline(Message):
    """What each worker did when, in this piece of work; each frame has the changes since the one before."""
    kind: Literal["timeline"]
    run: int | None  # id of the run that it is about; null for all tasks of the present piece of work
    known: bool  # whether this backend records when its tasks ran
    work: int  # number of the piece of work
    number: int  # number of this frame
    follows: int  # number of the frame whose other spans stay valid; 0 if these are all spans
    now: float  # seconds on the kernel's monotonic clock; open spans end here
    tasks: int  # tasks in the spans
    sampled: int  # how many of them are estimated from a sample
    dropped: int  # tasks that were overwritten before they were read
    threshold: float  # seconds; spans that are shorter hold several tasks
    workers: list[int]  # indices of the workers in the pool now
    names: list[FunctionName]  # names that no earlier frame had
    spans: bytes  # csched_span_t, 64 bytes each
    running: bytes  # the same for all tasks that run now

class Usage(Message):
    """What workers used over time, in columns of little-endian doubles, NaN: not known. Memory is the most seen."""
    kind: Literal["usage"]
    run: int | None  # id of the run whose time it is about; null for that of the present piece of work
    work: int  # number of the piece of work
    known: bool  # false if the backend does not tell
    cpus: int  # processors that may be used
    limit: int  # memory of the machine or its control group, in bytes
    start: bytes  # seconds on the kernel's monotonic clock, ascending
    time: bytes  # the end of each row, on the same clock
    busy: bytes  # workers with a task
    idle: bytes  # workers without one
    memory: bytes  # private memory of all workers in bytes
    used: bytes  # memory in use of the machine or its control group, in bytes
    cpu: bytes  # processors that all workers used
    kernel: bytes  # processors that the kernel used

class WorkerUsage(Message):
    """What one worker used over time, in columns as in Usage."""
    kind: Literal["worker-usage"]
    run: int | None  # id of the run whose time it is about; null for that of the present piece of work
    request: int  # request number of the command
    worker: int  # its index in the pool
    start: bytes  # seconds on the kernel's monotonic clock, ascending
    time: bytes  # the end of each row, on the same clock
    memory: bytes  # its private memory in bytes
    cpu: bytes  # processors that it used

class TimelineDetail(Message):
    """Single tasks in a part of the timeline, if their journeys are still known."""
    kind: Literal["timeline-detail"]
    run: int | None  # id of the run whose tasks these are; null for all
    request: int  # request number of the command
    start: float  # seconds on the kernel's monotonic clock
    end: float  # seconds on the kernel's monotonic clock
    found: int  # number of tasks that ran in that time; if there are many, the spans are an even sample
    names: list[FunctionName]  # names of the functions in it
    spans: bytes  # csched_span_t, 64 bytes each

class IntervalFigures(TypedDict):
    """How long one interval of the journeys of one function took, in seconds."""
    known: int  # tasks for which it is known
    total: float  # sum over these tasks
    median: float  # median, within a few percent
    p95: float  # 95th percentile
    p99: float  # 99th percentile
    longest: float  # maximum

class FunctionJourney(TypedDict):
    """The journeys of one function's tasks."""
    number: int  # the function's number
    name: str  # the function's name
    tasks: int  # tasks that are over; attempts that others follow count in the intervals alone
    failed: int  # how many of them failed
    cut: int  # how many of them were cancelled, stopped or lost
    lost: int | None  # of `cut`, those whose worker ended; null in records of earlier releases
    # the seven intervals, then pickling, then waiting for others of the same chunk
    intervals: list[IntervalFigures]
    times: RunTimes | None  # how long they ran
    # bytes: the most of its own that a worker had at a sample while it ran a task of this function; null if unknown
    memory: int | None
    # bytes of the packed arguments of its tasks that ended; null if nothing is packed, or it is unknown
    sent: int | None
    received: int | None  # bytes of their packed results

class Hits(TypedDict):
    """Results of one function that came from the cache."""
    name: str  # the function's name
    count: int  # how many

class RunTimes(TypedDict):
    """How many tasks of one function ran for how long, in bars of growing width."""
    edges: list[float]  # seconds, ascending; each bar is from one to the next
    counts: list[int]  # tasks in each bar; one less than edges

class SlowTask(TypedDict):
    """One of the tasks that ran longest."""
    task: str  # its ticket, in decimal digits
    element: int | None  # which element of a chunk; null if it is none
    function: str  # the function's name
    seconds: float  # time in user code
    failed: bool  # whether it raised
    arguments: str | None  # its arguments as short text; null if they are not kept

class ProfileLabel(TypedDict):
    """One function in a profile."""
    name: str  # its qualified name; … for several that are not told apart
    place: str  # where it is defined: cell or file, and line; empty if it is not Python code

class Profile(Message):
    """What workers executed while they were sampled: a tree of calls, in columns by node; callers come first."""
    kind: Literal["profile"]
    known: bool  # whether workers of this backend can be sampled
    on: bool  # whether samples are taken now
    seconds: float  # time in user code that the samples stand for, of all workers
    samples: int  # number of samples
    note: str  # what a reader has to know of how they are taken; empty for nothing
    labels: list[ProfileLabel]  # the functions
    label: list[int]  # index of the node's function
    parent: list[int]  # index of the node that calls it; -1 for a task's function
    total: list[float]  # seconds, with all that it calls
    own: list[float]  # seconds of its own
    line: list[int]  # the line at which most of its own time went; 0 if unknown

class Account(TypedDict):
    """Where the time of the workers went, in seconds: busy, overhead and idle are together wall times workers."""
    wall: float  # from the first submission to the last end of a task
    workers: float  # how many there were, on average
    busy: float  # worker-seconds in user code
    overhead: float  # worker-seconds with arguments and results
    idle: float  # worker-seconds without a task
    reasons: list[IdleTime] | None  # that by reason, without those of no time; null where it is not known
    span: float  # run time of the longest chain of tasks
    tasks: int  # attempts that ran
    sentence: str  # all that in words, without the advice
    nothing: str | None  # says that no change would help; empty where one would, or where it is unknown
    sent: int | None  # bytes of the packed arguments of tasks that ended; null if nothing is packed
    received: int | None  # bytes of their packed results
    advice: list[Advice] | None  # changes that would have helped, best first

class IdleTime(TypedDict):
    """Time of workers without a task, and its reason."""
    reason: str  # unused, submission, packing, delivery, chain, imbalance, last or held
    what: str  # the same in the words of the sentence
    seconds: float  # worker-seconds

class Advice(TypedDict):
    """A change, and the time that the same work would take with it."""
    what: str  # the change and its promise, in a sentence
    seconds: float  # the wall time that it promises
    applies: bool  # whether apply-advice makes it; else it is a change of code

class Journey(Message):
    """How long the intervals of this piece of work's tasks took, by function."""
    kind: Literal["journey"]
    run: int | None  # id of the run that it is about; null for all tasks of the present piece of work
    known: bool  # whether this backend records journeys
    work: int  # number of the piece of work
    tasks: int  # number of tasks in the figures
    sampled: int  # how many of them are estimated from a sample
    dropped: int  # tasks that were overwritten before they were read
    hidden: int  # number of functions that are left out because they have fewer tasks
    functions: list[FunctionJourney]  # by time, longest first
    # results that came from the cache, beside the tasks; null in records of earlier releases
    hits: list[Hits] | None
    # the tasks that ran longest, at most ten, the longest first; of all tasks
    slowest: list[SlowTask] | None
    account: Account | None  # of this piece of work; null where it is not known

class MapCounts(TypedDict):
    """Numbers of tasks in a part of the state map, by state."""
    waiting: int  # waiting for inputs or for another attempt
    queued: int  # waiting for a worker
    running: int  # in user code now
    done: int  # succeeded
    failed: int  # ended with an exception, a failed input or the time limit
    cancelled: int  # cancelled
    lost: int  # their worker died

class StateMap(Message):
    """The state of every task of the present piece of work, in the order of submission."""
    kind: Literal["state-map"]
    run: int | None  # id of the run that it is about; null for all tasks of the present piece of work
    work: int  # number of the piece of work
    origin: int  # position of its first task in the kernel
    start: int  # position of the first task in the map: earlier ones are forgotten
    end: int  # position after the last task in the map: later ones have not been sent yet
    total: int  # tasks of this work, including those to come
    span: int  # tasks in a cell, a power of two
    counts: MapCounts  # of the tasks in the map
    # one byte for each cell, encoded with PackBits: a state if span is 1, else a summary, see csched.h
    cells: bytes

class MapPart(Message):
    """A part of the state map, the answer to zoom-map."""
    kind: Literal["map-part"]
    request: int  # request number of the command
    run: int | None  # id of a run, whose tasks the positions count then; null for the positions of all
    start: int  # position of the first task in the map
    end: int  # position after the last task in the map
    span: int  # tasks in a cell, a power of two
    counts: MapCounts  # of the tasks in the map
    cells: bytes  # as in StateMap

class TaskRow(TypedDict):
    """A task that is not over, or one attempt at a task or element that is over."""
    task: str  # its ticket, in decimal digits
    number: int  # its serial number, as shown to people
    element: int | None  # index of the element in its chunk
    count: int  # number of elements in it
    function: str  # the function's name
    # waiting, delayed, queued, sent, running, stopping, done, failed, lost, cancelled, not-run or retried
    state: str
    worker: int | None  # the worker's index in the pool
    attempt: int  # 1 for the first
    priority: int | None  # its priority, if it is not over
    age: float  # seconds since it was submitted
    queued: float | None  # seconds from ready to a worker; so far, if it waits
    run: float | None  # seconds in user code; so far, if it runs

class FailureGroup(TypedDict):
    """All failures with the same exception type and traceback."""
    id: int | None  # unique in this pool; null in records of earlier releases
    type: str  # type of the exception
    function: str  # of the first
    message: str  # of the first
    count: int  # number of failures
    tasks: list[str]  # tickets of the first few tasks
    elements: list[int]  # index of each of these tasks' element in its chunk

class FailureCall(TypedDict):
    """One failed task or element of a FailureGroup."""
    task: str  # its ticket, in decimal digits
    number: int  # its serial number, as shown to people
    element: int  # index of the element in its chunk
    arguments: str  # as short text; empty if not known
    kept: bool  # whether the call can be made again
    # state of its latest run again: running, done, failed or cancelled; null if there is none
    again: str | None

class FailureCalls(Message):
    """The calls of one FailureGroup, the answer to list-failure."""
    kind: Literal["failure-calls"]
    request: int  # request number of the command
    failure: int  # id of the FailureGroup
    count: int  # number of failures
    known: int  # how many of them are remembered
    open: int  # how many of these retry-failure submits: their calls can be made again and have not been
    until: float  # when the latest of them was noted, in seconds on the kernel's monotonic clock
    calls: list[FailureCall]  # the first of those that are remembered, in the order in which they failed
    python: str | None  # their arguments as a list in Python; null if not asked for
    exact: int | None  # how many calls have an entry in that list: comments stand for the others

class FailureRetried(Message):
    """The calls of a FailureGroup were submitted again."""
    kind: Literal["failure-retried"]
    request: int  # request number of the command
    failure: int  # id of the FailureGroup
    submitted: int  # number of new tasks
    refused: int  # number of calls that could not be made again
    reason: str  # why the first of these could not; empty if there is none

class TaskList(Message):
    """The answer to list-tasks."""
    kind: Literal["task-list"]
    request: int  # request number of the command
    matched: int  # number of tasks and elements that match, of those still known
    rows: list[TaskRow]  # the requested rows, in order
    failures: list[FailureGroup]  # all failures of this pool or of the run, grouped, the latest first

class TaskAttempt(TypedDict):
    """One attempt at a task that is over, or the present state of one that is not."""
    state: str  # as in TaskRow
    worker: int | None  # the worker's index in the pool
    element: int | None  # index of the element in its chunk
    attempt: int  # 1 for the first
    stamps: list[float]  # seconds from submission to each of the stages; -1 if unknown
    pack: float  # seconds spent pickling its arguments in the kernel

class TaskDetail(Message):
    """The details of one task."""
    kind: Literal["task-detail"]
    request: int  # request number of the command
    task: str  # its ticket, in decimal digits
    number: int  # its serial number, as shown to people; 0 if the task is forgotten
    element: int | None  # the requested element
    count: int  # number of elements in it
    function: str  # the function's name
    state: str  # as in TaskRow, or unknown
    priority: int | None  # its priority, if it is not over
    why: str  # why it waits, as text
    attempts: list[TaskAttempt]  # the latest first
    arguments: str | None  # as short text; null if not kept
    output: str  # the end of its output
    error: str  # type of the exception, or empty
    message: str  # message of the exception, or empty
    traceback: str  # traceback from the worker, or empty
    memory: float | None  # peak memory of its worker in bytes; null if unknown
    declared: int | None  # bytes of memory that it declared, where its worker came near that; else null
    result: str | None  # result of a call that was submitted again, as short text; null if there is none
    reruns: list[str]  # tickets of later runs of this call
    can: list[str]  # possible actions: cancel, priority, rerun, debug

class ComparedFigure(TypedDict):
    """One figure of two runs, as text."""
    what: str  # what it is
    before: str  # of the first run; empty where it has none
    after: str  # of the second run; empty where it has none
    change: str  # how the second differs; empty where that is not told

class ComparedTable(TypedDict):
    """Figures of two runs: of each as a whole, or of one function."""
    title: str  # the function's name; empty for the runs as a whole
    rows: list[ComparedFigure]  # in the order in which they are shown

class Comparison(Message):
    """Two runs beside each other."""
    kind: Literal["comparison"]
    request: int  # request number of the command
    before: str  # what the first run is called
    after: str  # what the second run is called
    sentence: str  # the conclusion
    tables: list[ComparedTable]  # of the whole, then by function
    notes: list[str]  # what has to be known of the figures

class TaskRecord(TypedDict):
    """One attempt at a task or element that is over, for recordings."""
    row: TaskRow  # its row in the table of tasks
    position: int  # position in the state map
    attempt: TaskAttempt  # its stages
    arguments: str | None  # as short text; null if not kept
    output: str  # the end of its output
    error: str  # type of the exception, or empty
    message: str  # message of the exception, or empty
    traceback: str  # traceback from the worker, or empty
    memory: float | None  # as in TaskDetail

class TaskRecords(Message):
    """Tasks that are over, for recordings: those that views would list, each once."""
    kind: Literal["task-records"]
    records: list[TaskRecord]  # in any order

class TaskRerun(Message):
    """The call of a failed task was submitted again."""
    kind: Literal["task-rerun"]
    request: int  # request number of the command
    task: str  # the new task's ticket, in decimal digits

# What the kernel sends.
Frame = (
    Hello | Goodbye | Snapshot | Course | Runs | Cells | Workers | Output | Refused | Show | Graph |
    GraphStates | Timeline | TimelineDetail | Usage | WorkerUsage | Journey | Profile | StateMap | MapPart |
    TaskList | FailureCalls | FailureRetried | TaskDetail | TaskRerun | TaskRecords | Comparison
)
