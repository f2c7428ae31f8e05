/** Reads the theme's colours for the canvas from hidden elements, where the style sheet sets them. */

import { child } from '../dom';
import type { Palette } from './painter';

/** Number of functions that have a colour of their own. */
export const COLOURS = 8;

export class Colours {
  /** The other colours of the picture are those of `frame` and `note`. */
  constructor(parent: HTMLElement, frame: HTMLElement, note: HTMLElement) {
    this._frame = frame;
    this._note = note;
    this._probes = child(parent, 'span', 'cellmill-palette');
    this._probes.setAttribute('aria-hidden', 'true');
    for (let i = 0; i <= COLOURS; i++) {
      child(this._probes, 'i', `cellmill-function-${i < COLOURS ? i : 'others'}`);
    }
  }

  /** The colours of the present theme. */
  read(): Palette {
    const style = getComputedStyle(this._frame);
    const colours = Array.from(this._probes.children).map(
      probe => getComputedStyle(probe).backgroundColor
    );
    return {
      text: style.color,
      faint: getComputedStyle(this._note).color,
      line: style.borderTopColor,
      stripe: style.outlineColor,
      error: style.caretColor,
      lost: style.columnRuleColor,
      others: colours[COLOURS] ?? style.color,
      functions: colours.slice(0, COLOURS)
    };
  }

  private readonly _frame: HTMLElement;
  private readonly _note: HTMLElement;
  private readonly _probes: HTMLElement;
}
