/** Runs one line in the notebook or console in front, as if a person had typed it. */

import { ConsolePanel } from '@jupyterlab/console';
import { NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import type { Widget } from '@lumino/widgets';

/** In a notebook a new cell below the one in front; nothing where there is neither. */
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
