/** The part of the time that shows: all of it, the newest part, or what a person chose. */

/** Seconds; nothing is shown larger than this. */
const SHORTEST = 1e-6;
const NEWEST = 5;

export type Mode = 'whole' | 'follow' | 'free';

export class Range {
  /** How the window moves by itself. */
  get mode(): Mode {
    return this._mode;
  }

  /** The window, when the work reaches from `first` to `last`. */
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

  /** Show everything, and what comes. */
  whole(): void {
    this._mode = 'whole';
  }

  /** Stay at the newest part: as long as what shows, or some seconds after all was shown. */
  follow(): void {
    if (this._mode === 'whole') {
      this._from = this._to - Math.min(NEWEST, this._to - this._from);
    }
    this._mode = 'follow';
  }

  /** Show a part `factor` times as long, around a time that stays where it is; following goes on at the end. */
  zoom(factor: number, around: number, first: number, last: number): void {
    const length = Math.max(last - first, SHORTEST);
    const wanted = (this._to - this._from) * factor;
    if (wanted >= length && factor > 1) {
      this.whole();
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

  /** Move by so many seconds; some of the work stays in sight. */
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
