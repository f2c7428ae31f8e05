/** Folds the kernel's frames into spans: what each worker did when. */

import type { FunctionName, Timeline, TimelineDetail } from '../protocol/messages';

/** One task, or several that a worker ran one after the other. Times are seconds on the kernel's clock. */
export interface Span {
  readonly start: number;
  readonly end: number;
  /** of its first task, in decimals: a number cannot hold 63 bits */
  readonly ticket: string;
  readonly count: number;
  readonly failed: number;
  /** cancelled while they ran, or lost with their worker */
  readonly cut: number;
  /** of these, the lost ones */
  readonly lost: number;
  readonly worker: number;
  readonly running: boolean;
  /** the functions with the most time, and the share of the span's length that each has */
  readonly functions: readonly { readonly number: number; readonly share: number }[];
  /** the share of all other functions */
  readonly others: number;
}

const BYTES = 64;
const NONE = 0xffff_ffff;
const FUNCTIONS = 3;

function clock(view: DataView, at: number): number {
  return (view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32) / 1e9;
}

/** Decode one csched_span_t. */
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
    lost: view.getUint32(at + 60, true),
    worker: view.getUint16(at + 36, true),
    running: view.getUint16(at + 38, true) !== 0,
    functions,
    others: view.getUint8(at + 52 + FUNCTIONS) / 255
  };
}

/** Decode the spans in a buffer, each with its index among all. */
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
  /** whether these are all tasks of that time that are still known */
  readonly complete: boolean;
  readonly spans: readonly Span[];
}

/** Frames in, spans out. */
export class TimelineModel {
  /** the last frame without its spans; null before the first one */
  frame: Timeline | null = null;
  /** by index, which is about the order of their starts */
  spans: readonly Span[] = [];
  running: readonly Span[] = [];
  detail: Detail | null = null;
  /** when this piece of work, or the run, began; 0 where that is not known */
  began = 0;
  /** counts the changes, so that views can tell whether to redraw */
  version = 0;

  push(frame: Timeline): void {
    const other = this.frame !== null && this.frame.work !== frame.work;
    if (frame.follows !== 0 && frame.follows !== this.frame?.number) {
      return; // a frame was missed; the next full one is taken
    }
    this._learn(frame.names);
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
    this._earliest = [...spans, ...this.running].reduce(
      (least, one) => Math.min(least, one.start),
      Infinity
    );
    this.version++;
  }

  /** Where the time axis begins: with the work, or with the first task if the former is not known; 0 without one. */
  get first(): number {
    if (this._earliest === Infinity) {
      return 0;
    }
    return this.began > 0 ? Math.min(this.began, this._earliest) : this._earliest;
  }

  pushDetail(frame: TimelineDetail): void {
    this._learn(frame.names);
    const spans = readSpans(frame.spans).map(one => one.span);
    const { request, start, end } = frame;
    this.detail = { request, start, end, complete: frame.found <= spans.length, spans };
    this.version++;
  }

  /** The moment up to which the spans are known, on the kernel's clock: running tasks are drawn no further. */
  get time(): number {
    return this.frame?.now ?? 0;
  }

  /** The end of the last span, or of what is known while tasks run. */
  get last(): number {
    if (this.running.length > 0) {
      return this.time;
    }
    return this.spans.reduce((most, one) => Math.max(most, one.end), this.first);
  }

  /** A function's name. */
  name(number: number): string {
    return this._names.get(number) ?? '?';
  }

  /** Index of a function's colour in the palette: functions of the same name share one, and keep it. */
  colour(number: number): number {
    return this.colourOf(this.name(number));
  }

  /** The same, by the function's name. */
  colourOf(name: string): number {
    return this._colours.get(name) ?? 0;
  }

  /** Names of the functions in the spans, in the order of their colours. */
  functions(): readonly string[] {
    const found = new Set<string>();
    for (const one of [...this.spans, ...this.running]) {
      for (const { number } of one.functions) {
        found.add(this.name(number));
      }
    }
    return [...found].sort((a, b) => this.colourOf(a) - this.colourOf(b));
  }

  /** Indices of the workers that have spans or are in the pool. */
  workers(): readonly number[] {
    const found = new Set(this.frame?.workers ?? []);
    for (const one of [...this.spans, ...this.running]) {
      found.add(one.worker);
    }
    return [...found].sort((a, b) => a - b);
  }

  private _learn(functions: readonly FunctionName[]): void {
    for (const { number, name, colour } of functions) {
      this._names.set(number, name);
      this._colours.set(name, colour);
    }
  }

  private _earliest = Infinity;
  private readonly _names = new Map<number, string>();
  private readonly _colours = new Map<string, number>();
}
