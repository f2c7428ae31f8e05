/** The tasks that ran longest, with their arguments; a press on one shows it. */

import type { SlowTask } from '../../protocol/messages';
import { button, child, setText } from '../dom';
import { brief } from '../timeline/axis';
import type { Translator } from '../translator';

export class Slowest {
  constructor(parent: HTMLElement, trans: Translator) {
    this._trans = trans;
    this._element = child(parent, 'section', 'cellmill-slowest');
    const title = child(this._element, 'h3', 'cellmill-faint');
    title.textContent = trans.__('Slowest tasks');
    this._list = child(this._element, 'ol', '');
  }

  draw(tasks: readonly SlowTask[]): void {
    this._element.hidden = tasks.length === 0;
    while (this._list.children.length > tasks.length) {
      this._list.lastElementChild?.remove();
    }
    tasks.forEach((task, index) => {
      const row =
        (this._list.children[index]?.firstElementChild as HTMLElement | undefined) ??
        this._addRow();
      const [time, call] = Array.from(row.children) as HTMLElement[];
      if (time !== undefined && call !== undefined) {
        row.dataset.task = task.task;
        row.dataset.element = task.element === null ? '' : String(task.element);
        row.classList.toggle('cellmill-slow-failed', task.failed);
        setText(time, brief(task.seconds));
        setText(call, this._call(task));
        row.title = `${brief(task.seconds)}: ${this._call(task)}`;
      }
    });
  }

  private _call(task: SlowTask): string {
    const trans = this._trans;
    const call =
      task.arguments === null
        ? trans.__('%1, arguments not kept', task.function)
        : `${task.function}(${task.arguments})`;
    return task.failed ? trans.__('%1, failed', call) : call;
  }

  private _addRow(): HTMLElement {
    const row = button(child(this._list, 'li', ''), 'cellmill-slow', () => {
      const { task, element } = row.dataset;
      const detail = { task, element: element === '' ? null : Number(element) };
      row.dispatchEvent(new CustomEvent('cellmill-task', { bubbles: true, detail }));
    });
    child(row, 'span', 'cellmill-slow-time');
    child(row, 'span', 'cellmill-slow-call');
    return row;
  }

  private readonly _trans: Translator;
  private readonly _element: HTMLElement;
  private readonly _list: HTMLElement;
}
