/** What the kernel tells its views.
 *
 * Generated from telemetry/schema.json by scripts/generate_schema.py; do not edit.
 */
export const VERSION = 1;
export const CONTROL_TARGET = 'cellmill.control';
export const FRAME_TARGET = 'cellmill.frames';
/** The stages of a task's journey, in order. */
// prettier-ignore
export const STAGES = ['submitted', 'ready', 'dispatched', 'received', 'started', 'finished', 'returned', 'resolved'];
/** The intervals between them. */
// prettier-ignore
export const INTERVALS = ['wait-for-inputs', 'queue', 'deliver', 'unpack', 'run', 'pack', 'collect'];
/** A message that does not follow the schema. */
export class ProtocolError extends Error {
}
function record(value, where) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
        throw new ProtocolError(`${where} is no object`);
    }
    return value;
}
function number(value, where) {
    if (typeof value !== 'number' || !Number.isFinite(value)) {
        throw new ProtocolError(`${where} is no number`);
    }
    return value;
}
function integer(value, where) {
    if (!Number.isInteger(number(value, where))) {
        throw new ProtocolError(`${where} is no integer`);
    }
    return value;
}
function string(value, where) {
    if (typeof value !== 'string') {
        throw new ProtocolError(`${where} is no string`);
    }
    return value;
}
function literal(value, expected, where) {
    if (value !== expected) {
        throw new ProtocolError(`${where} is not ${expected}`);
    }
    return expected;
}
function array(value, read, where) {
    if (!Array.isArray(value)) {
        throw new ProtocolError(`${where} is no list`);
    }
    return value.map((item, index) => read(item, `${where}[${index}]`));
}
function parseCounts(value, where) {
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
function parseRunState(value, where) {
    const raw = record(value, where);
    return {
        id: integer(raw.id, where + '.id'),
        name: string(raw.name, where + '.name'),
        total: raw.total === null ? null : integer(raw.total, where + '.total'),
        done: integer(raw.done, where + '.done'),
        failed: integer(raw.failed, where + '.failed')
    };
}
function parseHello(value, where) {
    const raw = record(value, where);
    return {
        cellmill: literal(raw.cellmill, VERSION, where + '.cellmill'),
        kind: literal(raw.kind, 'hello', where + '.kind'),
        release: string(raw.release, where + '.release')
    };
}
function parseGoodbye(value, where) {
    const raw = record(value, where);
    return {
        cellmill: literal(raw.cellmill, VERSION, where + '.cellmill'),
        kind: literal(raw.kind, 'goodbye', where + '.kind')
    };
}
function parseSnapshot(value, where) {
    const raw = record(value, where);
    return {
        cellmill: literal(raw.cellmill, VERSION, where + '.cellmill'),
        kind: literal(raw.kind, 'snapshot', where + '.kind'),
        time: number(raw.time, where + '.time'),
        work: integer(raw.work, where + '.work'),
        elapsed: number(raw.elapsed, where + '.elapsed'),
        backend: string(raw.backend, where + '.backend'),
        workers: integer(raw.workers, where + '.workers'),
        counts: parseCounts(raw.counts, where + '.counts'),
        runs: array(raw.runs, parseRunState, where + '.runs')
    };
}
/** Read Frame from a message's data; throws ProtocolError. */
export function parseFrame(value) {
    const kind = record(value, 'Frame').kind;
    switch (kind) {
        case 'hello':
            return parseHello(value, 'Hello');
        case 'goodbye':
            return parseGoodbye(value, 'Goodbye');
        case 'snapshot':
            return parseSnapshot(value, 'Snapshot');
        default:
            throw new ProtocolError(`Frame.kind is unknown: ${String(kind)}`);
    }
}
//# sourceMappingURL=protocol.js.map