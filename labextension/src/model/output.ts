/** The lines that tasks have printed, put together from pieces that arrive mixed. */

import type { Output, Speaker } from '../protocol/messages';

/** The most lines and characters that are kept, and the most characters of one line. */
export const MOST_LINES = 5000;
const MOST_CHARACTERS = 2_000_000;
const LONGEST = 4000;

/** Sequences that colour text in terminals. */

const ESCAPES = /\x1b\[[0-9;?]*[A-Za-z]/g;

export interface OutputLine {
  /** ascending, in the order in which the lines began */
  readonly id: number;
  readonly speaker: Speaker;
  /** the same for all lines of a task or element */
  readonly key: string;
  /** 1 stdout, 2 stderr, 3 log record, 4 display */
  readonly stream: number;
  /** when it began, in seconds since 1970 */
  readonly time: number;
  text: string;
}

export class OutputModel {
  /** whether the backend collects output; null before the first frame */
  known: boolean | null = null;
  /** changes with the lines */
  version = 0;

  /** The newest lines, oldest first. */
  get lines(): readonly OutputLine[] {
    return this._lines;
  }

  /** Number of lines that were printed and are not kept here. */
  get dropped(): number {
    return Math.max(0, this._printed - this._ended);
  }

  /** Take one frame; pieces that were taken before are left out. */
  push(frame: Output): void {
    if (frame.feed !== this._feed) {
      this._reset(frame.feed);
    }
    this.known = frame.known;
    this.version++;
    if (frame.gap && (frame.number[0] ?? 0) > this._next) {
      this._open.clear(); // the ends of these lines are gone
    }
    frame.text.forEach((text, index) => {
      const number = frame.number[index] ?? 0;
      const speaker = frame.speakers[frame.speaker[index] ?? 0];
      if (speaker !== undefined && number >= this._next) {
        this._next = number + 1;
        this._take(speaker, frame.stream[index] ?? 1, frame.time[index] ?? 0, text);
      }
    });
    this._printed = Math.max(this._printed, frame.lines);
    this._makeRoom();
  }

  private _take(speaker: Speaker, stream: number, time: number, text: string): void {
    const key = keyOf(speaker);
    const place = `${key} ${stream} ${speaker.worker ?? ''}`;
    const parts = text.replace(ESCAPES, '').split('\n');
    parts.forEach((part, index) => {
      const last = index === parts.length - 1;
      if (last && part === '') {
        return;
      }
      let line = this._open.get(place);
      if (line === undefined) {
        line = { id: this._id++, speaker, key, stream, time, text: '' };
        this._lines.push(line);
      }
      const before = line.text.length;
      line.text = drawnOver(line.text + part).slice(0, LONGEST);
      this._size += line.text.length - before;
      if (last) {
        this._open.set(place, line);
      } else {
        this._open.delete(place);
        this._endedIds.add(line.id);
      }
    });
  }

  private _makeRoom(): void {
    let many = Math.max(0, this._lines.length - MOST_LINES);
    let size = this._size;
    for (const line of this._lines.slice(0, many)) {
      size -= line.text.length;
    }
    while (size > MOST_CHARACTERS && many < this._lines.length) {
      size -= this._lines[many++]?.text.length ?? 0;
    }
    this._size = size;
    const gone = new Set(this._lines.splice(0, many));
    for (const line of gone) {
      this._endedIds.delete(line.id);
    }
    for (const [place, line] of gone.size > 0 ? this._open : []) {
      if (gone.has(line)) {
        this._open.delete(place);
      }
    }
  }

  private _reset(feed: number): void {
    this._feed = feed;
    this._next = this._printed = this._size = 0;
    this._lines = [];
    this._open.clear();
    this._endedIds.clear();
  }

  private get _ended(): number {
    return this._endedIds.size;
  }

  private _feed = -1;
  /** number of the next piece that is not known here */
  private _next = 0;
  private _printed = 0;
  private _size = 0;
  private _id = 0;
  private _lines: OutputLine[] = [];
  /** lines whose end has not come, by task and stream */
  private readonly _open = new Map<string, OutputLine>();
  /** ids of the lines whose end has come */
  private readonly _endedIds = new Set<number>();
}

/** Names a task or element; output of no task belongs to its worker. */
function keyOf(speaker: Speaker): string {
  return speaker.task === null
    ? `worker ${speaker.worker ?? ''}`
    : `${speaker.task}.${speaker.element}`;
}

/** A line as a terminal shows it: what follows a carriage return is drawn over what was before it. */
function drawnOver(text: string): string {
  const end = text.endsWith('\r') ? text.length - 1 : text.length;
  return text.slice(text.lastIndexOf('\r', end - 1) + 1);
}
