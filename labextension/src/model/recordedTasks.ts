/** Answers a view's questions about single tasks from a recording, as a kernel would. */

import {
  VERSION,
  type Command,
  type Frame,
  type ListTasks,
  type ShowTask,
  type TaskDetail,
  type TaskList,
  type TaskRecord,
  type TaskRow
} from '../protocol/messages';

function keyOf(row: TaskRow): string {
  return `${row.task}.${row.element ?? ''}.${row.attempt}`;
}

/** A recording's single tasks up to a moment: the first page of the table, and all recorded tasks that were over. */
export class RecordedTasks {
  /** changes whenever tasks are added */
  version = 0;

  /** Take the first page of the table. */
  pushList(list: TaskList): void {
    this._list = list;
    this.version++;
  }

  /** Take tasks that are over. */
  pushRecords(records: readonly TaskRecord[]): void {
    for (const record of records) {
      this._records.set(keyOf(record.row), record);
    }
    this.version++;
  }

  /** Number of tasks that there were; the recording may have fewer. */
  get total(): number {
    return Math.max(this._list?.matched ?? 0, this._rows().length);
  }

  /** Number of tasks that are recorded. */
  get size(): number {
    return this._rows().length;
  }

  /** The answer to a command; null for one that needs a kernel. */
  answer(command: Command): Frame | null {
    if (command.kind === 'list-tasks') {
      return this._answerList(command);
    }
    return command.kind === 'show-task' ? this._answerTask(command) : null;
  }

  /** All rows: first those of the table's first page, in their order. */
  private _rows(): readonly TaskRow[] {
    const rows = new Map<string, TaskRow>();
    for (const row of this._list?.rows ?? []) {
      rows.set(keyOf(row), row);
    }
    for (const [key, record] of this._records) {
      rows.set(key, record.row);
    }
    return [...rows.values()];
  }

  private _answerList(command: ListTasks): TaskList {
    const wanted = new Set(command.states);
    const found = this._rows().filter(
      row => (wanted.size === 0 || wanted.has(row.state)) && this._says(row, command.text)
    );
    const rows = ordered(found, command.order);
    return {
      cellmill: VERSION,
      kind: 'task-list',
      request: command.request,
      matched: rows.length,
      rows: rows.slice(command.offset, command.offset + command.count),
      failures: this._list?.failures ?? []
    };
  }

  /** Whether a task's function, error or arguments contain a text; `#12` matches its number. */
  private _says(row: TaskRow, text: string): boolean {
    const wanted = text.trim().toLowerCase();
    if (/^#\d+$/.test(wanted)) {
      return row.number === Number(wanted.slice(1));
    }
    const record = this._records.get(keyOf(row));
    return [row.function, record?.error, record?.message, record?.arguments].some(
      part => part?.toLowerCase().includes(wanted) === true
    );
  }

  private _answerTask(command: ShowTask): TaskDetail {
    const { row, records } = this._find(command);
    const [latest] = records;
    return {
      cellmill: VERSION,
      kind: 'task-detail',
      request: command.request,
      task: row?.task ?? command.task,
      number: row?.number ?? 0,
      element: row?.element ?? command.element,
      count: row?.count ?? 1,
      function: row?.function ?? '',
      state: row?.state ?? 'unknown',
      priority: row?.priority ?? null,
      why: '',
      attempts: records.map(record => record.attempt),
      arguments: latest?.arguments ?? null,
      output: latest?.output ?? '',
      error: latest?.error ?? '',
      message: latest?.message ?? '',
      traceback: latest?.traceback ?? '',
      declared: null,
      memory: latest?.memory ?? null,
      result: null,
      reruns: [],
      can: []
    };
  }

  /** A task's row, and what is recorded of its attempts, the latest first. */
  private _find({ task, element, position }: ShowTask): {
    readonly row: TaskRow | undefined;
    readonly records: readonly TaskRecord[];
  } {
    const all = [...this._records.values()];
    // a click on the map gives a position instead of a task
    const there = task === '' ? all.find(record => record.position === position)?.row : undefined;
    const [meant, place] = there === undefined ? [task, element] : [there.task, there.element];
    const fits = (row: TaskRow): boolean =>
      (row.task === meant || String(row.number) === meant) &&
      (place === null || row.element === null || row.element === place);
    const records = all
      .filter(record => fits(record.row))
      .sort((one, other) => other.row.attempt - one.row.attempt);
    const now = this._list?.rows.find(row => fits(row) && !this._records.has(keyOf(row)));
    return { row: now ?? records[0]?.row, records };
  }

  private _list: TaskList | null = null;
  private readonly _records = new Map<string, TaskRecord>();
}

/** Rows in one of the orders of the table. */
function ordered(rows: readonly TaskRow[], order: string): readonly TaskRow[] {
  const serial = (row: TaskRow): number => row.number + (row.element ?? 0) / 2 ** 20;
  const keys: Record<string, (row: TaskRow) => number> = {
    newest: serial,
    oldest: row => -serial(row),
    run: row => row.run ?? -1,
    queue: row => row.queued ?? -1,
    attempts: row => row.attempt
  };
  const key = keys[order];
  return key === undefined ? rows : [...rows].sort((one, other) => key(other) - key(one));
}
