/**
 * When to draw: soon after a change, but not more often than is useful to see.
 *
 * Each picture costs the page a pass through layout, paint and compositor, however small the change. So drawings that
 * are due soon are done together with one that is due. Views change the DOM in a task of their own instead of the
 * animation frame, where layout and paint would follow without a pause and delay other tasks on a busy machine.
 */

/** Milliseconds between pictures that change with time alone. */
const CLOCK_INTERVAL = 1000;
/** Milliseconds to wait for changes that arrive together, to show them in one picture. */
const TOGETHER = 8;
/** How early a picture may be drawn, in intervals: frames do not arrive quite evenly. */
const EARLY = 0.5;
/** Drawings that were requested and are not done. */
const waiting = new Set<Drawing>();

export class Drawing {
  /**
   * `draw` draws and returns whether the picture changes with time alone. Pictures are at least `interval()`
   * milliseconds apart, averaged over a few of them.
   */
  constructor(draw: () => boolean, interval: () => number) {
    this._draw = draw;
    this._interval = interval;
  }

  /** Request a picture soon. */
  ask(): void {
    if (this._wait !== 0 || this._frame !== 0) {
      return;
    }
    waiting.add(this);
    const wait = Math.max(TOGETHER, this._due - performance.now());
    this._wait = window.setTimeout(() => this._turn(), wait);
  }

  /** Draw at once. */
  now(): void {
    this.stop();
    const interval = this._interval();
    this._due = Math.max(this._due, performance.now() - EARLY * interval) + interval;
    if (this._draw()) {
      this._clock = window.setTimeout(() => this.ask(), CLOCK_INTERVAL);
    }
  }

  /** Draw nothing until the next request. */
  stop(): void {
    window.clearTimeout(this._clock);
    window.clearTimeout(this._wait);
    window.cancelAnimationFrame(this._frame);
    this._clock = this._wait = this._frame = 0;
    waiting.delete(this);
  }

  private _turn(): void {
    this._wait = 0;
    if (document.visibilityState === 'visible') {
      this._drawAll();
    } else {
      this._frame = window.requestAnimationFrame(() => this._drawAll()); // not called while the page is hidden
    }
  }

  private _drawAll(): void {
    this.now();
    for (const other of waiting) {
      if (other._due - performance.now() <= EARLY * other._interval()) {
        other.now();
      }
    }
  }

  private readonly _draw: () => boolean;
  private readonly _interval: () => number;
  /** timers of the picture that changes with time alone and of a requested one; the pending animation frame */
  private _clock = 0;
  private _wait = 0;
  private _frame = 0;
  /** when the next picture is due, on the page's clock */
  private _due = 0;
}
