/** What workers used over time, as columns of numbers; NaN where it is not known. */

import type { Usage, WorkerUsage } from '../protocol/messages';

/** Decode a column. */
export function numbers(bytes: Uint8Array): Float64Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float64Array.from({ length: bytes.byteLength >> 3 }, (_, n) =>
    view.getFloat64(8 * n, true)
  );
}

/** Rows in the order of time; each is about the time from its start to its end, on the kernel's clock in seconds. */
export interface Rows {
  readonly start: Float64Array;
  readonly time: Float64Array;
}

/** The row that is about a moment, or that begins up to `near` seconds after it or ends so long before; -1 for none. */
export function rowAt(rows: Rows, moment: number, near = 0): number {
  let low = 0;
  let high = rows.time.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows.time[middle] ?? Infinity) < moment) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low < rows.time.length && (rows.start[low] ?? 0) <= moment + near) {
    return low;
  }
  return moment - (rows.time[low - 1] ?? -Infinity) <= near ? low - 1 : -1;
}

/** The largest known value. */
export function most(...columns: readonly Float64Array[]): number {
  return columns.reduce(
    (largest, column) => column.reduce((best, value) => (value > best ? value : best), largest),
    0
  );
}

export interface AllWorkers extends Rows {
  readonly known: boolean;
  readonly cpus: number;
  /** memory in bytes that there is */
  readonly limit: number;
  readonly busy: Float64Array;
  readonly idle: Float64Array;
  readonly memory: Float64Array;
  readonly used: Float64Array;
  readonly cpu: Float64Array;
  readonly kernel: Float64Array;
}

export interface OneWorker extends Rows {
  readonly worker: number;
  readonly request: number;
  readonly memory: Float64Array;
  readonly cpu: Float64Array;
}

/** Frames in, columns out. */
export class UsageModel {
  /** null before the first frame */
  all: AllWorkers | null = null;
  /** the worker that was asked for last */
  one: OneWorker | null = null;
  /** counts the changes, so that views can tell whether to redraw */
  version = 0;

  push(frame: Usage): void {
    this.all = {
      known: frame.known,
      cpus: frame.cpus,
      limit: frame.limit,
      start: numbers(frame.start),
      time: numbers(frame.time),
      busy: numbers(frame.busy),
      idle: numbers(frame.idle),
      memory: numbers(frame.memory),
      used: numbers(frame.used),
      cpu: numbers(frame.cpu),
      kernel: numbers(frame.kernel)
    };
    this.version++;
  }

  pushWorker(frame: WorkerUsage): void {
    this.one = {
      worker: frame.worker,
      request: frame.request,
      start: numbers(frame.start),
      time: numbers(frame.time),
      memory: numbers(frame.memory),
      cpu: numbers(frame.cpu)
    };
    this.version++;
  }
}
