/** All failures, grouped: one line for each exception type and traceback. */

import type { FailureGroup } from '../../protocol/messages';
import { button, child, setText } from '../dom';
import { count } from '../format';
import type { Translator } from '../translator';

export class FailuresView {
  /** `open` is called with the line that is pressed. */
  constructor(parent: HTMLElement, trans: Translator, open: (group: FailureGroup) => void) {
    this._trans = trans;
    this._open = open;
    this._list = child(parent, 'ul', 'cellmill-failures');
    this._list.setAttribute('aria-label', trans.__('Failures by kind'));
  }

  /**
   * Draw the groups; `chosen` is the id of the one whose tasks are listed.
   *
   * A line stays where it is as others come and grow, so that it can be pressed; what is below stays in its place, too,
   * while tasks are listed there.
   */
  draw(arrived: readonly FailureGroup[], chosen: number | null): void {
    const groups = inOrder(arrived, this._groups);
    const release =
      chosen !== null && groups.length !== this._groups.length ? keepBelow(this._list) : null;
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
      const head = line.firstElementChild;
      head?.setAttribute('title', this._trans.__('%1: list these tasks', group.message));
      head?.setAttribute('aria-pressed', String(group.id !== null && group.id === chosen));
    });
    release?.();
    this.focus(this._wanted);
  }

  /** Move the keyboard's focus to the first line, or as soon as there is one. */
  focus(wanted = true): void {
    const first = this._list.querySelector('button');
    this._wanted = wanted && first === null;
    if (wanted && first !== null) {
      first.focus();
      first.scrollIntoView({ block: 'nearest' });
    }
  }

  private _add(index: number): Element {
    const line = child(this._list, 'li', '');
    const head = button(line, 'cellmill-failure', () => {
      const group = this._groups[index];
      if (group !== undefined) {
        this._open(group);
      }
    });
    child(head, 'span', 'cellmill-failure-count');
    const words = child(head, 'span', 'cellmill-failure-words');
    child(words, 'span', 'cellmill-failure-type');
    child(words, 'span', 'cellmill-failure-message');
    return line;
  }

  private readonly _trans: Translator;
  private readonly _open: (group: FailureGroup) => void;
  private readonly _list: HTMLElement;
  private _groups: readonly FailureGroup[] = [];
  private _wanted = false;
}

/** The groups in the order of `shown`, new ones at the end in theirs. */
function inOrder(
  groups: readonly FailureGroup[],
  shown: readonly FailureGroup[]
): readonly FailureGroup[] {
  const places = new Map(shown.map((group, place) => [keyOf(group), place]));
  const placeOf = (group: FailureGroup): number => places.get(keyOf(group)) ?? shown.length;
  return [...groups].sort((one, other) => placeOf(one) - placeOf(other));
}

function keyOf({ id, type, function: name, message }: FailureGroup): string {
  return id === null ? `${type} ${name} ${message}` : String(id);
}

/**
 * Keep what is below an element in its place: the function that is returned scrolls by what the element has grown.
 * Browsers keep the topmost part that is seen in its place, which may be above the element.
 */
function keepBelow(element: HTMLElement): () => void {
  let parent = element.parentElement;
  while (parent !== null && !/auto|scroll/.test(getComputedStyle(parent).overflowY)) {
    parent = parent.parentElement;
  }
  const scroller = parent;
  if (scroller === null) {
    return () => undefined;
  }
  const before = element.offsetHeight;
  scroller.style.overflowAnchor = 'none';
  return () => {
    scroller.scrollTop += element.offsetHeight - before;
    scroller.style.overflowAnchor = '';
  };
}
