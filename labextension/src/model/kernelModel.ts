/** Folds a kernel's frames into the state that a view draws. Independent of the connection and of the page. */

import { CellsModel } from './cells';
import { outstanding, ran } from './counts';
import { History, type Course } from './history';
import type { Heard, Presence } from './presence';
import type {
  Course as CourseFrame,
  Frame,
  Refused,
  RunRecord,
  Snapshot,
  TimeLeft
} from '../protocol/messages';
import { RunsModel, snapshotOf } from './runs';
import { Sections } from './sections';

/** Everything that a view draws of one kernel. */
export interface KernelState {
  readonly presence: Presence;
  readonly snapshot: Snapshot | null;
  /** id of the run that this is the state of; null for all tasks */
  readonly run: number | null;
  /** the latest runs, newest first */
  readonly runs: readonly RunRecord[];
  /** the state of one run; null if it is not among the latest */
  readonly scoped: (run: number) => KernelState | null;
  /** tasks per second: of the last seconds while tasks run, of the whole piece of work once they are done */
  readonly rate: number;
  /** seconds since the work began; once it is over, what it took */
  readonly elapsed: number;
  /** what the outstanding tasks still take; null where that is not known */
  readonly left: TimeLeft | null;
  /** tasks per second in equal steps of time, oldest first; the last step is the newest complete one */
  readonly history: readonly number[];
  /** index of the first of these steps that is of the present piece of work */
  readonly present: number;
  /** rates, queued and running over the last `seconds`, or since this piece of work began if that is null */
  readonly course: (seconds: number | null, steps: number) => Course;
  /** why the kernel refused the last command, for `NOTICE_TIME` seconds; else empty */
  readonly refusal: string;
  /** what was wrong with a frame that could not be read, for `NOTICE_TIME` seconds; else empty */
  readonly unreadable: string;
  /** whether the page is connected to the kernel; without that the state is out of date */
  readonly connected: boolean;
  /** the sections beside the counters, for the tabs that show them */
  readonly sections: Sections;
  /** the moment of this state on the clock of its frames' arrival, in seconds: the page's, or that of a recording */
  readonly now: number;
  /** whether it is a recording's, which answers from what was recorded and takes no commands */
  readonly recorded: boolean;
}

/** Seconds for which a refusal or an unreadable frame is reported. */
const NOTICE_TIME = 10;
/** The most runs whose states are kept: as many as the kernel tells of at once. */
const MOST_SCOPES = 8;
/** Seconds over which the rate is computed while tasks run. */
const RATE_WINDOW = 3;
/** Seconds by which a sum of times may be too small because of rounding. */
const ROUNDING = 1e-6;
/** Seconds before it is said that nothing tells the time left: most tasks have ended once by then */
const UNTIMED = 1;
/** Steps of the history, and the seconds that each covers. */
export const HISTORY_STEPS = 60;
export const HISTORY_STEP = 0.5;

interface Point {
  readonly time: number;
  /** tasks that ran to their end since the kernel's first frame, over all pieces of work */
  readonly done: number;
}

/** One kernel's frames in, its state out. Times are seconds; `now` is any clock of the page that only goes forward. */
export class KernelModel {
  /** `all`: the kernel's sections, if this is the state of one run. */
  constructor(all: Sections | null = null) {
    this._sections = new Sections(all);
  }

  /** the runs of each cell */
  readonly cells = new CellsModel();

  /** Take one frame; `now` is when it arrived. */
  push(frame: Frame, now: number): void {
    if ('run' in frame && frame.run !== null && this._run === null) {
      this._scope(frame.run).push(frame, now);
      return;
    }
    switch (frame.kind) {
      case 'hello':
        if (this._presence !== 'live') {
          this._presence = 'loaded';
        }
        return;
      case 'goodbye':
        this.reset('absent');
        return;
      case 'refused':
        this._refused = { frame, at: now };
        return;
      case 'snapshot':
        this._pushSnapshot(frame, now);
        return;
      case 'course':
        this._pushCourse(frame);
        return;
      case 'runs':
        this._runs.push(frame);
        return;
      case 'cells':
        this.cells.push(frame);
        return;
      default:
        this._sections.push(frame);
    }
  }

  /** Record why a frame could not be read; the state stays as it was. */
  noteUnreadable(reason: string, now: number): void {
    this._unreadable = { reason, at: now };
  }

  /** Forget everything, for example because the kernel restarted. */
  reset(presence: Heard): void {
    this._presence = presence;
    this._snapshot = null;
    this._points = [];
    this._record.clear();
    this._earlier = 0;
    this._refused = null;
    this._unreadable = null;
    this._sections.reset();
    this._runs.clear();
    this.cells.clear();
    this._scopes.clear();
  }

  get presence(): Heard {
    return this._presence;
  }

  /** The newest counters, if there are any. */
  get snapshot(): Snapshot | null {
    return this._snapshot;
  }

  /** Whether tasks are outstanding, so that the picture changes with time alone. */
  get busy(): boolean {
    const counts = this._snapshot?.counts;
    return counts !== undefined && outstanding(counts);
  }

  /** The state to draw at the moment `now`. */
  state(now: number): KernelState {
    const time = now - this._clockOffset;
    return {
      presence: this._presence,
      snapshot: this._snapshot,
      run: this._run,
      runs: this._runs.latest,
      scoped: run => this._scoped(run, now),
      rate: this._rate(time),
      elapsed: this._elapsed(time),
      left: this._left(time),
      history: this._history(time),
      present: this._present(time),
      course: (seconds, steps) => this._record.course(seconds, this._end(seconds, time), steps),
      refusal:
        this._refused !== null && now - this._refused.at < NOTICE_TIME
          ? this._refused.frame.reason
          : '',
      unreadable:
        this._unreadable !== null && now - this._unreadable.at < NOTICE_TIME
          ? this._unreadable.reason
          : '',
      connected: true,
      sections: this._sections,
      now,
      recorded: false
    };
  }

  private _scoped(run: number, now: number): KernelState | null {
    const record = this._runs.find(run);
    const all = this._snapshot;
    if (record === undefined || all === null) {
      return null;
    }
    const state = this._scope(run).state(now);
    const whole = this.state(now);
    const snapshot = state.snapshot ?? snapshotOf(record, all);
    return {
      ...whole,
      ...state,
      presence: whole.presence,
      refusal: whole.refusal,
      unreadable: whole.unreadable,
      runs: whole.runs,
      // pool and pause are the kernel's, and known better from the frames about all tasks
      snapshot: {
        ...snapshot,
        backend: all.backend,
        workers: all.workers,
        wanted: all.wanted,
        paused: all.paused
      },
      elapsed: state.snapshot === null ? snapshot.elapsed : state.elapsed
    };
  }

  /** What is known of one run; that which was asked for first makes room for another one. */
  private _scope(run: number): KernelModel {
    let found = this._scopes.get(run);
    if (found === undefined) {
      found = new KernelModel(this._sections);
      found._run = run;
      for (const first of this._scopes.keys()) {
        if (this._scopes.size < MOST_SCOPES) {
          break;
        }
        this._scopes.delete(first);
      }
      this._scopes.set(run, found);
    }
    return found;
  }

  private _pushSnapshot(frame: Snapshot, now: number): void {
    const last = this._snapshot;
    if (last !== null && frame.time < last.time) {
      return; // older than a frame that has been taken
    }
    // While workers start before the first task, there is nothing to draw.
    this._presence = this._presence === 'live' || frame.counts.total > 0 ? 'live' : 'loaded';
    this._clockOffset = now - frame.time;
    if (last !== null && last.work !== frame.work) {
      this._earlier += ran(last.counts);
      this._points.push({ time: frame.began, done: this._earlier });
      this._record.begin(frame.began, this._earlier);
    } else if (last === null) {
      this._points.push({ time: frame.time, done: ran(frame.counts) });
      this._record.began = frame.began;
    } else if (last.counts.total === 0) {
      this._record.begin(frame.began, this._earlier); // or what was done by then were a line from the last frame
    }
    this._snapshot = frame;
    this._points.push({ time: frame.time, done: this._earlier + ran(frame.counts) });
    const { queued, running } = frame.counts;
    const done = ran(frame.counts);
    const changed = frame.began + frame.elapsed;
    if (changed < frame.time - ROUNDING) {
      this._record.push(changed, this._earlier + done, queued, running);
    }
    this._record.push(frame.time, this._earlier + done, queued, running);
    const oldest = frame.time - (HISTORY_STEPS + 2) * HISTORY_STEP;
    while (this._points.length > 2 && (this._points[1]?.time ?? Infinity) < oldest) {
      this._points.shift();
    }
  }

  /** Take what happened in the present work before the first frame of counters that was seen here. */
  private _pushCourse(frame: CourseFrame): void {
    const snapshot = this._snapshot;
    if (frame.work !== snapshot?.work) {
      return;
    }
    // The kernel looks now and then: the end of what is over is known better from its counters.
    const end = this.busy ? Infinity : snapshot.began + snapshot.elapsed;
    const points = frame.time
      .map((time, index) => ({
        time,
        done: this._earlier + (frame.ran[index] ?? 0),
        queued: frame.queued[index] ?? 0,
        running: frame.running[index] ?? 0
      }))
      .filter(point => point.time < end);
    points.unshift({ time: frame.began, done: this._earlier, queued: 0, running: 0 });
    this._record.fill(points);
    const first = this._points[0]?.time ?? Infinity;
    this._points.unshift(...points.filter(point => point.time < first));
  }

  /** Where a window ends: now, or at the last change if it shows a whole run that is over. */
  private _end(seconds: number | null, time: number): number {
    const frame = this._snapshot;
    return seconds === null && !this.busy && frame !== null
      ? frame.began + frame.elapsed + ROUNDING
      : time;
  }

  private _rate(time: number): number {
    const snapshot = this._snapshot;
    if (snapshot === null) {
      return 0;
    }
    const done = ran(snapshot.counts);
    const lifetime = this._elapsed(time);
    if (!this.busy || lifetime < RATE_WINDOW) {
      return lifetime > 0 ? done / lifetime : 0;
    }
    const first = this._points[0];
    const from = Math.max(time - RATE_WINDOW, first?.time ?? time);
    if (time - from < RATE_WINDOW / 2) {
      return done / lifetime; // just connected: there are too few frames for a recent rate
    }
    return (this._doneAt(time) - this._doneAt(from)) / (time - from);
  }

  private _elapsed(time: number): number {
    const snapshot = this._snapshot;
    if (snapshot === null || !this.busy) {
      return snapshot?.elapsed ?? 0;
    }
    return Math.max(time, snapshot.time) - snapshot.began;
  }

  /** The kernel's estimate, less the time since its frame. */
  private _left(time: number): TimeLeft | null {
    const snapshot = this._snapshot;
    const left = snapshot?.left ?? null;
    if (snapshot === null || left === null || !this.busy) {
      return null;
    }
    const gone = Math.max(0, time - snapshot.time);
    if (left.seconds === null) {
      return this._elapsed(time) < UNTIMED ? null : left;
    }
    return { ...left, seconds: Math.max(0, left.seconds - gone) };
  }

  private _present(time: number): number {
    const end = Math.floor(time / HISTORY_STEP) * HISTORY_STEP;
    const ago = Math.ceil((end - this._record.began) / HISTORY_STEP);
    return Math.min(HISTORY_STEPS - 1, Math.max(0, HISTORY_STEPS - ago));
  }

  private _history(time: number): number[] {
    const rates: number[] = [];
    const end = Math.floor(time / HISTORY_STEP) * HISTORY_STEP; // so that its steps keep their values
    let before = this._doneAt(end - HISTORY_STEPS * HISTORY_STEP);
    for (let step = HISTORY_STEPS - 1; step >= 0; step--) {
      const after = this._doneAt(end - step * HISTORY_STEP);
      rates.push(Math.max(0, after - before) / HISTORY_STEP);
      before = after;
    }
    return rates;
  }

  /** Tasks done at a moment, interpolated linearly between the frames around it. */
  private _doneAt(time: number): number {
    let before: Point | undefined;
    for (const point of this._points) {
      if (point.time >= time) {
        if (before === undefined || point.time === before.time) {
          return point.done;
        }
        const share = (time - before.time) / (point.time - before.time);
        return before.done + share * (point.done - before.done);
      }
      before = point;
    }
    return before?.done ?? 0;
  }

  private readonly _record = new History();
  private readonly _sections: Sections;
  private readonly _runs = new RunsModel();
  private readonly _scopes = new Map<number, KernelModel>();
  private _run: number | null = null;
  private _presence: Heard = 'unknown';
  private _snapshot: Snapshot | null = null;
  private _points: Point[] = [];
  private _earlier = 0;
  private _refused: { readonly frame: Refused; readonly at: number } | null = null;
  private _unreadable: { readonly reason: string; readonly at: number } | null = null;
  private _clockOffset = 0;
}
