/** A page's sign of life: a kernel drops a page that gets frames and stays silent (see views/subscribers.py). */

/** Milliseconds between signs of life, while the kernel sends frames. */
export const BEAT = 5000;
/** Milliseconds to wait for an answer: a kernel without subshells answers between cells only. */
const PATIENCE = 60_000;

/** Calls `beat` every `BEAT` milliseconds if frames have arrived since the last call. */
export class Heartbeat {
  /** `beat` repeats the subscription and resolves when the kernel has acknowledged it. `clock` returns milliseconds. */
  constructor(
    private readonly _beat: () => Promise<void>,
    private readonly _clock = (): number => performance.now()
  ) {
    this._last = _clock();
  }

  /** Note that a frame has arrived. */
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

  /** Wait for no answer to what was sent: from now on it goes another way. */
  restart(): void {
    this.dispose();
    this._answered = true;
    this._more = false;
  }

  /** Send no more signs of life. */
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
  /** whether the last sign was acknowledged, and whether frames have come since it was sent */
  private _answered = true;
  private _more = false;
  private _serial = 0;
  private _timer = 0;
}
