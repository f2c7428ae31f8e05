/** What the kernel tells its views.
 *
 * Generated from telemetry/schema.json by scripts/generate_schema.py; do not edit.
 */
export declare const VERSION = 1;
export declare const CONTROL_TARGET = "cellmill.control";
export declare const FRAME_TARGET = "cellmill.frames";
/** The stages of a task's journey, in order. */
export declare const STAGES: readonly ["submitted", "ready", "dispatched", "received", "started", "finished", "returned", "resolved"];
export type Stage = (typeof STAGES)[number];
/** The intervals between them. */
export declare const INTERVALS: readonly ["wait-for-inputs", "queue", "deliver", "unpack", "run", "pack", "collect"];
/** A message that does not follow the schema. */
export declare class ProtocolError extends Error {
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
/** Cellmill was unloaded from this kernel. */
export interface Goodbye {
    /** version of this schema */
    readonly cellmill: typeof VERSION;
    /** which frame this is */
    readonly kind: 'goodbye';
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
    /** tasks of this piece of work */
    readonly counts: Counts;
    /** runs in progress, oldest first */
    readonly runs: readonly RunState[];
}
/** A view asks for the present state. */
export interface Refresh {
    /** version of this schema */
    readonly cellmill: typeof VERSION;
    /** which command this is */
    readonly kind: 'refresh';
}
/** What the kernel sends. */
export type Frame = Hello | Goodbye | Snapshot;
/** Read Frame from a message's data; throws ProtocolError. */
export declare function parseFrame(value: unknown): Frame;
/** What a view sends. */
export type Command = Refresh;
