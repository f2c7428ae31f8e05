/** What the kernel tells its views.
 *
 * Generated from telemetry/schema.json by scripts/generate_schema.py; do not edit.
 */

export const VERSION = 1;
export const CONTROL_TARGET = 'cellmill.control';
export const FRAME_TARGET = 'cellmill.frames';

/** The stages of a task's journey, in order. */
// prettier-ignore
export const STAGES = ['submitted', 'ready', 'dispatched', 'received', 'started', 'finished', 'returned', 'resolved'] as const;
export type Stage = (typeof STAGES)[number];
/** The intervals between them. */
// prettier-ignore
export const INTERVALS = ['wait-for-inputs', 'queue', 'deliver', 'unpack', 'run', 'pack', 'collect'] as const;

/** A message that does not follow the schema. */
export class ProtocolError extends Error {}

function record(value: unknown, where: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ProtocolError(`${where} is no object`);
  }
  return value as Record<string, unknown>;
}

function number(value: unknown, where: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    throw new ProtocolError(`${where} is no number`);
  }
  return value;
}

function integer(value: unknown, where: string): number {
  if (!Number.isInteger(number(value, where))) {
    throw new ProtocolError(`${where} is no integer`);
  }
  return value as number;
}

function boolean(value: unknown, where: string): boolean {
  if (typeof value !== 'boolean') {
    throw new ProtocolError(`${where} is neither true nor false`);
  }
  return value;
}

function string(value: unknown, where: string): string {
  if (typeof value !== 'string') {
    throw new ProtocolError(`${where} is no string`);
  }
  return value;
}

function literal<T extends string | number>(value: unknown, expected: T, where: string): T {
  if (value !== expected) {
    throw new ProtocolError(`${where} is not ${expected}`);
  }
  return expected;
}

function array<T>(
  value: unknown,
  read: (item: unknown, where: string) => T,
  where: string
): readonly T[] {
  if (!Array.isArray(value)) {
    throw new ProtocolError(`${where} is no list`);
  }
  return value.map((item, index) => read(item, `${where}[${index}]`));
}

/** The binary parts of a message. */
export type Buffers = readonly (ArrayBuffer | ArrayBufferView)[];

function bytes(buffers: Buffers, index: number, where: string): Uint8Array {
  const buffer = buffers[index];
  if (buffer === undefined) {
    throw new ProtocolError(`${where} did not come`);
  }
  return ArrayBuffer.isView(buffer)
    ? new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength)
    : new Uint8Array(buffer);
}

/** Task counts since the present piece of work began. */
export interface Counts {
  /** tasks submitted, and those a running map is known to submit yet */
  readonly total: number;
  /** succeeded, failed and cancelled */
  readonly done: number;
  /** ended with an exception */
  readonly failed: number;
  /** given up before they ran */
  readonly cancelled: number;
  /** in user code now */
  readonly running: number;
  /** submitted and not running: waiting for inputs or for a worker */
  readonly queued: number;
}

function parseCounts(value: unknown, where: string): Counts {
  const raw = record(value, where);
  return {
    total: integer(raw.total, where + '.total'),
    done: integer(raw.done, where + '.done'),
    failed: integer(raw.failed, where + '.failed'),
    cancelled: integer(raw.cancelled, where + '.cancelled'),
    running: integer(raw.running, where + '.running'),
    queued: integer(raw.queued, where + '.queued')
  };
}

/** One call of map, one cell's calls of one function, or one %%task. */
export interface RunState {
  /** unique in the kernel */
  readonly id: number;
  /** the function's name */
  readonly name: string;
  /** tasks expected, null when not known */
  readonly total: number | null;
  /** succeeded, failed and cancelled */
  readonly done: number;
  /** ended with an exception */
  readonly failed: number;
  /** from -100 to 100, larger first: the one that it was given last */
  readonly priority: number;
}

function parseRunState(value: unknown, where: string): RunState {
  const raw = record(value, where);
  return {
    id: integer(raw.id, where + '.id'),
    name: string(raw.name, where + '.name'),
    total: raw.total === null ? null : integer(raw.total, where + '.total'),
    done: integer(raw.done, where + '.done'),
    failed: integer(raw.failed, where + '.failed'),
    priority: integer(raw.priority, where + '.priority')
  };
}

/** Cellmill is loaded in this kernel. */
export interface Hello {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which frame this is */
  readonly kind: 'hello';
  /** version of the Python package */
  readonly release: string;
}

function parseHello(value: unknown, where: string): Hello {
  const raw = record(value, where);
  return {
    cellmill: literal(raw.cellmill, VERSION, where + '.cellmill'),
    kind: literal(raw.kind, 'hello', where + '.kind'),
    release: string(raw.release, where + '.release')
  };
}

/** Cellmill was unloaded from this kernel. */
export interface Goodbye {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which frame this is */
  readonly kind: 'goodbye';
}

function parseGoodbye(value: unknown, where: string): Goodbye {
  const raw = record(value, where);
  return {
    cellmill: literal(raw.cellmill, VERSION, where + '.cellmill'),
    kind: literal(raw.kind, 'goodbye', where + '.kind')
  };
}

/** The state of the default executor at one moment. */
export interface Snapshot {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which frame this is */
  readonly kind: 'snapshot';
  /** seconds on the kernel's monotonic clock */
  readonly time: number;
  /** number of the piece of work the counts belong to; a new one starts at zero */
  readonly work: number;
  /** seconds from the start of this piece of work to the last change of its counts */
  readonly elapsed: number;
  /** where the tasks run */
  readonly backend: string;
  /** worker processes alive */
  readonly workers: number;
  /** worker processes asked for */
  readonly wanted: number;
  /** no more tasks are sent to workers */
  readonly paused: boolean;
  /** tasks of this piece of work */
  readonly counts: Counts;
  /** runs in progress, oldest first */
  readonly runs: readonly RunState[];
}

function parseSnapshot(value: unknown, where: string): Snapshot {
  const raw = record(value, where);
  return {
    cellmill: literal(raw.cellmill, VERSION, where + '.cellmill'),
    kind: literal(raw.kind, 'snapshot', where + '.kind'),
    time: number(raw.time, where + '.time'),
    work: integer(raw.work, where + '.work'),
    elapsed: number(raw.elapsed, where + '.elapsed'),
    backend: string(raw.backend, where + '.backend'),
    workers: integer(raw.workers, where + '.workers'),
    wanted: integer(raw.wanted, where + '.wanted'),
    paused: boolean(raw.paused, where + '.paused'),
    counts: parseCounts(raw.counts, where + '.counts'),
    runs: array(raw.runs, parseRunState, where + '.runs')
  };
}

/** One worker process. */
export interface WorkerState {
  /** its place in the pool; a worker that replaces it has another */
  readonly index: number;
  /** its process, null while it starts */
  readonly pid: number | null;
  /** starting, idle, busy, stopping or lost */
  readonly state: string;
  /** tasks it has finished */
  readonly done: number;
  /** of the task it runs, null when it runs none */
  readonly function: string | null;
  /** the number of that task, in decimals */
  readonly task: string | null;
  /** its place in its chunk */
  readonly element: number | null;
  /** for which it has run */
  readonly seconds: number | null;
  /** processor time of the last second, in processors */
  readonly cpu: number | null;
  /** bytes of its own */
  readonly memory: number | null;
}

function parseWorkerState(value: unknown, where: string): WorkerState {
  const raw = record(value, where);
  return {
    index: integer(raw.index, where + '.index'),
    pid: raw.pid === null ? null : integer(raw.pid, where + '.pid'),
    state: string(raw.state, where + '.state'),
    done: integer(raw.done, where + '.done'),
    function: raw.function === null ? null : string(raw.function, where + '.function'),
    task: raw.task === null ? null : string(raw.task, where + '.task'),
    element: raw.element === null ? null : integer(raw.element, where + '.element'),
    seconds: raw.seconds === null ? null : number(raw.seconds, where + '.seconds'),
    cpu: raw.cpu === null ? null : number(raw.cpu, where + '.cpu'),
    memory: raw.memory === null ? null : integer(raw.memory, where + '.memory')
  };
}

/** A worker process that ended and was not asked to. */
export interface WorkerEnd {
  /** the place it had */
  readonly index: number;
  /** what happened, for people; follows 'the worker' */
  readonly how: string;
  /** the most bytes it had */
  readonly memory: number | null;
}

function parseWorkerEnd(value: unknown, where: string): WorkerEnd {
  const raw = record(value, where);
  return {
    index: integer(raw.index, where + '.index'),
    how: string(raw.how, where + '.how'),
    memory: raw.memory === null ? null : integer(raw.memory, where + '.memory')
  };
}

/** What there is for the workers and the kernel. */
export interface Machine {
  /** processors that may be used */
  readonly cpus: number;
  /** bytes, of the machine or its control group */
  readonly memory: number;
  /** of these, bytes that can still be had */
  readonly free: number;
  /** of the kernel */
  readonly pid: number;
  /** of the kernel: processor time of the last second */
  readonly cpu: number | null;
  /** of the kernel: bytes of its own */
  readonly used: number;
}

function parseMachine(value: unknown, where: string): Machine {
  const raw = record(value, where);
  return {
    cpus: integer(raw.cpus, where + '.cpus'),
    memory: integer(raw.memory, where + '.memory'),
    free: integer(raw.free, where + '.free'),
    pid: integer(raw.pid, where + '.pid'),
    cpu: raw.cpu === null ? null : number(raw.cpu, where + '.cpu'),
    used: integer(raw.used, where + '.used')
  };
}

/** The worker processes, for views that show them. */
export interface Workers {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which frame this is */
  readonly kind: 'workers';
  /** workers that were replaced */
  readonly restarts: number;
  /** in the order of their places */
  readonly workers: readonly WorkerState[];
  /** the last few that ended by themselves, oldest first */
  readonly ends: readonly WorkerEnd[];
  /** null where there are no worker processes */
  readonly machine: Machine | null;
}

function parseWorkers(value: unknown, where: string): Workers {
  const raw = record(value, where);
  return {
    cellmill: literal(raw.cellmill, VERSION, where + '.cellmill'),
    kind: literal(raw.kind, 'workers', where + '.kind'),
    restarts: integer(raw.restarts, where + '.restarts'),
    workers: array(raw.workers, parseWorkerState, where + '.workers'),
    ends: array(raw.ends, parseWorkerEnd, where + '.ends'),
    machine: raw.machine === null ? null : parseMachine(raw.machine, where + '.machine')
  };
}

/** Tasks with inputs or dependents, or groups of them. Columns of little-endian numbers. */
export interface Graph {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which frame this is */
  readonly kind: 'graph';
  /** another number when there are other tasks or dependencies */
  readonly structure: number;
  /** tasks with inputs or dependents */
  readonly tasks: number;
  /** pairs of a task and an input of it */
  readonly dependencies: number;
  /** the oldest dependencies are not kept any more */
  readonly partial: boolean;
  /** each column has an entry a group, not a task */
  readonly folded: boolean;
  /** depths that a group holds */
  readonly span: number;
  /** of functions; empty: not known, or several */
  readonly names: readonly string[];
  /** places among the names, 2 bytes each */
  readonly functions: Uint8Array;
  /** longest path from a task without inputs, in spans, 2 bytes each */
  readonly depths: Uint8Array;
  /** waiting queued running done failed cancelled skipped; of groups: 7 columns of counts */
  readonly states: Uint8Array;
  /** time in user code, floats of 4 bytes */
  readonly seconds: Uint8Array;
  /** of the tasks, 8 bytes each; of groups: none */
  readonly tickets: Uint8Array;
  /** positions of input and dependent, 2 bytes each; of groups: these and how often, 4 bytes */
  readonly edges: Uint8Array;
}

function parseGraph(value: unknown, where: string, buffers: Buffers): Graph {
  const raw = record(value, where);
  return {
    cellmill: literal(raw.cellmill, VERSION, where + '.cellmill'),
    kind: literal(raw.kind, 'graph', where + '.kind'),
    structure: integer(raw.structure, where + '.structure'),
    tasks: integer(raw.tasks, where + '.tasks'),
    dependencies: integer(raw.dependencies, where + '.dependencies'),
    partial: boolean(raw.partial, where + '.partial'),
    folded: boolean(raw.folded, where + '.folded'),
    span: integer(raw.span, where + '.span'),
    names: array(raw.names, string, where + '.names'),
    functions: bytes(buffers, 0, where + '.functions'),
    depths: bytes(buffers, 1, where + '.depths'),
    states: bytes(buffers, 2, where + '.states'),
    seconds: bytes(buffers, 3, where + '.seconds'),
    tickets: bytes(buffers, 4, where + '.tickets'),
    edges: bytes(buffers, 5, where + '.edges')
  };
}

/** How the tasks of the last graph stand now. */
export interface GraphStates {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which frame this is */
  readonly kind: 'graph-states';
  /** of the graph that it belongs to */
  readonly structure: number;
  /** as in the graph */
  readonly states: Uint8Array;
  /** as in the graph */
  readonly seconds: Uint8Array;
}

function parseGraphStates(value: unknown, where: string, buffers: Buffers): GraphStates {
  const raw = record(value, where);
  return {
    cellmill: literal(raw.cellmill, VERSION, where + '.cellmill'),
    kind: literal(raw.kind, 'graph-states', where + '.kind'),
    structure: integer(raw.structure, where + '.structure'),
    states: bytes(buffers, 0, where + '.states'),
    seconds: bytes(buffers, 1, where + '.seconds')
  };
}

/** A command could not be obeyed. */
export interface Refused {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which frame this is */
  readonly kind: 'refused';
  /** the command's kind */
  readonly command: string;
  /** what was wrong, for people */
  readonly reason: string;
}

function parseRefused(value: unknown, where: string): Refused {
  const raw = record(value, where);
  return {
    cellmill: literal(raw.cellmill, VERSION, where + '.cellmill'),
    kind: literal(raw.kind, 'refused', where + '.kind'),
    command: string(raw.command, where + '.command'),
    reason: string(raw.reason, where + '.reason')
  };
}

/** Every page that hears it opens its panel and answers with shown. */
export interface Show {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which frame this is */
  readonly kind: 'show';
  /** the number that the answer carries */
  readonly request: number;
}

function parseShow(value: unknown, where: string): Show {
  const raw = record(value, where);
  return {
    cellmill: literal(raw.cellmill, VERSION, where + '.cellmill'),
    kind: literal(raw.kind, 'show', where + '.kind'),
    request: integer(raw.request, where + '.request')
  };
}

/** The panel is open. */
export interface Shown {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which command this is */
  readonly kind: 'shown';
  /** the number of the show frame */
  readonly request: number;
}

/** A view asks for the present state. */
export interface Refresh {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which command this is */
  readonly kind: 'refresh';
}

/** A view says what it shows beside the counters; it replaces what it said before. */
export interface Watch {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which command this is */
  readonly kind: 'watch';
  /** kinds of the frames it wants, e.g. workers */
  readonly sections: readonly string[];
}

/** Cancel what a run has not begun and interrupt what it runs. */
export interface CancelRun {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which command this is */
  readonly kind: 'cancel-run';
  /** the run's id; null: every run, and tasks of none */
  readonly run: number | null;
}

/** Send no more tasks to workers; what runs goes on. */
export interface Pause {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which command this is */
  readonly kind: 'pause';
}

/** Go on after a pause. */
export interface Resume {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which command this is */
  readonly kind: 'resume';
}

/** Grow or shrink the pool; what runs on surplus workers is finished first. */
export interface SetWorkers {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which command this is */
  readonly kind: 'set-workers';
  /** workers wanted */
  readonly count: number;
}

/** A new worker in the place of this one, which finishes what it runs. */
export interface ReplaceWorker {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which command this is */
  readonly kind: 'replace-worker';
  /** its place */
  readonly worker: number;
}

/** What a function's number stands for. */
export interface FunctionName {
  /** the scheduler's number for one content of the function */
  readonly number: number;
  /** its name */
  readonly name: string;
}

function parseFunctionName(value: unknown, where: string): FunctionName {
  const raw = record(value, where);
  return {
    number: integer(raw.number, where + '.number'),
    name: string(raw.name, where + '.name')
  };
}

/** What each worker did when, in this piece of work; from one frame to the next only what changed. */
export interface Timeline {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which frame this is */
  readonly kind: 'timeline';
  /** whether this backend tells when its tasks ran */
  readonly known: boolean;
  /** number of the piece of work */
  readonly work: number;
  /** of this frame */
  readonly number: number;
  /** the frame whose spans stay where these have none; 0: none, these are all */
  readonly follows: number;
  /** seconds on the kernel's monotonic clock, to which open spans reach */
  readonly now: number;
  /** tasks in the spans */
  readonly tasks: number;
  /** of them: estimated from a sample */
  readonly sampled: number;
  /** tasks that were gone before they were read */
  readonly dropped: number;
  /** seconds; shorter spans hold several tasks */
  readonly threshold: number;
  /** places of the workers in the pool now */
  readonly workers: readonly number[];
  /** those not told before */
  readonly names: readonly FunctionName[];
  /** csched_span_t, 64 bytes each */
  readonly spans: Uint8Array;
  /** the same for tasks that run now, always all */
  readonly running: Uint8Array;
}

function parseTimeline(value: unknown, where: string, buffers: Buffers): Timeline {
  const raw = record(value, where);
  return {
    cellmill: literal(raw.cellmill, VERSION, where + '.cellmill'),
    kind: literal(raw.kind, 'timeline', where + '.kind'),
    known: boolean(raw.known, where + '.known'),
    work: integer(raw.work, where + '.work'),
    number: integer(raw.number, where + '.number'),
    follows: integer(raw.follows, where + '.follows'),
    now: number(raw.now, where + '.now'),
    tasks: integer(raw.tasks, where + '.tasks'),
    sampled: integer(raw.sampled, where + '.sampled'),
    dropped: integer(raw.dropped, where + '.dropped'),
    threshold: number(raw.threshold, where + '.threshold'),
    workers: array(raw.workers, integer, where + '.workers'),
    names: array(raw.names, parseFunctionName, where + '.names'),
    spans: bytes(buffers, 0, where + '.spans'),
    running: bytes(buffers, 1, where + '.running')
  };
}

/** Single tasks of a part of the timeline, as far as their journeys are kept. */
export interface TimelineDetail {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which frame this is */
  readonly kind: 'timeline-detail';
  /** the number that the view gave its question */
  readonly request: number;
  /** seconds on the kernel's monotonic clock */
  readonly start: number;
  /** the same */
  readonly end: number;
  /** tasks that ran then; an even choice of them when they are many */
  readonly found: number;
  /** of the functions in it */
  readonly names: readonly FunctionName[];
  /** csched_span_t, 64 bytes each */
  readonly spans: Uint8Array;
}

function parseTimelineDetail(value: unknown, where: string, buffers: Buffers): TimelineDetail {
  const raw = record(value, where);
  return {
    cellmill: literal(raw.cellmill, VERSION, where + '.cellmill'),
    kind: literal(raw.kind, 'timeline-detail', where + '.kind'),
    request: integer(raw.request, where + '.request'),
    start: number(raw.start, where + '.start'),
    end: number(raw.end, where + '.end'),
    found: integer(raw.found, where + '.found'),
    names: array(raw.names, parseFunctionName, where + '.names'),
    spans: bytes(buffers, 0, where + '.spans')
  };
}

/** How long one interval of the journeys of one function took, in seconds. */
export interface IntervalFigures {
  /** tasks that tell it; 0: it is unknown */
  readonly known: number;
  /** sum over those */
  readonly total: number;
  /** half of them took less; within a few percent */
  readonly median: number;
  /** 95 % took less */
  readonly p95: number;
  /** 99 % took less */
  readonly p99: number;
  /** the longest one */
  readonly longest: number;
}

function parseIntervalFigures(value: unknown, where: string): IntervalFigures {
  const raw = record(value, where);
  return {
    known: integer(raw.known, where + '.known'),
    total: number(raw.total, where + '.total'),
    median: number(raw.median, where + '.median'),
    p95: number(raw.p95, where + '.p95'),
    p99: number(raw.p99, where + '.p99'),
    longest: number(raw.longest, where + '.longest')
  };
}

/** The journeys of one function's tasks. */
export interface FunctionJourney {
  /** the function's */
  readonly number: number;
  /** the function's name */
  readonly name: string;
  /** tasks that are over; attempts count */
  readonly tasks: number;
  /** of them: with an error */
  readonly failed: number;
  /** of them: cancelled, stopped or lost */
  readonly cut: number;
  /** the seven, then pickling, then waiting beside others of a chunk */
  readonly intervals: readonly IntervalFigures[];
}

function parseFunctionJourney(value: unknown, where: string): FunctionJourney {
  const raw = record(value, where);
  return {
    number: integer(raw.number, where + '.number'),
    name: string(raw.name, where + '.name'),
    tasks: integer(raw.tasks, where + '.tasks'),
    failed: integer(raw.failed, where + '.failed'),
    cut: integer(raw.cut, where + '.cut'),
    intervals: array(raw.intervals, parseIntervalFigures, where + '.intervals')
  };
}

/** Where the time of this piece of work's tasks went, by function. */
export interface Journey {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which frame this is */
  readonly kind: 'journey';
  /** whether this backend tells of journeys */
  readonly known: boolean;
  /** number of the piece of work */
  readonly work: number;
  /** tasks folded */
  readonly tasks: number;
  /** of them: estimated from a sample */
  readonly sampled: number;
  /** tasks that were gone before they were read */
  readonly dropped: number;
  /** functions with fewer tasks that are left out */
  readonly hidden: number;
  /** those with the most time first */
  readonly functions: readonly FunctionJourney[];
}

function parseJourney(value: unknown, where: string): Journey {
  const raw = record(value, where);
  return {
    cellmill: literal(raw.cellmill, VERSION, where + '.cellmill'),
    kind: literal(raw.kind, 'journey', where + '.kind'),
    known: boolean(raw.known, where + '.known'),
    work: integer(raw.work, where + '.work'),
    tasks: integer(raw.tasks, where + '.tasks'),
    sampled: integer(raw.sampled, where + '.sampled'),
    dropped: integer(raw.dropped, where + '.dropped'),
    hidden: integer(raw.hidden, where + '.hidden'),
    functions: array(raw.functions, parseFunctionJourney, where + '.functions')
  };
}

/** A view asks for the single tasks of a part of the timeline; the answer is a timeline-detail. */
export interface ZoomTimeline {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which command this is */
  readonly kind: 'zoom-timeline';
  /** a number of the view's own */
  readonly request: number;
  /** seconds on the kernel's monotonic clock */
  readonly start: number;
  /** the same */
  readonly end: number;
}

/** Tasks of a part of the state map, by state. */
export interface MapCounts {
  /** for inputs, or to be tried again */
  readonly waiting: number;
  /** for a worker */
  readonly queued: number;
  /** in user code now */
  readonly running: number;
  /** ended well */
  readonly done: number;
  /** ended with an exception, a failed input or at the time limit */
  readonly failed: number;
  /** given up */
  readonly cancelled: number;
  /** their worker died */
  readonly lost: number;
}

function parseMapCounts(value: unknown, where: string): MapCounts {
  const raw = record(value, where);
  return {
    waiting: integer(raw.waiting, where + '.waiting'),
    queued: integer(raw.queued, where + '.queued'),
    running: integer(raw.running, where + '.running'),
    done: integer(raw.done, where + '.done'),
    failed: integer(raw.failed, where + '.failed'),
    cancelled: integer(raw.cancelled, where + '.cancelled'),
    lost: integer(raw.lost, where + '.lost')
  };
}

/** The state of every task of the present piece of work, in the order of submission. */
export interface StateMap {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which frame this is */
  readonly kind: 'state-map';
  /** number of the piece of work */
  readonly work: number;
  /** position of its first task in the kernel */
  readonly origin: number;
  /** position of the first task told: those before it are forgotten */
  readonly start: number;
  /** position after the last one told: later ones have not been sent yet */
  readonly end: number;
  /** tasks of this work, those to come included */
  readonly total: number;
  /** tasks a cell, a power of two */
  readonly span: number;
  /** of the tasks told */
  readonly counts: MapCounts;
  /** one byte a cell, PackBits; as csched.h says, a state where span is 1, else a sum */
  readonly cells: Uint8Array;
}

function parseStateMap(value: unknown, where: string, buffers: Buffers): StateMap {
  const raw = record(value, where);
  return {
    cellmill: literal(raw.cellmill, VERSION, where + '.cellmill'),
    kind: literal(raw.kind, 'state-map', where + '.kind'),
    work: integer(raw.work, where + '.work'),
    origin: integer(raw.origin, where + '.origin'),
    start: integer(raw.start, where + '.start'),
    end: integer(raw.end, where + '.end'),
    total: integer(raw.total, where + '.total'),
    span: integer(raw.span, where + '.span'),
    counts: parseMapCounts(raw.counts, where + '.counts'),
    cells: bytes(buffers, 0, where + '.cells')
  };
}

/** A part of the state map, as zoom-map asked for it. */
export interface MapPart {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which frame this is */
  readonly kind: 'map-part';
  /** the number that the view gave */
  readonly request: number;
  /** position of the first task told */
  readonly start: number;
  /** position after the last one told */
  readonly end: number;
  /** tasks a cell, a power of two */
  readonly span: number;
  /** of the tasks told */
  readonly counts: MapCounts;
  /** as in StateMap */
  readonly cells: Uint8Array;
}

function parseMapPart(value: unknown, where: string, buffers: Buffers): MapPart {
  const raw = record(value, where);
  return {
    cellmill: literal(raw.cellmill, VERSION, where + '.cellmill'),
    kind: literal(raw.kind, 'map-part', where + '.kind'),
    request: integer(raw.request, where + '.request'),
    start: integer(raw.start, where + '.start'),
    end: integer(raw.end, where + '.end'),
    span: integer(raw.span, where + '.span'),
    counts: parseMapCounts(raw.counts, where + '.counts'),
    cells: bytes(buffers, 0, where + '.cells')
  };
}

/** Ask for a part of the state map, in full resolution where it is small enough; answered by MapPart. */
export interface ZoomMap {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which command this is */
  readonly kind: 'zoom-map';
  /** comes back with the answer */
  readonly request: number;
  /** position of the first task wanted */
  readonly start: number;
  /** position after the last one */
  readonly end: number;
}

/** A view asks for the best rows of all tasks, by an order, under conditions; the answer is a task-list. */
export interface ListTasks {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which command this is */
  readonly kind: 'list-tasks';
  /** a number of the view's own, which the answer carries */
  readonly request: number;
  /** states of TaskRow that are wanted; none: all */
  readonly states: readonly string[];
  /** news, newest, oldest, run, queue or attempts */
  readonly order: string;
  /** part of a function's name, or of a kept failure's error or arguments; or a task's number */
  readonly text: string;
  /** a run's id; null: all */
  readonly run: number | null;
  /** rows to leave out, the best ones */
  readonly offset: number;
  /** rows wanted, at most 500 */
  readonly count: number;
}

/** A view asks for all that is known of one task; the answer is a task-detail. */
export interface ShowTask {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which command this is */
  readonly kind: 'show-task';
  /** a number of the view's own, which the answer carries */
  readonly request: number;
  /** its ticket or serial number, in decimal digits; empty: the one at the position */
  readonly task: string;
  /** the element of a map, by its place in the task; null: the task */
  readonly element: number | null;
  /** in the state map, where no task is named */
  readonly position: number | null;
}

/** Cancel one task; one that runs is stopped. */
export interface CancelTask {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which command this is */
  readonly kind: 'cancel-task';
  /** its ticket, in decimal digits */
  readonly task: string;
}

/** Have what has not begun of a task or a run go earlier or later. */
export interface SetPriority {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which command this is */
  readonly kind: 'set-priority';
  /** its ticket, in decimal digits; empty: the run */
  readonly task: string;
  /** a run's id, where no task is named */
  readonly run: number | null;
  /** from -100 to 100, larger first */
  readonly priority: number;
}

/** Submit the call of a failed task again, as a new task; the answer is a task-rerun. */
export interface RerunTask {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which command this is */
  readonly kind: 'rerun-task';
  /** a number of the view's own, which the answer carries */
  readonly request: number;
  /** its ticket, in decimal digits */
  readonly task: string;
  /** the element of a map */
  readonly element: number | null;
}

/** A task that is not over, or one attempt at a task or an element that is. */
export interface TaskRow {
  /** its ticket, in decimal digits */
  readonly task: string;
  /** its serial number, as people see it */
  readonly number: number;
  /** its place in a chunk of a map */
  readonly element: number | null;
  /** elements that it stands for */
  readonly count: number;
  /** the function's name */
  readonly function: string;
  /** waiting, delayed, queued, sent, running, stopping, done, failed, lost, cancelled, not-run or retried */
  readonly state: string;
  /** the worker's place in the pool */
  readonly worker: number | null;
  /** 1 for the first */
  readonly attempt: number;
  /** of a task that is not over */
  readonly priority: number | null;
  /** seconds since it was submitted */
  readonly age: number;
  /** seconds from ready to a worker, so far for one that waits */
  readonly queued: number | null;
  /** seconds in user code, so far for one that runs */
  readonly run: number | null;
}

function parseTaskRow(value: unknown, where: string): TaskRow {
  const raw = record(value, where);
  return {
    task: string(raw.task, where + '.task'),
    number: integer(raw.number, where + '.number'),
    element: raw.element === null ? null : integer(raw.element, where + '.element'),
    count: integer(raw.count, where + '.count'),
    function: string(raw.function, where + '.function'),
    state: string(raw.state, where + '.state'),
    worker: raw.worker === null ? null : integer(raw.worker, where + '.worker'),
    attempt: integer(raw.attempt, where + '.attempt'),
    priority: raw.priority === null ? null : integer(raw.priority, where + '.priority'),
    age: number(raw.age, where + '.age'),
    queued: raw.queued === null ? null : number(raw.queued, where + '.queued'),
    run: raw.run === null ? null : number(raw.run, where + '.run')
  };
}

/** All failures of one type with one traceback. */
export interface FailureGroup {
  /** of the exception */
  readonly type: string;
  /** of the first */
  readonly function: string;
  /** of the first */
  readonly message: string;
  /** how many there were */
  readonly count: number;
  /** tickets of the first few */
  readonly tasks: readonly string[];
  /** their elements */
  readonly elements: readonly number[];
}

function parseFailureGroup(value: unknown, where: string): FailureGroup {
  const raw = record(value, where);
  return {
    type: string(raw.type, where + '.type'),
    function: string(raw.function, where + '.function'),
    message: string(raw.message, where + '.message'),
    count: integer(raw.count, where + '.count'),
    tasks: array(raw.tasks, string, where + '.tasks'),
    elements: array(raw.elements, integer, where + '.elements')
  };
}

/** The rows that a view asked for. */
export interface TaskList {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which frame this is */
  readonly kind: 'task-list';
  /** of the command */
  readonly request: number;
  /** tasks and elements that fulfil the conditions, of those that are known still */
  readonly matched: number;
  /** the best of them, in order */
  readonly rows: readonly TaskRow[];
  /** all failures of this pool, folded, the latest first */
  readonly failures: readonly FailureGroup[];
}

function parseTaskList(value: unknown, where: string): TaskList {
  const raw = record(value, where);
  return {
    cellmill: literal(raw.cellmill, VERSION, where + '.cellmill'),
    kind: literal(raw.kind, 'task-list', where + '.kind'),
    request: integer(raw.request, where + '.request'),
    matched: integer(raw.matched, where + '.matched'),
    rows: array(raw.rows, parseTaskRow, where + '.rows'),
    failures: array(raw.failures, parseFailureGroup, where + '.failures')
  };
}

/** One attempt at a task that is over, or the task as it stands. */
export interface TaskAttempt {
  /** as in TaskRow */
  readonly state: string;
  /** the worker's place in the pool */
  readonly worker: number | null;
  /** its place in a chunk */
  readonly element: number | null;
  /** 1 for the first */
  readonly attempt: number;
  /** seconds from its submission to each of the stages, -1 where that is not known */
  readonly stamps: readonly number[];
  /** seconds spent pickling its arguments in the kernel */
  readonly pack: number;
}

function parseTaskAttempt(value: unknown, where: string): TaskAttempt {
  const raw = record(value, where);
  return {
    state: string(raw.state, where + '.state'),
    worker: raw.worker === null ? null : integer(raw.worker, where + '.worker'),
    element: raw.element === null ? null : integer(raw.element, where + '.element'),
    attempt: integer(raw.attempt, where + '.attempt'),
    stamps: array(raw.stamps, number, where + '.stamps'),
    pack: number(raw.pack, where + '.pack')
  };
}

/** All that is known of one task. */
export interface TaskDetail {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which frame this is */
  readonly kind: 'task-detail';
  /** of the command */
  readonly request: number;
  /** its ticket, in decimal digits */
  readonly task: string;
  /** its serial number, as people see it; 0: there is no such task any more */
  readonly number: number;
  /** the element that was asked for */
  readonly element: number | null;
  /** elements that it stands for */
  readonly count: number;
  /** the function's name */
  readonly function: string;
  /** as in TaskRow, or unknown */
  readonly state: string;
  /** of a task that is not over */
  readonly priority: number | null;
  /** why it waits, in words */
  readonly why: string;
  /** the latest first */
  readonly attempts: readonly TaskAttempt[];
  /** as short text; null: not kept */
  readonly arguments: string | null;
  /** the end of what it printed */
  readonly output: string;
  /** type of what it failed with, or nothing */
  readonly error: string;
  /** of that */
  readonly message: string;
  /** from the worker */
  readonly traceback: string;
  /** the most that its worker took, in bytes, where that is known */
  readonly memory: number | null;
  /** of a call that was made again from here, as short text */
  readonly result: string | null;
  /** tickets of later runs of this call */
  readonly reruns: readonly string[];
  /** what may be done: cancel, priority, rerun, debug */
  readonly can: readonly string[];
}

function parseTaskDetail(value: unknown, where: string): TaskDetail {
  const raw = record(value, where);
  return {
    cellmill: literal(raw.cellmill, VERSION, where + '.cellmill'),
    kind: literal(raw.kind, 'task-detail', where + '.kind'),
    request: integer(raw.request, where + '.request'),
    task: string(raw.task, where + '.task'),
    number: integer(raw.number, where + '.number'),
    element: raw.element === null ? null : integer(raw.element, where + '.element'),
    count: integer(raw.count, where + '.count'),
    function: string(raw.function, where + '.function'),
    state: string(raw.state, where + '.state'),
    priority: raw.priority === null ? null : integer(raw.priority, where + '.priority'),
    why: string(raw.why, where + '.why'),
    attempts: array(raw.attempts, parseTaskAttempt, where + '.attempts'),
    arguments: raw.arguments === null ? null : string(raw.arguments, where + '.arguments'),
    output: string(raw.output, where + '.output'),
    error: string(raw.error, where + '.error'),
    message: string(raw.message, where + '.message'),
    traceback: string(raw.traceback, where + '.traceback'),
    memory: raw.memory === null ? null : number(raw.memory, where + '.memory'),
    result: raw.result === null ? null : string(raw.result, where + '.result'),
    reruns: array(raw.reruns, string, where + '.reruns'),
    can: array(raw.can, string, where + '.can')
  };
}

/** One attempt at a task or an element that is over, as recordings keep it. */
export interface TaskRecord {
  /** as tables have it */
  readonly row: TaskRow;
  /** in the state map */
  readonly position: number;
  /** its way through the stages */
  readonly attempt: TaskAttempt;
  /** as short text; null: not kept */
  readonly arguments: string | null;
  /** the end of what it printed */
  readonly output: string;
  /** type of what it failed with, or nothing */
  readonly error: string;
  /** of that */
  readonly message: string;
  /** from the worker */
  readonly traceback: string;
  /** as in TaskDetail */
  readonly memory: number | null;
}

function parseTaskRecord(value: unknown, where: string): TaskRecord {
  const raw = record(value, where);
  return {
    row: parseTaskRow(raw.row, where + '.row'),
    position: integer(raw.position, where + '.position'),
    attempt: parseTaskAttempt(raw.attempt, where + '.attempt'),
    arguments: raw.arguments === null ? null : string(raw.arguments, where + '.arguments'),
    output: string(raw.output, where + '.output'),
    error: string(raw.error, where + '.error'),
    message: string(raw.message, where + '.message'),
    traceback: string(raw.traceback, where + '.traceback'),
    memory: raw.memory === null ? null : number(raw.memory, where + '.memory')
  };
}

/** Tasks that are over, for recordings alone: those that views would list, each once. */
export interface TaskRecords {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which frame this is */
  readonly kind: 'task-records';
  /** in no order */
  readonly records: readonly TaskRecord[];
}

function parseTaskRecords(value: unknown, where: string): TaskRecords {
  const raw = record(value, where);
  return {
    cellmill: literal(raw.cellmill, VERSION, where + '.cellmill'),
    kind: literal(raw.kind, 'task-records', where + '.kind'),
    records: array(raw.records, parseTaskRecord, where + '.records')
  };
}

/** The call of a failed task was submitted again. */
export interface TaskRerun {
  /** version of this schema */
  readonly cellmill: typeof VERSION;
  /** which frame this is */
  readonly kind: 'task-rerun';
  /** of the command */
  readonly request: number;
  /** the new task's ticket, in decimal digits */
  readonly task: string;
}

function parseTaskRerun(value: unknown, where: string): TaskRerun {
  const raw = record(value, where);
  return {
    cellmill: literal(raw.cellmill, VERSION, where + '.cellmill'),
    kind: literal(raw.kind, 'task-rerun', where + '.kind'),
    request: integer(raw.request, where + '.request'),
    task: string(raw.task, where + '.task')
  };
}

/** What the kernel sends. */
export type Frame = Hello | Goodbye | Snapshot | Workers | Refused | Show | Graph | GraphStates | Timeline | TimelineDetail | Journey | StateMap | MapPart | TaskList | TaskDetail | TaskRerun | TaskRecords;

/** Read Frame from a message's data; throws ProtocolError. */
export function parseFrame(value: unknown, buffers: Buffers = []): Frame {
  const kind = record(value, 'Frame').kind;
  switch (kind) {
    case 'hello':
      return parseHello(value, 'Hello');
    case 'goodbye':
      return parseGoodbye(value, 'Goodbye');
    case 'snapshot':
      return parseSnapshot(value, 'Snapshot');
    case 'workers':
      return parseWorkers(value, 'Workers');
    case 'refused':
      return parseRefused(value, 'Refused');
    case 'show':
      return parseShow(value, 'Show');
    case 'graph':
      return parseGraph(value, 'Graph', buffers);
    case 'graph-states':
      return parseGraphStates(value, 'GraphStates', buffers);
    case 'timeline':
      return parseTimeline(value, 'Timeline', buffers);
    case 'timeline-detail':
      return parseTimelineDetail(value, 'TimelineDetail', buffers);
    case 'journey':
      return parseJourney(value, 'Journey');
    case 'state-map':
      return parseStateMap(value, 'StateMap', buffers);
    case 'map-part':
      return parseMapPart(value, 'MapPart', buffers);
    case 'task-list':
      return parseTaskList(value, 'TaskList');
    case 'task-detail':
      return parseTaskDetail(value, 'TaskDetail');
    case 'task-rerun':
      return parseTaskRerun(value, 'TaskRerun');
    case 'task-records':
      return parseTaskRecords(value, 'TaskRecords');
    default:
      throw new ProtocolError(`Frame.kind is unknown: ${String(kind)}`);
  }
}

/** What a view sends. */
export type Command = Refresh | Watch | Shown | CancelRun | Pause | Resume | SetWorkers | ReplaceWorker | ZoomTimeline | ZoomMap | ListTasks | ShowTask | CancelTask | SetPriority | RerunTask;
