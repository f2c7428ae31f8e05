/** Where dashboards are in JupyterLab: the side panel, the main area, the status bar, and the restored layout. */

import type { ILabShell, ILayoutRestorer, JupyterFrontEnd } from '@jupyterlab/application';
import { WidgetTracker } from '@jupyterlab/apputils';
import type { IStatusBar } from '@jupyterlab/statusbar';
import type { TranslationBundle } from '@jupyterlab/translation';

import type { Cells } from './cells/cells';
import { OPEN_DASHBOARD, OPEN_IN_MAIN, type DashboardHost } from './commands';
import { MainView } from './mainView';
import { CellmillPanel } from './panel';
import type { Entry, Sessions } from '../connection/sessions';
import type { Settings } from './settings';
import { StatusItem } from './statusItem';

/** The parts of JupyterLab that the dashboards need. */
export interface ShellOptions {
  readonly app: JupyterFrontEnd;
  /** JupyterLab's shell with its main area; null in Notebook, whose windows show one document */
  readonly labShell: ILabShell | null;
  readonly sessions: Sessions;
  readonly settings: Settings;
  /** what is shown at the cells of notebooks */
  readonly cells: Cells;
  readonly trans: TranslationBundle;
}

/** Makes the dashboards, and decides which one and which notebook a command is for. */
export class Shell implements DashboardHost {
  constructor(options: ShellOptions) {
    this._options = options;
    this.trans = options.trans;
    const { app, sessions } = options;
    this._panel = new CellmillPanel({
      ...options,
      cells: this,
      activate: widget => app.shell.activateById(widget.id),
      openWide: this.openInMain
    });
    app.shell.add(this._panel, 'right', { rank: 700, type: 'Cellmill' });
    sessions.changed.connect(this._openByItself, this);
  }

  readonly trans: TranslationBundle;

  readonly withPath = (path: string): Entry | null => this._options.sessions.withPath(path);

  readonly withId = (id: string): Entry | null => this._options.sessions.withId(id);

  /** The kernel of the dashboard in front, else that of the notebook that is, or last was, in front. */
  readonly meant = (): Entry | null => {
    const front = this._options.app.shell.currentWidget;
    return front instanceof MainView ? front.entry : this._options.sessions.current;
  };

  readonly show = (entry: Entry): void => this._options.app.shell.activateById(entry.widget.id);

  readonly hasCell = (entry: Entry, run: number): boolean => this._options.cells.has(entry, run);

  readonly showCell = (entry: Entry, run: number): void => {
    this.show(entry);
    this._options.cells.show(entry, run);
  };

  /** Show the dashboard. If it is shown already, toggle the keyboard's focus between it and the notebook. */
  readonly open = (tab: string, run: number | null): void => {
    const { app, sessions, settings } = this._options;
    const current = sessions.current;
    if (settings.values.place === 'main' && this.openInMain !== null && current !== null) {
      this.openInMain(current.widget.sessionContext.path, tab, run);
      return;
    }
    const panel = this._panel;
    const wasVisible = panel.isVisible;
    if (wasVisible && panel.node.contains(document.activeElement) && tab === '' && run === null) {
      if (current !== null) {
        this.show(current);
      }
      return;
    }
    app.shell.activateById(panel.id);
    panel.showTab(tab);
    panel.showRun(run);
    if (wasVisible) {
      panel.focus();
    }
  };

  /** Show the dashboard of one notebook beside it. */
  get openInMain(): ((path: string, tab?: string, run?: number | null) => void) | null {
    return this._options.labShell === null ? null : this._openInMain;
  }

  /** Restore the dashboards of the last session's layout. */
  restore(restorer: ILayoutRestorer | null): void {
    restorer?.add(this._panel, this._panel.id);
    if (this._options.labShell !== null) {
      void restorer?.restore(this._views, {
        command: OPEN_IN_MAIN,
        args: view => ({ path: view.path }),
        name: view => view.path
      });
    }
  }

  /** Add the item to the status bar, if there is one. */
  addStatus(statusBar: IStatusBar | null): void {
    if (statusBar === null) {
      return;
    }
    const { app, labShell } = this._options;
    const item = new StatusItem({
      ...this._options,
      front: () => this._front(),
      open: () => void app.commands.execute(OPEN_DASHBOARD)
    });
    labShell?.currentChanged.connect(() => item.update());
    statusBar.registerStatusItem('cellmill:status', {
      item,
      align: 'left',
      rank: 3,
      isActive: () => item.active,
      activeStateChanged: item.activeChanged
    });
  }

  /** The kernel of what is in front: a notebook, a console or a dashboard; null for anything else. */
  private _front(): Entry | null {
    const front = this._options.app.shell.currentWidget;
    const meant = this.meant();
    return front instanceof MainView || front === meant?.widget ? meant : null;
  }

  private readonly _openInMain = (path: string, tab = '', run: number | null = null): void => {
    const { app } = this._options;
    let view = this._views.find(one => one.path === path);
    if (view === undefined) {
      view = new MainView({ ...this._options, cells: this, path });
      void this._views.add(view);
      const made = view;
      view.title.changed.connect(() => void this._views.save(made)); // its notebook may have been renamed
      const ref = this.withPath(path)?.widget.id;
      app.shell.add(view, 'main', ref === undefined ? {} : { mode: 'split-right', ref });
    }
    app.shell.activateById(view.id);
    view.showTab(tab);
    view.showRun(run);
  };

  /** Open the dashboard when tasks begin in the notebook in front, once for each piece of work. The focus stays. */
  private _openByItself(): void {
    const { settings } = this._options;
    const entry = this._front();
    const snapshot = entry?.link.model.snapshot ?? null;
    if (entry === null || snapshot === null || snapshot.counts.total === 0) {
      return;
    }
    const before = this._seen.get(entry);
    this._seen.set(entry, snapshot.work);
    // Short work may be over at its first frame. Work that was over when the page connected is not new.
    const begins = before === undefined ? entry.link.model.busy : before !== snapshot.work;
    if (!begins || !settings.values.openByItself) {
      return;
    }
    const focused = document.activeElement;
    if (settings.values.place === 'main' && this.openInMain !== null) {
      this.openInMain(entry.widget.sessionContext.path);
    } else if (!this._panel.isVisible) {
      this._options.app.shell.activateById(this._panel.id);
    }
    if (focused instanceof HTMLElement) {
      focused.focus();
    }
  }

  private readonly _options: ShellOptions;
  private readonly _panel: CellmillPanel;
  private readonly _views = new WidgetTracker<MainView>({ namespace: 'cellmill-dashboards' });
  /** the last known piece of work of each kernel */
  private readonly _seen = new WeakMap<Entry, number>();
}
