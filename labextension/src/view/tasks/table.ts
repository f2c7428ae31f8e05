/** The rows of the table of tasks. Pressing a column's head sorts by it; arrow keys move between rows. */

import type { TaskRow } from '../../protocol/messages';
import { button, child, setText } from '../dom';
import type { Translator } from '../translator';
import { span, stateName, taskName, tone } from './labels';

interface Column {
  readonly label: string;
  /** the orders of a first and a second press on its head */
  readonly orders: readonly string[];
  readonly text: (row: TaskRow) => string;
  readonly number: boolean;
}

/** Index of the column with the state. */
const STATE = 2;

export class TaskTable {
  constructor(
    parent: HTMLElement,
    trans: Translator,
    options: {
      readonly order: (order: string) => void;
      readonly open: (task: string, element: number | null) => void;
    }
  ) {
    this._trans = trans;
    this._options = options;
    this._table = child(
      child(parent, 'div', 'cellmill-task-rows'),
      'table',
      'cellmill-table cellmill-task-table'
    );
    this._table.setAttribute('aria-label', trans.__('Tasks'));
    this._table.setAttribute('role', 'table'); // explicit, as roles are: a grid layout removes the implicit ones
    this._columns = columns(trans);
    const head = child(child(this._table, 'thead', ''), 'tr', '');
    head.setAttribute('role', 'row');
    this._heads = this._columns.map(column => this._addHead(head, column));
    this._body = child(this._table, 'tbody', '');
    this._body.addEventListener('keydown', event => this._key(event));
  }

  draw(rows: readonly TaskRow[], order: string, chosen: string): void {
    this._rows = rows;
    this._order = order;
    this._columns.forEach((column, index) => {
      const place = column.orders.indexOf(order);
      const sort = place < 0 ? 'none' : order === 'oldest' ? 'ascending' : 'descending';
      this._heads[index]?.setAttribute('aria-sort', sort);
    });
    while (this._body.children.length > rows.length) {
      this._body.lastElementChild?.remove();
    }
    rows.forEach((row, index) => this._drawRow(row, index, chosen));
    if (this._body.querySelector('tr[tabindex="0"]') === null) {
      this._body.firstElementChild?.setAttribute('tabindex', '0');
    }
  }

  private _drawRow(row: TaskRow, index: number, chosen: string): void {
    const line = (this._body.children[index] ?? this._addRow(index)) as HTMLElement;
    this._columns.forEach((column, place) => {
      const cell = line.children[place];
      if (cell !== undefined) {
        setText(cell, column.text(row));
      }
    });
    line.dataset.task = row.task;
    if (line.dataset.state !== row.state) {
      line.dataset.state = row.state;
      const cell = line.children[STATE] as HTMLElement;
      cell.dataset.tone = tone(row.state); // on the row, it would restyle all cells
    }
    const here = chosen === `${row.task}.${row.element ?? ''}`;
    if ((line.getAttribute('aria-selected') === 'true') !== here) {
      line.setAttribute('aria-selected', String(here));
    }
  }

  private _addHead(parent: HTMLElement, column: Column): HTMLElement {
    const cell = child(parent, 'th', column.number ? 'cellmill-number' : '');
    cell.setAttribute('scope', 'col');
    cell.setAttribute('role', 'columnheader');
    if (column.orders.length === 0) {
      cell.textContent = column.label;
      return cell;
    }
    const press = button(cell, 'cellmill-sort', () => {
      const next = column.orders[(column.orders.indexOf(this._order) + 1) % column.orders.length];
      this._options.order(next ?? 'news');
    });
    press.textContent = column.label;
    press.title = this._trans.__('Order by %1', column.label.toLowerCase());
    return cell;
  }

  private _addRow(index: number): HTMLElement {
    const line = child(this._body, 'tr', '');
    line.setAttribute('role', 'row');
    line.setAttribute('tabindex', '-1');
    line.addEventListener('click', () => this._open(index));
    line.addEventListener('focus', () => {
      this._body.querySelector('tr[tabindex="0"]')?.setAttribute('tabindex', '-1');
      line.setAttribute('tabindex', '0');
    });
    for (const column of this._columns) {
      child(line, 'td', column.number ? 'cellmill-number' : '').setAttribute('role', 'cell');
    }
    return line;
  }

  private _open(index: number): void {
    const row = this._rows[index];
    if (row !== undefined) {
      this._options.open(row.task, row.element);
    }
  }

  private _key(event: KeyboardEvent): void {
    const lines = [...this._body.children] as HTMLElement[];
    const here = lines.indexOf(event.target as HTMLElement);
    const steps: Record<string, number> = {
      ArrowDown: here + 1,
      ArrowUp: here - 1,
      Home: 0,
      End: lines.length - 1
    };
    const to = steps[event.key];
    if (here >= 0 && (event.key === 'Enter' || event.key === ' ')) {
      event.preventDefault();
      this._open(here);
    } else if (here >= 0 && to !== undefined) {
      event.preventDefault();
      lines[Math.min(Math.max(to, 0), lines.length - 1)]?.focus();
    }
  }

  private readonly _trans: Translator;
  private readonly _options: {
    readonly order: (order: string) => void;
    readonly open: (task: string, element: number | null) => void;
  };
  private readonly _table: HTMLElement;
  private readonly _body: HTMLElement;
  private readonly _columns: readonly Column[];
  private readonly _heads: readonly HTMLElement[];
  private _rows: readonly TaskRow[] = [];
  private _order = 'news';
}

function columns(trans: Translator): readonly Column[] {
  const text = (
    label: string,
    orders: readonly string[],
    of: (row: TaskRow) => string
  ): Column => ({
    label,
    orders,
    text: of,
    number: false
  });
  const time = (
    label: string,
    orders: readonly string[],
    of: (row: TaskRow) => string
  ): Column => ({
    label,
    orders,
    text: of,
    number: true
  });
  return [
    text(trans.__('Task'), ['newest', 'oldest'], row =>
      taskName(row.number, row.element, row.count)
    ),
    text(trans.__('Function'), [], row => row.function),
    text(trans.__('State'), ['news'], row => stateName(row.state, trans)),
    time(trans.__('Run'), ['run'], row => (row.run === null ? '' : span(row.run))),
    time(trans.__('Queue'), ['queue'], row => (row.queued === null ? '' : span(row.queued))),
    time(trans.__('Try'), ['attempts'], row => String(row.attempt)),
    time(trans.__('Worker'), [], row => (row.worker === null ? '' : String(row.worker)))
  ];
}
