/** The state map as the kernel sends it, made ready for drawing: one cell for one task, or for some. */

import type { MapCounts, MapPart, StateMap } from '../protocol/messages';

/** States of a task, as csched.h numbers them. */
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

/** What a cell says of the tasks it stands for. */
export interface Cell {
  /** the part of them that is done, in fifteenths: 0 and 15 only when none and all are */
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
/** Nothing is known of these any more; no cell of the kernel looks so, which is never all done and more. */
export const FORGOTTEN = 255;

/** A part of the map in cells, those included that the kernel has forgotten or not been given yet. */
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

/** PackBits: n < 128 is followed by n + 1 bytes, n > 128 by one that comes 257 - n times. Stops where `into` is full. */
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

/** A part of it, which the kernel was asked for from `start` up to `end`. */
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

/** A cell some of whose tasks have not been sent yet: `part` of them have. */
function mixed(value: number, part: number): number {
  const share = value & ALL;
  const less = share === 0 ? 0 : Math.max(1, Math.min(ALL - 1, Math.floor(share * part)));
  return (value & ~ALL) | less | WAITING;
}

/** What a sum says. */
export function cellOf(value: number): Cell {
  return {
    share: value & ALL,
    failed: (value & FAILED) !== 0,
    running: (value & RUNNING) !== 0,
    waiting: (value & WAITING) !== 0,
    cancelled: (value & CANCELLED) !== 0
  };
}

/** How so many cells fill a width: columns, rows and the side of a cell, in the same unit. */
export interface Grid {
  readonly columns: number;
  readonly rows: number;
  readonly side: number;
}

/** Square cells over the whole width, at most `largest` wide and, where that can be, `height` high in all. */
export function gridOf(cells: number, width: number, height: number, largest: number): Grid {
  const side = Math.min(largest, Math.sqrt((width * height) / Math.max(1, cells)));
  const columns = Math.max(1, Math.ceil(width / side));
  return { columns, rows: Math.max(1, Math.ceil(cells / columns)), side: width / columns };
}

/** The part to show when a cell is looked at more closely: whole multiples of its size, so that it stays in place. */
export function zoomRange(
  picture: MapPicture,
  cell: number,
  cells: number
): { readonly start: number; readonly end: number } {
  const size = picture.span * cells;
  const start = picture.start + Math.floor((cell * picture.span) / size) * size;
  return { start, end: Math.min(picture.end, start + size) };
}
