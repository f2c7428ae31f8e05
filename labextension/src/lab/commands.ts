/** The extension's commands: for the palette, menus, shortcuts, the context menu and other extensions. */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { ICommandPalette } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import { askToNotify, canNotify, mayNotify } from './cells/notify';
import { millIcon } from './icon';
import { VERSION, type Command } from '../protocol/messages';
import type { Entry } from '../connection/sessions';
import { KERNEL_ATTRIBUTE } from '../view/kernelList';

export const OPEN_DASHBOARD = 'cellmill:open-dashboard';
export const OPEN_IN_MAIN = 'cellmill:open-dashboard-in-main';
export const SHOW_NOTEBOOK = 'cellmill:show-notebook';
export const CANCEL_RUN = 'cellmill:cancel-run';
export const PAUSE_RUN = 'cellmill:pause-run';
export const RESUME_RUN = 'cellmill:resume-run';
export const MORE_WORKERS = 'cellmill:more-workers';
export const FEWER_WORKERS = 'cellmill:fewer-workers';
export const SHOW_CELL = 'cellmill:show-cell';
export const ALLOW_NOTIFICATIONS = 'cellmill:allow-notifications';

/** What the commands act on. */
export interface DashboardHost {
  readonly trans: TranslationBundle;
  /** the open notebook or console of this path */
  readonly withPath: (path: string) => Entry | null;
  /** the one whose widget has this id */
  readonly withId: (id: string) => Entry | null;
  /** the one that a command without arguments is for */
  readonly meant: () => Entry | null;
  /** Show the dashboard where the settings say, with one of its tabs if `tab` is not empty, and of one `run` if that
   * is not null. */
  readonly open: (tab: string, run: number | null) => void;
  /** Scroll to the cell that began a run. */
  readonly showCell: (entry: Entry, run: number) => void;
  /** Whether its cell is in the notebook. */
  readonly hasCell: (entry: Entry, run: number) => boolean;
  /** Show the dashboard of one notebook in the main area; null where there is no such area. */
  readonly openInMain: ((path: string) => void) | null;
  /** Bring a notebook to the front. */
  readonly show: (entry: Entry) => void;
}

type Arguments = ReadonlyPartialJSONObject;

const HERE = {
  type: 'boolean',
  description: 'Whether the line of the kernel list under the context menu is meant'
};

/** Register the commands, and list them in the palette where there is one. */
export function addCommands(
  app: JupyterFrontEnd,
  palette: ICommandPalette | null,
  host: DashboardHost
): void {
  new Registrar(app, palette, host).addAll();
}

class Registrar {
  constructor(
    private readonly _app: JupyterFrontEnd,
    private readonly _palette: ICommandPalette | null,
    private readonly _host: DashboardHost
  ) {}

  addAll(): void {
    this._addOpening();
    this._addControl();
    this._addWorkers();
    this._addCells();
  }

  private _addOpening(): void {
    const { _host: host } = this;
    const { trans } = host;
    const tab = { type: 'string', description: 'Id of the tab to show, e.g. workers' };
    this._add(OPEN_DASHBOARD, {
      label: trans.__('Cellmill Tasks'),
      caption: trans.__('Show the tasks of the active notebook while they run'),
      icon: true,
      properties: {
        tab,
        run: { type: 'integer', description: 'Id of the run to show; without it all tasks' }
      },
      execute: args =>
        host.open(
          typeof args.tab === 'string' ? args.tab : '',
          typeof args.run === 'number' ? args.run : null
        )
    });
    const path = { type: 'string', description: 'Whose dashboard; without it the active one' };
    this._add(OPEN_IN_MAIN, {
      label: trans.__('Cellmill Tasks in a Tab of Their Own'),
      caption: trans.__('Show the tasks of this notebook in the main area'),
      icon: true,
      properties: { path, here: HERE },
      isVisible: () => host.openInMain !== null,
      isEnabled: args => typeof args.path === 'string' || this._target(args) !== null,
      execute: args => {
        const where = args.path ?? this._target(args)?.widget.sessionContext.path;
        if (typeof where === 'string') {
          host.openInMain?.(where);
        }
      }
    });
    this._add(SHOW_NOTEBOOK, {
      label: trans.__('Show Its Notebook'),
      caption: trans.__('Bring the notebook of this kernel to the front'),
      properties: { here: HERE },
      isEnabled: args => this._target(args) !== null,
      execute: args => {
        const entry = this._target(args);
        if (entry !== null) {
          host.show(entry);
        }
      }
    });
  }

  private _addControl(): void {
    const { trans } = this._host;
    const run = { type: 'integer', description: 'Its id; without it every run is cancelled' };
    this._add(CANCEL_RUN, {
      label: trans.__('Cancel Cellmill Tasks'),
      caption: trans.__('Cancel what has not begun and interrupt what runs in the active notebook'),
      properties: { run, here: HERE },
      isEnabled: args => this._target(args)?.link.model.busy ?? false,
      execute: args => {
        const id = typeof args.run === 'number' ? args.run : null;
        this._send(args, { cellmill: VERSION, kind: 'cancel-run', run: id });
      }
    });
    this._add(PAUSE_RUN, {
      label: trans.__('Pause Cellmill Tasks'),
      caption: trans.__('Send no more tasks to workers; what runs goes on'),
      properties: { here: HERE },
      isEnabled: args => this._paused(args) === false,
      execute: args => this._send(args, { cellmill: VERSION, kind: 'pause' })
    });
    this._add(RESUME_RUN, {
      label: trans.__('Resume Cellmill Tasks'),
      caption: trans.__('Send tasks to workers again'),
      properties: { here: HERE },
      isEnabled: args => this._paused(args) === true,
      execute: args => this._send(args, { cellmill: VERSION, kind: 'resume' })
    });
  }

  private _addWorkers(): void {
    const { trans } = this._host;
    this._add(MORE_WORKERS, {
      label: trans.__('One Cellmill Worker More'),
      caption: trans.__('Start another worker process for the active notebook'),
      properties: { here: HERE },
      isEnabled: args => this._wanted(args) > 0,
      execute: args => this._resize(args, 1)
    });
    this._add(FEWER_WORKERS, {
      label: trans.__('One Cellmill Worker Fewer'),
      caption: trans.__('End a worker process as soon as its task is done'),
      properties: { here: HERE },
      isEnabled: args => this._wanted(args) > 1,
      execute: args => this._resize(args, -1)
    });
  }

  private _addCells(): void {
    const { _host: host } = this;
    const { trans } = host;
    this._add(SHOW_CELL, {
      label: trans.__('Show the Cell of a Cellmill Run'),
      caption: trans.__('Scroll to the cell that began the run, and select it'),
      properties: { run: { type: 'integer', description: 'Id of the run' } },
      listed: false,
      isEnabled: ({ run }) => {
        const entry = host.meant();
        return entry !== null && typeof run === 'number' && host.hasCell(entry, run);
      },
      execute: ({ run }) => {
        const entry = host.meant();
        if (entry !== null && typeof run === 'number') {
          host.showCell(entry, run);
        }
      }
    });
    this._add(ALLOW_NOTIFICATIONS, {
      label: trans.__('Notify When Long Cellmill Runs End'),
      caption: trans.__(
        'Ask the browser for the permission to notify you; the settings say what is long'
      ),
      properties: {},
      isEnabled: () => canNotify(),
      isToggled: () => mayNotify(),
      execute: () => void askToNotify()
    });
  }

  /** Register one, and list it in the palette. */
  private _add(
    command: string,
    options: {
      label: string;
      caption: string;
      icon?: boolean;
      properties: Record<string, { type: string; description: string }>;
      isEnabled?: (args: Arguments) => boolean;
      isVisible?: () => boolean;
      isToggled?: () => boolean;
      listed?: boolean;
      execute: (args: Arguments) => void;
    }
  ): void {
    const { properties, icon, listed, ...rest } = options;
    this._app.commands.addCommand(command, {
      ...rest,
      describedBy: { args: { type: 'object', properties } },
      ...(icon === true ? { icon: millIcon } : {})
    });
    if (listed !== false) {
      this._palette?.addItem({ command, category: this._host.trans.__('Cellmill') });
    }
  }

  /** The entry that a command is for: that of the line under the context menu, else the one in front. */
  private _target(args: Arguments): Entry | null {
    if (args.here !== true) {
      return this._host.meant();
    }
    const line = this._app.contextMenuHitTest(node => node.hasAttribute(KERNEL_ATTRIBUTE));
    return this._host.withId(line?.getAttribute(KERNEL_ATTRIBUTE) ?? '');
  }

  private _paused(args: Arguments): boolean | undefined {
    return this._target(args)?.link.model.snapshot?.paused;
  }

  private _wanted(args: Arguments): number {
    return this._target(args)?.link.model.snapshot?.wanted ?? 0;
  }

  private _resize(args: Arguments, by: number): void {
    const count = Math.max(1, this._wanted(args) + by);
    this._send(args, { cellmill: VERSION, kind: 'set-workers', count });
  }

  private _send(args: Arguments, command: Command): void {
    this._target(args)?.link.send(command);
  }
}
