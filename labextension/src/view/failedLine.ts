/** The line in the header that says that tasks have failed, and leads to why. */

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

  /** Draw the number of tasks that failed; the line is hidden if there are none. */
  draw(failed: number): void {
    const trans = this._trans;
    this._button.hidden = failed === 0;
    const text = trans._n('%2 task failed', '%2 tasks failed', failed, count(failed));
    setText(this._button, text);
    setName(this._button, trans.__('%1: show the errors', text));
  }

  private readonly _trans: Translator;
  private readonly _button: HTMLButtonElement;
}
