/** The latest runs: what was called where, how long it took, and how it ended. */

import { hits, lost, raised } from '../../model/counts';
import type { KernelState } from '../../model/kernelModel';
import { outstandingIn } from '../../model/runs';
import type { RunRecord } from '../../protocol/messages';
import { cellButton, drawCellButton, type CellWay } from '../cellWay';
import { ComparisonView } from '../comparison';
import { button, child, setName, setText } from '../dom';
import { clock, count, duration } from '../format';
import { titleOf } from '../scope';
import type { Translator } from '../translator';
import type { Tab, TabKind, TabOptions } from './tab';

class RunsTab implements Tab {
  constructor({ parent, trans, send, cells }: TabOptions) {
    this._cells = cells;
    this._parent = parent;
    this._trans = trans;
    this._empty = child(parent, 'p', 'cellmill-message');
    setText(this._empty, trans.__('No run so far.'));
    this._comparison = new ComparisonView(parent, trans, send);
    this._list = child(parent, 'ol', 'cellmill-history');
    this._list.setAttribute('aria-label', trans.__('Runs, newest first'));
    this._note = child(parent, 'p', 'cellmill-note cellmill-faint');
    setText(
      this._note,
      trans.__(
        "Busy: the share of the workers' time in your code, without what other runs used. A press shows a run by itself."
      )
    );
  }

  draw(state: KernelState): void {
    this._comparison.draw(state);
    const there = new Set(
      state.runs.map(run => run.id).filter(id => this._cells?.has(id) === true)
    );
    const same = there.size === this._there.size && [...there].every(id => this._there.has(id));
    if (state.runs === this._runs && state.run === this._chosen && same) {
      return;
    }
    this._there = there;
    this._runs = state.runs;
    this._chosen = state.run;
    this._empty.hidden = state.runs.length > 0;
    this._list.hidden = this._note.hidden = state.runs.length === 0;
    while (this._list.children.length > state.runs.length) {
      this._list.lastElementChild?.remove();
    }
    state.runs.forEach((run, index) => {
      const item = this._list.children[index] ?? this._add(index);
      this._drawRun(item, run, state.recorded);
    });
  }

  dispose(): void {
    this._parent.replaceChildren();
  }

  private _drawRun(item: Element, run: RunRecord, recorded: boolean): void {
    const trans = this._trans;
    const [name, began, wall, outcome, busy, toCell] = Array.from(item.children);
    if (!(name instanceof HTMLButtonElement) || busy === undefined) {
      return;
    }
    setText(name, titleOf(run));
    name.disabled = !run.kept || recorded;
    name.setAttribute('aria-pressed', String(run.id === this._chosen));
    setName(
      name,
      run.kept
        ? trans.__('Show only the tasks of %1', titleOf(run))
        : trans.__('The records of the tasks of %1 are gone with its workers', titleOf(run))
    );
    const texts = [
      clock(run.began),
      run.wall === null ? trans.__('goes on') : duration(run.wall),
      this._outcome(run),
      run.busy === null ? '' : trans.__('%1 % busy', Math.round(100 * run.busy))
    ];
    [began, wall, outcome, busy].forEach((place, index) => {
      if (place !== undefined) {
        setText(place, texts[index] ?? '');
      }
    });
    if (toCell instanceof HTMLButtonElement) {
      drawCellButton(toCell, this._there.has(run.id), titleOf(run), trans);
    }
    outcome?.classList.toggle('cellmill-bad', run.failed > 0);
  }

  private _outcome(run: RunRecord): string {
    const trans = this._trans;
    const parts = [
      trans.__('%1 done', count(run.succeeded)),
      raised(run) > 0 ? trans.__('%1 failed', count(raised(run))) : '',
      lost(run) > 0 ? trans.__('%1 lost', count(lost(run))) : '',
      run.cancelled > 0 ? trans.__('%1 cancelled', count(run.cancelled)) : '',
      hits(run) > 0 ? trans.__('%1 from the cache', count(hits(run))) : '',
      outstandingIn(run) > 0 ? trans.__('%1 to go', count(outstandingIn(run))) : ''
    ];
    return parts.filter(part => part !== '').join(', ');
  }

  private _add(index: number): Element {
    const item = child(this._list, 'li', 'cellmill-history-run');
    button(item, 'cellmill-run-name', () => {
      const run = this._runs[index];
      if (run !== undefined) {
        const detail = run.id === this._chosen ? null : run.id;
        item.dispatchEvent(new CustomEvent('cellmill-run', { bubbles: true, detail }));
      }
    });
    child(item, 'span', 'cellmill-history-began');
    child(item, 'span', 'cellmill-history-wall');
    child(item, 'span', 'cellmill-history-outcome');
    child(item, 'span', 'cellmill-history-busy');
    if (this._cells !== undefined) {
      cellButton(item, this._cells, () => this._runs[index]?.id ?? null);
    }
    return item;
  }

  private readonly _parent: HTMLElement;
  private readonly _trans: Translator;
  private readonly _empty: HTMLElement;
  private readonly _comparison: ComparisonView;
  private readonly _list: HTMLElement;
  private readonly _note: HTMLElement;
  private _runs: readonly RunRecord[] = [];
  private _chosen: number | null = null;
  private readonly _cells: CellWay | undefined;
  /** the runs whose cells are in the notebook */
  private _there: ReadonlySet<number> = new Set();
}

export const runsTab: TabKind = {
  id: 'runs',
  label: trans => trans.__('Runs'),
  sections: [],
  make: options => new RunsTab(options)
};
