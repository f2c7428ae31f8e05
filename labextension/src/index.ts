import {
  ILayoutRestorer,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { IConsoleTracker } from '@jupyterlab/console';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { OPEN_DASHBOARD, addCommands } from './commands';
import { CellmillPanel } from './panel';
import { Sessions } from './sessions';

const plugin: JupyterFrontEndPlugin<void> = {
  id: 'cellmill:plugin',
  description: "Shows a notebook's tasks beside it while they run.",
  autoStart: true,
  requires: [INotebookTracker],
  optional: [IConsoleTracker, ICommandPalette, ILayoutRestorer, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    notebooks: INotebookTracker,
    consoles: IConsoleTracker | null,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
    translator: ITranslator | null
  ) => {
    const trans = (translator ?? nullTranslator).load('cellmill');
    const sessions = new Sessions(consoles === null ? [notebooks] : [notebooks, consoles]);
    const panel = new CellmillPanel({
      sessions,
      trans,
      activate: widget => app.shell.activateById(widget.id)
    });
    app.shell.add(panel, 'right', { rank: 700, type: 'Cellmill' });
    restorer?.add(panel, panel.id);
    sessions.asked.connect((_, { link, request }) => {
      void app.commands.execute(OPEN_DASHBOARD).then(() => link.answerShown(request));
    });
    addCommands(app, panel, palette, trans);
  }
};

export default plugin;
