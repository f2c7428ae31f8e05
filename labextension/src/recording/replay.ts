/** The page that `cellmill replay FILE` makes: a recorded run, without JupyterLab and without a kernel. */

import '../../style/index.css';
import '../../style/replay.css';

import { readJournal } from './journal';
import { child } from '../view/dom';
import { Player } from './player';
import type { Translator } from '../view/translator';

/** English, as it stands in the code. */
const ENGLISH: Translator = {
  __: (text, ...args) => fill(text, args),
  _n: (text, plural, n, ...args) => fill(n === 1 ? text : plural, [n, ...args])
};

function fill(text: string, args: readonly unknown[]): string {
  return text.replace(/%(\d)/g, (found, place: string) => {
    const value = args[Number(place) - 1];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : found;
  });
}

function start(): void {
  const text = document.getElementById('cellmill-journal')?.textContent ?? '';
  const panel = child(document.body, 'main', 'cellmill-panel');
  try {
    const journal = readJournal(Uint8Array.from(atob(text), letter => letter.charCodeAt(0)));
    new Player(panel, ENGLISH, journal, journal.started.replace('T', ' '));
  } catch (error) {
    child(panel, 'p', 'cellmill-message').textContent = String(error);
  }
}

start();
