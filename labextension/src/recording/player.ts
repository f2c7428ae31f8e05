/** A recorded run in the dashboard, with a slider for its time. */

import type { Journal } from './journal';
import { KernelModel } from '../model/kernelModel';
import { ProtocolError } from '../protocol/parse';
import type { Command } from '../protocol/messages';
import { DashboardView } from '../view/dashboard';
import { button, child, setName, setText } from '../view/dom';
import { duration } from '../view/format';
import type { Translator } from '../view/translator';

/** Milliseconds between pictures, as in a live view. */
const DRAW_INTERVAL = 100;
const SPEEDS = [1, 4, 16];

/** Pushes frames into the model at the recorded times, or all up to a moment at once. */
export class Player {
  constructor(parent: HTMLElement, trans: Translator, journal: Journal, title: string) {
    this._trans = trans;
    this._journal = journal;
    this._title = title;
    this._length = journal.records.at(-1)?.at ?? 0;
    this._root = child(parent, 'div', 'cellmill-player');
    const bar = child(this._root, 'div', 'cellmill-player-bar');
    this._play = button(bar, 'cellmill-button', () => this._toggle());
    this._slider = child(bar, 'input', 'cellmill-player-slider') as HTMLInputElement;
    this._slider.type = 'range';
    this._slider.min = '0';
    this._slider.step = '0.01';
    this._slider.max = String(this._length);
    this._slider.setAttribute('aria-label', trans.__('Time in the recording'));
    this._slider.addEventListener('input', () => {
      this._stop();
      this.show(Number(this._slider.value));
    });
    this._time = child(bar, 'span', 'cellmill-player-time');
    this._speed = button(bar, 'cellmill-button', () => this._faster());
    this._view = new DashboardView(this._root, trans, command => this._answer(command));
    this._drawButtons();
    this.show(this._length);
  }

  /** Show the state at `at` seconds after the first frame. */
  show(at: number): void {
    const { records } = this._journal;
    if (at < this._at) {
      this._model = new KernelModel();
      this._next = 0;
    }
    this._at = at;
    for (let record = records[this._next]; record !== undefined && record.at <= at;) {
      try {
        this._model.push(record.frame, record.at);
      } catch (error) {
        if (!(error instanceof ProtocolError)) {
          throw error;
        }
      }
      this._next++;
      record = records[this._next];
    }
    this._draw();
    this._slider.value = String(at);
    const text = this._trans.__('%1 of %2', duration(at), duration(this._length));
    setText(this._time, text);
    this._slider.setAttribute('aria-valuetext', text);
  }

  dispose(): void {
    this._stop();
    this._view.dispose();
    this._root.remove();
  }

  /** Answer a command of the view from the recording, and redraw unless that is in progress. */
  private _answer(command: Command): void {
    const answer = this._model.state(this._at).sections.tasks.recorded.answer(command);
    if (answer !== null) {
      this._model.push(answer, this._at);
      if (!this._drawing) {
        this._draw();
      }
    }
  }

  private _draw(): void {
    this._drawing = true;
    const state = { ...this._model.state(this._at), recorded: true };
    this._view.draw({ title: this._title, state });
    this._drawing = false;
  }

  private _toggle(): void {
    if (this._timer !== 0) {
      this._stop();
      return;
    }
    if (this._at >= this._length) {
      this.show(0);
    }
    let before = performance.now();
    this._timer = window.setInterval(() => {
      const now = performance.now();
      const at = this._at + ((now - before) / 1000) * (SPEEDS[this._pace] ?? 1);
      before = now;
      this.show(Math.min(at, this._length));
      if (at >= this._length) {
        this._stop();
      }
    }, DRAW_INTERVAL);
    this._drawButtons();
  }

  private _stop(): void {
    window.clearInterval(this._timer);
    this._timer = 0;
    this._drawButtons();
  }

  private _faster(): void {
    this._pace = (this._pace + 1) % SPEEDS.length;
    this._drawButtons();
  }

  private _drawButtons(): void {
    const playing = this._timer !== 0;
    setText(this._play, playing ? '⏸' : '▶');
    setName(this._play, playing ? this._trans.__('Stop') : this._trans.__('Play'));
    setText(this._speed, `${SPEEDS[this._pace] ?? 1}×`);
    setName(this._speed, this._trans.__('Speed'));
  }

  private readonly _trans: Translator;
  private readonly _journal: Journal;
  private readonly _title: string;
  private readonly _length: number;
  private readonly _root: HTMLElement;
  private readonly _play: HTMLButtonElement;
  private readonly _slider: HTMLInputElement;
  private readonly _time: HTMLElement;
  private readonly _speed: HTMLButtonElement;
  private readonly _view: DashboardView;
  private _model = new KernelModel();
  private _next = 0;
  private _at = 0;
  private _pace = 0;
  private _timer = 0;
  private _drawing = false;
}
