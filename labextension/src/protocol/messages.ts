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

/** Numbers of tasks of the present piece of work. */
export interface Counts {
  /** tasks submitted, and those that a running map has yet to submit */ readonly total: number;
  /** tasks that succeeded, failed or were cancelled */ readonly done: number;
  /** ended with an exception */ readonly failed: number;
  /** of `failed`, those whose worker ended; null in records of earlier releases */
  readonly lost: number | null;
  /** cancelled before they ran */ readonly cancelled: number;
  /** in user code now */ readonly running: number;
  /** submitted and waiting for inputs or for a worker */ readonly queued: number;
}

/** One call of map, one cell's calls of one function, or one %%task. */
export interface RunState {
  /** unique in the kernel */ readonly id: number;
  /** the function's name */ readonly name: string;
  /** tasks expected; null if unknown */ readonly total: number | null;
  /** tasks that succeeded, failed or were cancelled */ readonly done: number;
  /** ended with an exception */ readonly failed: number;
  /** of `failed`, those whose worker ended; null in records of earlier releases */
  readonly lost: number | null;
  /** of `done`, those that will not run; null in records of earlier releases */
  readonly cancelled: number | null;
  /** from -100 to 100, larger first; the value that was set last */ readonly priority: number;
}

/** An estimate, from the mean time of each function's tasks and from their dependencies. */
export interface TimeLeft {
  /** seconds from the frame's time on; null while no task of any function with outstanding tasks has ended */
  readonly seconds: number | null;
  /** functions of which no task has ended yet: their tasks are not in it */
  readonly unknown: readonly string[];
  /** functions of which a task runs far longer than others did: it is a bound; null in old records */
  readonly late: readonly string[] | null;
}

/** Cellmill is loaded in this kernel. */
export interface Hello extends Message<'hello'> {
  /** version of the Python package */ readonly release: string;
}

/** Cellmill was unloaded from this kernel. */
export type Goodbye = Message<'goodbye'>;

/** The state of the default executor at one moment. */
export interface Snapshot extends Message<'snapshot'> {
  /** id of the run that it is about; null for all tasks of the present piece of work */
  readonly run: number | null;
  /** seconds on the kernel's monotonic clock */ readonly time: number;
  /** number of the piece of work the counts belong to; a new one starts at zero */ readonly work: number;
  /** the last moment at which this piece of work had no task, on the same clock */ readonly began: number;
  /** seconds from the start of this piece of work to the last change of its counts */
  readonly elapsed: number;
  /** where the tasks run */ readonly backend: string;
  /** worker processes alive */ readonly workers: number;
  /** worker processes asked for */ readonly wanted: number;
  /** no more tasks are sent to workers */ readonly paused: boolean;
  /** what the outstanding tasks still take; null if there are none, if they are paused, or if nothing is known */
  readonly left: TimeLeft | null;
  /** tasks of this piece of work */ readonly counts: Counts;
  /** runs in progress, oldest first */ readonly runs: readonly RunState[];
}

/** All runs that one execution of a cell began. */
export interface CellRuns {
  /** msg_id of the execute_request */ readonly request: string;
  /** name of the execution, such as In[3]; empty if unknown */ readonly cell: string;
  /** ids of the last runs, oldest first */ readonly runs: readonly number[];
  /** tasks expected; null if unknown */ readonly total: number | null;
  /** tasks that succeeded, failed or were cancelled */ readonly done: number;
  /** ended with an exception */ readonly failed: number;
  /** of `failed`, those whose worker ended; null in records of earlier releases */
  readonly lost: number | null;
  /** of `done`, those that will not run */ readonly cancelled: number;
  /** results that came from the cache, beside the tasks; null in records of earlier releases */
  readonly hits: number | null;
  /** the cell has ended, and all its tasks */ readonly over: boolean;
  /** from the first run's beginning to the last one's end; null before that */
  readonly seconds: number | null;
  /** where its tasks failed */ readonly lines: readonly FailedLine[];
}

/** A line of a cell at which tasks failed with the same type of error. */
export interface FailedLine {
  /** msg_id of the execute_request with this line in its code */ readonly request: string;
  /** from 1, as the interpreter counts: without empty lines at the cell's top */ readonly line: number;
  /** its beginning, without the indentation */ readonly text: string;
  /** type of the error */ readonly error: string;
  /** of the first of these errors, shortened */ readonly message: string;
  /** tasks that failed here */ readonly count: number;
}

/** Cells that began runs: all of them for a view that joins, later those that have changed. */
export interface Cells extends Message<'cells'> {
  /** in the order of their first runs */ readonly cells: readonly CellRuns[];
}

/** The counters of the present piece of work up to now, for a view that comes late or again. */
export interface Course extends Message<'course'> {
  /** id of the run that it is about; null for all tasks of the present piece of work */
  readonly run: number | null;
  /** number of the piece of work */ readonly work: number;
  /** when it began, in seconds on the kernel's monotonic clock */ readonly began: number;
  /** moments on the same clock, ascending */ readonly time: readonly number[];
  /** tasks that succeeded or failed, at these times */ readonly ran: readonly number[];
  /** tasks that waited then */ readonly queued: readonly number[];
  /** tasks in user code then */ readonly running: readonly number[];
}

/** A run, in progress or over. */
export interface RunRecord {
  /** unique in the kernel */ readonly id: number;
  /** such as In[3]; empty outside of notebooks */ readonly cell: string;
  /** the function's name */ readonly name: string;
  /** when it began, in seconds since 1970 */ readonly began: number;
  /** seconds that it took; null while it goes on */ readonly wall: number | null;
  /** tasks so far */ readonly submitted: number;
  /** tasks that gave a value */ readonly succeeded: number;
  /** tasks that ended with an exception */ readonly failed: number;
  /** of `failed`, those whose worker ended; null in records of earlier releases */
  readonly lost: number | null;
  /** tasks that will not run */ readonly cancelled: number;
  /** results that came from the cache, beside the tasks; null in records of earlier releases */
  readonly hits: number | null;
  /** share of the workers' time in user code, 0 to 1, without what other runs used; null if unknown */
  readonly busy: number | null;
  /** whether its tasks can be looked at: the pool that ran them is the present one */ readonly kept: boolean;
}

/** The latest runs of this kernel: all at first, then those that changed. */
export interface Runs extends Message<'runs'> {
  /** oldest first */ readonly runs: readonly RunRecord[];
}

/** One worker process. */
export interface WorkerState {
  /** its index in the pool; a worker that replaces it has another one */ readonly index: number;
  /** process id; null while it starts */ readonly pid: number | null;
  /** starting, idle, busy, stopping or lost */ readonly state: string;
  /** tasks it has finished */ readonly done: number;
  /** name of the function that it runs; null if it runs none */ readonly function: string | null;
  /** ticket of that task, in decimal digits */ readonly task: string | null;
  /** index of that task's element in its chunk */ readonly element: number | null;
  /** seconds for which that task has run */ readonly seconds: number | null;
  /** processors used, averaged over the last second */ readonly cpu: number | null;
  /** private memory in bytes */ readonly memory: number | null;
  /** bytes of memory that its task declares; null if it declares none */ readonly declared: number | null;
  /** where it is in its cluster; null for a process of this machine */ readonly address: string | null;
  /** index of the first worker that is in the same process, which has its processors and memory; null if there is none */
  readonly shares: number | null;
  /** resident memory in bytes, which the limit is for; null if no limit is known */
  readonly resident: number | null;
  /** bytes of memory that its cluster allows it; null if none is known */ readonly limit: number | null;
}

/** A machine, or control group, with workers, that is not the kernel's. */
export interface WorkerHost {
  /** its host name */ readonly name: string;
  /** processors that may be used */ readonly cpus: number;
  /** its memory in bytes */ readonly memory: number;
  /** memory that is still available, in bytes */ readonly free: number;
}

/** The dashboard that the cluster of the workers has itself. */
export interface ClusterDashboard {
  /** the cluster's kind, as text */ readonly name: string;
  /** its address, by http or https */ readonly link: string;
}

/** A worker process that ended unexpectedly. */
export interface WorkerEnd {
  /** its index in the pool */ readonly index: number;
  /** what happened, as text that follows 'the worker' */ readonly how: string;
  /** its peak memory in bytes */ readonly memory: number | null;
}

/** The resources of the machine, and the kernel's share of them. */
export interface Machine {
  /** processors that may be used */ readonly cpus: number;
  /** memory of the machine or its control group, in bytes */ readonly memory: number;
  /** memory that is still available, in bytes */ readonly free: number;
  /** process id of the kernel */ readonly pid: number;
  /** processors that the kernel used, averaged over the last second */ readonly cpu: number | null;
  /** private memory of the kernel, in bytes */ readonly used: number;
}

/** The worker processes, for views that show them. */
export interface Workers extends Message<'workers'> {
  /** workers that were replaced */ readonly restarts: number;
  /** by index */ readonly workers: readonly WorkerState[];
  /** the last few unexpected ends, oldest first */ readonly ends: readonly WorkerEnd[];
  /** null where there are no worker processes */ readonly machine: Machine | null;
  /** the first few other machines with workers, by name; null if there are none */
  readonly hosts: readonly WorkerHost[] | null;
  /** the cluster's own dashboard; null if it has none */ readonly dashboard: ClusterDashboard | null;
}

/** A task, or element of a map, that has printed something. */
export interface Speaker {
  /** function and task, as a cell's output has it */ readonly name: string;
  /** its ticket, in decimal digits; null for output of a worker that belongs to no task */
  readonly task: string | null;
  /** index of the element in its chunk */ readonly element: number;
  /** the worker's index in the pool; null if unknown */ readonly worker: number | null;
}

/** What tasks have printed, logged and displayed since the last such frame, as pieces of text. */
export interface Output extends Message<'output'> {
  /** id of the run that it is about; null for all tasks */ readonly run: number | null;
  /** whether this backend collects what its tasks print */ readonly known: boolean;
  /** number of the pool: the pieces of another one are numbered anew */ readonly feed: number;
  /** ends of lines that have been printed up to here, also those that are not kept */ readonly lines: number;
  /** pieces between the last frame and this one are not kept */ readonly gap: boolean;
  /** whose output it is */ readonly speakers: readonly Speaker[];
  /** index of the piece's speaker */ readonly speaker: readonly number[];
  /** the piece's number, ascending; a page that has it already leaves it out */
  readonly number: readonly number[];
  /** 1 stdout, 2 stderr, 3 log record, 4 display */ readonly stream: readonly number[];
  /** when it came, in seconds since 1970 */ readonly time: readonly number[];
  /** the text */ readonly text: readonly string[];
}

/** Tasks with inputs or dependents, or groups of such tasks, in columns of little-endian numbers. */
export interface Graph extends Message<'graph'> {
  /** id of the run that it is about; null for all tasks of the present piece of work */
  readonly run: number | null;
  /** changes with the tasks and dependencies */ readonly structure: number;
  /** tasks with inputs or dependents */ readonly tasks: number;
  /** how many of these are tasks of the run; the others are their inputs and dependents; null if it is not about a run */
  readonly own: number | null;
  /** pairs of a task and one of its inputs */ readonly dependencies: number;
  /** the oldest dependencies have been dropped */ readonly partial: boolean;
  /** columns have an entry for each group instead of each task */ readonly folded: boolean;
  /** number of depths in a group */ readonly span: number;
  /** names of functions; empty if unknown or several */ readonly names: readonly string[];
  /** each task's own arguments as short text, empty if unknown; null for groups and for many tasks */
  readonly arguments: readonly string[] | null;
  /** indices into the names, 2 bytes each */ readonly functions: Uint8Array;
  /** longest path from a task without inputs, in spans, 2 bytes each */ readonly depths: Uint8Array;
  /** waiting, queued, running, done, failed, cancelled, skipped, lost: 1 byte each; of groups, 8 columns of counts */
  readonly states: Uint8Array;
  /** time in user code, floats of 4 bytes */ readonly seconds: Uint8Array;
  /** tickets of the tasks, 8 bytes each; of groups, none */ readonly tickets: Uint8Array;
  /** indices of input and dependent, 2 bytes each; of groups, also the number of dependencies, 4 bytes */
  readonly edges: Uint8Array;
}

/** The present states of the tasks of the last graph. */
export interface GraphStates extends Message<'graph-states'> {
  /** id of the run that it is about; null for all tasks of the present piece of work */
  readonly run: number | null;
  /** structure of the graph that it belongs to */ readonly structure: number;
  /** as in Graph */ readonly states: Uint8Array;
  /** as in Graph */ readonly seconds: Uint8Array;
}

/** A command was refused. */
export interface Refused extends Message<'refused'> {
  /** the command's kind */ readonly command: string;
  /** the reason, as text for people */ readonly reason: string;
}

/** Every page that receives it opens its panel and answers with shown. */
export interface Show extends Message<'show'> {
  /** the number that the answer has */ readonly request: number;
}

/** The panel is open. */
export interface Shown extends Message<'shown'> {
  /** the number of the show frame */ readonly request: number;
}

/** A view asks for the present state. */
export type Refresh = Message<'refresh'>;

/** A run of which a view shows sections by themselves. */
export interface WatchedRun {
  /** the run's id */ readonly run: number;
  /** kinds of the frames that it wants of this run, for example counters */
  readonly sections: readonly string[];
}

/** A view subscribes to sections beside the counters; this replaces its previous subscription. */
export interface Watch extends Message<'watch'> {
  /** kinds of the frames that it wants, for example workers */ readonly sections: readonly string[];
  /** runs that it wants to see by themselves */ readonly scopes: readonly WatchedRun[];
}

/** Cancel the tasks of a run that have not begun, and interrupt those that run. */
export interface CancelRun extends Message<'cancel-run'> {
  /** the run's id; null for all runs and all tasks outside of runs */ readonly run: number | null;
}

/** Send no more tasks to workers; running tasks go on. */
export type Pause = Message<'pause'>;

/** Go on after a pause. */
export type Resume = Message<'resume'>;

/** Grow or shrink the pool; surplus workers finish their tasks first. */
export interface SetWorkers extends Message<'set-workers'> {
  /** workers wanted */ readonly count: number;
}

/** Replace a worker, which finishes its task first. */
export interface ReplaceWorker extends Message<'replace-worker'> {
  /** its index in the pool */ readonly worker: number;
}

/** Make the change that an advice of the account is about. */
export interface ApplyAdvice extends Message<'apply-advice'> {
  /** its sentence */ readonly what: string;
}

/** The name that belongs to a function's number. */
export interface FunctionName {
  /** the scheduler's number for one version of the function */ readonly number: number;
  /** its name */ readonly name: string;
  /** index of its colour, which every function of this name has while the kernel lives */
  readonly colour: number;
}

/** What each worker did when, in this piece of work; each frame has the changes since the one before. */
export interface Timeline extends Message<'timeline'> {
  /** id of the run that it is about; null for all tasks of the present piece of work */
  readonly run: number | null;
  /** whether this backend records when its tasks ran */ readonly known: boolean;
  /** number of the piece of work */ readonly work: number;
  /** number of this frame */ readonly number: number;
  /** number of the frame whose other spans stay valid; 0 if these are all spans */ readonly follows: number;
  /** seconds on the kernel's monotonic clock; open spans end here */ readonly now: number;
  /** tasks in the spans */ readonly tasks: number;
  /** how many of them are estimated from a sample */ readonly sampled: number;
  /** tasks that were overwritten before they were read */ readonly dropped: number;
  /** seconds; spans that are shorter hold several tasks */ readonly threshold: number;
  /** indices of the workers in the pool now */ readonly workers: readonly number[];
  /** names that no earlier frame had */ readonly names: readonly FunctionName[];
  /** csched_span_t, 64 bytes each */ readonly spans: Uint8Array;
  /** the same for all tasks that run now */ readonly running: Uint8Array;
}

/** What workers used over time, in columns of little-endian doubles, NaN: not known. Memory is the most seen. */
export interface Usage extends Message<'usage'> {
  /** id of the run whose time it is about; null for that of the present piece of work */
  readonly run: number | null;
  /** number of the piece of work */ readonly work: number;
  /** false if the backend does not tell */ readonly known: boolean;
  /** processors that may be used */ readonly cpus: number;
  /** memory of the machine or its control group, in bytes */ readonly limit: number;
  /** seconds on the kernel's monotonic clock, ascending */ readonly start: Uint8Array;
  /** the end of each row, on the same clock */ readonly time: Uint8Array;
  /** workers with a task */ readonly busy: Uint8Array;
  /** workers without one */ readonly idle: Uint8Array;
  /** private memory of all workers in bytes */ readonly memory: Uint8Array;
  /** memory in use of the machine or its control group, in bytes */ readonly used: Uint8Array;
  /** processors that all workers used */ readonly cpu: Uint8Array;
  /** processors that the kernel used */ readonly kernel: Uint8Array;
}

/** What one worker used over time, in columns as in Usage. */
export interface WorkerUsage extends Message<'worker-usage'> {
  /** id of the run whose time it is about; null for that of the present piece of work */
  readonly run: number | null;
  /** request number of the command */ readonly request: number;
  /** its index in the pool */ readonly worker: number;
  /** seconds on the kernel's monotonic clock, ascending */ readonly start: Uint8Array;
  /** the end of each row, on the same clock */ readonly time: Uint8Array;
  /** its private memory in bytes */ readonly memory: Uint8Array;
  /** processors that it used */ readonly cpu: Uint8Array;
}

/** Single tasks in a part of the timeline, if their journeys are still known. */
export interface TimelineDetail extends Message<'timeline-detail'> {
  /** id of the run whose tasks these are; null for all */ readonly run: number | null;
  /** request number of the command */ readonly request: number;
  /** seconds on the kernel's monotonic clock */ readonly start: number;
  /** seconds on the kernel's monotonic clock */ readonly end: number;
  /** number of tasks that ran in that time; if there are many, the spans are an even sample */
  readonly found: number;
  /** names of the functions in it */ readonly names: readonly FunctionName[];
  /** csched_span_t, 64 bytes each */ readonly spans: Uint8Array;
}

/** How long one interval of the journeys of one function took, in seconds. */
export interface IntervalFigures {
  /** tasks for which it is known */ readonly known: number;
  /** sum over these tasks */ readonly total: number;
  /** median, within a few percent */ readonly median: number;
  /** 95th percentile */ readonly p95: number;
  /** 99th percentile */ readonly p99: number;
  /** maximum */ readonly longest: number;
}

/** The journeys of one function's tasks. */
export interface FunctionJourney {
  /** the function's number */ readonly number: number;
  /** the function's name */ readonly name: string;
  /** tasks that are over; attempts that others follow count in the intervals alone */ readonly tasks: number;
  /** how many of them failed */ readonly failed: number;
  /** how many of them were cancelled, stopped or lost */ readonly cut: number;
  /** of `cut`, those whose worker ended; null in records of earlier releases */ readonly lost: number | null;
  /** the seven intervals, then pickling, then waiting for others of the same chunk */
  readonly intervals: readonly IntervalFigures[];
  /** how long they ran */ readonly times: RunTimes | null;
  /** bytes: the most of its own that a worker had at a sample while it ran a task of this function; null if unknown */
  readonly memory: number | null;
  /** bytes of the packed arguments of its tasks that ended; null if nothing is packed, or it is unknown */
  readonly sent: number | null;
  /** bytes of their packed results */ readonly received: number | null;
}

/** Results of one function that came from the cache. */
export interface Hits {
  /** the function's name */ readonly name: string;
  /** how many */ readonly count: number;
}

/** How many tasks of one function ran for how long, in bars of growing width. */
export interface RunTimes {
  /** seconds, ascending; each bar is from one to the next */ readonly edges: readonly number[];
  /** tasks in each bar; one less than edges */ readonly counts: readonly number[];
}

/** One of the tasks that ran longest. */
export interface SlowTask {
  /** its ticket, in decimal digits */ readonly task: string;
  /** which element of a chunk; null if it is none */ readonly element: number | null;
  /** the function's name */ readonly function: string;
  /** time in user code */ readonly seconds: number;
  /** whether it raised */ readonly failed: boolean;
  /** its arguments as short text; null if they are not kept */ readonly arguments: string | null;
}

/** One function in a profile. */
export interface ProfileLabel {
  /** its qualified name; … for several that are not told apart */ readonly name: string;
  /** where it is defined: cell or file, and line; empty if it is not Python code */ readonly place: string;
}

/** What workers executed while they were sampled: a tree of calls, in columns by node; callers come first. */
export interface Profile extends Message<'profile'> {
  /** whether workers of this backend can be sampled */ readonly known: boolean;
  /** whether samples are taken now */ readonly on: boolean;
  /** time in user code that the samples stand for, of all workers */ readonly seconds: number;
  /** number of samples */ readonly samples: number;
  /** what a reader has to know of how they are taken; empty for nothing */ readonly note: string;
  /** the functions */ readonly labels: readonly ProfileLabel[];
  /** index of the node's function */ readonly label: readonly number[];
  /** index of the node that calls it; -1 for a task's function */ readonly parent: readonly number[];
  /** seconds, with all that it calls */ readonly total: readonly number[];
  /** seconds of its own */ readonly own: readonly number[];
  /** the line at which most of its own time went; 0 if unknown */ readonly line: readonly number[];
}

/** Begin to sample what workers execute, or end it. */
export interface SetProfile extends Message<'set-profile'> {
  /** whether to sample */ readonly on: boolean;
}

/** Where the time of the workers went, in seconds: busy, overhead and idle are together wall times workers. */
export interface Account {
  /** from the first submission to the last end of a task */ readonly wall: number;
  /** how many there were, on average */ readonly workers: number;
  /** worker-seconds in user code */ readonly busy: number;
  /** worker-seconds with arguments and results */ readonly overhead: number;
  /** worker-seconds without a task */ readonly idle: number;
  /** that by reason, without those of no time; null where it is not known */
  readonly reasons: readonly IdleTime[] | null;
  /** run time of the longest chain of tasks */ readonly span: number;
  /** attempts that ran */ readonly tasks: number;
  /** all that in words, without the advice */ readonly sentence: string;
  /** says that no change would help; empty where one would, or where it is unknown */
  readonly nothing: string | null;
  /** bytes of the packed arguments of tasks that ended; null if nothing is packed */
  readonly sent: number | null;
  /** bytes of their packed results */ readonly received: number | null;
  /** changes that would have helped, best first */ readonly advice: readonly Advice[] | null;
}

/** Time of workers without a task, and its reason. */
export interface IdleTime {
  /** unused, submission, packing, delivery, chain, imbalance, last or held */ readonly reason: string;
  /** the same in the words of the sentence */ readonly what: string;
  /** worker-seconds */ readonly seconds: number;
}

/** A change, and the time that the same work would take with it. */
export interface Advice {
  /** the change and its promise, in a sentence */ readonly what: string;
  /** the wall time that it promises */ readonly seconds: number;
  /** whether apply-advice makes it; else it is a change of code */ readonly applies: boolean;
}

/** How long the intervals of this piece of work's tasks took, by function. */
export interface Journey extends Message<'journey'> {
  /** id of the run that it is about; null for all tasks of the present piece of work */
  readonly run: number | null;
  /** whether this backend records journeys */ readonly known: boolean;
  /** number of the piece of work */ readonly work: number;
  /** number of tasks in the figures */ readonly tasks: number;
  /** how many of them are estimated from a sample */ readonly sampled: number;
  /** tasks that were overwritten before they were read */ readonly dropped: number;
  /** number of functions that are left out because they have fewer tasks */ readonly hidden: number;
  /** by time, longest first */ readonly functions: readonly FunctionJourney[];
  /** results that came from the cache, beside the tasks; null in records of earlier releases */
  readonly hits: readonly Hits[] | null;
  /** the tasks that ran longest, at most ten, the longest first; of all tasks */
  readonly slowest: readonly SlowTask[] | null;
  /** of this piece of work; null where it is not known */ readonly account: Account | null;
}

/** Ask for the single tasks in a part of the timeline; answered by timeline-detail. */
export interface ZoomTimeline extends Message<'zoom-timeline'> {
  /** a number that the view chooses and the answer has */ readonly request: number;
  /** a run's id; null for all */ readonly run: number | null;
  /** seconds on the kernel's monotonic clock */ readonly start: number;
  /** seconds on the kernel's monotonic clock */ readonly end: number;
}

/** Ask what one worker used over time; answered by worker-usage. */
export interface ShowWorkerUsage extends Message<'show-worker-usage'> {
  /** a number that the view chooses and the answer has */ readonly request: number;
  /** id of the run whose time is meant; null for that of the present piece of work */
  readonly run: number | null;
  /** its index in the pool */ readonly worker: number;
}

/** Numbers of tasks in a part of the state map, by state. */
export interface MapCounts {
  /** waiting for inputs or for another attempt */ readonly waiting: number;
  /** waiting for a worker */ readonly queued: number;
  /** in user code now */ readonly running: number;
  /** succeeded */ readonly done: number;
  /** ended with an exception, a failed input or the time limit */ readonly failed: number;
  /** cancelled */ readonly cancelled: number;
  /** their worker died */ readonly lost: number;
}

/** The state of every task of the present piece of work, in the order of submission. */
export interface StateMap extends Message<'state-map'> {
  /** id of the run that it is about; null for all tasks of the present piece of work */
  readonly run: number | null;
  /** number of the piece of work */ readonly work: number;
  /** position of its first task in the kernel */ readonly origin: number;
  /** position of the first task in the map: earlier ones are forgotten */ readonly start: number;
  /** position after the last task in the map: later ones have not been sent yet */ readonly end: number;
  /** tasks of this work, including those to come */ readonly total: number;
  /** tasks in a cell, a power of two */ readonly span: number;
  /** of the tasks in the map */ readonly counts: MapCounts;
  /** one byte for each cell, encoded with PackBits: a state if span is 1, else a summary, see csched.h */
  readonly cells: Uint8Array;
}

/** A part of the state map, the answer to zoom-map. */
export interface MapPart extends Message<'map-part'> {
  /** request number of the command */ readonly request: number;
  /** id of a run, whose tasks the positions count then; null for the positions of all */
  readonly run: number | null;
  /** position of the first task in the map */ readonly start: number;
  /** position after the last task in the map */ readonly end: number;
  /** tasks in a cell, a power of two */ readonly span: number;
  /** of the tasks in the map */ readonly counts: MapCounts;
  /** as in StateMap */ readonly cells: Uint8Array;
}

/** Ask for a part of the state map, in full resolution if it is small enough; answered by map-part. */
export interface ZoomMap extends Message<'zoom-map'> {
  /** a number that the view chooses and the answer has */ readonly request: number;
  /** id of a run, whose tasks the positions count then; null for the positions of all */
  readonly run: number | null;
  /** position of the first task wanted */ readonly start: number;
  /** position after the last one */ readonly end: number;
}

/** Ask for the first rows of all tasks that match a filter, in an order; answered by task-list. */
export interface ListTasks extends Message<'list-tasks'> {
  /** a number that the view chooses and the answer has */ readonly request: number;
  /** states of TaskRow that match; empty for all */ readonly states: readonly string[];
  /** news, newest, oldest, run, queue or attempts */ readonly order: string;
  /** part of a function's name, of a kept failure's error or arguments, or # and a task's number */
  readonly text: string;
  /** a run's id; null for all */ readonly run: number | null;
  /** id of a FailureGroup: only its tasks, as far as they are kept; null for all */
  readonly failure: number | null;
  /** number of first rows to skip */ readonly offset: number;
  /** rows wanted, at most 500 */ readonly count: number;
}

/** Ask for the details of one task; answered by task-detail. */
export interface ShowTask extends Message<'show-task'> {
  /** a number that the view chooses and the answer has */ readonly request: number;
  /** its ticket or serial number, in decimal digits; empty for the task at the position */
  readonly task: string;
  /** index of the map's element in its chunk; null for the task */ readonly element: number | null;
  /** position in the state map, if no task is given */ readonly position: number | null;
  /** id of the run among whose tasks the position counts; null for all */ readonly run: number | null;
}

/** Compare two runs; answered by comparison. */
export interface CompareRuns extends Message<'compare-runs'> {
  /** a number that the view chooses and the answer has */ readonly request: number;
  /** a run's id */ readonly before: number;
  /** a run's id */ readonly after: number;
}

/** Cancel one task; a running one is stopped. */
export interface CancelTask extends Message<'cancel-task'> {
  /** its ticket, in decimal digits */ readonly task: string;
}

/** Change the priority of a task or a run, for what has not begun. */
export interface SetPriority extends Message<'set-priority'> {
  /** its ticket, in decimal digits; empty for the run */ readonly task: string;
  /** a run's id, if no task is given */ readonly run: number | null;
  /** from -100 to 100, larger first */ readonly priority: number;
}

/** Submit the call of a failed task again, as a new task; answered by task-rerun. */
export interface RerunTask extends Message<'rerun-task'> {
  /** a number that the view chooses and the answer has */ readonly request: number;
  /** its ticket, in decimal digits */ readonly task: string;
  /** index of a map's element in its chunk */ readonly element: number | null;
}

/** A task that is not over, or one attempt at a task or element that is over. */
export interface TaskRow {
  /** its ticket, in decimal digits */ readonly task: string;
  /** its serial number, as shown to people */ readonly number: number;
  /** index of the element in its chunk */ readonly element: number | null;
  /** number of elements in it */ readonly count: number;
  /** the function's name */ readonly function: string;
  /** waiting, delayed, queued, sent, running, stopping, done, failed, lost, cancelled, not-run or retried */
  readonly state: string;
  /** the worker's index in the pool */ readonly worker: number | null;
  /** 1 for the first */ readonly attempt: number;
  /** its priority, if it is not over */ readonly priority: number | null;
  /** seconds since it was submitted */ readonly age: number;
  /** seconds from ready to a worker; so far, if it waits */ readonly queued: number | null;
  /** seconds in user code; so far, if it runs */ readonly run: number | null;
}

/** All failures with the same exception type and traceback. */
export interface FailureGroup {
  /** unique in this pool; null in records of earlier releases */ readonly id: number | null;
  /** type of the exception */ readonly type: string;
  /** of the first */ readonly function: string;
  /** of the first */ readonly message: string;
  /** number of failures */ readonly count: number;
  /** tickets of the first few tasks */ readonly tasks: readonly string[];
  /** index of each of these tasks' element in its chunk */ readonly elements: readonly number[];
}

/** One failed task or element of a FailureGroup. */
export interface FailureCall {
  /** its ticket, in decimal digits */ readonly task: string;
  /** its serial number, as shown to people */ readonly number: number;
  /** index of the element in its chunk */ readonly element: number;
  /** as short text; empty if not known */ readonly arguments: string;
  /** whether the call can be made again */ readonly kept: boolean;
  /** state of its latest run again: running, done, failed or cancelled; null if there is none */
  readonly again: string | null;
}

/** The calls of one FailureGroup, the answer to list-failure. */
export interface FailureCalls extends Message<'failure-calls'> {
  /** request number of the command */ readonly request: number;
  /** id of the FailureGroup */ readonly failure: number;
  /** number of failures */ readonly count: number;
  /** how many of them are remembered */ readonly known: number;
  /** how many of these retry-failure submits: their calls can be made again and have not been */
  readonly open: number;
  /** when the latest of them was noted, in seconds on the kernel's monotonic clock */ readonly until: number;
  /** the first of those that are remembered, in the order in which they failed */
  readonly calls: readonly FailureCall[];
  /** their arguments as a list in Python; null if not asked for */ readonly python: string | null;
  /** how many calls have an entry in that list: comments stand for the others */
  readonly exact: number | null;
}

/** The calls of a FailureGroup were submitted again. */
export interface FailureRetried extends Message<'failure-retried'> {
  /** request number of the command */ readonly request: number;
  /** id of the FailureGroup */ readonly failure: number;
  /** number of new tasks */ readonly submitted: number;
  /** number of calls that could not be made again */ readonly refused: number;
  /** why the first of these could not; empty if there is none */ readonly reason: string;
}

/** Ask for the calls of one FailureGroup; answered by failure-calls. */
export interface ListFailure extends Message<'list-failure'> {
  /** a number that the view chooses and the answer has */ readonly request: number;
  /** id of the FailureGroup */ readonly failure: number;
  /** a run's id; null for all */ readonly run: number | null;
  /** whether the arguments are wanted as Python, too */ readonly python: boolean;
}

/** Submit the calls of a FailureGroup again, each as a new task; answered by failure-retried. */
export interface RetryFailure extends Message<'retry-failure'> {
  /** a number that the view chooses and the answer has */ readonly request: number;
  /** id of the FailureGroup */ readonly failure: number;
  /** a run's id; null for all */ readonly run: number | null;
  /** of the failure-calls that it is about: later failures are left */ readonly until: number;
}

/** The answer to list-tasks. */
export interface TaskList extends Message<'task-list'> {
  /** request number of the command */ readonly request: number;
  /** number of tasks and elements that match, of those still known */ readonly matched: number;
  /** the requested rows, in order */ readonly rows: readonly TaskRow[];
  /** all failures of this pool or of the run, grouped, the latest first */
  readonly failures: readonly FailureGroup[];
}

/** One attempt at a task that is over, or the present state of one that is not. */
export interface TaskAttempt {
  /** as in TaskRow */ readonly state: string;
  /** the worker's index in the pool */ readonly worker: number | null;
  /** index of the element in its chunk */ readonly element: number | null;
  /** 1 for the first */ readonly attempt: number;
  /** seconds from submission to each of the stages; -1 if unknown */ readonly stamps: readonly number[];
  /** seconds spent pickling its arguments in the kernel */ readonly pack: number;
}

/** The details of one task. */
export interface TaskDetail extends Message<'task-detail'> {
  /** request number of the command */ readonly request: number;
  /** its ticket, in decimal digits */ readonly task: string;
  /** its serial number, as shown to people; 0 if the task is forgotten */ readonly number: number;
  /** the requested element */ readonly element: number | null;
  /** number of elements in it */ readonly count: number;
  /** the function's name */ readonly function: string;
  /** as in TaskRow, or unknown */ readonly state: string;
  /** its priority, if it is not over */ readonly priority: number | null;
  /** why it waits, as text */ readonly why: string;
  /** the latest first */ readonly attempts: readonly TaskAttempt[];
  /** as short text; null if not kept */ readonly arguments: string | null;
  /** the end of its output */ readonly output: string;
  /** type of the exception, or empty */ readonly error: string;
  /** message of the exception, or empty */ readonly message: string;
  /** traceback from the worker, or empty */ readonly traceback: string;
  /** peak memory of its worker in bytes; null if unknown */ readonly memory: number | null;
  /** bytes of memory that it declared, where its worker came near that; else null */
  readonly declared: number | null;
  /** result of a call that was submitted again, as short text; null if there is none */
  readonly result: string | null;
  /** tickets of later runs of this call */ readonly reruns: readonly string[];
  /** possible actions: cancel, priority, rerun, debug */ readonly can: readonly string[];
}

/** One figure of two runs, as text. */
export interface ComparedFigure {
  /** what it is */ readonly what: string;
  /** of the first run; empty where it has none */ readonly before: string;
  /** of the second run; empty where it has none */ readonly after: string;
  /** how the second differs; empty where that is not told */ readonly change: string;
}

/** Figures of two runs: of each as a whole, or of one function. */
export interface ComparedTable {
  /** the function's name; empty for the runs as a whole */ readonly title: string;
  /** in the order in which they are shown */ readonly rows: readonly ComparedFigure[];
}

/** Two runs beside each other. */
export interface Comparison extends Message<'comparison'> {
  /** request number of the command */ readonly request: number;
  /** what the first run is called */ readonly before: string;
  /** what the second run is called */ readonly after: string;
  /** the conclusion */ readonly sentence: string;
  /** of the whole, then by function */ readonly tables: readonly ComparedTable[];
  /** what has to be known of the figures */ readonly notes: readonly string[];
}

/** One attempt at a task or element that is over, for recordings. */
export interface TaskRecord {
  /** its row in the table of tasks */ readonly row: TaskRow;
  /** position in the state map */ readonly position: number;
  /** its stages */ readonly attempt: TaskAttempt;
  /** as short text; null if not kept */ readonly arguments: string | null;
  /** the end of its output */ readonly output: string;
  /** type of the exception, or empty */ readonly error: string;
  /** message of the exception, or empty */ readonly message: string;
  /** traceback from the worker, or empty */ readonly traceback: string;
  /** as in TaskDetail */ readonly memory: number | null;
}

/** Tasks that are over, for recordings: those that views would list, each once. */
export interface TaskRecords extends Message<'task-records'> {
  /** in any order */ readonly records: readonly TaskRecord[];
}

/** The call of a failed task was submitted again. */
export interface TaskRerun extends Message<'task-rerun'> {
  /** request number of the command */ readonly request: number;
  /** the new task's ticket, in decimal digits */ readonly task: string;
}

/** What the kernel sends. */
export type Frame =
    Hello | Goodbye | Snapshot | Course | Runs | Cells | Workers | Output | Refused | Show | Graph |
    GraphStates | Timeline | TimelineDetail | Usage | WorkerUsage | Journey | Profile | StateMap | MapPart |
    TaskList | FailureCalls | FailureRetried | TaskDetail | TaskRerun | TaskRecords | Comparison;

/** What a view sends. */
export type Command =
    Refresh | Watch | Shown | CancelRun | Pause | Resume | SetWorkers | ReplaceWorker | ApplyAdvice |
    SetProfile | ZoomTimeline | ShowWorkerUsage | ZoomMap | ListTasks | ShowTask | CompareRuns | CancelTask |
    SetPriority | RerunTask | ListFailure | RetryFailure;

const version = literal(VERSION);
const counts = record<Counts>({
    total: integer, done: integer, failed: integer, lost: nullable(integer), cancelled: integer,
    running: integer, queued: integer
});
const runState = record<RunState>({
    id: integer, name: string, total: nullable(integer), done: integer, failed: integer,
    lost: nullable(integer), cancelled: nullable(integer), priority: integer
});
const timeLeft = record<TimeLeft>({
    seconds: nullable(number), unknown: list(string), late: nullable(list(string))
});
const failedLine = record<FailedLine>({
    request: string, line: integer, text: string, error: string, message: string, count: integer
});
const cellRuns = record<CellRuns>({
    request: string, cell: string, runs: list(integer), total: nullable(integer), done: integer,
    failed: integer, lost: nullable(integer), cancelled: integer, hits: nullable(integer), over: boolean,
    seconds: nullable(number), lines: list(failedLine)
});
const runRecord = record<RunRecord>({
    id: integer, cell: string, name: string, began: number, wall: nullable(number), submitted: integer,
    succeeded: integer, failed: integer, lost: nullable(integer), cancelled: integer, hits: nullable(integer),
    busy: nullable(number), kept: boolean
});
const workerState = record<WorkerState>({
    index: integer, pid: nullable(integer), state: string, done: integer, function: nullable(string),
    task: nullable(string), element: nullable(integer), seconds: nullable(number), cpu: nullable(number),
    memory: nullable(integer), declared: nullable(integer), address: nullable(string),
    shares: nullable(integer), resident: nullable(integer), limit: nullable(integer)
});
const workerHost = record<WorkerHost>({ name: string, cpus: integer, memory: integer, free: integer });
const clusterDashboard = record<ClusterDashboard>({ name: string, link: string });
const workerEnd = record<WorkerEnd>({ index: integer, how: string, memory: nullable(integer) });
const machine = record<Machine>({
    cpus: integer, memory: integer, free: integer, pid: integer, cpu: nullable(number), used: integer
});
const speaker = record<Speaker>({
    name: string, task: nullable(string), element: integer, worker: nullable(integer)
});
const functionName = record<FunctionName>({ number: integer, name: string, colour: integer });
const intervalFigures = record<IntervalFigures>({
    known: integer, total: number, median: number, p95: number, p99: number, longest: number
});
const hits = record<Hits>({ name: string, count: integer });
const runTimes = record<RunTimes>({ edges: list(number), counts: list(integer) });
const functionJourney = record<FunctionJourney>({
    number: integer, name: string, tasks: integer, failed: integer, cut: integer, lost: nullable(integer),
    intervals: list(intervalFigures), times: nullable(runTimes), memory: nullable(integer),
    sent: nullable(integer), received: nullable(integer)
});
const slowTask = record<SlowTask>({
    task: string, element: nullable(integer), function: string, seconds: number, failed: boolean,
    arguments: nullable(string)
});
const profileLabel = record<ProfileLabel>({ name: string, place: string });
const idleTime = record<IdleTime>({ reason: string, what: string, seconds: number });
const advice = record<Advice>({ what: string, seconds: number, applies: boolean });
const account = record<Account>({
    wall: number, workers: number, busy: number, overhead: number, idle: number,
    reasons: nullable(list(idleTime)), span: number, tasks: integer, sentence: string,
    nothing: nullable(string), sent: nullable(integer), received: nullable(integer),
    advice: nullable(list(advice))
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
    id: nullable(integer), type: string, function: string, message: string, count: integer,
    tasks: list(string), elements: list(integer)
});
const failureCall = record<FailureCall>({
    task: string, number: integer, element: integer, arguments: string, kept: boolean, again: nullable(string)
});
const taskAttempt = record<TaskAttempt>({
    state: string, worker: nullable(integer), element: nullable(integer), attempt: integer,
    stamps: list(number), pack: number
});
const comparedFigure = record<ComparedFigure>({
    what: string, before: string, after: string, change: string
});
const comparedTable = record<ComparedTable>({ title: string, rows: list(comparedFigure) });
const taskRecord = record<TaskRecord>({
    row: taskRow, position: integer, attempt: taskAttempt, arguments: nullable(string), output: string,
    error: string, message: string, traceback: string, memory: nullable(number)
});

/** Read a frame from a message's data; throws ProtocolError. */
export const parseFrame = union<Frame>('Frame', {
  'hello': message<Hello>('Hello', { cellmill: version, kind: literal('hello'), release: string }),
  'goodbye': message<Goodbye>('Goodbye', { cellmill: version, kind: literal('goodbye') }),
  'snapshot': message<Snapshot>('Snapshot', {
      cellmill: version, kind: literal('snapshot'), run: nullable(integer), time: number, work: integer,
      began: number, elapsed: number, backend: string, workers: integer, wanted: integer, paused: boolean,
      left: nullable(timeLeft), counts: counts, runs: list(runState)
  }),
  'course': message<Course>('Course', {
      cellmill: version, kind: literal('course'), run: nullable(integer), work: integer, began: number,
      time: list(number), ran: list(integer), queued: list(integer), running: list(integer)
  }),
  'runs': message<Runs>('Runs', { cellmill: version, kind: literal('runs'), runs: list(runRecord) }),
  'cells': message<Cells>('Cells', { cellmill: version, kind: literal('cells'), cells: list(cellRuns) }),
  'workers': message<Workers>('Workers', {
      cellmill: version, kind: literal('workers'), restarts: integer, workers: list(workerState),
      ends: list(workerEnd), machine: nullable(machine), hosts: nullable(list(workerHost)),
      dashboard: nullable(clusterDashboard)
  }),
  'output': message<Output>('Output', {
      cellmill: version, kind: literal('output'), run: nullable(integer), known: boolean, feed: integer,
      lines: integer, gap: boolean, speakers: list(speaker), speaker: list(integer), number: list(integer),
      stream: list(integer), time: list(number), text: list(string)
  }),
  'refused': message<Refused>('Refused', {
      cellmill: version, kind: literal('refused'), command: string, reason: string
  }),
  'show': message<Show>('Show', { cellmill: version, kind: literal('show'), request: integer }),
  'graph': message<Graph>('Graph', {
      cellmill: version, kind: literal('graph'), run: nullable(integer), structure: integer, tasks: integer,
      own: nullable(integer), dependencies: integer, partial: boolean, folded: boolean, span: integer,
      names: list(string), arguments: nullable(list(string)), functions: bytes(0), depths: bytes(1),
      states: bytes(2), seconds: bytes(3), tickets: bytes(4), edges: bytes(5)
  }),
  'graph-states': message<GraphStates>('GraphStates', {
      cellmill: version, kind: literal('graph-states'), run: nullable(integer), structure: integer,
      states: bytes(0), seconds: bytes(1)
  }),
  'timeline': message<Timeline>('Timeline', {
      cellmill: version, kind: literal('timeline'), run: nullable(integer), known: boolean, work: integer,
      number: integer, follows: integer, now: number, tasks: integer, sampled: integer, dropped: integer,
      threshold: number, workers: list(integer), names: list(functionName), spans: bytes(0), running: bytes(1)
  }),
  'timeline-detail': message<TimelineDetail>('TimelineDetail', {
      cellmill: version, kind: literal('timeline-detail'), run: nullable(integer), request: integer,
      start: number, end: number, found: integer, names: list(functionName), spans: bytes(0)
  }),
  'usage': message<Usage>('Usage', {
      cellmill: version, kind: literal('usage'), run: nullable(integer), work: integer, known: boolean,
      cpus: integer, limit: integer, start: bytes(0), time: bytes(1), busy: bytes(2), idle: bytes(3),
      memory: bytes(4), used: bytes(5), cpu: bytes(6), kernel: bytes(7)
  }),
  'worker-usage': message<WorkerUsage>('WorkerUsage', {
      cellmill: version, kind: literal('worker-usage'), run: nullable(integer), request: integer,
      worker: integer, start: bytes(0), time: bytes(1), memory: bytes(2), cpu: bytes(3)
  }),
  'journey': message<Journey>('Journey', {
      cellmill: version, kind: literal('journey'), run: nullable(integer), known: boolean, work: integer,
      tasks: integer, sampled: integer, dropped: integer, hidden: integer, functions: list(functionJourney),
      hits: nullable(list(hits)), slowest: nullable(list(slowTask)), account: nullable(account)
  }),
  'profile': message<Profile>('Profile', {
      cellmill: version, kind: literal('profile'), known: boolean, on: boolean, seconds: number,
      samples: integer, note: string, labels: list(profileLabel), label: list(integer), parent: list(integer),
      total: list(number), own: list(number), line: list(integer)
  }),
  'state-map': message<StateMap>('StateMap', {
      cellmill: version, kind: literal('state-map'), run: nullable(integer), work: integer, origin: integer,
      start: integer, end: integer, total: integer, span: integer, counts: mapCounts, cells: bytes(0)
  }),
  'map-part': message<MapPart>('MapPart', {
      cellmill: version, kind: literal('map-part'), request: integer, run: nullable(integer), start: integer,
      end: integer, span: integer, counts: mapCounts, cells: bytes(0)
  }),
  'task-list': message<TaskList>('TaskList', {
      cellmill: version, kind: literal('task-list'), request: integer, matched: integer, rows: list(taskRow),
      failures: list(failureGroup)
  }),
  'failure-calls': message<FailureCalls>('FailureCalls', {
      cellmill: version, kind: literal('failure-calls'), request: integer, failure: integer, count: integer,
      known: integer, open: integer, until: number, calls: list(failureCall), python: nullable(string),
      exact: nullable(integer)
  }),
  'failure-retried': message<FailureRetried>('FailureRetried', {
      cellmill: version, kind: literal('failure-retried'), request: integer, failure: integer,
      submitted: integer, refused: integer, reason: string
  }),
  'task-detail': message<TaskDetail>('TaskDetail', {
      cellmill: version, kind: literal('task-detail'), request: integer, task: string, number: integer,
      element: nullable(integer), count: integer, function: string, state: string, priority: nullable(integer),
      why: string, attempts: list(taskAttempt), arguments: nullable(string), output: string, error: string,
      message: string, traceback: string, memory: nullable(number), declared: nullable(integer),
      result: nullable(string), reruns: list(string), can: list(string)
  }),
  'task-rerun': message<TaskRerun>('TaskRerun', {
      cellmill: version, kind: literal('task-rerun'), request: integer, task: string
  }),
  'task-records': message<TaskRecords>('TaskRecords', {
      cellmill: version, kind: literal('task-records'), records: list(taskRecord)
  }),
  'comparison': message<Comparison>('Comparison', {
      cellmill: version, kind: literal('comparison'), request: integer, before: string, after: string,
      sentence: string, tables: list(comparedTable), notes: list(string)
  }),
});
