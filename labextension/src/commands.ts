/** The extension's commands: for the palette, menus, shortcuts and other extensions. */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { ICommandPalette } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';

import { millIcon } from './icon';
import type { CellmillPanel } from './panel';
import { VERSION } from './protocol';

export const OPEN_DASHBOARD = 'cellmill:open-dashboard';
export const CANCEL_RUN = 'cellmill:cancel-run';
export const PAUSE_RUN = 'cellmill:pause-run';
export const RESUME_RUN = 'cellmill:resume-run';

const NO_ARGUMENTS = { args: { type: 'object' as const, properties: {} } };
const ONE_RUN = {
  args: {
    type: 'object' as const,
    properties: {
      run: { type: 'integer', description: 'Its id; without it every run is cancelled' }
    }
  }
};

/** Register the commands, and list them in the palette where there is one. */
export function addCommands(
  app: JupyterFrontEnd,
  panel: CellmillPanel,
  palette: ICommandPalette | null,
  trans: TranslationBundle
): void {
  const { commands } = app;
  commands.addCommand(OPEN_DASHBOARD, {
    label: trans.__('Cellmill Tasks'),
    caption: trans.__('Show the tasks of the active notebook while they run'),
    icon: millIcon,
    describedBy: NO_ARGUMENTS,
    execute: () => {
      app.shell.activateById(panel.id);
    }
  });
  commands.addCommand(CANCEL_RUN, {
    label: trans.__('Cancel Cellmill Tasks'),
    caption: trans.__('Cancel what has not begun and interrupt what runs in the active notebook'),
    describedBy: ONE_RUN,
    isEnabled: () => panel.busy,
    execute: args => {
      panel.send({
        cellmill: VERSION,
        kind: 'cancel-run',
        run: typeof args.run === 'number' ? args.run : null
      });
    }
  });
  commands.addCommand(PAUSE_RUN, {
    label: trans.__('Pause Cellmill Tasks'),
    caption: trans.__('Send no more tasks to workers; what runs goes on'),
    describedBy: NO_ARGUMENTS,
    isEnabled: () => panel.snapshot?.paused === false,
    execute: () => panel.send({ cellmill: VERSION, kind: 'pause' })
  });
  commands.addCommand(RESUME_RUN, {
    label: trans.__('Resume Cellmill Tasks'),
    caption: trans.__('Send tasks to workers again'),
    describedBy: NO_ARGUMENTS,
    isEnabled: () => panel.snapshot?.paused === true,
    execute: () => panel.send({ cellmill: VERSION, kind: 'resume' })
  });
  for (const command of [OPEN_DASHBOARD, CANCEL_RUN, PAUSE_RUN, RESUME_RUN]) {
    palette?.addItem({ command, category: trans.__('Cellmill') });
  }
}
