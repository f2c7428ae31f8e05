/** What is shown at the cells of one notebook: badges, and marks on the lines at which tasks failed. */

import type { Cell, CodeCell } from '@jupyterlab/cells';
import type { CodeMirrorEditor } from '@jupyterlab/codemirror';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { KernelMessage } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';

import type { KernelLink } from '../../connection/connection';
import type { CellRuns, FailedLine } from '../../protocol/messages';
import { Drawing } from '../../view/drawing';
import { count } from '../../view/format';
import { Badge } from './badge';
import { Executions, digest } from './executions';
import { failingLines, type FailingLine } from './lines';
import { mark } from './marks';

/** Milliseconds between pictures; the kernel tells of cells about three times a second. */
const INTERVAL = 200;
/** The most failures that the title of a mark names. */
const MOST_NAMED = 3;

/** What is needed beside the notebook. */
export interface NotebookCellsOptions {
  readonly panel: NotebookPanel;
  readonly link: KernelLink;
  readonly trans: TranslationBundle;
  /** Show the runs of a cell of this notebook in a dashboard. */
  readonly open: (cell: CellRuns) => void;
}

/** The elements are beside the cells' own, and nothing of them is saved. */
export class NotebookCells implements IDisposable {
  constructor(options: NotebookCellsOptions) {
    this._options = options;
    const { panel, link } = options;
    link.executing.connect(this._onExecuting, this);
    link.changed.connect(this._ask, this);
    panel.content.modelContentChanged.connect(this._ask, this);
    panel.content.cellInViewportChanged.connect(this._ask, this);
    this._ask();
  }

  /** Whether the cell that began a run is there, and has not been run again. */
  has(run: number): boolean {
    return this._find(run) !== null;
  }

  /** Scroll to the cell that began a run, and select it. */
  async show(run: number): Promise<void> {
    const cell = this._find(run);
    if (cell === null) {
      return;
    }
    const { content } = this._options.panel;
    content.deselectAll();
    content.activeCellIndex = content.widgets.indexOf(cell);
    content.mode = 'command';
    await content.scrollToCell(cell, 'smart');
    content.activate();
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  dispose(): void {
    if (this._disposed) {
      return;
    }
    this._disposed = true;
    this._drawing.stop();
    Signal.disconnectReceiver(this);
    this._badges.forEach(badge => badge.dispose());
    this._badges.clear();
  }

  private _ask(): void {
    this._drawing.ask();
  }

  /** A request begins to be executed: note the cell that waits for its reply. */
  private _onExecuting(
    _: KernelLink,
    { request, code }: { readonly request: string; readonly code: string }
  ): void {
    const cell = this._codeCells().find(one => requestOf(one) === request);
    if (cell !== undefined) {
      this._executions()?.note(cell.model.id, request, code);
      this._ask();
    }
  }

  /** The executions of the present kernel. */
  private _executions(): Executions | null {
    const kernel = this._options.link.kernelId;
    if (kernel !== this._kernel) {
      this._kernel = kernel;
      this._known = kernel === null ? null : new Executions(window.sessionStorage, kernel);
    }
    return this._known;
  }

  private _codeCells(): CodeCell[] {
    const { content } = this._options.panel;
    return content.widgets.filter((one): one is CodeCell => one.model.type === 'code');
  }

  private _find(run: number): Cell | null {
    const request = this._options.link.model.cells.ofRun(run)?.request;
    const id = request === undefined ? null : (this._executions()?.cellOf(request) ?? null);
    return this._codeCells().find(one => one.model.id === id) ?? null;
  }

  /** Draw; the picture changes with messages alone. */
  private _draw(): boolean {
    if (this._disposed || this._options.panel.isDisposed) {
      return false;
    }
    const { cells } = this._options.link.model;
    const executions = this._executions();
    const present = this._codeCells().map(cell => {
      const execution = executions?.of(cell.model.id);
      return { cell, execution, runs: cells.all.get(execution?.request ?? '') };
    });
    const shown = present.flatMap(({ runs }) => (runs === undefined ? [] : [runs]));
    const failing = new Set(shown.flatMap(runs => runs.lines.map(line => line.request)));
    const gone = new Map(this._badges);
    for (const { cell, execution, runs } of present) {
      const wanted = runs !== undefined || failing.has(execution?.request ?? '');
      const source = wanted ? cell.model.sharedModel.getSource() : '';
      const edited = wanted && digest(source) !== execution?.digest;
      if (runs !== undefined) {
        gone.delete(cell);
        this._badge(cell).draw(runs, edited);
      }
      this._mark(
        cell,
        wanted && !edited ? failingLines(source, execution?.request ?? '', shown) : []
      );
    }
    for (const [cell, badge] of gone) {
      badge.dispose();
      this._badges.delete(cell);
    }
    return false;
  }

  private _badge(cell: CodeCell): Badge {
    let badge = this._badges.get(cell);
    if (badge === undefined) {
      badge = new Badge(this._options.trans, runs => this._options.open(runs));
      this._badges.set(cell, badge);
    }
    if (badge.node.parentElement !== cell.node) {
      cell.node.append(badge.node);
    }
    return badge;
  }

  private _mark(cell: CodeCell, lines: readonly FailingLine[]): void {
    const editor = cell.editor as Partial<CodeMirrorEditor> | null;
    if (editor?.editor !== undefined) {
      mark(
        editor.editor,
        lines.map(({ index, failures }) => ({ index, title: this._title(failures) }))
      );
    }
  }

  private _title(failures: readonly FailedLine[]): string {
    const { trans } = this._options;
    return failures
      .slice(0, MOST_NAMED)
      .map(({ count: tasks, error, message }) =>
        trans._n(
          '%2 task failed here: %3',
          '%2 tasks failed here: %3',
          tasks,
          count(tasks),
          message === '' ? error : `${error}: ${message}`
        )
      )
      .join('\n');
  }

  private readonly _options: NotebookCellsOptions;
  private readonly _badges = new Map<CodeCell, Badge>();
  private readonly _drawing = new Drawing(
    () => this._draw(),
    () => INTERVAL
  );
  private _kernel: string | null = null;
  private _known: Executions | null = null;
  private _disposed = false;
}

/** The request that a cell was executed by last, since the page was loaded; undefined if there was none. */
function requestOf(cell: CodeCell): string | undefined {
  const area = cell.outputArea as { readonly future?: { readonly msg: KernelMessage.IMessage } };
  return area.future?.msg.header.msg_id;
}
