/** The badge at a cell's prompt: how the tasks that the cell began are doing. */

import type { TranslationBundle } from '@jupyterlab/translation';

import { cellState, type CellState } from '../../model/cells';
import { hits, lost, raised } from '../../model/counts';
import type { CellRuns } from '../../protocol/messages';
import { button, child, setName, setText } from '../../view/dom';
import { count, duration, percent, shortCount } from '../../view/format';

/** States are told apart without colour, too. */
const SIGNS: Record<CellState, string> = {
  running: '▸',
  done: '✓',
  failed: '✗',
  lost: '↯',
  cancelled: '⊘'
};

export class Badge {
  /** `press` is called with the runs of the cell. */
  constructor(trans: TranslationBundle, press: (cell: CellRuns) => void) {
    this._trans = trans;
    const place = document.createElement('div');
    this.node = place;
    place.className = 'cellmill-badge-place';
    this._button = button(place, 'cellmill-badge', () => {
      if (this._cell !== null) {
        press(this._cell);
      }
    });
    this._text = child(this._button, 'span', 'cellmill-badge-text');
    const bar = child(this._button, 'span', 'cellmill-badge-bar');
    this._done = child(bar, 'span', 'cellmill-badge-done');
    this._failed = child(bar, 'span', 'cellmill-badge-failed');
    this._lost = child(bar, 'span', 'cellmill-badge-lost');
    this._cancelled = child(bar, 'span', 'cellmill-badge-cancelled');
  }

  readonly node: HTMLElement;

  /** `edited`: the cell has another source than the one that began the tasks. */
  draw(cell: CellRuns, edited: boolean): void {
    this._cell = cell;
    const state = cellState(cell);
    const { dataset } = this._button;
    dataset.state = state;
    dataset.done = String(cell.done - cell.cancelled);
    dataset.total = String(cell.total ?? '?');
    dataset.failed = String(cell.failed);
    dataset.lost = String(lost(cell));
    dataset.cancelled = String(cell.cancelled);
    dataset.edited = String(edited);
    setText(this._text, `${SIGNS[state]} ${shortText(cell, state)}`);
    setName(this._button, this._words(cell, state, edited));
    const whole = Math.max(cell.total ?? 0, cell.done, 1);
    const share = (part: number): string => `${(100 * part) / whole}%`;
    this._done.style.width = share(cell.done - cell.failed - cell.cancelled);
    this._failed.style.width = share(raised(cell));
    this._failed.hidden = raised(cell) === 0;
    this._lost.style.width = share(lost(cell));
    this._lost.hidden = lost(cell) === 0;
    this._cancelled.style.width = share(cell.cancelled);
    this._cancelled.hidden = cell.cancelled === 0;
  }

  dispose(): void {
    this.node.remove();
  }

  private _words(cell: CellRuns, state: CellState, edited: boolean): string {
    const trans = this._trans;
    const states: Record<CellState, string> = {
      running: trans.__('running'),
      done: trans.__('done'),
      failed: trans.__('failed'),
      lost: trans.__('lost'),
      cancelled: trans.__('cancelled')
    };
    return [
      trans.__('Cellmill tasks of %1: %2', cell.cell || trans.__('this cell'), states[state]),
      outcomeText(cell, trans),
      ...(edited ? [trans.__('the cell has been edited since')] : []),
      trans.__('Show them')
    ].join(', ');
  }

  private readonly _trans: TranslationBundle;
  private readonly _button: HTMLButtonElement;
  private readonly _text: HTMLElement;
  private readonly _done: HTMLElement;
  private readonly _failed: HTMLElement;
  private readonly _lost: HTMLElement;
  private readonly _cancelled: HTMLElement;
  private _cell: CellRuns | null = null;
}

/** How many of how many tasks ended how, and in what time. */
export function outcomeText(cell: CellRuns, trans: TranslationBundle): string {
  const ended = cell.done - cell.cancelled;
  const all =
    cell.total === null
      ? trans.__('%1 done', count(ended))
      : trans.__('%1 of %2 done', count(ended), count(cell.total));
  return [
    all,
    ...(raised(cell) > 0 ? [trans.__('%1 failed', count(raised(cell)))] : []),
    ...(lost(cell) > 0 ? [trans.__('%1 lost', count(lost(cell)))] : []),
    ...(cell.cancelled > 0 ? [trans.__('%1 cancelled', count(cell.cancelled))] : []),
    ...(hits(cell) > 0 ? [trans.__('%1 from the cache', count(hits(cell)))] : []),
    ...(cell.seconds === null ? [] : [trans.__('took %1', duration(cell.seconds))])
  ].join(', ');
}

/** The numbers of a badge, in about eleven characters: of all, while tasks run and where not all gave a value; else their
 * number alone. Where there is no room for all three, what went wrong comes before how many there are.
 */
function shortText(cell: CellRuns, state: CellState): string {
  const total = cell.total === null ? '?' : shortCount(cell.total);
  const gone = lost(cell) > 0 ? ` ${SIGNS.lost}${shortCount(lost(cell))}` : '';
  switch (state) {
    case 'running': {
      const done = cell.done - cell.cancelled;
      const wrong = raised(cell) > 0 ? ` ${SIGNS.failed}${shortCount(raised(cell))}` : gone;
      return wrong === '' || cell.total === null
        ? `${shortCount(done)}/${total}${wrong}`
        : `${percent(done, Math.max(cell.total, 1))}${wrong}`;
    }
    case 'failed':
      return gone === ''
        ? `${shortCount(raised(cell))}/${total}`
        : `${shortCount(raised(cell))}${gone}`;
    case 'lost':
      return `${shortCount(lost(cell))}/${total}`;
    case 'cancelled':
      return `${shortCount(cell.cancelled)}/${total}`;
    case 'done':
      return cell.total === 0 && hits(cell) > 0 ? `+${shortCount(hits(cell))}` : total;
  }
}
