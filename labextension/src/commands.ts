/** The panel's commands. */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { ICommandPalette } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { Widget } from '@lumino/widgets';

import { millIcon } from './icon';

export const OPEN_DASHBOARD = 'cellmill:open-dashboard';

/** Register the commands, and list them in the palette where there is one. */
export function addCommands(
  app: JupyterFrontEnd,
  panel: Widget,
  palette: ICommandPalette | null,
  trans: TranslationBundle
): void {
  app.commands.addCommand(OPEN_DASHBOARD, {
    label: trans.__('Cellmill Tasks'),
    caption: trans.__('Show the tasks of the active notebook while they run'),
    icon: millIcon,
    describedBy: { args: { type: 'object', properties: {} } },
    execute: () => {
      app.shell.activateById(panel.id);
    }
  });
  palette?.addItem({ command: OPEN_DASHBOARD, category: trans.__('Cellmill') });
}
