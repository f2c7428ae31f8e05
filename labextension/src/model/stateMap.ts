/** Prepares the kernel's state map for drawing: a cell is one task, or several. */

import type { MapCounts, MapPart, StateMap } from '../protocol/messages';

/** States of a task, in the order of their numbers in csched.h. */
export const STATES = [
  'unknown',
  'waiting',
  'queued',
  'running',
  'done',
  'failed',
  'cancelled',
  'lost'
] as const;
export type TaskState = (typeof STATES)[number];

/** What a cell says about its tasks. */
export interface Cell {
  /** how many of them are done, in fifteenths: 0 only if none is, 15 only if all are */
  readonly share: number;
  readonly failed: boolean;
  readonly running: boolean;
  readonly waiting: boolean;
  readonly cancelled: boolean;
}

const FAILED = 16;
const RUNNING = 32;
const WAITING = 64;
const CANCELLED = 128;
const ALL = 15;
const QUEUED = STATES.indexOf('queued');
/** A cell of forgotten tasks. The kernel sends no such value: it would be all done, with other states among them. */
export const FORGOTTEN = 255;

/** A part of the map in cells, including tasks that the kernel has forgotten or not yet received. */
export interface MapPicture {
  /** position of the first task of the piece of work: tasks are numbered from there */
  readonly origin: number;
  /** positions of the first task shown, and after the last one */
  readonly start: number;
  readonly end: number;
  /** tasks a cell */
  readonly span: number;
  /** a byte for each: a state where span is 1, else a sum */
  readonly cells: Uint8Array;
  /** tasks by state, those included that have not been sent yet */
  readonly counts: Readonly<MapCounts>;
  readonly forgotten: number;
}

/**
 * Decode PackBits: n < 128 precedes n + 1 literal bytes, n > 128 one byte that is repeated 257 - n times. Stops when
 * `into` is full; returns the number of bytes written.
 */
export function unpack(packed: Uint8Array, into: Uint8Array): number {
  let at = 0;
  let to = 0;
  while (at < packed.length && to < into.length) {
    const head = packed[at++] ?? 0;
    const room = into.length - to;
    if (head < 128) {
      const count = Math.min(head + 1, room, packed.length - at);
      into.set(packed.subarray(at, at + count), to);
      at += head + 1;
      to += count;
    } else {
      const count = Math.min(257 - head, room);
      into.fill(packed[at++] ?? 0, to, to + count);
      to += count;
    }
  }
  return to;
}

/** The whole map. */
export function wholePicture(frame: StateMap): MapPicture {
  return picture(frame, frame.origin, frame.origin, frame.origin + frame.total);
}

/** A part of it, requested from position `start` up to `end`. */
export function partPicture(
  frame: MapPart,
  origin: number,
  start: number,
  end: number
): MapPicture {
  return picture(frame, origin, start, end);
}

function picture(
  frame: StateMap | MapPart,
  origin: number,
  start: number,
  end: number
): MapPicture {
  const { span } = frame;
  const cells = new Uint8Array(Math.ceil((end - start) / span));
  const first = Math.min(cells.length, Math.max(0, Math.ceil((frame.start - start) / span)));
  cells.fill(FORGOTTEN, 0, first);
  const told = first + unpack(frame.cells, cells.subarray(first));
  cells.fill(span === 1 ? QUEUED : WAITING, told);
  const last = told - 1;
  const covered = frame.end - (start + last * span);
  if (span > 1 && last >= first && covered < Math.min(span, end - start - last * span)) {
    cells[last] = mixed(cells[last] ?? 0, covered / span);
  }
  const unsent = Math.max(0, end - Math.max(frame.end, start));
  return {
    origin,
    start,
    end,
    span,
    cells,
    counts: { ...frame.counts, queued: frame.counts.queued + unsent },
    forgotten: Math.max(0, Math.min(frame.start, end) - start)
  };
}

/** A cell of which only the fraction `part` of the tasks has been sent yet. */
function mixed(value: number, part: number): number {
  const share = value & ALL;
  const less = share === 0 ? 0 : Math.max(1, Math.min(ALL - 1, Math.floor(share * part)));
  return (value & ~ALL) | less | WAITING;
}

/** Decode the byte of a cell with several tasks. */
export function cellOf(value: number): Cell {
  return {
    share: value & ALL,
    failed: (value & FAILED) !== 0,
    running: (value & RUNNING) !== 0,
    waiting: (value & WAITING) !== 0,
    cancelled: (value & CANCELLED) !== 0
  };
}

/** How cells fill a width: columns, rows, and the side of a cell in the width's unit. */
export interface Grid {
  readonly columns: number;
  readonly rows: number;
  readonly side: number;
}

/** Square cells over the whole width, at most `largest` wide and, if possible, at most `height` high together. */
export function gridOf(cells: number, width: number, height: number, largest: number): Grid {
  const side = Math.min(largest, Math.sqrt((width * height) / Math.max(1, cells)));
  const columns = Math.max(1, Math.ceil(width / side));
  return { columns, rows: Math.max(1, Math.ceil(cells / columns)), side: width / columns };
}

/** The range to show when zooming into a cell: `cells` cells, aligned to a multiple of that length. */
export function zoomRange(
  picture: MapPicture,
  cell: number,
  cells: number
): { readonly start: number; readonly end: number } {
  const size = picture.span * cells;
  const start = picture.start + Math.floor((cell * picture.span) / size) * size;
  return { start, end: Math.min(picture.end, start + size) };
}
