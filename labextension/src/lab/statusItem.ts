/** The status bar's item: workers, tasks per second, and a small bar while tasks run. */

import type { TranslationBundle } from '@jupyterlab/translation';
import { Signal, type ISignal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';

import { now } from '../connection/connection';
import type { Entry, Sessions } from '../connection/sessions';
import { outstanding, ran } from '../model/counts';
import type { Settings } from './settings';
import { button, child, setText } from '../view/dom';
import { Drawing } from '../view/drawing';
import { count, percent, rate } from '../view/format';
import { elapsedText, leftText } from '../view/timeLeft';

/** Milliseconds between its pictures; while no view is visible, the kernel sends frames about as often. */
const INTERVAL = 500;

/** What the item needs from its owner. */
export interface StatusOptions {
  readonly sessions: Sessions;
  readonly settings: Settings;
  readonly trans: TranslationBundle;
  /** the entry that belongs to what is in front; null when there is none */
  readonly front: () => Entry | null;
  /** Show the dashboard. */
  readonly open: () => void;
}

/** Visible only while a kernel with Cellmill is in front. */
export class StatusItem extends Widget {
  constructor(options: StatusOptions) {
    super();
    this._options = options;
    const { trans } = options;
    this.addClass('cellmill-status');
    this._button = button(this.node, 'cellmill-status-button', options.open);
    this._button.title = trans.__('Cellmill: show the tasks');
    this._text = child(this._button, 'span', 'cellmill-status-text');
    this._bar = child(this._button, 'span', 'cellmill-status-bar');
    this._fill = child(this._bar, 'span', 'cellmill-status-fill');
    options.sessions.changed.connect(this.update, this);
    options.settings.changed.connect(this.update, this);
    this.update();
  }

  /** Emitted when `active` changes. */
  get activeChanged(): ISignal<this, void> {
    return this._activeChanged;
  }

  /** Whether there is something to show. */
  get active(): boolean {
    return this._active;
  }

  override dispose(): void {
    this._drawing.stop();
    this._options.sessions.changed.disconnect(this.update, this);
    this._options.settings.changed.disconnect(this.update, this);
    super.dispose();
  }

  /** Draw soon. */
  override update(): void {
    this._drawing.ask();
  }

  /** Draw; returns whether the picture changes with time alone. */
  private _draw(): boolean {
    const link = this._options.front()?.link;
    const presence = link?.presence;
    const active =
      this._options.settings.values.statusBar && (presence === 'loaded' || presence === 'live');
    if (active && link !== undefined) {
      this._write(link);
    }
    if (active !== this._active) {
      this._active = active;
      this._activeChanged.emit();
    }
    return active && link?.model.busy === true;
  }

  private _write(link: Entry['link']): void {
    const { trans } = this._options;
    const { snapshot, rate: speed, left, elapsed } = link.state(now());
    const counts = snapshot?.counts;
    const running = counts !== undefined && outstanding(counts);
    const parts: string[] = [];
    if (snapshot === null || snapshot.workers === 0) {
      parts.push(trans.__('Cellmill'));
    } else {
      const { workers } = snapshot;
      parts.push(trans._n('%2 worker', '%2 workers', workers, count(workers)));
    }
    if (running) {
      parts.push(
        snapshot?.paused === true ? trans.__('paused') : trans.__('%1 tasks/s', rate(speed))
      );
      parts.push(elapsedText(elapsed, true, trans));
      parts.push(...(left === null ? [] : [leftText(left, trans)]));
    }
    setText(this._text, parts.join(' · '));
    this._bar.hidden = !running;
    if (running) {
      const share = percent(ran(counts), counts.total);
      this._fill.style.width = share;
      parts.push(trans.__('%1 done', share));
    }
    this._button.setAttribute(
      'aria-label',
      trans.__('Cellmill: %1. Show the tasks', parts.join(', '))
    );
  }

  private readonly _options: StatusOptions;
  private readonly _activeChanged = new Signal<this, void>(this);
  private readonly _button: HTMLButtonElement;
  private readonly _text: HTMLElement;
  private readonly _bar: HTMLElement;
  private readonly _fill: HTMLElement;
  private readonly _drawing = new Drawing(
    () => this._draw(),
    () => INTERVAL
  );
  private _active = false;
}
