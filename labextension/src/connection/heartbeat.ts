/** A page's sign of life: a kernel that sends frames drops a page which says nothing (see listeners.py). */

/** Milliseconds between signs, while the kernel sends something. */
export const BEAT = 5000;
/** Milliseconds after which an answer is not waited for any more: a kernel may hear pages between cells alone. */
const PATIENCE = 60_000;

/** Calls `beat` when frames have come since the last sign; while nothing comes there is nothing to answer. */
export class Heartbeat {
  /** `beat` says what is watched; it is fulfilled when the kernel has heard it. `clock` tells milliseconds. */
  constructor(
    private readonly _beat: () => Promise<void>,
    private readonly _clock = (): number => performance.now()
  ) {
    this._last = _clock();
  }

  /** A frame came. */
  frame(): void {
    const wait = this._last + (this._answered ? BEAT : PATIENCE) - this._clock();
    if (wait <= 0) {
      this._now();
    } else if (!this._answered) {
      this._more = true;
    } else if (this._timer === 0) {
      this._timer = window.setTimeout(() => this._now(), wait);
    }
  }

  /** Speak no more. */
  dispose(): void {
    this._serial++;
    this._stop();
  }

  private _stop(): void {
    window.clearTimeout(this._timer);
    this._timer = 0;
  }

  private _now(): void {
    this._stop();
    this._last = this._clock();
    this._answered = this._more = false;
    const serial = ++this._serial;
    void this._beat().then(() => {
      if (serial === this._serial) {
        this._answered = true;
        if (this._more) {
          this.frame();
        }
      }
    });
  }

  private _last: number;
  /** whether the kernel has heard the last sign, and whether frames came before that was known */
  private _answered = true;
  private _more = false;
  private _serial = 0;
  private _timer = 0;
}
