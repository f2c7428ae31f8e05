/** The runs in progress, each with its count, its priority and a button that cancels it. */

import { VERSION, type Command, type RunState } from '../protocol/messages';
import { button, child, setName, setText } from './dom';
import { count } from './format';
import type { Translator } from './translator';

const MOST_PRIORITY = 100;
/** Milliseconds for which a requested number is shown before the kernel confirms it. */
const PATIENCE = 2000;
/** Milliseconds after which a run without outstanding tasks has no buttons: a loop's next call may come at once. */
const CALM = 1500;

interface Row {
  readonly item: HTMLElement;
  readonly name: HTMLButtonElement;
  readonly count: HTMLElement;
  readonly raise: HTMLButtonElement;
  readonly priority: HTMLElement;
  readonly lower: HTMLButtonElement;
  readonly cancel: HTMLButtonElement;
  /** takes the buttons away; 0: tasks are outstanding */
  timer: number;
}

/** `over`: nothing is outstanding. A run of single calls stays in the list then, until its cell gets no more. */
function drawControls(row: Row, over: boolean): void {
  if (over === row.timer > 0) {
    return;
  }
  const controls = [row.raise, row.lower, row.cancel];
  if (over) {
    row.timer = window.setTimeout(() => {
      for (const control of controls) {
        control.hidden = true;
      }
    }, CALM);
    return;
  }
  window.clearTimeout(row.timer);
  row.timer = 0;
  for (const control of controls) {
    control.hidden = false;
  }
}

/** Keeps the elements of rows between pictures: a press on a button lasts longer than a picture. */
export class RunsView {
  /** `choose` shows one run, by its id; null shows all tasks. */
  constructor(
    parent: HTMLElement,
    trans: Translator,
    send: (command: Command) => void,
    choose: (run: number | null) => void
  ) {
    this._trans = trans;
    this._send = send;
    this._choose = choose;
    this._root = child(parent, 'ul', 'cellmill-runs');
    this._root.setAttribute('aria-label', trans.__('Runs in progress'));
  }

  /** Draw the runs in progress, oldest first; `chosen` is the one that is shown. */
  draw(runs: readonly RunState[], chosen: number | null): void {
    this._chosen = chosen;
    this._root.hidden = runs.length === 0;
    const gone = new Set(this._rows.keys());
    for (const run of runs) {
      gone.delete(run.id);
      const row = this._rows.get(run.id) ?? this._add(run);
      row.name.setAttribute('aria-pressed', String(run.id === chosen));
      const total = run.total === null ? '?' : count(run.total);
      const cancelled = run.cancelled ?? 0;
      const done = this._trans.__('%1 of %2', count(Math.max(0, run.done - cancelled)), total);
      setText(
        row.count,
        cancelled === 0 ? done : this._trans.__('%1, %2 cancelled', done, count(cancelled))
      );
      row.count.title = row.count.textContent;
      drawControls(row, run.total !== null && run.done >= run.total);
      this._drawPriority(row, run);
    }
    for (const id of gone) {
      this._asked.delete(id);
      this._rows.get(id)?.item.remove();
      this._rows.delete(id);
    }
  }

  private _drawPriority(row: Row, run: RunState): void {
    const asked = this._asked.get(run.id);
    if (asked !== undefined && (asked.is === run.priority || performance.now() > asked.until)) {
      this._asked.delete(run.id);
    }
    const priority = this._asked.get(run.id)?.is ?? run.priority;
    row.item.dataset.priority = String(priority);
    setText(row.priority, priority === 0 ? '' : String(priority).replace('-', '−'));
    setName(row.raise, this._trans.__('Raise the priority of %1, which is %2', run.name, priority));
    setName(row.lower, this._trans.__('Lower the priority of %1, which is %2', run.name, priority));
    row.raise.disabled = priority >= MOST_PRIORITY;
    row.lower.disabled = priority <= -MOST_PRIORITY;
  }

  /** Quick presses add up: each starts from the number that was requested last. */
  private _change(run: number, by: number): void {
    const row = this._rows.get(run);
    const is = Number(row?.item.dataset.priority ?? 0) + by;
    if (row !== undefined && Math.abs(is) <= MOST_PRIORITY) {
      row.item.dataset.priority = String(is);
      this._asked.set(run, { is, until: performance.now() + PATIENCE });
      this._send({ cellmill: VERSION, kind: 'set-priority', task: '', run, priority: is });
    }
  }

  private _add(run: RunState): Row {
    const item = child(this._root, 'li', 'cellmill-run');
    const name = button(item, 'cellmill-run-name', () =>
      this._choose(this._chosen === run.id ? null : run.id)
    );
    name.textContent = run.name;
    name.title = this._trans.__('Show only the tasks of %1', run.name);
    const row: Row = {
      item,
      name,
      count: child(item, 'span', 'cellmill-run-count'),
      raise: button(item, 'cellmill-button cellmill-run-raise', () => this._change(run.id, 1)),
      priority: child(item, 'span', 'cellmill-run-priority'),
      lower: button(item, 'cellmill-button cellmill-run-lower', () => this._change(run.id, -1)),
      cancel: button(item, 'cellmill-button cellmill-run-cancel', () => {
        row.cancel.disabled = true;
        this._send({ cellmill: VERSION, kind: 'cancel-run', run: run.id });
      }),
      timer: 0
    };
    setText(row.raise, '↑');
    setText(row.lower, '↓');
    setText(row.cancel, '×');
    setName(row.cancel, this._trans.__('Cancel %1', run.name));
    this._rows.set(run.id, row);
    return row;
  }

  private readonly _trans: Translator;
  private readonly _send: (command: Command) => void;
  private readonly _choose: (run: number | null) => void;
  private readonly _root: HTMLElement;
  private _chosen: number | null = null;
  private readonly _rows = new Map<number, Row>();
  /** requested priorities by run, and until when each is shown before it is confirmed */
  private readonly _asked = new Map<number, { readonly is: number; readonly until: number }>();
}
