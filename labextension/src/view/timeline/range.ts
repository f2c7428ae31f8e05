/** The window of time that is shown: all of it, the newest part, or a chosen one. */

/** The shortest window, in seconds. */
const SHORTEST = 1e-6;
const NEWEST = 5;

export type Mode = 'whole' | 'follow' | 'free';

export class Range {
  /** How the window follows new tasks. */
  get mode(): Mode {
    return this._mode;
  }

  /** The window, for work from `first` to `last`. */
  window(first: number, last: number): { readonly from: number; readonly to: number } {
    const length = Math.max(last - first, SHORTEST);
    if (this._mode === 'whole') {
      this._from = first;
      this._to = first + length;
    } else if (this._mode === 'follow') {
      const shown = Math.max(SHORTEST, this._to - this._from);
      this._to = last;
      this._from = last - shown;
    }
    return { from: this._from, to: this._to };
  }

  /** Show everything, and keep showing everything. */
  showAll(): void {
    this._mode = 'whole';
  }

  /** Follow the newest part with a window of the present length, or of some seconds if everything was shown. */
  follow(): void {
    if (this._mode === 'whole') {
      this._from = this._to - Math.min(NEWEST, this._to - this._from);
    }
    this._mode = 'follow';
  }

  /** Scale the window's length by `factor`; the time `around` stays in place. A window that reaches the end follows. */
  zoom(factor: number, around: number, first: number, last: number): void {
    const length = Math.max(last - first, SHORTEST);
    const wanted = (this._to - this._from) * factor;
    if (wanted >= length && factor > 1) {
      this.showAll();
      return;
    }
    const centre = this._mode === 'follow' ? this._to : around;
    const kept = Math.max(SHORTEST, wanted) / Math.max(SHORTEST, this._to - this._from);
    this._from = centre - (centre - this._from) * kept;
    this._to = centre + (this._to - centre) * kept;
    if (this._mode === 'whole') {
      this._mode = 'free';
    }
  }

  /** Move by `by` seconds; a part of the work stays visible. */
  pan(by: number, first: number, last: number): void {
    const length = this._to - this._from;
    const least = first - length / 2;
    const most = Math.max(least, last - length / 2);
    this._from = Math.min(most, Math.max(least, this._from + by));
    this._to = this._from + length;
    this._mode = 'free';
  }

  private _mode: Mode = 'whole';
  private _from = 0;
  private _to = SHORTEST;
}
