/** The runs in progress, each with its count and a button that ends it. */

import type { RunState } from '../protocol';
import { button, child, setName, setText } from './dom';
import { count } from './format';
import type { Translator } from './translator';

interface Row {
  readonly item: HTMLElement;
  readonly name: HTMLElement;
  readonly count: HTMLElement;
  readonly cancel: HTMLButtonElement;
}

/** Rows stay the same elements from picture to picture: a press lasts longer than a picture. */
export class RunsView {
  constructor(parent: HTMLElement, trans: Translator, cancel: (run: number) => void) {
    this._trans = trans;
    this._cancel = cancel;
    this._root = child(parent, 'ul', 'cellmill-runs');
    this._root.setAttribute('aria-label', trans.__('Runs in progress'));
  }

  /** Draw the runs in progress, oldest first. */
  draw(runs: readonly RunState[]): void {
    this._root.hidden = runs.length === 0;
    const gone = new Set(this._rows.keys());
    for (const run of runs) {
      gone.delete(run.id);
      const row = this._rows.get(run.id) ?? this._add(run);
      const total = run.total === null ? '?' : count(run.total);
      setText(row.count, this._trans.__('%1 of %2', count(run.done), total));
    }
    for (const id of gone) {
      this._rows.get(id)?.item.remove();
      this._rows.delete(id);
    }
  }

  private _add(run: RunState): Row {
    const item = child(this._root, 'li', 'cellmill-run');
    const name = child(item, 'span', 'cellmill-run-name');
    name.textContent = name.title = run.name;
    const row: Row = {
      item,
      name,
      count: child(item, 'span', 'cellmill-run-count'),
      cancel: button(item, 'cellmill-button cellmill-run-cancel', () => {
        row.cancel.disabled = true;
        this._cancel(run.id);
      })
    };
    setText(row.cancel, '×');
    setName(row.cancel, this._trans.__('Cancel %1', run.name));
    this._rows.set(run.id, row);
    return row;
  }

  private readonly _trans: Translator;
  private readonly _cancel: (run: number) => void;
  private readonly _root: HTMLElement;
  private readonly _rows = new Map<number, Row>();
}
