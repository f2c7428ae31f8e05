/** All failures, grouped: one line for each exception type and traceback. */

import type { FailureGroup } from '../../protocol/messages';
import { button, child, setText } from '../dom';
import { count } from '../format';
import type { Translator } from '../translator';

export class FailuresView {
  constructor(
    parent: HTMLElement,
    trans: Translator,
    open: (task: string, element: number) => void
  ) {
    this._trans = trans;
    this._open = open;
    this._list = child(parent, 'ul', 'cellmill-failures');
    this._list.setAttribute('aria-label', trans.__('Failures by kind'));
  }

  draw(groups: readonly FailureGroup[]): void {
    this._list.hidden = groups.length === 0;
    while (this._list.children.length > groups.length) {
      this._list.lastElementChild?.remove();
    }
    this._groups = groups;
    groups.forEach((group, index) => {
      const line = this._list.children[index] ?? this._add(index);
      const [times, words] = line.firstElementChild?.children ?? [];
      const [name, message] = words?.children ?? [];
      if (times !== undefined && name !== undefined && message !== undefined) {
        setText(times, `${count(group.count)} ×`);
        setText(name, `${group.type} · ${group.function}`);
        setText(message, group.message);
      }
      line.firstElementChild?.setAttribute(
        'title',
        this._trans.__('%1: show the first of them', group.message)
      );
    });
  }

  private _add(index: number): Element {
    const line = child(this._list, 'li', '');
    const head = button(line, 'cellmill-failure', () => {
      const group = this._groups[index];
      const [task, element] = [group?.tasks[0], group?.elements[0]];
      if (task !== undefined && element !== undefined) {
        this._open(task, element);
      }
    });
    child(head, 'span', 'cellmill-failure-count');
    const words = child(head, 'span', 'cellmill-failure-words');
    child(words, 'span', 'cellmill-failure-type');
    child(words, 'span', 'cellmill-failure-message');
    return line;
  }

  private readonly _trans: Translator;
  private readonly _open: (task: string, element: number) => void;
  private readonly _list: HTMLElement;
  private _groups: readonly FailureGroup[] = [];
}
