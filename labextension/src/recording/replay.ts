/** Entry point of the page that `cellmill replay FILE` makes: a recorded run, without JupyterLab or a kernel. */

import '../../style/index.css';
import '../../style/replay.css';

import { child } from '../view/dom';
import { untranslated } from '../view/translator';
import { readJournal } from './journal';
import { Player } from './player';

function start(): void {
  const text = document.getElementById('cellmill-journal')?.textContent ?? '';
  const panel = child(document.body, 'main', 'cellmill-panel');
  try {
    const journal = readJournal(Uint8Array.from(atob(text), letter => letter.charCodeAt(0)));
    new Player(panel, untranslated, journal, journal.started.replace('T', ' '));
  } catch (error) {
    child(panel, 'p', 'cellmill-message').textContent = String(error);
  }
}

/** Take the look that an embedding page has chosen, and told by this frame's name: not that of the browser. */
function wear(look: string): void {
  const dark = '(prefers-color-scheme: dark)';
  for (const sheet of document.styleSheets) {
    for (const rule of sheet.cssRules) {
      if (rule instanceof CSSMediaRule && rule.media.mediaText === dark) {
        rule.media.mediaText = look === 'dark' ? 'all' : 'not all';
      }
    }
  }
  document.documentElement.style.colorScheme = look;
}

if (window.name === 'dark' || window.name === 'light') {
  wear(window.name);
}
start();
