/** The choice of what all tabs and the counters show: all tasks, or one run. */

import { hits, lost, raised } from '../model/counts';
import { outstandingIn } from '../model/runs';
import type { RunRecord } from '../protocol/messages';
import { cellButton, drawCellButton, type CellWay } from './cellWay';
import { child, setOptions, setText } from './dom';
import { clock, count } from './format';
import type { Translator } from './translator';

const ALL = '';

export class ScopeView {
  /** `choose` is called with a run's id, or with null for all tasks. */
  constructor(
    parent: HTMLElement,
    trans: Translator,
    choose: (run: number | null) => void,
    private readonly _way?: CellWay
  ) {
    this._trans = trans;
    this._root = child(parent, 'div', 'cellmill-scope');
    const line = child(this._root, 'div', 'cellmill-scope-line');
    this._select = child(line, 'select', 'cellmill-scope-choice') as HTMLSelectElement;
    this._select.setAttribute('aria-label', trans.__('Tasks shown'));
    this._select.addEventListener('change', () => {
      const { value } = this._select;
      choose(value === ALL ? null : Number(value));
    });
    this._toCell = _way && cellButton(line, _way, () => this._chosen);
    this._note = child(this._root, 'p', 'cellmill-note cellmill-scope-note');
    this._note.setAttribute('role', 'status');
  }

  /** Draw the choice: of the runs whose tasks can be looked at, newest first, and of the chosen one. */
  draw(runs: readonly RunRecord[], chosen: number | null): void {
    this._chosen = chosen;
    const offered = runs.filter(run => run.kept || run.id === chosen);
    this._root.hidden = offered.length === 0;
    const wanted: (readonly [string, string])[] = [[ALL, this._trans.__('All of this work')]];
    for (const run of offered) {
      wanted.push([String(run.id), runText(run, this._trans)]);
    }
    setOptions(this._select, wanted, chosen === null ? ALL : String(chosen));
    this._select.title = this._select.selectedOptions[0]?.textContent ?? '';
    const record = runs.find(run => run.id === chosen);
    if (this._toCell !== undefined) {
      const there = record !== undefined && this._way?.has(record.id) === true;
      drawCellButton(this._toCell, there, record === undefined ? '' : titleOf(record), this._trans);
    }
    const gone = record?.kept === false;
    this._note.hidden = !gone;
    setText(
      this._note,
      gone
        ? this._trans.__(
            'The records of its tasks are gone with the workers that ran it: these are its counts, and what was seen of it here.'
          )
        : ''
    );
  }

  private readonly _trans: Translator;
  private readonly _root: HTMLElement;
  private readonly _select: HTMLSelectElement;
  private readonly _note: HTMLElement;
  private readonly _toCell: HTMLButtonElement | undefined;
  private _chosen: number | null = null;
}

/** A run in one line: its cell and function, when it began, and its tasks. */
export function runText(run: RunRecord, trans: Translator): string {
  const tasks = trans._n('%2 task', '%2 tasks', run.submitted, count(run.submitted));
  const failed = raised(run) > 0 ? trans.__(', %1 failed', count(raised(run))) : '';
  const gone = lost(run) > 0 ? trans.__(', %1 lost', count(lost(run))) : '';
  const found = hits(run) > 0 ? trans.__(', %1 from the cache', count(hits(run))) : '';
  const going = outstandingIn(run) > 0 ? trans.__(', %1 to go', count(outstandingIn(run))) : '';
  return `${titleOf(run)} · ${clock(run.began)} · ${tasks}${failed}${gone}${found}${going}`;
}

/** Its cell and function. */
export function titleOf(run: RunRecord): string {
  return run.cell === '' ? run.name : `${run.cell} ${run.name}`;
}
