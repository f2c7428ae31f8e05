/** The table of tasks, with filter, order and search; and one task in full. */

import type { KernelState } from '../../model';
import { VERSION, type Command } from '../../protocol';
import { button, child, setText } from '../dom';
import { count } from '../format';
import { DetailView } from '../tasks/detail';
import { FailuresView } from '../tasks/failures';
import { nextRequest, Query, STEP } from '../tasks/query';
import { TaskTable } from '../tasks/table';
import { FILTERS } from '../tasks/words';
import type { Translator } from '../translator';
import type { Tab, TabKind, TabOptions } from './tab';

/** Milliseconds between lists while it shows; as many times longer as more rows are shown than at first. */
const INTERVAL = 1000;
/** Milliseconds after which an answer is not waited for any more. */
const PATIENCE = 10_000;
/** Milliseconds after the last key before a search begins. */
const TYPING = 250;

/** What another tab names a task by, in a `cellmill-task` event. */
interface Named {
  readonly task?: unknown;
  readonly element?: unknown;
}

class TasksTab implements Tab {
  constructor({ parent, trans, send, runLine }: TabOptions) {
    this._parent = parent;
    this._trans = trans;
    this._send = send;
    this._failures = new FailuresView(parent, trans, (task, element) => this._show(task, element));
    const bar = child(parent, 'div', 'cellmill-task-bar');
    this._chips = this._addChips(bar);
    this._addSearch(bar);
    const panes = child(parent, 'div', 'cellmill-task-panes');
    const list = child(panes, 'div', 'cellmill-task-list');
    this._table = new TaskTable(list, trans, {
      order: order => this._change(() => (this._query.order = order)),
      open: (task, element) => this._show(task, element)
    });
    this._empty = child(list, 'p', 'cellmill-message');
    const foot = child(list, 'div', 'cellmill-task-foot');
    this._matched = child(foot, 'span', '');
    this._matched.setAttribute('role', 'status');
    this._more = button(foot, 'cellmill-button cellmill-task-more', () =>
      this._change(() => (this._query.rows += STEP))
    );
    setText(this._more, trans.__('More'));
    this._detail = new DetailView(panes, {
      trans,
      runLine,
      send: command => {
        send(command);
        this._ask();
      },
      rerun: (task, element) => {
        const request = (this._rerun = nextRequest());
        send({ cellmill: VERSION, kind: 'rerun-task', request, task, element });
      },
      open: (task, element) => this._show(task, element),
      close: () => this._close()
    });
    this._timer = window.setInterval(() => this._tick(), INTERVAL);
  }

  draw(state: KernelState): void {
    const { tasks } = state.sections;
    if (state.sections !== this._sections) {
      this._sections = state.sections; // another kernel's: its tasks have the same numbers
      this._close();
      this._ask();
    }
    this._changing(state);
    const rerun = tasks.rerun;
    if (rerun !== null && rerun.request === this._rerun) {
      this._rerun = 0;
      this._show(rerun.task, null);
    }
    const list = tasks.list?.request === this._listed ? tasks.list : null;
    if (list !== null) {
      this._waiting = 0;
      this._failures.draw(list.failures);
      this._table.draw(list.rows, this._query.order, this._chosen);
      const shown = list.rows.length;
      const known = list.matched;
      setText(
        this._matched,
        shown < known
          ? this._trans.__('%1 of %2 tasks', count(shown), count(known))
          : this._trans._n('%2 task', '%2 tasks', shown, count(shown))
      );
      this._more.hidden = !this._query.more(known);
      this._empty.hidden = shown > 0;
      setText(
        this._empty,
        this._query.filters.size > 0 || this._query.text !== ''
          ? this._trans.__('No task fits.')
          : this._trans.__('No tasks so far.')
      );
    }
    if (tasks.detail !== null && tasks.detail.request === this._detailed) {
      this._detail.draw(tasks.detail);
    }
  }

  /** Another tab names a task. */
  open(named: unknown): void {
    const { task, element } = (named ?? {}) as Named;
    if (typeof task === 'string' && /^\d+$/.test(task)) {
      this._show(task, typeof element === 'number' ? element : null);
    }
  }

  dispose(): void {
    window.clearInterval(this._timer);
    window.clearTimeout(this._typing);
    this._parent.replaceChildren();
  }

  private _addChips(bar: HTMLElement): ReadonlyMap<string, HTMLButtonElement> {
    const group = child(bar, 'div', 'cellmill-chips');
    group.setAttribute('role', 'group');
    group.setAttribute('aria-label', this._trans.__('Show only'));
    return new Map(
      FILTERS.map(filter => {
        const chip = button(group, 'cellmill-chip', () =>
          this._change(() => this._query.toggle(filter.id))
        );
        chip.dataset.filter = filter.id;
        chip.setAttribute('aria-pressed', 'false');
        chip.textContent = filter.label(this._trans);
        return [filter.id, chip];
      })
    );
  }

  private _addSearch(bar: HTMLElement): void {
    const field = document.createElement('input');
    field.type = 'search';
    field.className = 'cellmill-search';
    field.placeholder = this._trans.__('Function, error or #number');
    field.setAttribute('aria-label', this._trans.__('Search tasks'));
    field.addEventListener('input', () => {
      window.clearTimeout(this._typing);
      this._typing = window.setTimeout(
        () =>
          this._change(() => {
            this._query.text = field.value;
            this._query.rows = STEP;
          }),
        TYPING
      );
    });
    bar.append(field);
  }

  private _change(what: () => void): void {
    what();
    for (const [id, chip] of this._chips) {
      chip.setAttribute('aria-pressed', String(this._query.filters.has(id)));
    }
    this._ask();
  }

  private _show(task: string, element: number | null): void {
    this._task = task;
    this._element = element;
    this._chosen = `${task}.${element ?? ''}`;
    this._ask();
  }

  private _close(): void {
    this._task = this._chosen = '';
    this._detailed = 0;
    this._detail.draw(null);
  }

  /** Ask when something may have changed since the last answer, and nothing is under way. */
  private _tick(): void {
    this._ticks++;
    const late = performance.now() - this._askedAt > PATIENCE;
    const due = this._ticks % Math.ceil(this._query.rows / STEP) === 0;
    const shows = this._parent.offsetParent !== null && document.visibilityState === 'visible';
    if (shows && due && this._news && (this._waiting === 0 || late)) {
      this._ask();
    }
  }

  /** Whether lists differ from each other by now: tasks run, or the counts have changed. */
  private _changing(state: KernelState): void {
    const counts = state.snapshot?.counts;
    const seen = JSON.stringify([state.snapshot?.work, counts]);
    this._busy = counts !== undefined && counts.done < counts.total;
    if (seen !== this._seen) {
      this._seen = seen;
      this._fresh = false;
    }
  }

  private get _news(): boolean {
    return this._busy || !this._fresh;
  }

  private _ask(): void {
    this._fresh = true;
    this._askedAt = performance.now();
    this._listed = this._waiting = nextRequest();
    this._send(this._query.command(this._listed));
    if (this._task !== '') {
      const request = (this._detailed = nextRequest());
      this._send({
        cellmill: VERSION,
        kind: 'show-task',
        request,
        task: this._task,
        element: this._element
      });
    }
  }

  private readonly _parent: HTMLElement;
  private readonly _trans: Translator;
  private readonly _send: (command: Command) => void;
  private readonly _query = new Query();
  private readonly _failures: FailuresView;
  private readonly _chips: ReadonlyMap<string, HTMLButtonElement>;
  private readonly _table: TaskTable;
  private readonly _empty: HTMLElement;
  private readonly _matched: HTMLElement;
  private readonly _more: HTMLButtonElement;
  private readonly _detail: DetailView;
  private readonly _timer: number;
  private _sections: KernelState['sections'] | null = null;
  private _typing = 0;
  private _ticks = 0;
  private _task = '';
  private _element: number | null = null;
  private _chosen = '';
  private _listed = 0;
  private _detailed = 0;
  private _rerun = 0;
  private _waiting = 0;
  private _askedAt = 0;
  private _seen = '';
  private _fresh = false;
  private _busy = false;
}

export const tasksTab: TabKind = {
  id: 'tasks',
  label: trans => trans.__('Tasks'),
  sections: [],
  make: options => new TasksTab(options)
};
