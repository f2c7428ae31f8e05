/** What is shown at the cells of all open notebooks, and the way from a run to its cell. */

import { NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';

import type { Entry, Sessions } from '../../connection/sessions';
import type { CellRuns } from '../../protocol/messages';
import { NotebookCells } from './notebookCells';

/** What it needs from its owner. */
export interface CellsOptions {
  readonly sessions: Sessions;
  readonly trans: TranslationBundle;
  /** Show the runs of a cell in a dashboard. */
  readonly open: (entry: Entry, cell: CellRuns) => void;
}

export class Cells {
  constructor(options: CellsOptions) {
    this._options = options;
    options.sessions.changed.connect(this._follow, this);
    this._follow();
  }

  /** Whether the cell that began a run of this kernel is in its notebook. */
  has(entry: Entry | null, run: number): boolean {
    return (entry && this._notebooks.get(entry)?.has(run)) ?? false;
  }

  /** Scroll to the cell that began a run, and select it. */
  show(entry: Entry | null, run: number): void {
    if (entry !== null) {
      void this._notebooks.get(entry)?.show(run);
    }
  }

  private _follow(): void {
    const { entries } = this._options.sessions;
    for (const entry of entries) {
      const panel = entry.widget;
      if (!this._notebooks.has(entry) && panel instanceof NotebookPanel) {
        const { trans, open } = this._options;
        const { link } = entry;
        const made = new NotebookCells({ panel, link, trans, open: cell => open(entry, cell) });
        this._notebooks.set(entry, made);
      }
    }
    for (const [entry, cells] of this._notebooks) {
      if (!entries.includes(entry)) {
        cells.dispose();
        this._notebooks.delete(entry);
      }
    }
  }

  private readonly _options: CellsOptions;
  private readonly _notebooks = new Map<Entry, NotebookCells>();
}
