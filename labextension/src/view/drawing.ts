/**
 * When to draw: soon after something came, but not oftener than is useful to see.
 *
 * Whatever small part of it changes, a picture costs the page a pass through layout, paint and compositor. So what is
 * due soon comes along when another one is drawn. The views change in a task of their own and not in the animation
 * frame, where layout and paint follow without a pause: on a busy machine nothing waits for both at once.
 */

/** Milliseconds between pictures which only time changes. */
const CLOCK_INTERVAL = 1000;
/** Milliseconds to wait for what comes together: it is shown in one picture. */
const TOGETHER = 8;
/** How much earlier than its turn a picture may come, in intervals: frames are not quite even. */
const EARLY = 0.5;
/** Those that were asked and have not drawn. */
const waiting = new Set<Drawing>();

export class Drawing {
  /**
   * `draw` draws and says whether time alone will change the picture; there are at least `interval()` milliseconds
   * between pictures, taken over a few of them.
   */
  constructor(draw: () => boolean, interval: () => number) {
    this._draw = draw;
    this._interval = interval;
  }

  /** Something came: draw it soon. */
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

  /** Draw nothing more until asked. */
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
      this._frame = window.requestAnimationFrame(() => this._drawAll()); // there is none before the page shows
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
  /** the timers of the picture that time alone asks for, and of one whose turn comes; the one under way */
  private _clock = 0;
  private _wait = 0;
  private _frame = 0;
  /** when the next picture's turn is, on the page's clock */
  private _due = 0;
}
