/** Tells a person who looks elsewhere that a long run has ended, by a notification of the browser. */

import type { TranslationBundle } from '@jupyterlab/translation';

import type { Entry, Sessions } from '../../connection/sessions';
import { cellState, type CellState } from '../../model/cells';
import type { CellRuns } from '../../protocol/messages';
import type { Settings } from '../settings';
import { outcomeText } from './badge';

/** What it needs from its owner. */
export interface EndingsOptions {
  readonly sessions: Sessions;
  readonly settings: Settings;
  readonly trans: TranslationBundle;
  /** Show the runs of a cell in a dashboard. */
  readonly open: (entry: Entry, cell: CellRuns) => void;
}

/** Whether the browser can show notifications, and was not told to keep them back. */
export function canNotify(): boolean {
  return 'Notification' in window && Notification.permission !== 'denied';
}

/** Whether a person has allowed them. */
export function mayNotify(): boolean {
  return canNotify() && Notification.permission === 'granted';
}

/** Ask for the permission; only a person's action calls this. */
export async function askToNotify(): Promise<void> {
  if (canNotify()) {
    await Notification.requestPermission();
  }
}

/** Follows the cells of all kernels. Only what this page has seen running can end here. */
export class Endings {
  constructor(options: EndingsOptions) {
    this._options = options;
    options.sessions.changed.connect(this._look, this);
  }

  private _look(): void {
    for (const entry of this._options.sessions.entries) {
      const before = this._running.get(entry);
      const cells = entry.link.model.cells.all;
      const running = new Set<string>();
      for (const cell of cells.values()) {
        if (!cell.over) {
          running.add(cell.request);
        } else if (before?.has(cell.request) === true) {
          this._ended(entry, cell);
        }
      }
      this._running.set(entry, running);
    }
  }

  private _ended(entry: Entry, cell: CellRuns): void {
    const { settings, trans, open } = this._options;
    const least = settings.values.notifyAfter;
    if (least === 0 || (cell.seconds ?? 0) < least || !document.hidden || !mayNotify()) {
      return;
    }
    const states: Record<CellState, string> = {
      running: trans.__('running'),
      done: trans.__('done'),
      failed: trans.__('failed'),
      lost: trans.__('lost'),
      cancelled: trans.__('cancelled')
    };
    const where = [entry.widget.title.label, cell.cell].filter(part => part !== '').join(', ');
    try {
      const told = new Notification(trans.__('%1: %2', where, states[cellState(cell)]), {
        body: outcomeText(cell, trans),
        tag: `cellmill-${cell.request}`
      });
      told.onclick = () => {
        window.focus();
        told.close();
        open(entry, cell);
      };
    } catch {
      // Browsers of phones let only a service worker notify.
    }
  }

  private readonly _options: EndingsOptions;
  /** the requests whose tasks were outstanding when it looked last */
  private readonly _running = new WeakMap<Entry, ReadonlySet<string>>();
}
