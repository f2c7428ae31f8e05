/** One task in full. Everything that comes from a task is text, never markup. */

import { VERSION, type Command, type TaskDetail } from '../../protocol/messages';
import { button, child, setText } from '../dom';
import { bytes, count } from '../format';
import type { Translator } from '../translator';
import { drawStages } from './stages';
import { debugLine, stateName, taskName, tone } from './labels';

export interface DetailOptions {
  readonly trans: Translator;
  readonly send: (command: Command) => void;
  readonly rerun: (task: string, element: number | null) => void;
  readonly open: (task: string, element: number | null) => void;
  readonly close: () => void;
  /** run a line in a new cell; absent where there is no notebook */
  readonly runLine?: ((line: string) => void) | undefined;
}

export class DetailView {
  constructor(parent: HTMLElement, options: DetailOptions) {
    this._options = options;
    this._root = child(parent, 'section', 'cellmill-task-detail');
    this._root.setAttribute('aria-label', options.trans.__('Task'));
    this._root.addEventListener('keydown', event => {
      if (event.key === 'Escape') {
        event.stopPropagation();
        options.close();
      }
    });
    this._root.hidden = true;
  }

  /**
   * Draw a task; null closes the pane. What the user has opened or typed stays as long as the task is the same.
   *
   * `revealed`: another task than before is scrolled to.
   */
  draw(detail: TaskDetail | null, recorded = false, revealed = true): void {
    this._root.hidden = detail === null;
    this._recorded = recorded;
    if (detail === null) {
      this._drawn = '';
      return;
    }
    const text = JSON.stringify({ ...detail, request: 0 });
    if (text === this._drawn || this._typing()) {
      return;
    }
    const other = this._root.dataset.task !== detail.task || this._drawn === '';
    this._drawn = text;
    const focused = (document.activeElement as HTMLElement | null)?.dataset.act;
    this._root.replaceChildren();
    this._root.dataset.task = detail.task;
    this._root.dataset.state = detail.state;
    this._head(detail);
    this._acts(detail);
    this._facts(detail);
    if (other && revealed) {
      this._root.scrollIntoView({ block: 'nearest' });
    }
    if (focused !== undefined) {
      this._root.querySelector<HTMLElement>(`[data-act="${focused}"]`)?.focus();
    }
  }

  private _typing(): boolean {
    const active = document.activeElement;
    return active instanceof HTMLInputElement && this._root.contains(active);
  }

  private _head(detail: TaskDetail): void {
    const { trans } = this._options;
    const head = child(this._root, 'div', 'cellmill-detail-head');
    const title = child(head, 'h3', 'cellmill-detail-title');
    child(title, 'span', 'cellmill-detail-function').textContent = detail.function;
    child(title, 'span', 'cellmill-detail-number').textContent = taskName(
      detail.number,
      detail.element,
      detail.count
    );
    const state = child(head, 'span', 'cellmill-detail-state');
    state.dataset.tone = tone(detail.state);
    state.textContent = stateName(detail.state, trans);
    const close = button(head, 'cellmill-button cellmill-detail-close', this._options.close);
    close.dataset.act = 'close';
    close.textContent = '×';
    close.title = trans.__('Close');
    close.setAttribute('aria-label', close.title);
  }

  private _acts(detail: TaskDetail): void {
    const { trans, send } = this._options;
    if (detail.can.length === 0) {
      return;
    }
    const bar = child(this._root, 'div', 'cellmill-controls cellmill-detail-acts');
    bar.setAttribute('role', 'toolbar');
    bar.setAttribute('aria-label', trans.__('This task'));
    const act = (name: string, label: string, title: string, press: () => void): void => {
      const one = button(bar, 'cellmill-button', press);
      one.dataset.act = name;
      one.textContent = label;
      one.title = title;
    };
    const { task, element } = detail;
    if (detail.can.includes('rerun')) {
      act('rerun', trans.__('Run again'), trans.__('Submit this call as a new task'), () =>
        this._options.rerun(task, element)
      );
    }
    if (detail.can.includes('cancel')) {
      const stops = detail.state === 'running';
      act(
        'cancel',
        stops ? trans.__('Stop') : trans.__('Cancel'),
        stops ? trans.__('Stop this task; its worker goes on') : trans.__('Cancel this task'),
        () => send({ cellmill: VERSION, kind: 'cancel-task', task })
      );
    }
    if (detail.can.includes('priority')) {
      this._priority(bar, detail);
    }
  }

  private _priority(bar: HTMLElement, detail: TaskDetail): void {
    const { trans, send } = this._options;
    const label = child(bar, 'label', 'cellmill-detail-priority');
    label.append(trans.__('Priority'));
    const field = document.createElement('input');
    field.type = 'number';
    field.min = '-100';
    field.max = '100';
    field.value = String(detail.priority ?? 0);
    field.title = trans.__('From -100 to 100; larger ones run first');
    field.dataset.act = 'priority';
    field.addEventListener('change', () => {
      const priority = Math.max(-100, Math.min(100, Math.round(field.valueAsNumber)));
      if (Number.isFinite(priority)) {
        field.blur();
        send({ cellmill: VERSION, kind: 'set-priority', task: detail.task, run: null, priority });
      }
    });
    label.append(field);
  }

  private _facts(detail: TaskDetail): void {
    const { trans } = this._options;
    if (detail.number === 0) {
      const text = this._recorded
        ? trans.__('The recording holds nothing of this task up to this moment.')
        : trans.__('Nothing is known of this task any more: the latest 262,144 are kept.');
      child(this._root, 'p', 'cellmill-message').textContent = text;
      return;
    }
    if (detail.why !== '') {
      const title = detail.state === 'stopping' ? trans.__('Now') : trans.__('Why it waits');
      this._part(title, 'cellmill-why').textContent = detail.why;
    }
    if (detail.error !== '') {
      const part = this._part(trans.__('Error'), 'cellmill-detail-error');
      part.textContent = `${detail.error}: ${detail.message}`;
    }
    if (detail.result !== null) {
      this._code(trans.__('Result'), detail.result, 'cellmill-detail-result');
    }
    if (this._recorded && detail.attempts.length === 0) {
      const text = trans.__(
        'A recording tells the journey of a task, and why it waited, when it is over.'
      );
      child(this._root, 'p', 'cellmill-note').textContent = text;
      return;
    }
    const [latest] = detail.attempts;
    if (latest !== undefined && latest.stamps.filter(stamp => stamp >= 0).length > 1) {
      drawStages(this._part(trans.__('Journey'), 'cellmill-detail-stages'), trans, latest);
    }
    this._code(
      trans.__('Arguments'),
      detail.arguments ?? trans.__('not kept of a task that went well'),
      'cellmill-detail-arguments'
    );
    if (detail.traceback !== '') {
      this._code(trans.__('Traceback'), detail.traceback, 'cellmill-detail-traceback');
    }
    if (detail.output !== '') {
      this._code(trans.__('Output'), detail.output, 'cellmill-detail-output');
    }
    this._rest(detail);
  }

  private _rest(detail: TaskDetail): void {
    const { trans } = this._options;
    const list = child(this._root, 'dl', 'cellmill-counts cellmill-detail-rest');
    const fact = (name: string, value: string): void => {
      const row = child(list, 'div', 'cellmill-count');
      child(row, 'dt', 'cellmill-count-name').textContent = name;
      child(row, 'dd', '').textContent = value;
    };
    const [latest] = detail.attempts;
    if (latest !== undefined) {
      fact(trans.__('Attempt'), String(latest.attempt));
      if (latest.worker !== null) {
        fact(trans.__('Worker'), String(latest.worker));
      }
    }
    if (detail.memory !== null) {
      fact(trans.__('Peak memory'), `${count(detail.memory / 1e6)} MB`);
    }
    if (detail.declared !== null) {
      fact(trans.__('Declared memory'), bytes(detail.declared));
    }
    const again = detail.reruns[detail.reruns.length - 1];
    if (again !== undefined) {
      const link = button(this._root, 'cellmill-link', () => this._options.open(again, null));
      link.dataset.act = 'again';
      link.textContent = trans.__('Show the latest run again');
    }
    if (detail.can.includes('debug')) {
      this._debug(detail);
    }
  }

  /** Draw the line that starts the debugger, to copy or to run. */
  private _debug(detail: TaskDetail): void {
    const { trans, runLine } = this._options;
    const line = debugLine(detail.number, detail.element);
    const part = this._part(
      trans.__('Run again here, under the debugger'),
      'cellmill-detail-debug'
    );
    child(part, 'code', 'cellmill-code').textContent = line;
    if (runLine !== undefined) {
      const run = button(part, 'cellmill-button', () => runLine(line));
      run.dataset.act = 'debug';
      setText(run, trans.__('Debug in a new cell'));
    }
  }

  private _part(title: string, className: string): HTMLElement {
    child(this._root, 'h4', 'cellmill-detail-name').textContent = title;
    return child(this._root, 'div', className);
  }

  private _code(title: string, text: string, className: string): void {
    child(this._root, 'h4', 'cellmill-detail-name').textContent = title;
    const block = child(this._root, 'pre', `cellmill-pre ${className}`);
    block.tabIndex = 0;
    block.setAttribute('aria-label', title);
    block.textContent = text;
  }

  private readonly _options: DetailOptions;
  private readonly _root: HTMLElement;
  private _drawn = '';
  private _recorded = false;
}
