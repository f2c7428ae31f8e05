/** The lines of output as elements; those that stay on the page are kept. */

import type { OutputLine } from '../../model/output';
import { button, child, setName, setText } from '../dom';
import { clock } from '../format';
import type { Translator } from '../translator';

/** Whether a line has the same time, task and worker as the one above it, which are not shown again then. */
function continues(line: OutputLine, above: OutputLine | undefined): boolean {
  return (
    line.key === above?.key &&
    line.speaker.worker === above.speaker.worker &&
    clock(line.time) === clock(above.time)
  );
}

interface Row {
  readonly item: HTMLElement;
  readonly text: HTMLElement;
}

export class OutputLines {
  constructor(
    parent: HTMLElement,
    trans: Translator,
    options: {
      readonly open: (line: OutputLine) => void;
      readonly worker: (worker: number) => void;
    }
  ) {
    this._trans = trans;
    this._options = options;
    this._frame = child(parent, 'div', 'cellmill-output');
    this._frame.setAttribute('role', 'region');
    this._frame.setAttribute('aria-label', trans.__('Output of tasks, newest last'));
    const head = child(this._frame, 'div', 'cellmill-output-line cellmill-output-head');
    head.setAttribute('aria-hidden', 'true');
    for (const name of [trans.__('Time'), trans.__('Task'), trans.__('Worker'), trans.__('Text')]) {
      child(head, 'span', '').textContent = name;
    }
    this._list = child(this._frame, 'ol', 'cellmill-output-list');
  }

  /** Draw lines, oldest first. */
  draw(lines: readonly OutputLine[]): void {
    this._frame.hidden = lines.length === 0;
    const wanted = new Set(lines.map(line => line.id));
    for (const [id, row] of this._rows) {
      if (!wanted.has(id)) {
        row.item.remove();
        this._rows.delete(id);
      }
    }
    let before = this._list.firstElementChild;
    let last: OutputLine | undefined;
    for (const line of lines) {
      const row = this._rows.get(line.id) ?? this._add(line);
      setText(row.text, line.text.endsWith('\r') ? line.text.slice(0, -1) : line.text);
      row.item.classList.toggle('cellmill-output-more', continues(line, last));
      last = line;
      if (row.item === before) {
        before = before.nextElementSibling;
      } else {
        this._list.insertBefore(row.item, before);
      }
    }
  }

  private _add(line: OutputLine): Row {
    const trans = this._trans;
    const item = document.createElement('li');
    item.className = 'cellmill-output-line';
    item.dataset.stream = String(line.stream);
    child(item, 'span', 'cellmill-output-time').textContent = clock(line.time);
    const { name, task, worker } = line.speaker;
    if (task === null) {
      child(item, 'span', 'cellmill-output-task').textContent = name;
    } else {
      const open = button(item, 'cellmill-link cellmill-output-task', () =>
        this._options.open(line)
      );
      open.textContent = name;
      setName(open, trans.__('Show task %1', name));
    }
    if (worker === null) {
      child(item, 'span', 'cellmill-output-worker');
    } else {
      const only = button(item, 'cellmill-link cellmill-output-worker', () =>
        this._options.worker(worker)
      );
      only.textContent = String(worker);
      setName(only, trans.__('Only output of worker %1', worker));
    }
    const text = child(item, 'span', 'cellmill-output-text');
    const row = { item, text };
    this._rows.set(line.id, row);
    return row;
  }

  private readonly _trans: Translator;
  private readonly _options: {
    readonly open: (line: OutputLine) => void;
    readonly worker: (worker: number) => void;
  };
  private readonly _frame: HTMLElement;
  private readonly _list: HTMLElement;
  private readonly _rows = new Map<number, Row>();
}
