/** Runs one line of code in the notebook or console in front. */

import { ConsolePanel } from '@jupyterlab/console';
import { NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import type { Widget } from '@lumino/widgets';

/** In a notebook, insert a cell below the active one and run it; do nothing for other widgets. */
export function runLine(widget: Widget | null, line: string): void {
  if (widget instanceof NotebookPanel) {
    const { content, context } = widget;
    NotebookActions.insertBelow(content);
    content.activeCell?.model.sharedModel.setSource(line);
    content.activate();
    void NotebookActions.run(content, context.sessionContext);
  } else if (widget instanceof ConsolePanel) {
    void widget.console.inject(line);
  }
}
