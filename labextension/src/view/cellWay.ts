/** The way from runs to the cells that began them, and the button for it. */

import { button, setName, setText } from './dom';
import type { Translator } from './translator';

export interface CellWay {
  /** whether the cell that began a run is in the notebook */
  readonly has: (run: number) => boolean;
  /** scroll to it, and select it */
  readonly show: (run: number) => void;
}

/** Append a button that shows the cell of the run that `run` returns when it is pressed. */
export function cellButton(
  parent: HTMLElement,
  way: CellWay,
  run: () => number | null
): HTMLButtonElement {
  const made = button(parent, 'cellmill-button cellmill-to-cell', () => {
    const id = run();
    if (id !== null) {
      way.show(id);
    }
  });
  setText(made, '↖');
  return made;
}

/** Name the button, and hide it where the cell is not there any more. */
export function drawCellButton(
  drawn: HTMLButtonElement,
  there: boolean,
  title: string,
  trans: Translator
): void {
  drawn.hidden = !there;
  setName(drawn, trans.__('Show the cell of %1', title));
}
