/** The table of tasks, with filter, order and search; and one task in full. */

import { outstanding } from '../../model/counts';
import type { KernelState } from '../../model/kernelModel';
import {
  VERSION,
  type Command,
  type FailureGroup,
  type TaskDetail,
  type TaskList
} from '../../protocol/messages';
import { button, child, setName, setNote, setText } from '../dom';
import { count } from '../format';
import { earlierText, listText } from '../partText';
import { DetailView } from '../tasks/detail';
import { FailuresView } from '../tasks/failures';
import { FoldView } from '../tasks/fold';
import { nextRequest, PAGE, Query } from '../tasks/query';
import { TaskTable } from '../tasks/table';
import { FILTERS } from '../tasks/labels';
import type { Translator } from '../translator';
import type { Tab, TabKind, TabOptions } from './tab';

/** Milliseconds between lists; as much again for each `DEEP` rows before the page, since later pages cost more. */
const INTERVAL = 1000;
const DEEP = 10_000;
/** Tasks per second above which rows change too fast to be read: lists are requested half as often. */
const FLOOD = 1000;
/** Milliseconds to wait for an answer. */
const PATIENCE = 10_000;
/** Milliseconds between the last key and the search. */
const TYPING = 250;

/** How a `cellmill-task` event names a task: by its ticket, or by its position in the state map. */
interface Named {
  readonly task?: unknown;
  readonly position?: unknown;
  readonly element?: unknown;
  /** the run whose tasks the position counts */
  readonly run?: unknown;
  /** true for the lines of failures instead of one task */
  readonly failures?: unknown;
}

class TasksTab implements Tab {
  constructor({ parent, trans, send, runLine }: TabOptions) {
    this._parent = parent;
    this._trans = trans;
    this._send = send;
    this._earlier = child(parent, 'p', 'cellmill-note cellmill-faint');
    this._failures = new FailuresView(parent, trans, group => this._unfold(group));
    this._fold = new FoldView(parent, {
      trans,
      send,
      runLine,
      open: (task, element) => this._show(task, element)
    });
    const bar = child(parent, 'div', 'cellmill-task-bar');
    this._chips = this._addChips(bar);
    this._addSearch(bar);
    const panes = child(parent, 'div', 'cellmill-task-panes');
    const list = child(panes, 'div', 'cellmill-task-list');
    this._table = new TaskTable(list, trans, {
      order: order =>
        this._change(() => {
          this._query.order = order;
          this._query.offset = 0;
        }),
      open: (task, element) => this._show(task, element)
    });
    this._empty = child(list, 'p', 'cellmill-message');
    const foot = child(list, 'div', 'cellmill-task-foot');
    this._matched = child(foot, 'span', '');
    this._matched.setAttribute('role', 'status');
    this._before = this._turn(foot, '‹', trans.__('Previous tasks'), -PAGE);
    this._after = this._turn(foot, '›', trans.__('Next tasks'), PAGE);
    this._note = child(list, 'p', 'cellmill-note cellmill-faint');
    this._note.hidden = true;
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
      this._sections = state.sections; // of another kernel, whose tasks have the same numbers, or of a run
      this._query.run = state.run;
      this._query.offset = 0;
      this._query.failure = null;
      if (!state.recorded) {
        this._close();
      }
      this._fold.show(null, state.run);
      this._ask();
    } else if (state.recorded && tasks.recorded.version !== this._recordedVersion) {
      this._ask(); // a recording answers at once
    }
    setNote(this._earlier, earlierText(state, this._trans));
    this._recordedVersion = tasks.recorded.version;
    this._recorded = state.recorded;
    this._changing(state);
    const rerun = tasks.rerun;
    if (rerun !== null && rerun.request === this._rerun) {
      this._rerun = 0;
      this._show(rerun.task, null);
    }
    if (state.refusal !== '' && this._position !== null) {
      this._position = null; // that task is forgotten
    }
    const { detail } = tasks;
    if (detail !== null && detail.request === this._detailed && detail !== this._told) {
      this._told = detail;
      this._position = null;
      this._name(detail.task, detail.element);
      this._detail.draw(detail, state.recorded, this._revealed);
    }
    this._fold.draw(tasks);
    const list = tasks.list?.request === this._listed ? tasks.list : null;
    if (list !== null && (list !== this._drawn || this._chosen !== this._marked)) {
      this._waiting = 0;
      this._drawn = list;
      this._marked = this._chosen;
      this._failures.draw(list.failures, this._query.failure);
      this._table.draw(list.rows, this._query.order, this._chosen);
      this._drawFoot(list);
      this._drawNote(state, list);
      this._empty.hidden = list.rows.length > 0;
      setText(
        this._empty,
        this._query.filters.size > 0 || this._query.text !== '' || this._query.failure !== null
          ? this._trans.__('No task fits.')
          : this._trans.__('No tasks so far.')
      );
    }
  }

  /** Show the task that another tab names, or the lines of failures. */
  open(named: unknown): void {
    const { task, element, position, run, failures } = (named ?? {}) as Named;
    if (failures === true) {
      this._failures.focus();
    } else if (typeof task === 'string' && /^\d+$/.test(task)) {
      this._show(task, typeof element === 'number' ? element : null);
    } else if (typeof position === 'number') {
      this._revealed = true;
      this._position = position;
      this._positionRun = typeof run === 'number' ? run : null;
      this._name('', null);
      this._ask();
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
            this._query.offset = 0;
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

  /** Add a button that moves the page by a number of rows. */
  private _turn(foot: HTMLElement, text: string, name: string, by: number): HTMLButtonElement {
    const made = button(foot, 'cellmill-button cellmill-task-page', () => {
      this._change(() => (this._query.offset = Math.max(0, this._query.offset + by)));
    });
    setText(made, text);
    setName(made, name);
    return made;
  }

  private _drawFoot({ rows, matched }: TaskList): void {
    const { offset } = this._query;
    if (rows.length === 0 && offset > 0) {
      this._change(() => (this._query.offset = 0)); // there are fewer rows than before
      return;
    }
    const whole = offset === 0 && rows.length >= matched;
    setText(
      this._matched,
      whole
        ? this._trans._n('%2 task', '%2 tasks', matched, count(matched))
        : this._trans.__(
            '%1 to %2 of %3 tasks',
            count(offset + 1),
            count(offset + rows.length),
            count(matched)
          )
    );
    this._before.hidden = this._after.hidden = whole;
    this._before.disabled = offset === 0;
    this._after.disabled = !this._query.more(matched);
  }

  /** List the tasks of a line of failures and show the first of them; all again if they are listed already. */
  private _unfold(group: FailureGroup): void {
    const { id, tasks, elements } = group;
    const listed = id !== null && this._query.failure === id;
    this._query.failure = listed || this._recorded ? null : id;
    this._query.offset = 0;
    this._fold.show(this._query.failure, this._query.run);
    if (listed) {
      this._close();
    } else if (tasks[0] !== undefined) {
      this._revealed = false; // the fold is what was asked for, above
      this._position = null;
      this._name(tasks[0], elements[0] ?? null);
    }
    this._ask();
  }

  /** Say what a recording, or the list, has left out. */
  private _drawNote({ recorded, sections, snapshot }: KernelState, list: TaskList): void {
    const { size, total } = sections.tasks.recorded;
    const group = list.failures.find(one => one.id === this._query.failure);
    const filtered = this._query.filters.size > 0;
    const words = recorded
      ? this._trans.__(
          'The recording holds %1 of %2 tasks: the first of each order, and what failed.',
          count(size),
          count(total)
        )
      : filtered || this._query.text !== ''
        ? ''
        : listText(list.matched, group?.count ?? snapshot, this._trans);
    setNote(this._note, recorded && size >= total ? '' : words);
  }

  private _show(task: string, element: number | null): void {
    this._revealed = true;
    this._position = null;
    this._name(task, element);
    this._ask();
  }

  /** Set the task to show in full; `task` is empty for none, or if only its position is known. */
  private _name(task: string, element: number | null): void {
    this._task = task;
    this._element = element;
    this._chosen = task === '' ? '' : `${task}.${element ?? ''}`;
  }

  private _close(): void {
    this._name('', null);
    this._position = null;
    this._detailed = 0;
    this._told = null;
    this._detail.draw(null);
  }

  /** Request a list if something may have changed since the last answer and no request is pending. */
  private _tick(): void {
    this._ticks++;
    const late = performance.now() - this._askedAt > PATIENCE;
    const every =
      Math.ceil((this._query.offset + 1) / DEEP) * (this._busy && this._rate > FLOOD ? 2 : 1);
    const due = this._ticks % every === 0;
    const shows = this._parent.offsetParent !== null && document.visibilityState === 'visible';
    if (shows && due && this._news && (this._waiting === 0 || late)) {
      this._ask();
    }
  }

  /** Note whether a new list may differ from the last: tasks run, or the counts have changed. */
  private _changing(state: KernelState): void {
    const counts = state.snapshot?.counts;
    const seen = JSON.stringify([state.snapshot?.work, counts]);
    this._busy = counts !== undefined && outstanding(counts);
    this._rate = state.rate;
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
    this._fold.ask();
    if (this._task !== '' || this._position !== null) {
      const request = (this._detailed = nextRequest());
      this._send({
        cellmill: VERSION,
        kind: 'show-task',
        request,
        task: this._task,
        element: this._element,
        position: this._position,
        run: this._positionRun
      });
    }
  }

  private readonly _parent: HTMLElement;
  private readonly _trans: Translator;
  private readonly _send: (command: Command) => void;
  private readonly _query = new Query();
  private readonly _earlier: HTMLElement;
  private readonly _failures: FailuresView;
  private readonly _fold: FoldView;
  private readonly _chips: ReadonlyMap<string, HTMLButtonElement>;
  private readonly _table: TaskTable;
  private readonly _empty: HTMLElement;
  private readonly _matched: HTMLElement;
  private readonly _before: HTMLButtonElement;
  private readonly _after: HTMLButtonElement;
  private readonly _note: HTMLElement;
  private readonly _detail: DetailView;
  private readonly _timer: number;
  private _sections: KernelState['sections'] | null = null;
  /** what was drawn last: the list, the marked task, and the one shown in full */
  private _drawn: TaskList | null = null;
  private _marked = '';
  /** whether the panel is scrolled to the task in full, once it comes */
  private _revealed = true;
  private _told: TaskDetail | null = null;
  private _typing = 0;
  private _ticks = 0;
  private _task = '';
  private _element: number | null = null;
  /** position in the state map of the task to show, until its ticket is known */
  private _position: number | null = null;
  private _positionRun: number | null = null;
  private _chosen = '';
  private _listed = 0;
  private _detailed = 0;
  private _rerun = 0;
  private _waiting = 0;
  private _askedAt = 0;
  private _seen = '';
  private _fresh = false;
  private _recordedVersion = -1;
  private _recorded = false;
  private _busy = false;
  private _rate = 0;
}

export const tasksTab: TabKind = {
  id: 'tasks',
  label: trans => trans.__('Tasks'),
  sections: [],
  make: options => new TasksTab(options)
};
