/**
 * When to draw: with the page's next picture after something came, but not oftener than somebody wants to see it.
 *
 * Whatever small part of it changes, a picture costs the page a pass through layout, paint and compositor. So what is
 * due soon comes along when another one is drawn.
 */

/** Milliseconds between pictures which only time changes. */
const CLOCK_INTERVAL = 1000;
/** How much earlier than its turn a picture may come, in intervals: frames are not quite even. */
const EARLY = 0.5;
/** Those that were asked before their turn. */
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
    const wait = this._due - performance.now();
    if (wait > 0) {
      waiting.add(this);
      this._wait = window.setTimeout(() => this._request(), wait);
    } else {
      this._request();
    }
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

  /** Draw nothing more until somebody asks. */
  stop(): void {
    window.clearTimeout(this._clock);
    window.clearTimeout(this._wait);
    window.cancelAnimationFrame(this._frame);
    this._clock = this._wait = this._frame = 0;
    waiting.delete(this);
  }

  private _request(): void {
    this._wait = 0;
    waiting.delete(this);
    this._frame = window.requestAnimationFrame(() => {
      this.now();
      for (const other of waiting) {
        if (other._due - performance.now() <= EARLY * other._interval()) {
          other.now();
        }
      }
    });
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
