/** What the workers did when: frames of the kernel folded into the spans that a view draws. */

import type { Timeline, TimelineDetail } from '../protocol/messages';

/** Tasks that a worker ran one after the other, or one of them. Times are seconds on the kernel's clock. */
export interface Span {
  readonly start: number;
  readonly end: number;
  /** of its first task; too long for a number */
  readonly ticket: string;
  readonly count: number;
  readonly failed: number;
  /** lost with their worker, or stopped */
  readonly cut: number;
  readonly worker: number;
  readonly running: boolean;
  /** the functions it was in the most, and the share of its length in each of them */
  readonly functions: readonly { readonly number: number; readonly share: number }[];
  /** the share of its length in all others */
  readonly others: number;
}

const BYTES = 64;
const NONE = 0xffff_ffff;
const FUNCTIONS = 3;

function clock(view: DataView, at: number): number {
  return (view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32) / 1e9;
}

/** One csched_span_t. */
function span(view: DataView, at: number): Span {
  const functions = [];
  for (let i = 0; i < FUNCTIONS; i++) {
    const number = view.getUint32(at + 40 + 4 * i, true);
    if (number !== NONE) {
      functions.push({ number, share: view.getUint8(at + 52 + i) / 255 });
    }
  }
  functions.sort((a, b) => b.share - a.share);
  return {
    start: clock(view, at),
    end: clock(view, at + 8),
    ticket: view.getBigUint64(at + 16, true).toString(),
    count: view.getUint32(at + 24, true),
    failed: view.getUint32(at + 28, true),
    cut: view.getUint32(at + 32, true),
    worker: view.getUint16(at + 36, true),
    running: view.getUint16(at + 38, true) !== 0,
    functions,
    others: view.getUint8(at + 52 + FUNCTIONS) / 255
  };
}

/** The spans in a buffer, each with its place among all. */
export function readSpans(bytes: Uint8Array): { readonly place: number; readonly span: Span }[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const found = [];
  for (let at = 0; at + BYTES <= bytes.byteLength; at += BYTES) {
    found.push({ place: view.getUint32(at + 56, true), span: span(view, at) });
  }
  return found;
}

/** Single tasks of a part of the timeline. */
export interface Detail {
  readonly request: number;
  readonly start: number;
  readonly end: number;
  /** whether these are all that ran then and are still known */
  readonly complete: boolean;
  readonly spans: readonly Span[];
}

/** Frames in, spans out. `now` is the page's clock in seconds. */
export class TimelineModel {
  /** the last frame without its spans; null before the first one */
  frame: Timeline | null = null;
  /** by place; the order is that of their starts, or nearly */
  spans: readonly Span[] = [];
  running: readonly Span[] = [];
  detail: Detail | null = null;
  /** when the first task of this piece of work began; 0 without one */
  first = 0;
  /** counts the changes, for views that remember what they drew */
  version = 0;

  push(frame: Timeline, now: number): void {
    const other = this.frame !== null && this.frame.work !== frame.work;
    if (frame.follows !== 0 && frame.follows !== this.frame?.number) {
      return; // a frame was missed; one with all spans comes soon
    }
    for (const { number, name } of frame.names) {
      this._names.set(number, name);
      this._place(name);
    }
    const spans = frame.follows === 0 ? [] : [...this.spans];
    for (const { place, span: one } of readSpans(frame.spans)) {
      spans[place] = one;
    }
    this.spans = spans;
    this.running = readSpans(frame.running).map(one => one.span);
    if (other) {
      this.detail = null;
    }
    this.frame = frame;
    this._arrived = now;
    this.first = [...spans, ...this.running].reduce(
      (least, one) => Math.min(least, one.start),
      Infinity
    );
    if (this.first === Infinity) {
      this.first = 0;
    }
    this.version++;
  }

  pushDetail(frame: TimelineDetail): void {
    for (const { number, name } of frame.names) {
      this._names.set(number, name);
      this._place(name);
    }
    const spans = readSpans(frame.spans).map(one => one.span);
    const { request, start, end } = frame;
    this.detail = { request, start, end, complete: frame.found <= spans.length, spans };
    this.version++;
  }

  /** The kernel's clock at a moment of the page's. */
  time(now: number): number {
    return this.frame === null ? 0 : this.frame.now + Math.max(0, now - this._arrived);
  }

  /** The moment up to which there is something to see. */
  last(now: number): number {
    if (this.running.length > 0) {
      return this.time(now);
    }
    return this.spans.reduce((most, one) => Math.max(most, one.end), this.first);
  }

  /** A function's name. */
  name(number: number): string {
    return this._names.get(number) ?? '?';
  }

  /** Which of the palette's colours is a function's: functions of the same name share it, and keep it. */
  colour(number: number): number {
    return this._place(this.name(number));
  }

  /** The same by its name. */
  colourOf(name: string): number {
    return this._place(name);
  }

  /** Names of the functions in the spans, in the order of their colours. */
  functions(): readonly string[] {
    const found = new Set<string>();
    for (const one of [...this.spans, ...this.running]) {
      for (const { number } of one.functions) {
        found.add(this.name(number));
      }
    }
    return [...found].sort((a, b) => this._place(a) - this._place(b));
  }

  /** The workers that have spans, and those of the pool. */
  workers(): readonly number[] {
    const found = new Set(this.frame?.workers ?? []);
    for (const one of [...this.spans, ...this.running]) {
      found.add(one.worker);
    }
    return [...found].sort((a, b) => a - b);
  }

  private _place(name: string): number {
    let place = this._places.get(name);
    if (place === undefined) {
      place = this._places.size;
      this._places.set(name, place);
    }
    return place;
  }

  private readonly _names = new Map<number, string>();
  private readonly _places = new Map<string, number>();
  private _arrived = 0;
}
