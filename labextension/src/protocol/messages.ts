/** What the kernel tells its views, and what they ask of it.
 *
 * Generated from telemetry/schema.json by scripts/generate_schema.py; do not edit.
 */

import { boolean, bytes, integer, list, literal, message, nullable, number, record, string, union } from './parse';

export const VERSION = 1;
export const CONTROL_TARGET = 'cellmill.control';
export const FRAME_TARGET = 'cellmill.frames';

/** The stages of a task's journey, in order. */
export const STAGES = ['submitted', 'ready', 'dispatched', 'received', 'started', 'finished', 'returned', 'resolved'] as const;
export type Stage = (typeof STAGES)[number];
/** The intervals between two stages, in order. */
export const INTERVALS = ['wait-for-inputs', 'queue', 'deliver', 'unpack', 'run', 'pack', 'collect'] as const;

/** What every frame and command has. */
interface Message<Kind extends string> {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  readonly kind: Kind;
}

/** Task counts since the present piece of work began. */
export interface Counts {
  /** tasks submitted, and those a running map is known to submit yet */ readonly total: number;
  /** succeeded, failed and cancelled */ readonly done: number;
  /** ended with an exception */ readonly failed: number;
  /** given up before they ran */ readonly cancelled: number;
  /** in user code now */ readonly running: number;
  /** submitted and not running: waiting for inputs or for a worker */ readonly queued: number;
}

/** One call of map, one cell's calls of one function, or one %%task. */
export interface RunState {
  /** unique in the kernel */ readonly id: number;
  /** the function's name */ readonly name: string;
  /** tasks expected, null when not known */ readonly total: number | null;
  /** succeeded, failed and cancelled */ readonly done: number;
  /** ended with an exception */ readonly failed: number;
  /** from -100 to 100, larger first: the one that it was given last */ readonly priority: number;
}

/** Cellmill is loaded in this kernel. */
export interface Hello extends Message<'hello'> {
  /** version of the Python package */ readonly release: string;
}

/** Cellmill was unloaded from this kernel. */
export type Goodbye = Message<'goodbye'>;

/** The state of the default executor at one moment. */
export interface Snapshot extends Message<'snapshot'> {
  /** seconds on the kernel's monotonic clock */ readonly time: number;
  /** number of the piece of work the counts belong to; a new one starts at zero */ readonly work: number;
  /** seconds from the start of this piece of work to the last change of its counts */
  readonly elapsed: number;
  /** where the tasks run */ readonly backend: string;
  /** worker processes alive */ readonly workers: number;
  /** worker processes asked for */ readonly wanted: number;
  /** no more tasks are sent to workers */ readonly paused: boolean;
  /** tasks of this piece of work */ readonly counts: Counts;
  /** runs in progress, oldest first */ readonly runs: readonly RunState[];
}

/** One worker process. */
export interface WorkerState {
  /** its place in the pool; a worker that replaces it has another */ readonly index: number;
  /** its process, null while it starts */ readonly pid: number | null;
  /** starting, idle, busy, stopping or lost */ readonly state: string;
  /** tasks it has finished */ readonly done: number;
  /** of the task it runs, null when it runs none */ readonly function: string | null;
  /** the number of that task, in decimals */ readonly task: string | null;
  /** its place in its chunk */ readonly element: number | null;
  /** for which it has run */ readonly seconds: number | null;
  /** processor time of the last second, in processors */ readonly cpu: number | null;
  /** bytes of its own */ readonly memory: number | null;
}

/** A worker process that ended and was not asked to. */
export interface WorkerEnd {
  /** the place it had */ readonly index: number;
  /** what happened, for people; follows 'the worker' */ readonly how: string;
  /** the most bytes it had */ readonly memory: number | null;
}

/** What there is for the workers and the kernel. */
export interface Machine {
  /** processors that may be used */ readonly cpus: number;
  /** bytes, of the machine or its control group */ readonly memory: number;
  /** of these, bytes that can still be had */ readonly free: number;
  /** of the kernel */ readonly pid: number;
  /** of the kernel: processor time of the last second */ readonly cpu: number | null;
  /** of the kernel: bytes of its own */ readonly used: number;
}

/** The worker processes, for views that show them. */
export interface Workers extends Message<'workers'> {
  /** workers that were replaced */ readonly restarts: number;
  /** in the order of their places */ readonly workers: readonly WorkerState[];
  /** the last few that ended by themselves, oldest first */ readonly ends: readonly WorkerEnd[];
  /** null where there are no worker processes */ readonly machine: Machine | null;
}

/** Tasks with inputs or dependents, or groups of them. Columns of little-endian numbers. */
export interface Graph extends Message<'graph'> {
  /** another number when there are other tasks or dependencies */ readonly structure: number;
  /** tasks with inputs or dependents */ readonly tasks: number;
  /** pairs of a task and an input of it */ readonly dependencies: number;
  /** the oldest dependencies are not kept any more */ readonly partial: boolean;
  /** each column has an entry a group, not a task */ readonly folded: boolean;
  /** depths that a group holds */ readonly span: number;
  /** of functions; empty: not known, or several */ readonly names: readonly string[];
  /** places among the names, 2 bytes each */ readonly functions: Uint8Array;
  /** longest path from a task without inputs, in spans, 2 bytes each */ readonly depths: Uint8Array;
  /** waiting queued running done failed cancelled skipped; of groups: 7 columns of counts */
  readonly states: Uint8Array;
  /** time in user code, floats of 4 bytes */ readonly seconds: Uint8Array;
  /** of the tasks, 8 bytes each; of groups: none */ readonly tickets: Uint8Array;
  /** positions of input and dependent, 2 bytes each; of groups: these and how often, 4 bytes */
  readonly edges: Uint8Array;
}

/** How the tasks of the last graph stand now. */
export interface GraphStates extends Message<'graph-states'> {
  /** of the graph that it belongs to */ readonly structure: number;
  /** as in the graph */ readonly states: Uint8Array;
  /** as in the graph */ readonly seconds: Uint8Array;
}

/** A command could not be obeyed. */
export interface Refused extends Message<'refused'> {
  /** the command's kind */ readonly command: string;
  /** what was wrong, for people */ readonly reason: string;
}

/** Every page that hears it opens its panel and answers with shown. */
export interface Show extends Message<'show'> {
  /** the number that the answer carries */ readonly request: number;
}

/** The panel is open. */
export interface Shown extends Message<'shown'> {
  /** the number of the show frame */ readonly request: number;
}

/** A view asks for the present state. */
export type Refresh = Message<'refresh'>;

/** A view says what it shows beside the counters; it replaces what it said before. */
export interface Watch extends Message<'watch'> {
  /** kinds of the frames it wants, e.g. workers */ readonly sections: readonly string[];
}

/** Cancel what a run has not begun and interrupt what it runs. */
export interface CancelRun extends Message<'cancel-run'> {
  /** the run's id; null: every run, and tasks of none */ readonly run: number | null;
}

/** Send no more tasks to workers; what runs goes on. */
export type Pause = Message<'pause'>;

/** Go on after a pause. */
export type Resume = Message<'resume'>;

/** Grow or shrink the pool; what runs on surplus workers is finished first. */
export interface SetWorkers extends Message<'set-workers'> {
  /** workers wanted */ readonly count: number;
}

/** A new worker in the place of this one, which finishes what it runs. */
export interface ReplaceWorker extends Message<'replace-worker'> {
  /** its place */ readonly worker: number;
}

/** What a function's number stands for. */
export interface FunctionName {
  /** the scheduler's number for one content of the function */ readonly number: number;
  /** its name */ readonly name: string;
}

/** What each worker did when, in this piece of work; from one frame to the next only what changed. */
export interface Timeline extends Message<'timeline'> {
  /** whether this backend tells when its tasks ran */ readonly known: boolean;
  /** number of the piece of work */ readonly work: number;
  /** of this frame */ readonly number: number;
  /** the frame whose spans stay where these have none; 0: none, these are all */ readonly follows: number;
  /** seconds on the kernel's monotonic clock, to which open spans reach */ readonly now: number;
  /** tasks in the spans */ readonly tasks: number;
  /** of them: estimated from a sample */ readonly sampled: number;
  /** tasks that were gone before they were read */ readonly dropped: number;
  /** seconds; shorter spans hold several tasks */ readonly threshold: number;
  /** places of the workers in the pool now */ readonly workers: readonly number[];
  /** those not told before */ readonly names: readonly FunctionName[];
  /** csched_span_t, 64 bytes each */ readonly spans: Uint8Array;
  /** the same for tasks that run now, always all */ readonly running: Uint8Array;
}

/** Single tasks of a part of the timeline, as far as their journeys are kept. */
export interface TimelineDetail extends Message<'timeline-detail'> {
  /** the number that the view gave its question */ readonly request: number;
  /** seconds on the kernel's monotonic clock */ readonly start: number;
  /** the same */ readonly end: number;
  /** tasks that ran then; an even choice of them when they are many */ readonly found: number;
  /** of the functions in it */ readonly names: readonly FunctionName[];
  /** csched_span_t, 64 bytes each */ readonly spans: Uint8Array;
}

/** How long one interval of the journeys of one function took, in seconds. */
export interface IntervalFigures {
  /** tasks that tell it; 0: it is unknown */ readonly known: number;
  /** sum over those */ readonly total: number;
  /** half of them took less; within a few percent */ readonly median: number;
  /** 95 % took less */ readonly p95: number;
  /** 99 % took less */ readonly p99: number;
  /** the longest one */ readonly longest: number;
}

/** The journeys of one function's tasks. */
export interface FunctionJourney {
  /** the function's */ readonly number: number;
  /** the function's name */ readonly name: string;
  /** tasks that are over; attempts count */ readonly tasks: number;
  /** of them: with an error */ readonly failed: number;
  /** of them: cancelled, stopped or lost */ readonly cut: number;
  /** the seven, then pickling, then waiting beside others of a chunk */
  readonly intervals: readonly IntervalFigures[];
}

/** Where the time of this piece of work's tasks went, by function. */
export interface Journey extends Message<'journey'> {
  /** whether this backend tells of journeys */ readonly known: boolean;
  /** number of the piece of work */ readonly work: number;
  /** tasks folded */ readonly tasks: number;
  /** of them: estimated from a sample */ readonly sampled: number;
  /** tasks that were gone before they were read */ readonly dropped: number;
  /** functions with fewer tasks that are left out */ readonly hidden: number;
  /** those with the most time first */ readonly functions: readonly FunctionJourney[];
}

/** A view asks for the single tasks of a part of the timeline; the answer is a timeline-detail. */
export interface ZoomTimeline extends Message<'zoom-timeline'> {
  /** a number of the view's own */ readonly request: number;
  /** seconds on the kernel's monotonic clock */ readonly start: number;
  /** the same */ readonly end: number;
}

/** Tasks of a part of the state map, by state. */
export interface MapCounts {
  /** for inputs, or to be tried again */ readonly waiting: number;
  /** for a worker */ readonly queued: number;
  /** in user code now */ readonly running: number;
  /** ended well */ readonly done: number;
  /** ended with an exception, a failed input or at the time limit */ readonly failed: number;
  /** given up */ readonly cancelled: number;
  /** their worker died */ readonly lost: number;
}

/** The state of every task of the present piece of work, in the order of submission. */
export interface StateMap extends Message<'state-map'> {
  /** number of the piece of work */ readonly work: number;
  /** position of its first task in the kernel */ readonly origin: number;
  /** position of the first task told: those before it are forgotten */ readonly start: number;
  /** position after the last one told: later ones have not been sent yet */ readonly end: number;
  /** tasks of this work, those to come included */ readonly total: number;
  /** tasks a cell, a power of two */ readonly span: number;
  /** of the tasks told */ readonly counts: MapCounts;
  /** one byte a cell, PackBits; as csched.h says, a state where span is 1, else a sum */
  readonly cells: Uint8Array;
}

/** A part of the state map, as zoom-map asked for it. */
export interface MapPart extends Message<'map-part'> {
  /** the number that the view gave */ readonly request: number;
  /** position of the first task told */ readonly start: number;
  /** position after the last one told */ readonly end: number;
  /** tasks a cell, a power of two */ readonly span: number;
  /** of the tasks told */ readonly counts: MapCounts;
  /** as in StateMap */ readonly cells: Uint8Array;
}

/** Ask for a part of the state map, in full resolution where it is small enough; answered by MapPart. */
export interface ZoomMap extends Message<'zoom-map'> {
  /** comes back with the answer */ readonly request: number;
  /** position of the first task wanted */ readonly start: number;
  /** position after the last one */ readonly end: number;
}

/** A view asks for the best rows of all tasks, by an order, under conditions; the answer is a task-list. */
export interface ListTasks extends Message<'list-tasks'> {
  /** a number of the view's own, which the answer carries */ readonly request: number;
  /** states of TaskRow that are wanted; none: all */ readonly states: readonly string[];
  /** news, newest, oldest, run, queue or attempts */ readonly order: string;
  /** part of a function's name, or of a kept failure's error or arguments; or a task's number */
  readonly text: string;
  /** a run's id; null: all */ readonly run: number | null;
  /** rows to leave out, the best ones */ readonly offset: number;
  /** rows wanted, at most 500 */ readonly count: number;
}

/** A view asks for all that is known of one task; the answer is a task-detail. */
export interface ShowTask extends Message<'show-task'> {
  /** a number of the view's own, which the answer carries */ readonly request: number;
  /** its ticket or serial number, in decimal digits; empty: the one at the position */ readonly task: string;
  /** the element of a map, by its place in the task; null: the task */ readonly element: number | null;
  /** in the state map, where no task is named */ readonly position: number | null;
}

/** Cancel one task; one that runs is stopped. */
export interface CancelTask extends Message<'cancel-task'> {
  /** its ticket, in decimal digits */ readonly task: string;
}

/** Have what has not begun of a task or a run go earlier or later. */
export interface SetPriority extends Message<'set-priority'> {
  /** its ticket, in decimal digits; empty: the run */ readonly task: string;
  /** a run's id, where no task is named */ readonly run: number | null;
  /** from -100 to 100, larger first */ readonly priority: number;
}

/** Submit the call of a failed task again, as a new task; the answer is a task-rerun. */
export interface RerunTask extends Message<'rerun-task'> {
  /** a number of the view's own, which the answer carries */ readonly request: number;
  /** its ticket, in decimal digits */ readonly task: string;
  /** the element of a map */ readonly element: number | null;
}

/** A task that is not over, or one attempt at a task or an element that is. */
export interface TaskRow {
  /** its ticket, in decimal digits */ readonly task: string;
  /** its serial number, as people see it */ readonly number: number;
  /** its place in a chunk of a map */ readonly element: number | null;
  /** elements that it stands for */ readonly count: number;
  /** the function's name */ readonly function: string;
  /** waiting, delayed, queued, sent, running, stopping, done, failed, lost, cancelled, not-run or retried */
  readonly state: string;
  /** the worker's place in the pool */ readonly worker: number | null;
  /** 1 for the first */ readonly attempt: number;
  /** of a task that is not over */ readonly priority: number | null;
  /** seconds since it was submitted */ readonly age: number;
  /** seconds from ready to a worker, so far for one that waits */ readonly queued: number | null;
  /** seconds in user code, so far for one that runs */ readonly run: number | null;
}

/** All failures of one type with one traceback. */
export interface FailureGroup {
  /** of the exception */ readonly type: string;
  /** of the first */ readonly function: string;
  /** of the first */ readonly message: string;
  /** how many there were */ readonly count: number;
  /** tickets of the first few */ readonly tasks: readonly string[];
  /** their elements */ readonly elements: readonly number[];
}

/** The rows that a view asked for. */
export interface TaskList extends Message<'task-list'> {
  /** of the command */ readonly request: number;
  /** tasks and elements that fulfil the conditions, of those that are known still */
  readonly matched: number;
  /** the best of them, in order */ readonly rows: readonly TaskRow[];
  /** all failures of this pool, folded, the latest first */ readonly failures: readonly FailureGroup[];
}

/** One attempt at a task that is over, or the task as it stands. */
export interface TaskAttempt {
  /** as in TaskRow */ readonly state: string;
  /** the worker's place in the pool */ readonly worker: number | null;
  /** its place in a chunk */ readonly element: number | null;
  /** 1 for the first */ readonly attempt: number;
  /** seconds from its submission to each of the stages, -1 where that is not known */
  readonly stamps: readonly number[];
  /** seconds spent pickling its arguments in the kernel */ readonly pack: number;
}

/** All that is known of one task. */
export interface TaskDetail extends Message<'task-detail'> {
  /** of the command */ readonly request: number;
  /** its ticket, in decimal digits */ readonly task: string;
  /** its serial number, as people see it; 0: there is no such task any more */ readonly number: number;
  /** the element that was asked for */ readonly element: number | null;
  /** elements that it stands for */ readonly count: number;
  /** the function's name */ readonly function: string;
  /** as in TaskRow, or unknown */ readonly state: string;
  /** of a task that is not over */ readonly priority: number | null;
  /** why it waits, in words */ readonly why: string;
  /** the latest first */ readonly attempts: readonly TaskAttempt[];
  /** as short text; null: not kept */ readonly arguments: string | null;
  /** the end of what it printed */ readonly output: string;
  /** type of what it failed with, or nothing */ readonly error: string;
  /** of that */ readonly message: string;
  /** from the worker */ readonly traceback: string;
  /** the most that its worker took, in bytes, where that is known */ readonly memory: number | null;
  /** of a call that was made again from here, as short text */ readonly result: string | null;
  /** tickets of later runs of this call */ readonly reruns: readonly string[];
  /** what may be done: cancel, priority, rerun, debug */ readonly can: readonly string[];
}

/** One attempt at a task or an element that is over, as recordings keep it. */
export interface TaskRecord {
  /** as tables have it */ readonly row: TaskRow;
  /** in the state map */ readonly position: number;
  /** its way through the stages */ readonly attempt: TaskAttempt;
  /** as short text; null: not kept */ readonly arguments: string | null;
  /** the end of what it printed */ readonly output: string;
  /** type of what it failed with, or nothing */ readonly error: string;
  /** of that */ readonly message: string;
  /** from the worker */ readonly traceback: string;
  /** as in TaskDetail */ readonly memory: number | null;
}

/** Tasks that are over, for recordings alone: those that views would list, each once. */
export interface TaskRecords extends Message<'task-records'> {
  /** in no order */ readonly records: readonly TaskRecord[];
}

/** The call of a failed task was submitted again. */
export interface TaskRerun extends Message<'task-rerun'> {
  /** of the command */ readonly request: number;
  /** the new task's ticket, in decimal digits */ readonly task: string;
}

/** What the kernel sends. */
export type Frame =
    Hello | Goodbye | Snapshot | Workers | Refused | Show | Graph | GraphStates | Timeline | TimelineDetail |
    Journey | StateMap | MapPart | TaskList | TaskDetail | TaskRerun | TaskRecords;

/** What a view sends. */
export type Command =
    Refresh | Watch | Shown | CancelRun | Pause | Resume | SetWorkers | ReplaceWorker | ZoomTimeline |
    ZoomMap | ListTasks | ShowTask | CancelTask | SetPriority | RerunTask;

const version = literal(VERSION);
const counts = record<Counts>({
    total: integer, done: integer, failed: integer, cancelled: integer, running: integer, queued: integer
});
const runState = record<RunState>({
    id: integer, name: string, total: nullable(integer), done: integer, failed: integer, priority: integer
});
const workerState = record<WorkerState>({
    index: integer, pid: nullable(integer), state: string, done: integer, function: nullable(string),
    task: nullable(string), element: nullable(integer), seconds: nullable(number), cpu: nullable(number),
    memory: nullable(integer)
});
const workerEnd = record<WorkerEnd>({ index: integer, how: string, memory: nullable(integer) });
const machine = record<Machine>({
    cpus: integer, memory: integer, free: integer, pid: integer, cpu: nullable(number), used: integer
});
const functionName = record<FunctionName>({ number: integer, name: string });
const intervalFigures = record<IntervalFigures>({
    known: integer, total: number, median: number, p95: number, p99: number, longest: number
});
const functionJourney = record<FunctionJourney>({
    number: integer, name: string, tasks: integer, failed: integer, cut: integer,
    intervals: list(intervalFigures)
});
const mapCounts = record<MapCounts>({
    waiting: integer, queued: integer, running: integer, done: integer, failed: integer, cancelled: integer,
    lost: integer
});
const taskRow = record<TaskRow>({
    task: string, number: integer, element: nullable(integer), count: integer, function: string,
    state: string, worker: nullable(integer), attempt: integer, priority: nullable(integer), age: number,
    queued: nullable(number), run: nullable(number)
});
const failureGroup = record<FailureGroup>({
    type: string, function: string, message: string, count: integer, tasks: list(string),
    elements: list(integer)
});
const taskAttempt = record<TaskAttempt>({
    state: string, worker: nullable(integer), element: nullable(integer), attempt: integer,
    stamps: list(number), pack: number
});
const taskRecord = record<TaskRecord>({
    row: taskRow, position: integer, attempt: taskAttempt, arguments: nullable(string), output: string,
    error: string, message: string, traceback: string, memory: nullable(number)
});

/** Read a frame from a message's data; throws ProtocolError. */
export const parseFrame = union<Frame>('Frame', {
  'hello': message<Hello>('Hello', { cellmill: version, kind: literal('hello'), release: string }),
  'goodbye': message<Goodbye>('Goodbye', { cellmill: version, kind: literal('goodbye') }),
  'snapshot': message<Snapshot>('Snapshot', {
      cellmill: version, kind: literal('snapshot'), time: number, work: integer, elapsed: number,
      backend: string, workers: integer, wanted: integer, paused: boolean, counts: counts, runs: list(runState)
  }),
  'workers': message<Workers>('Workers', {
      cellmill: version, kind: literal('workers'), restarts: integer, workers: list(workerState),
      ends: list(workerEnd), machine: nullable(machine)
  }),
  'refused': message<Refused>('Refused', {
      cellmill: version, kind: literal('refused'), command: string, reason: string
  }),
  'show': message<Show>('Show', { cellmill: version, kind: literal('show'), request: integer }),
  'graph': message<Graph>('Graph', {
      cellmill: version, kind: literal('graph'), structure: integer, tasks: integer, dependencies: integer,
      partial: boolean, folded: boolean, span: integer, names: list(string), functions: bytes(0),
      depths: bytes(1), states: bytes(2), seconds: bytes(3), tickets: bytes(4), edges: bytes(5)
  }),
  'graph-states': message<GraphStates>('GraphStates', {
      cellmill: version, kind: literal('graph-states'), structure: integer, states: bytes(0), seconds: bytes(1)
  }),
  'timeline': message<Timeline>('Timeline', {
      cellmill: version, kind: literal('timeline'), known: boolean, work: integer, number: integer,
      follows: integer, now: number, tasks: integer, sampled: integer, dropped: integer, threshold: number,
      workers: list(integer), names: list(functionName), spans: bytes(0), running: bytes(1)
  }),
  'timeline-detail': message<TimelineDetail>('TimelineDetail', {
      cellmill: version, kind: literal('timeline-detail'), request: integer, start: number, end: number,
      found: integer, names: list(functionName), spans: bytes(0)
  }),
  'journey': message<Journey>('Journey', {
      cellmill: version, kind: literal('journey'), known: boolean, work: integer, tasks: integer,
      sampled: integer, dropped: integer, hidden: integer, functions: list(functionJourney)
  }),
  'state-map': message<StateMap>('StateMap', {
      cellmill: version, kind: literal('state-map'), work: integer, origin: integer, start: integer,
      end: integer, total: integer, span: integer, counts: mapCounts, cells: bytes(0)
  }),
  'map-part': message<MapPart>('MapPart', {
      cellmill: version, kind: literal('map-part'), request: integer, start: integer, end: integer,
      span: integer, counts: mapCounts, cells: bytes(0)
  }),
  'task-list': message<TaskList>('TaskList', {
      cellmill: version, kind: literal('task-list'), request: integer, matched: integer, rows: list(taskRow),
      failures: list(failureGroup)
  }),
  'task-detail': message<TaskDetail>('TaskDetail', {
      cellmill: version, kind: literal('task-detail'), request: integer, task: string, number: integer,
      element: nullable(integer), count: integer, function: string, state: string, priority: nullable(integer),
      why: string, attempts: list(taskAttempt), arguments: nullable(string), output: string, error: string,
      message: string, traceback: string, memory: nullable(number), result: nullable(string),
      reruns: list(string), can: list(string)
  }),
  'task-rerun': message<TaskRerun>('TaskRerun', {
      cellmill: version, kind: literal('task-rerun'), request: integer, task: string
  }),
  'task-records': message<TaskRecords>('TaskRecords', {
      cellmill: version, kind: literal('task-records'), records: list(taskRecord)
  }),
});
