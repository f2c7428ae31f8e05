/** Messages for when there are no tasks to show, with what to type or press. */

import type { Presence } from '../model/presence';
import type { Translator } from './translator';

/** One or two sentences, and the line to type if there is one. */
export interface Message {
  readonly text: string;
  readonly code: string;
}

const NONE: Message = { text: '', code: '' };

/** The message for a presence; its text is empty if there are tasks to show. */
export function messageOf(presence: Presence, trans: Translator): Message {
  const tell = (text: string, code = ''): Message => ({ text, code });
  switch (presence) {
    case 'live':
      return NONE;
    case 'loaded':
      return tell(
        trans.__(
          'Cellmill is loaded. Tasks appear here as soon as a cell makes some, for example:'
        ),
        '%%parallel\ndef square(x):\n    return x * x\n\nlist(square.map(range(100)))'
      );
    case 'absent':
      return tell(
        trans.__('Cellmill is not loaded in this notebook. Run this in a cell:'),
        '%load_ext cellmill'
      );
    case 'unknown':
      return tell(trans.__('Waiting for the kernel…'));
    case 'busy':
      return tell(
        trans.__(
          'The kernel has not answered yet: it seems to run a cell. If it has tasks, they appear within seconds; ' +
            'otherwise it answers when the cell is done.'
        )
      );
    case 'foreign':
      return tell(
        trans.__(
          'Cellmill is for Python kernels, and this one is another language’s. Choose a Python kernel to run tasks.'
        )
      );
    case 'no-kernel':
      return tell(trans.__('This notebook has no kernel. Start one to run tasks.'));
    case 'restarting':
      return tell(
        trans.__('The kernel restarts. Its tasks and workers are gone; afterwards, run:'),
        '%load_ext cellmill'
      );
    case 'dead':
      return tell(
        trans.__(
          'The kernel has died, and its tasks and workers with it. Restart it (menu Kernel), then run:'
        ),
        '%load_ext cellmill'
      );
    case 'old-page':
      return tell(
        trans.__(
          'The kernel has a newer Cellmill than this page. Save the notebook and reload the page.'
        )
      );
    case 'old-kernel':
      return tell(
        trans.__('The kernel has an older Cellmill than this page. Restart the kernel, then run:'),
        '%load_ext cellmill'
      );
  }
}
