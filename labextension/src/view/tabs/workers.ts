/** The worker processes: what each one does. */

import type { KernelState } from '../../model';
import { child, setText } from '../dom';
import { count } from '../format';
import type { Translator } from '../translator';
import type { Tab, TabKind, TabOptions } from './tab';

class WorkersTab implements Tab {
  constructor({ parent, trans }: TabOptions) {
    this._trans = trans;
    this._table = child(parent, 'table', 'cellmill-table');
    const head = child(child(this._table, 'thead', ''), 'tr', '');
    for (const title of [trans.__('Worker'), trans.__('State'), trans.__('Tasks done')]) {
      const cell = child(head, 'th', '');
      cell.setAttribute('scope', 'col');
      cell.textContent = title;
    }
    this._body = child(this._table, 'tbody', '');
    this._empty = child(parent, 'p', 'cellmill-message');
    this._empty.textContent = trans.__('No workers have started yet.');
  }

  draw(state: KernelState): void {
    const workers = state.sections.workers?.workers ?? [];
    this._table.hidden = workers.length === 0;
    this._empty.hidden = workers.length > 0;
    while (this._body.children.length > workers.length) {
      this._body.lastElementChild?.remove();
    }
    workers.forEach((worker, index) => {
      const row = this._body.children[index] ?? this._addRow();
      [String(worker.index), worker.state, count(worker.done)].forEach((text, column) => {
        const cell = row.children[column];
        if (cell !== undefined) {
          setText(cell, text);
        }
      });
      row.setAttribute('title', this._trans.__('process %1', worker.pid ?? '–'));
    });
  }

  dispose(): void {
    this._table.remove();
  }

  private _addRow(): Element {
    const row = child(this._body, 'tr', '');
    for (let column = 0; column < 3; column++) {
      child(row, 'td', '');
    }
    return row;
  }

  private readonly _trans: Translator;
  private readonly _table: HTMLElement;
  private readonly _body: HTMLElement;
  private readonly _empty: HTMLElement;
}

export const workersTab: TabKind = {
  id: 'workers',
  label: trans => trans.__('Workers'),
  sections: ['workers'],
  make: options => new WorkersTab(options)
};
