import {
  ILabShell,
  ILayoutRestorer,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { IConsoleTracker } from '@jupyterlab/console';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { ILauncher } from '@jupyterlab/launcher';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { OPEN_DASHBOARD, addCommands } from './lab/commands';
import { addExamples } from './lab/launcher';
import { addRecords } from './lab/recordView';
import { drawSavedDashboards } from './lab/savedDashboard';
import { Cells } from './lab/cells/cells';
import { Endings } from './lab/cells/notify';
import { Sessions, type Entry } from './connection/sessions';
import type { CellRuns } from './protocol/messages';
import { Settings } from './lab/settings';
import { Shell } from './lab/shell';

const DASHBOARD = 'cellmill:plugin';

const dashboard: JupyterFrontEndPlugin<void> = {
  id: DASHBOARD,
  description: "Shows a notebook's tasks beside it while they run.",
  autoStart: true,
  requires: [INotebookTracker],
  optional: [
    IConsoleTracker,
    ICommandPalette,
    ILabShell,
    ILayoutRestorer,
    ISettingRegistry,
    IStatusBar,
    ITranslator
  ],
  activate: (
    app: JupyterFrontEnd,
    notebooks: INotebookTracker,
    consoles: IConsoleTracker | null,
    palette: ICommandPalette | null,
    labShell: ILabShell | null,
    restorer: ILayoutRestorer | null,
    registry: ISettingRegistry | null,
    statusBar: IStatusBar | null,
    translator: ITranslator | null
  ) => {
    const settings = new Settings();
    if (registry !== null) {
      void settings.follow(registry, DASHBOARD).catch((error: unknown) => {
        console.warn('cellmill: the settings could not be read', error);
      });
    }
    const sessions = new Sessions(consoles === null ? [notebooks] : [notebooks, consoles]);
    const trans = (translator ?? nullTranslator).load('cellmill');
    const open = (entry: Entry, cell: CellRuns): void => {
      app.shell.activateById(entry.widget.id);
      const run = cell.runs.at(-1);
      void app.commands.execute(OPEN_DASHBOARD, {
        ...(run === undefined ? {} : { run }),
        ...(cell.runs.length > 1 ? { tab: 'runs' } : {})
      });
    };
    const cells = new Cells({ sessions, trans, open });
    new Endings({ sessions, settings, trans, open });
    const shell = new Shell({
      app,
      labShell,
      settings,
      sessions,
      cells,
      trans
    });
    addCommands(app, palette, shell);
    sessions.asked.connect((_, { link, request }) => {
      void app.commands.execute(OPEN_DASHBOARD).then(() => link.answerShown(request));
    });
    drawSavedDashboards(notebooks);
    shell.restore(restorer);
    shell.addStatus(statusBar);
  }
};

const examples: JupyterFrontEndPlugin<void> = {
  id: 'cellmill:examples',
  description: 'Opens copies of the example notebooks from the launcher and the palette.',
  autoStart: true,
  optional: [ICommandPalette, ILauncher, IDefaultFileBrowser, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    palette: ICommandPalette | null,
    launcher: ILauncher | null,
    browser: IDefaultFileBrowser | null,
    translator: ITranslator | null
  ) => {
    const trans = (translator ?? nullTranslator).load('cellmill');
    addExamples(app, { palette, launcher, browser }, trans);
  }
};

const records: JupyterFrontEndPlugin<void> = {
  id: 'cellmill:records',
  description: 'Replays recorded runs that are opened from the file browser.',
  autoStart: true,
  optional: [ITranslator],
  activate: (app: JupyterFrontEnd, translator: ITranslator | null) => {
    addRecords(app, (translator ?? nullTranslator).load('cellmill'));
  }
};

export default [dashboard, examples, records];
