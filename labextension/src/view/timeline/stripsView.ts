/** The strips with their canvas: whose use they show, and the moment under the pointer or the keys. */

import { rowAt, type AllWorkers, type OneWorker, type UsageModel } from '../../model/usage';
import { child, setOptions, setText } from '../dom';
import { bytes, count } from '../format';
import type { Translator } from '../translator';
import { brief } from './axis';
import type { TimelineChart } from './chart';
import { listen } from './gestures';
import type { Picture } from './painter';
import { heightOf, paintStrips, stripsOf } from './strips';

/** Milliseconds after an answer about one worker before it is asked for again. */
const AGAIN = 1000;
/** The most pixels between the pointer and the row that is told. */
const NEAR = 3;

export interface StripsOptions {
  /** request what one worker used */
  readonly ask: (worker: number) => void;
}

export class StripsView {
  constructor(
    parent: HTMLElement,
    private readonly _trans: Translator,
    private readonly _options: StripsOptions
  ) {
    this._root = child(parent, 'div', 'cellmill-strips-place');
    const head = child(this._root, 'div', 'cellmill-strips-head');
    this._choice = document.createElement('select');
    this._choice.className = 'cellmill-select';
    this._choice.setAttribute('aria-label', _trans.__('Memory and CPU of'));
    this._choice.addEventListener('change', () =>
      this.choose(this._choice.value === '' ? null : Number(this._choice.value))
    );
    head.append(this._choice);
    this._canvas = document.createElement('canvas');
    this._canvas.className = 'cellmill-strips';
    this._canvas.tabIndex = 0;
    this._canvas.setAttribute('role', 'application');
    this._canvas.setAttribute('aria-roledescription', _trans.__('curves'));
    this._root.append(this._canvas);
    this._told = child(this._root, 'p', 'cellmill-strips-told');
    this._note = child(this._root, 'p', 'cellmill-strips-note cellmill-faint');
    this._spoken = child(this._root, 'p', 'cellmill-spoken');
    this._spoken.setAttribute('aria-live', 'polite');
  }

  /** Zoom and move with a chart, by the same gestures and keys. */
  follow(chart: TimelineChart): void {
    listen(this._canvas, {
      zoom: (factor, around) => chart.zoom(factor, around),
      pan: pixels => chart.pan(pixels),
      step: side => chart.step(side),
      showAll: () => chart.showAll(),
      follow: () => chart.follow(),
      point: event => this._mark(chart.timeAt(event)),
      leave: () => this._mark(null),
      press: event => this._mark(chart.timeAt(event)),
      next: by => this._next(by),
      otherWorker: by => this._other(by),
      open: () => undefined
    });
  }

  /** Take what is known; `scoped`: the time is that of one run. */
  take(model: UsageModel, recorded: boolean, scoped: boolean): void {
    this._recorded = recorded;
    if (model === this._model && model.version === this._version) {
      return;
    }
    this._model = model;
    this._version = model.version;
    const { all } = model;
    setText(
      this._note,
      all !== null && !all.known
        ? this._trans.__('This backend does not tell what its workers use.')
        : scoped
          ? this._trans.__('Workers, memory and CPU are of all tasks in this time.')
          : ''
    );
    this._note.hidden = this._note.textContent === '';
    this._redraw();
  }

  hide(hidden: boolean): void {
    this._root.hidden = hidden;
  }

  /** Show the memory and processors of one worker; null for all. */
  choose(worker: number | null): void {
    this._worker = worker;
    this._choice.value = worker === null ? '' : String(worker);
    this._asked = 0;
    this._redraw();
  }

  /** Draw below a picture of the timeline. */
  draw(picture: Picture, workers: readonly number[]): void {
    const key = workers.join();
    if (this._choice.dataset.workers !== key) {
      this._choice.dataset.workers = key;
      setOptions(
        this._choice,
        [
          ['', this._trans.__('all workers')],
          ...workers.map(worker => [String(worker), this._trans.__('worker %1', worker)] as const)
        ],
        this._worker === null ? '' : String(this._worker)
      );
    }
    this._choice.disabled = this._recorded;
    this._picture = picture;
    this._redraw();
  }

  dispose(): void {
    this._root.remove();
  }

  private _redraw(): void {
    const { _picture: picture } = this;
    const all = this._model?.all ?? null;
    const shown = all !== null && all.known && all.time.length > 0;
    this._canvas.hidden = this._choice.hidden = !shown;
    const context = this._canvas.getContext('2d');
    if (!shown || picture === null || context === null || this._root.hidden) {
      setText(this._told, '');
      return;
    }
    this._askAgain();
    const one = this._one();
    const style = getComputedStyle(this._root);
    const colour = (name: string): string => style.getPropertyValue(`--cellmill-strip-${name}`);
    const colours = { busy: colour('busy'), memory: colour('memory'), cpu: colour('cpu') };
    const strips = stripsOf(all, one, colours, this._trans);
    const scale = window.devicePixelRatio;
    const height = heightOf(strips.length);
    this._canvas.style.width = `${picture.width}px`;
    this._canvas.style.height = `${height}px`;
    this._canvas.width = Math.round(picture.width * scale);
    this._canvas.height = Math.round(height * scale);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    paintStrips(context, strips, picture, this._moment);
    const data = this._canvas.dataset;
    data.rows = String(all.time.length);
    data.from = (picture.from - picture.first).toFixed(9);
    data.to = (picture.to - picture.first).toFixed(9);
    data.left = String(picture.left);
    data.worker = one === null ? '' : String(one.worker);
    setText(this._told, this._words(all, one, picture));
    this._canvas.setAttribute(
      'aria-label',
      this._trans.__(
        'Workers, memory and CPU over time: %1. Shift and arrows move through it.',
        this._told.textContent
      )
    );
  }

  /** What is told: at the marked moment, or the newest. */
  private _words(all: AllWorkers, one: OneWorker | null, picture: Picture): string {
    const trans = this._trans;
    const pixel = (picture.to - picture.from) / Math.max(1, picture.width - picture.left);
    const at = this._moment === null ? all.time.length - 1 : rowAt(all, this._moment, NEAR * pixel);
    const begin = all.time[at];
    if (at < 0 || begin === undefined) {
      return trans.__('not sampled: no task ran');
    }
    const parts = [trans.__('at %1', brief(Math.max(0, begin - picture.first)))];
    const number = (value: number | undefined): string =>
      value === undefined || Number.isNaN(value)
        ? trans.__('not known')
        : String(Math.round(10 * value) / 10);
    const size = (value: number | undefined): string =>
      value === undefined || Number.isNaN(value) ? trans.__('not known') : bytes(value);
    parts.push(trans.__('%1 busy, %2 idle', number(all.busy[at]), number(all.idle[at])));
    if (one !== null) {
      const row =
        this._moment === null ? one.time.length - 1 : rowAt(one, this._moment, NEAR * pixel);
      parts.push(trans.__('worker %1 has %2', one.worker, size(one.memory[row])));
      parts.push(trans.__('CPU %1', number(one.cpu[row])));
    } else {
      parts.push(trans.__('workers have %1', size(all.memory[at])));
      parts.push(trans.__('%1 of %2 in use', size(all.used[at]), bytes(all.limit)));
      parts.push(trans.__('CPU %1 of %2', number(all.cpu[at]), count(all.cpus)));
      const kernel = all.kernel[at];
      if (kernel !== undefined && !Number.isNaN(kernel)) {
        parts.push(trans.__('kernel %1', number(kernel))); // else it is elsewhere, or the workers are its threads
      }
    }
    return parts.join(' · ');
  }

  /** What is known of the chosen worker; null if none is chosen, or nothing has come. */
  private _one(): OneWorker | null {
    const one = this._model?.one ?? null;
    return one !== null && one.worker === this._worker ? one : null;
  }

  private _askAgain(): void {
    const now = performance.now();
    if (this._worker !== null && !this._recorded && now - this._asked > AGAIN) {
      this._asked = now;
      this._options.ask(this._worker);
    }
  }

  private _mark(moment: number | null): void {
    this._moment = moment;
    this._redraw();
  }

  private _next(by: 1 | -1): void {
    const all = this._model?.all ?? null;
    if (all === null || all.time.length === 0) {
      return;
    }
    const here = this._moment === null ? all.time.length : rowAt(all, this._moment, Infinity);
    const to = Math.max(0, Math.min(all.time.length - 1, here + by));
    this._mark(((all.start[to] ?? 0) + (all.time[to] ?? 0)) / 2);
    setText(this._spoken, this._told.textContent);
  }

  private _other(by: 1 | -1): void {
    const values = Array.from(this._choice.options, option => option.value);
    const here = values.indexOf(this._worker === null ? '' : String(this._worker));
    const value = values[Math.max(0, Math.min(values.length - 1, here + by))] ?? '';
    this.choose(value === '' ? null : Number(value));
  }

  private readonly _root: HTMLElement;
  private readonly _choice: HTMLSelectElement;
  private readonly _told: HTMLElement;
  private readonly _canvas: HTMLCanvasElement;
  private readonly _note: HTMLElement;
  private readonly _spoken: HTMLElement;
  private _picture: Picture | null = null;
  private _model: UsageModel | null = null;
  private _version = -1;
  private _recorded = false;
  private _worker: number | null = null;
  private _moment: number | null = null;
  private _asked = 0;
}
