/** The example notebooks as a command, in the palette and as cards of the launcher. */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import { showErrorMessage, type ICommandPalette } from '@jupyterlab/apputils';
import type { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import type { ILauncher } from '@jupyterlab/launcher';
import type { TranslationBundle } from '@jupyterlab/translation';

import { EXAMPLES, copyExample } from './examples';
import { millIcon } from './icon';

export const OPEN_EXAMPLE = 'cellmill:open-example';

/** Where the command is offered; each of them may be missing. */
export interface Places {
  readonly palette: ICommandPalette | null;
  readonly launcher: ILauncher | null;
  readonly browser: IDefaultFileBrowser | null;
}

/** Register the command and offer it. */
export function addExamples(
  app: JupyterFrontEnd,
  { palette, launcher, browser }: Places,
  trans: TranslationBundle
): void {
  const example = (id: unknown): (typeof EXAMPLES)[number] | undefined =>
    EXAMPLES.find(one => one.id === id);
  app.commands.addCommand(OPEN_EXAMPLE, {
    label: args => example(args.example)?.label(trans) ?? trans.__('Open a Cellmill Example'),
    caption: args => example(args.example)?.caption(trans) ?? '',
    icon: millIcon,
    describedBy: {
      args: {
        type: 'object',
        properties: {
          example: { type: 'string', enum: EXAMPLES.map(({ id }) => id) },
          cwd: { type: 'string', description: 'The folder for the copy' }
        },
        required: ['example']
      }
    },
    execute: async args => {
      const chosen = example(args.example);
      if (chosen === undefined) {
        throw new Error(`there is no example ${JSON.stringify(args.example)}`);
      }
      const folder = typeof args.cwd === 'string' ? args.cwd : (browser?.model.path ?? '');
      try {
        const path = await copyExample(app.serviceManager.contents, chosen, folder);
        return (await app.commands.execute('docmanager:open', { path })) as unknown;
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        await showErrorMessage(trans.__('The notebook could not be copied here'), reason);
        return undefined;
      }
    }
  });
  EXAMPLES.forEach(({ id }, rank) => {
    const item = { command: OPEN_EXAMPLE, args: { example: id } };
    palette?.addItem({ ...item, category: trans.__('Cellmill') });
    launcher?.add({ ...item, category: 'Other', rank: 10 + rank });
  });
}
