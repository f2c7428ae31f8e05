/** The worker timeline: a row for each worker, a bar for each task, or for many short ones together. */

import type { KernelState } from '../../model';
import { VERSION, type Command } from '../../protocol';
import type { Span, TimelineModel } from '../../timeline';
import { button, child, setText } from '../dom';
import { COLOURS, Colours } from '../timeline/colours';
import { AXIS, paint, spanAt, type Picture } from '../timeline/painter';
import { Range } from '../timeline/range';
import { gathered, inSight, nearest, neighbour } from '../timeline/sight';
import { caveats, describe, summary } from '../timeline/words';
import type { Translator } from '../translator';
import type { Tab, TabKind, TabOptions } from './tab';

const MOST_ROWS_TALL = 16; // with more workers, rows are lower
const ROW = { tall: 20, low: 12 };
/** Milliseconds that a window must stay before its tasks are asked for. */
const SETTLE = 300;
/** Slices wider than so many pixels are worth looking into. */
const WIDE = 6;
const DRAG = 4;
/** Seconds between pictures in which only bars of running tasks grow. */
const STILL = 0.4;

class TimelineTab implements Tab {
  constructor({ parent, trans, send }: TabOptions) {
    this._trans = trans;
    this._send = send;
    this._parent = parent;
    this._bar = child(parent, 'div', 'cellmill-timeline-bar');
    this._whole = this._tool(trans.__('Whole run'), trans.__('Show the whole run (0)'), () =>
      this._range.whole()
    );
    this._follow = this._tool(trans.__('Follow'), trans.__('Stay at the newest tasks (End)'), () =>
      this._range.follow()
    );
    this._tool('−', trans.__('Zoom out (-)'), () => this._zoom(2));
    this._tool('+', trans.__('Zoom in (+)'), () => this._zoom(0.5));
    this._legend = child(this._bar, 'span', 'cellmill-timeline-legend');
    this._place = child(parent, 'div', 'cellmill-timeline-place');
    this._frame = child(this._place, 'div', 'cellmill-timeline-frame');
    this._canvas = document.createElement('canvas');
    this._canvas.className = 'cellmill-timeline';
    this._canvas.tabIndex = 0;
    this._canvas.setAttribute('role', 'application');
    this._canvas.setAttribute('aria-roledescription', trans.__('timeline'));
    this._frame.append(this._canvas);
    this._tip = child(this._place, 'div', 'cellmill-tip');
    this._tip.hidden = true;
    this._words = child(parent, 'p', 'cellmill-note');
    this._note = child(parent, 'p', 'cellmill-note cellmill-faint');
    this._spoken = child(parent, 'p', 'cellmill-spoken');
    this._spoken.setAttribute('role', 'status');
    this._colours = new Colours(parent, this._frame, this._note);
    this._listen();
    this._resized = new ResizeObserver(() => this._redraw());
    this._resized.observe(this._canvas);
  }

  draw(state: KernelState): void {
    const model = state.sections.timeline;
    const moved = Math.abs(state.now - this._drawnAt);
    if (model === this._model && model.version === this._version && moved < STILL) {
      return;
    }
    this._now = state.now;
    this._model = model;
    this._version = model.version;
    this._drawnAt = state.now;
    const { frame } = this._model;
    if (frame !== null && frame.work !== this._work) {
      this._work = frame.work;
      this._range.whole();
      this._chosen = null;
    }
    const known = frame?.known !== false;
    const some = this._model.spans.length + this._model.running.length > 0;
    this._frame.hidden = !known || !some;
    this._bar.hidden = this._frame.hidden;
    const words = known
      ? summary(this._model, this._trans, this._model.last(this._now))
      : this._trans.__('This backend does not tell when its tasks ran.');
    setText(this._words, words);
    this._canvas.setAttribute(
      'aria-label',
      this._trans.__('What the workers did: %1. Plus and minus zoom, arrows move.', words)
    );
    const note = known ? caveats(this._model, this._trans) : '';
    setText(this._note, note);
    this._note.hidden = note === '';
    this._drawLegend();
    this._redraw();
  }

  dispose(): void {
    window.clearTimeout(this._timer);
    this._resized.disconnect();
    this._parent.replaceChildren();
  }

  private _tool(label: string, title: string, act: () => void): HTMLButtonElement {
    const made = button(this._bar, 'cellmill-button', () => {
      act();
      this._redraw();
    });
    made.textContent = label;
    made.title = title;
    made.setAttribute('aria-label', title);
    return made;
  }

  private _drawLegend(): void {
    const names = this._model?.functions() ?? [];
    const key = names.join('\n');
    if (this._legend.dataset.names === key) {
      return;
    }
    this._legend.dataset.names = key;
    this._legend.replaceChildren();
    for (const name of names.slice(0, COLOURS)) {
      const entry = child(this._legend, 'span', 'cellmill-key');
      const number = this._model?.colourOf(name) ?? 0;
      child(entry, 'i', `cellmill-swatch cellmill-function-${number % COLOURS}`);
      entry.append(name);
      entry.title = name;
    }
    if (names.length > COLOURS) {
      child(this._legend, 'span', 'cellmill-key').textContent = this._trans.__(
        'and %1 more',
        names.length - COLOURS
      );
    }
  }

  private _listen(): void {
    const canvas = this._canvas;
    canvas.addEventListener('wheel', event => this._wheel(event), { passive: false });
    canvas.addEventListener('pointerdown', event => this._down(event));
    canvas.addEventListener('pointermove', event => this._move(event));
    canvas.addEventListener('pointerup', event => this._up(event));
    canvas.addEventListener('pointerleave', () => {
      this._tip.hidden = true;
    });
    canvas.addEventListener('dblclick', () => {
      this._range.whole();
      this._redraw();
    });
    canvas.addEventListener('keydown', event => this._key(event));
  }

  // Zoom and pan.

  private _ends(): { readonly first: number; readonly last: number } {
    const first = this._model?.first ?? 0;
    return { first, last: this._model?.last(this._now) ?? 0 };
  }

  private _zoom(factor: number, around?: number): void {
    const { first, last } = this._ends();
    const { from, to } = this._range.window(first, last);
    this._range.zoom(factor, around ?? (from + to) / 2, first, last);
  }

  private _pan(pixels: number): void {
    const { first, last } = this._ends();
    const { from, to } = this._range.window(first, last);
    const width = (this._picture?.width ?? 1) - (this._picture?.left ?? 0);
    this._range.pan((pixels / Math.max(1, width)) * (to - from), first, last);
  }

  private _wheel(event: WheelEvent): void {
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      this._pan(event.deltaX || event.deltaY);
    } else {
      this._zoom(Math.exp(event.deltaY * (event.ctrlKey ? 0.01 : 0.002)), this._timeAt(event));
    }
    this._redraw();
  }

  private _timeAt(event: MouseEvent): number {
    const picture = this._picture;
    if (picture === null) {
      return 0;
    }
    const x = event.clientX - this._canvas.getBoundingClientRect().left;
    const share = (x - picture.left) / Math.max(1, picture.width - picture.left);
    return picture.from + share * (picture.to - picture.from);
  }

  private _down(event: PointerEvent): void {
    this._held = { x: event.clientX, moved: false };
    this._canvas.setPointerCapture(event.pointerId);
  }

  private _move(event: PointerEvent): void {
    if (this._held !== null && event.buttons !== 0) {
      const by = this._held.x - event.clientX;
      if (this._held.moved || Math.abs(by) > DRAG) {
        this._pan(by);
        this._held = { x: event.clientX, moved: true };
        this._tip.hidden = true;
        this._redraw();
      }
      return;
    }
    this._showTip(event);
  }

  private _up(event: PointerEvent): void {
    const held = this._held;
    this._held = null;
    if (held === null || held.moved) {
      return;
    }
    const found = this._spanAt(event);
    if (found !== null) {
      this._choose(found, true);
    }
  }

  private _key(event: KeyboardEvent): void {
    const step = ((this._picture?.width ?? 300) - (this._picture?.left ?? 0)) / 8;
    const acts: Record<string, () => void> = {
      '+': () => this._zoom(0.5),
      '=': () => this._zoom(0.5),
      '-': () => this._zoom(2),
      0: () => this._range.whole(),
      End: () => this._range.follow(),
      ArrowLeft: () => (event.shiftKey ? this._next(-1) : this._pan(-step)),
      ArrowRight: () => (event.shiftKey ? this._next(1) : this._pan(step)),
      ArrowUp: () => this._otherWorker(-1),
      ArrowDown: () => this._otherWorker(1),
      Enter: () => this._chosen !== null && this._choose(this._chosen, true)
    };
    const act = acts[event.key];
    if (act === undefined || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    event.preventDefault();
    act();
    this._redraw();
  }

  // Spans under the pointer, and those that the keyboard chose.

  private _spanAt(event: MouseEvent): Span | null {
    const box = this._canvas.getBoundingClientRect();
    const { _picture: picture } = this;
    return picture === null
      ? null
      : spanAt(picture, event.clientX - box.left, event.clientY - box.top);
  }

  private _showTip(event: MouseEvent): void {
    const span = this._spanAt(event);
    this._canvas.style.cursor = span === null ? '' : 'pointer';
    this._tip.hidden = span === null;
    if (span === null || this._model === null) {
      return;
    }
    this._tip.replaceChildren();
    for (const line of this._describe(span)) {
      child(this._tip, 'div', '').textContent = line;
    }
    const box = this._place.getBoundingClientRect();
    const x = Math.min(event.clientX - box.left + 12, box.width - this._tip.offsetWidth - 4);
    this._tip.style.left = `${Math.max(0, x)}px`;
    this._tip.style.top = `${event.clientY - box.top + 14}px`;
  }

  private _describe(span: Span): string[] {
    const model = this._model;
    return model === null
      ? []
      : describe(span, model, this._trans, (model.frame?.sampled ?? 0) > 0);
  }

  /** Mark a span and, where a person asked for it, tell the rest of the dashboard. */
  private _choose(span: Span, tell: boolean): void {
    this._chosen = span;
    setText(this._spoken, this._describe(span).join(', '));
    if (tell) {
      this._canvas.dispatchEvent(
        new CustomEvent('cellmill-task', { bubbles: true, detail: { task: span.ticket } })
      );
    }
    this._redraw();
  }

  private _next(by: number): void {
    const to = neighbour(this._picture?.spans ?? [], this._chosen, this._picture?.workers[0], by);
    if (to !== null) {
      this._bring(to);
    }
  }

  private _otherWorker(by: number): void {
    const workers = this._picture?.workers ?? [];
    const here = workers.indexOf(this._chosen?.worker ?? -1);
    const worker = workers[Math.max(0, Math.min(workers.length - 1, here < 0 ? 0 : here + by))];
    const best = nearest(this._picture?.spans ?? [], worker, this._chosen?.start ?? -Infinity);
    if (best !== null) {
      this._bring(best);
    }
  }

  private _bring(span: Span): void {
    const { from, to } = this._range.window(this._ends().first, this._ends().last);
    if (span.end < from || span.start > to) {
      const { first, last } = this._ends();
      this._range.pan((span.start + span.end) / 2 - (from + to) / 2, first, last);
    }
    this._choose(span, false);
  }

  // Drawing.

  private _redraw(): void {
    const model = this._model;
    const width = this._frame.clientWidth;
    const context = this._canvas.getContext('2d');
    if (model === null || context === null || width === 0 || this._frame.hidden) {
      return;
    }
    const picture = this._compose(model, width);
    this._picture = picture;
    const scale = window.devicePixelRatio;
    this._canvas.style.height = `${picture.height}px`;
    this._canvas.width = Math.round(width * scale);
    this._canvas.height = Math.round(picture.height * scale);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    paint(context, picture);
    this._whole.setAttribute('aria-pressed', String(this._range.mode === 'whole'));
    this._follow.setAttribute('aria-pressed', String(this._range.mode === 'follow'));
    this._canvas.dataset.spans = String(picture.spans.length);
    this._canvas.dataset.detail = model.detail?.complete ? 'tasks' : '';
    this._canvas.dataset.from = (picture.from - model.first).toFixed(9);
    this._canvas.dataset.to = (picture.to - model.first).toFixed(9);
    this._askForDetail(model, picture);
  }

  private _compose(model: TimelineModel, width: number): Picture {
    const { first, last } = this._ends();
    const { from, to } = this._range.window(first, last);
    const workers = model.workers();
    const row = workers.length > MOST_ROWS_TALL ? ROW.low : ROW.tall;
    const end = model.time(this._now);
    const running = model.running.map(span => ({ ...span, end: Math.max(span.end, end) }));
    const labels = workers.map(worker => this._trans.__('worker %1', worker));
    const left = width < 400 ? 58 : 70;
    const pixel = (to - from) / Math.max(1, width - left);
    return {
      width,
      height: workers.length * row + AXIS,
      left,
      row,
      workers,
      labels,
      spans: [...gathered(inSight(model, from, to), pixel), ...running],
      from,
      to,
      first,
      palette: this._colours.read(),
      colour: number => model.colour(number),
      chosen: this._chosen
    };
  }

  /** Ask for the single tasks once a window with wide slices stays. */
  private _askForDetail(model: TimelineModel, picture: Picture): void {
    const { from, to } = picture;
    const pixel = (to - from) / Math.max(1, picture.width - picture.left);
    const wide = (model.frame?.threshold ?? 0) > WIDE * pixel && this._range.mode === 'free';
    const { detail } = model;
    const there = detail !== null && detail.start <= from && detail.end >= to;
    if (!wide || (there && (detail.complete || detail.end - detail.start < 2.5 * (to - from)))) {
      return;
    }
    window.clearTimeout(this._timer);
    this._timer = window.setTimeout(() => {
      const beside = (to - from) / 2;
      this._send({
        cellmill: VERSION,
        kind: 'zoom-timeline',
        request: ++this._requests,
        start: Math.max(0, from - beside),
        end: to + beside
      });
    }, SETTLE);
  }

  private readonly _trans: Translator;
  private readonly _send: (command: Command) => void;
  private readonly _parent: HTMLElement;
  private readonly _bar: HTMLElement;
  private readonly _whole: HTMLButtonElement;
  private readonly _follow: HTMLButtonElement;
  private readonly _legend: HTMLElement;
  private readonly _place: HTMLElement;
  private readonly _frame: HTMLElement;
  private readonly _canvas: HTMLCanvasElement;
  private readonly _tip: HTMLElement;
  private readonly _words: HTMLElement;
  private readonly _note: HTMLElement;
  private readonly _spoken: HTMLElement;
  private readonly _colours: Colours;
  private readonly _resized: ResizeObserver;
  private readonly _range = new Range();
  private _model: TimelineModel | null = null;
  private _picture: Picture | null = null;
  private _chosen: Span | null = null;
  private _held: { readonly x: number; readonly moved: boolean } | null = null;
  private _version = -1;
  /** the moment that is drawn, and that of the last whole picture */
  private _now = 0;
  private _drawnAt = 0;
  private _work = -1;
  private _timer = 0;
  private _requests = Math.floor(Math.random() * 1e9);
}

export const timelineTab: TabKind = {
  id: 'timeline',
  label: trans => trans.__('Timeline'),
  sections: ['timeline'],
  make: options => new TimelineTab(options)
};
