/** The line in the header that says that tasks have failed or were lost, and leads to why. */

import { lost, raised } from '../model/counts';
import type { Counts } from '../protocol/messages';
import { button, setName, setText } from './dom';
import { count } from './format';
import type { Translator } from './translator';

export class FailedLine {
  /** `open` shows the failures. */
  constructor(parent: HTMLElement, trans: Translator, open: () => void) {
    this._trans = trans;
    this._button = button(parent, 'cellmill-failed-line', open);
    this._button.hidden = true;
  }

  /** Draw the numbers of tasks that failed and that were lost; the line is hidden if there are none. */
  draw(counts: Counts): void {
    const trans = this._trans;
    const failed = raised(counts);
    const gone = lost(counts);
    this._button.hidden = counts.failed === 0;
    const parts = [
      failed > 0 ? trans._n('%2 task failed', '%2 tasks failed', failed, count(failed)) : '',
      gone > 0 ? trans._n('%2 task lost', '%2 tasks lost', gone, count(gone)) : ''
    ];
    const text = parts.filter(part => part !== '').join(', ');
    setText(this._button, text);
    setName(this._button, trans.__('%1: show the errors', text));
  }

  private readonly _trans: Translator;
  private readonly _button: HTMLButtonElement;
}
