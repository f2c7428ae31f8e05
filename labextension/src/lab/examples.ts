/** The example notebooks: where they are, and how a copy of one reaches the user's folder. */

import type { Contents } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';
import { ServerConnection } from '@jupyterlab/services';

/** One of the notebooks that travel with the extension. */
export interface Example {
  readonly id: string;
  /** its name in the user's folder, without the ending */
  readonly file: string;
  readonly label: (trans: TranslationBundle) => string;
  readonly caption: (trans: TranslationBundle) => string;
  /** Fetch the notebook from the server that the extension came from. */
  readonly load: () => Promise<Notebook>;
}

/** What is used of a notebook's JSON. */
export interface Notebook {
  readonly cells: readonly unknown[];
  readonly metadata: unknown;
  readonly nbformat: number;
  readonly nbformat_minor: number;
}

export const EXAMPLES: readonly Example[] = [
  {
    id: 'quickstart',
    file: 'cellmill-quickstart',
    label: trans => trans.__('Cellmill Quickstart'),
    caption: trans => trans.__('Open a copy of the notebook that shows Cellmill in five minutes'),
    load: async () => (await import('../../../examples/01_quickstart.ipynb')).default
  },
  {
    id: 'docking',
    file: 'cellmill-docking',
    label: trans => trans.__('Cellmill Docking'),
    caption: trans => trans.__('Open a copy of the notebook that screens 100,000 molecules'),
    load: async () =>
      withShippedModules((await import('../../../examples/02_docking_inference.ipynb')).default)
  }
];

/** Number of file names to try before giving up. */
const MOST_COPIES = 1000;

/** Write a copy of an example into a folder and return its name. Existing files are never overwritten. */
export async function copyExample(
  contents: Contents.IManager,
  example: Example,
  folder: string
): Promise<string> {
  const notebook = await example.load();
  const prefix =
    folder === '' || folder.endsWith('/') || folder.endsWith(':') ? folder : `${folder}/`;
  for (let copy = 0; copy < MOST_COPIES; copy++) {
    const path = `${prefix}${example.file}${copy === 0 ? '' : ` (${copy})`}.ipynb`;
    if (!(await exists(contents, path))) {
      await contents.save(path, { type: 'notebook', format: 'json', content: notebook });
      return path;
    }
  }
  throw new Error(`there are ${MOST_COPIES} copies of ${example.file} in this folder`);
}

async function exists(contents: Contents.IManager, path: string): Promise<boolean> {
  try {
    await contents.get(path, { content: false });
    return true;
  } catch (error) {
    if (error instanceof ServerConnection.ResponseError && error.response.status === 404) {
      return false;
    }
    throw error;
  }
}

/** The notebook with a first cell that makes the modules importable which are beside it in Cellmill's sources. */
function withShippedModules(notebook: Notebook): Notebook {
  const cell = {
    cell_type: 'code',
    execution_count: null,
    id: 'shipped-modules',
    metadata: {},
    outputs: [],
    source:
      '# The modules of this example travel with Cellmill; its packages: pip install "cellmill[docking]"\n' +
      'import sys\n\nimport cellmill\n\nsys.path.append(cellmill.examples_folder())'
  };
  const [title, ...rest] = notebook.cells;
  return { ...notebook, cells: [title, cell, ...rest] };
}
