/** Numbers of tasks done, queued and running over time, from the frames that arrived. */

/** The counters at one moment; `done` counts over all pieces of work. */
export interface Point {
  readonly time: number;
  readonly done: number;
  readonly queued: number;
  readonly running: number;
}

/** Values in equal steps of time, oldest first. */
export interface Course {
  /** seconds: relative to now in a window of fixed length, since the work's start in one of the whole run */
  readonly time: readonly number[];
  /** tasks per second; null before the first frame */
  readonly rate: readonly (number | null)[];
  readonly queued: readonly (number | null)[];
  readonly running: readonly (number | null)[];
  /** index of the first step of the present piece of work; steps before it are of earlier ones */
  readonly present: number;
}

/** Seconds for which all points are kept. Of older ones, one a second is kept, then fewer the older they are. */
const FINE = 35;
const MEDIUM = 320;
const COARSE_POINTS = 400;
const MOST_POINTS = 1600;
/** The least seconds over which a rate is computed, so that single slow tasks give a smooth curve. */
const RATE_TIME = 1;
/** The least seconds that a window shows. */
const SHORTEST = 0.1;
/** Seconds by which a window moves. */
const MOVE = 0.5;

/** Its memory is bounded however long the run. Times are seconds on the kernel's clock. */
export class History {
  /** when the present piece of work began */
  began = 0;

  push(time: number, done: number, queued: number, running: number): void {
    const last = this._points.at(-1);
    if (last !== undefined && time < last.time) {
      return;
    }
    this._points.push({ time, done, queued, running });
    if (this._points.length > MOST_POINTS) {
      this._thin(time);
    }
  }

  /** Take points in the order of time, instead of those that are kept of their time. */
  fill(points: readonly Point[]): void {
    const first = points[0]?.time ?? Infinity;
    const last = points.at(-1)?.time ?? -Infinity;
    const earlier = this._points.filter(point => point.time < first);
    const later = this._points.filter(point => point.time > last);
    this._points = [...earlier, ...points, ...later];
  }

  /** Begin a piece of work, with nothing queued; `done` counts the tasks of those before it. */
  begin(time: number, done: number): void {
    const last = this._points.at(-1);
    this.began = last === undefined ? time : Math.max(time, last.time);
    if (last !== undefined) {
      this.push(this.began, done, 0, 0);
    }
  }

  clear(): void {
    this._points = [];
    this.began = 0;
  }

  /** Number of points that are kept. */
  get size(): number {
    return this._points.length;
  }

  /** The course in `steps` steps: of the last `seconds`, or since the work began if that is null. */
  course(seconds: number | null, now: number, steps: number): Course {
    const whole = seconds === null;
    const end = whole ? now : Math.floor(now / MOVE) * MOVE; // so that its steps keep their values
    const length = whole ? Math.max(SHORTEST, now - this.began) : seconds;
    const from = whole ? this.began : end - length;
    const step = length / steps;
    const over = Math.max(step, Math.min(RATE_TIME, length / 8));
    const time: number[] = [];
    const rate: (number | null)[] = [];
    const queued: (number | null)[] = [];
    const running: (number | null)[] = [];
    const first = this._points[0]?.time ?? Infinity;
    for (let index = 0; index <= steps; index++) {
      const at = from + index * step;
      time.push(whole ? index * step : at - end);
      if (at < first) {
        rate.push(null);
        queued.push(null);
        running.push(null);
        continue;
      }
      const before = Math.max(first, whole ? Math.max(from, at - over) : at - over);
      const gone = at - before;
      rate.push(gone > 0 ? Math.max(0, this._doneAt(at) - this._doneAt(before)) / gone : 0);
      const point = this._before(at);
      queued.push(point?.queued ?? null);
      running.push(point?.running ?? null);
    }
    if (whole && rate.length > 1) {
      rate[0] = rate[1] ?? null; // there is no rate before the first step
    }
    const present = Math.min(steps, Math.max(0, Math.ceil((this.began - from) / step)));
    return { time, rate, queued, running, present };
  }

  /** Index of the last point at or before a moment, -1 when there is none. */
  private _index(time: number): number {
    let low = 0;
    let high = this._points.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this._points[middle]?.time ?? Infinity) <= time) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low - 1;
  }

  private _before(time: number): Point | undefined {
    return this._points[this._index(time)];
  }

  /** Tasks done at a moment, interpolated linearly between the points around it. */
  private _doneAt(time: number): number {
    const index = this._index(time);
    const before = this._points[index];
    const after = this._points[index + 1];
    if (before === undefined || after === undefined || after.time === before.time) {
      return before?.done ?? after?.done ?? 0;
    }
    const part = (time - before.time) / (after.time - before.time);
    return before.done + part * (after.done - before.done);
  }

  private _thin(now: number): void {
    const oldest = this._points[0]?.time ?? now;
    const coarse = Math.max(1, (now - oldest) / COARSE_POINTS);
    const kept: Point[] = [];
    let last = Infinity;
    for (let index = this._points.length - 1; index >= 0; index--) {
      const point = this._points[index];
      if (point === undefined) {
        continue;
      }
      const age = now - point.time;
      const gap = age < FINE ? 0 : age < MEDIUM ? 1 : coarse;
      if (last - point.time >= gap || index === 0) {
        kept.push(point);
        last = point.time;
      }
    }
    this._points = kept.reverse();
  }

  private _points: Point[] = [];
}
