/** Buttons that work while a cell runs: pause, cancel, more and fewer workers. */

import { outstanding } from '../model/counts';
import { VERSION, type Command, type RunRecord, type Snapshot } from '../protocol/messages';
import { button, child, setName, setText } from './dom';
import { count } from './format';
import { titleOf } from './scope';
import type { Translator } from './translator';

/** Milliseconds for which a requested number is shown before the kernel confirms it. */
const PATIENCE = 2000;

/** Sends commands; their effect arrives with the next frame. */
export class ControlsView {
  constructor(parent: HTMLElement, trans: Translator, send: (command: Command) => void) {
    this._trans = trans;
    this._send = send;
    const bar = child(parent, 'div', 'cellmill-controls');
    bar.setAttribute('role', 'toolbar');
    bar.setAttribute('aria-label', trans.__('Tasks'));
    this._pause = button(bar, 'cellmill-button cellmill-pause', () => {
      send({ cellmill: VERSION, kind: this._paused ? 'resume' : 'pause' });
    });
    this._cancel = button(bar, 'cellmill-button cellmill-cancel', () => {
      send({ cellmill: VERSION, kind: 'cancel-run', run: this._run?.id ?? null });
    });
    setText(this._cancel, trans.__('Cancel'));
    const workers = child(bar, 'div', 'cellmill-resize');
    workers.setAttribute('role', 'group');
    workers.setAttribute('aria-label', trans.__('Workers'));
    this._fewer = button(workers, 'cellmill-button cellmill-fewer', () => this._resize(-1));
    this._number = child(workers, 'span', 'cellmill-wanted');
    this._more = button(workers, 'cellmill-button cellmill-more', () => this._resize(1));
    setText(this._fewer, '−');
    setText(this._more, '+');
    setName(this._fewer, trans.__('One worker fewer'));
    setName(this._more, trans.__('One worker more'));
    this._refusal = child(parent, 'p', 'cellmill-refusal');
    this._refusal.setAttribute('role', 'alert');
  }

  /** Draw the buttons that are possible now, and why the last command was refused; `run` is what Cancel cancels. */
  draw(snapshot: Snapshot, refusal: string, run: RunRecord | null): void {
    const trans = this._trans;
    this._run = run;
    setName(
      this._cancel,
      run === null ? trans.__('Cancel all tasks') : trans.__('Cancel %1', titleOf(run))
    );
    this._paused = snapshot.paused;
    setText(this._pause, snapshot.paused ? trans.__('Resume') : trans.__('Pause'));
    setName(
      this._pause,
      snapshot.paused
        ? trans.__('Send tasks to workers again')
        : trans.__('Send no more tasks to workers; what runs goes on')
    );
    this._cancel.disabled = !outstanding(snapshot.counts);
    this._wanted = snapshot.wanted;
    if (refusal !== '' || snapshot.wanted === this._asked || performance.now() > this._askedUntil) {
      this._asked = null;
    }
    const wanted = this._asked ?? snapshot.wanted;
    setText(this._number, trans._n('%2 worker', '%2 workers', wanted, count(wanted)));
    this._fewer.disabled = wanted <= 1;
    this._refusal.hidden = refusal === '';
    setText(this._refusal, refusal);
  }

  /** Quick presses add up: each starts from the number that was requested last. */
  private _resize(by: number): void {
    this._asked = Math.max(1, (this._asked ?? this._wanted) + by);
    this._askedUntil = performance.now() + PATIENCE;
    this._send({ cellmill: VERSION, kind: 'set-workers', count: this._asked });
  }

  private readonly _trans: Translator;
  private readonly _send: (command: Command) => void;
  private readonly _pause: HTMLButtonElement;
  private readonly _cancel: HTMLButtonElement;
  private readonly _fewer: HTMLButtonElement;
  private readonly _number: HTMLElement;
  private readonly _more: HTMLButtonElement;
  private readonly _refusal: HTMLElement;
  private _run: RunRecord | null = null;
  private _paused = false;
  private _wanted = 0;
  private _asked: number | null = null;
  private _askedUntil = 0;
}
