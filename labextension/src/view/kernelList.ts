/** Lists the open notebooks and consoles whose kernels have Cellmill; choosing one brings it to the front. */

import { lost, outstanding, raised, ran } from '../model/counts';
import type { Presence } from '../model/presence';
import type { Counts, TimeLeft } from '../protocol/messages';
import { count, percent } from './format';
import { elapsedText, leftText } from './timeLeft';
import type { Translator } from './translator';

/** The attribute of a line that has the id of its notebook. */
export const KERNEL_ATTRIBUTE = 'data-cellmill-kernel';

/** One line of the list. */
export interface KernelLine {
  readonly id: string;
  readonly title: string;
  readonly current: boolean;
  readonly presence: Presence;
  readonly counts: Counts | null;
  readonly left: TimeLeft | null;
  /** seconds of the whole piece of work */
  readonly elapsed: number;
}

/** Lines are buttons, so that the keyboard reaches them. */
export class KernelListView {
  constructor(parent: HTMLElement, trans: Translator, choose: (id: string) => void) {
    this._trans = trans;
    this._choose = choose;
    this._root = document.createElement('nav');
    this._root.className = 'cellmill-kernels';
    this._root.setAttribute('aria-label', trans.__('Kernels with Cellmill'));
    const heading = document.createElement('h2');
    heading.className = 'cellmill-title';
    heading.textContent = trans.__('Kernels with Cellmill');
    this._list = document.createElement('ul');
    this._root.append(heading, this._list);
    parent.append(this._root);
  }

  /** Draw a line for each kernel that has Cellmill. */
  draw(lines: readonly KernelLine[]): void {
    const shown = lines.filter(({ presence }) => presence === 'loaded' || presence === 'live');
    this._root.hidden = shown.length === 0;
    const ids = JSON.stringify(shown.map(line => line.id));
    if (ids !== this._ids) {
      this._ids = ids;
      this._list.replaceChildren(...shown.map(line => this._item(line.id)));
    }
    shown.forEach((line, index) => this._update(this._list.children[index], line));
  }

  dispose(): void {
    this._root.remove();
  }

  private _item(id: string): HTMLElement {
    const item = document.createElement('li');
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'cellmill-kernel';
    button.setAttribute(KERNEL_ATTRIBUTE, id);
    const name = document.createElement('span');
    name.className = 'cellmill-kernel-name';
    const state = document.createElement('span');
    state.className = 'cellmill-kernel-state';
    button.append(name, state);
    button.addEventListener('click', () => this._choose(id));
    item.append(button);
    return item;
  }

  private _update(item: Element | undefined, line: KernelLine): void {
    const button = item?.firstElementChild;
    const [name, state] = button?.children ?? [];
    if (button === null || button === undefined || name === undefined || state === undefined) {
      return;
    }
    button.setAttribute('aria-current', String(line.current));
    const { counts, left, elapsed } = line;
    const parts: string[] = [];
    if (counts !== null && counts.total > 0) {
      const running = outstanding(counts);
      parts.push(running ? percent(ran(counts), counts.total) : endOf(counts, this._trans));
      parts.push(elapsedText(elapsed, running, this._trans));
      parts.push(...(left === null ? [] : [leftText(left, this._trans)]));
    }
    const text = parts.length > 0 ? parts.join(' · ') : this._trans.__('no tasks');
    if (name.textContent !== line.title) {
      name.textContent = line.title;
      button.setAttribute('title', line.title);
    }
    if (state.textContent !== text) {
      state.textContent = text;
    }
  }

  private readonly _trans: Translator;
  private readonly _choose: (id: string) => void;
  private readonly _root: HTMLElement;
  private readonly _list: HTMLElement;
  private _ids = '';
}

/** How a piece of work that is over came out, in a word or two. */
function endOf(counts: Counts, trans: Translator): string {
  if (counts.failed > 0) {
    const parts = [
      raised(counts) > 0 ? trans.__('%1 failed', count(raised(counts))) : '',
      lost(counts) > 0 ? trans.__('%1 lost', count(lost(counts))) : ''
    ];
    return parts.filter(part => part !== '').join(', ');
  }
  return counts.cancelled > 0
    ? trans.__('%1 cancelled', count(counts.cancelled))
    : trans.__('done');
}
