/** The worker timeline: a row for each worker, a bar for each task, or for many short ones together. */

import { ran } from '../../model/counts';
import type { KernelState } from '../../model/kernelModel';
import { VERSION, type Command } from '../../protocol/messages';
import type { Span, TimelineModel } from '../../model/timeline';
import { button, child, setText } from '../dom';
import { TimelineChart } from '../timeline/chart';
import { COLOURS, Colours } from '../timeline/colours';
import { listen } from '../timeline/gestures';
import { StripsView } from '../timeline/stripsView';
import type { Picture } from '../timeline/painter';
import type { Mode } from '../timeline/range';
import { caveats, describe, summary } from '../timeline/labels';
import type { Translator } from '../translator';
import type { Tab, TabKind, TabOptions } from './tab';

/** Milliseconds that a window must stay unchanged before its tasks are requested. */
const SETTLE = 300;
/** Width in pixels above which slices are resolved into single tasks. */
const WIDE = 6;

class TimelineTab implements Tab {
  constructor({ parent, trans, send }: TabOptions) {
    this._trans = trans;
    this._send = send;
    this._parent = parent;
    this._bar = child(parent, 'div', 'cellmill-timeline-bar');
    this._whole = this._tool(trans.__('Whole run'), trans.__('Show the whole run (0)'), () =>
      this._chart.showAll()
    );
    this._follow = this._tool(trans.__('Follow'), trans.__('Stay at the newest tasks (End)'), () =>
      this._chart.follow()
    );
    this._tool('−', trans.__('Zoom out (-)'), () => this._chart.zoom(2));
    this._tool('+', trans.__('Zoom in (+)'), () => this._chart.zoom(0.5));
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
    this._strips = new StripsView(parent, trans, {
      ask: worker => this._askForWorker(worker)
    });
    this._words = child(parent, 'p', 'cellmill-note');
    this._note = child(parent, 'p', 'cellmill-note cellmill-faint');
    this._spoken = child(parent, 'p', 'cellmill-spoken');
    this._spoken.setAttribute('role', 'status');
    this._chart = new TimelineChart(this._frame, this._canvas, {
      colours: new Colours(parent, this._frame, this._note),
      label: worker => trans.__('worker %1', worker),
      drawn: (model, picture, mode) => this._drawn(model, picture, mode),
      pointed: (span, event) => this._showTip(span, event),
      marked: span => setText(this._spoken, this._describe(span).join(', ')),
      chosen: worker => this._strips.choose(worker),
      // the rest of the dashboard is told
      open: span =>
        this._canvas.dispatchEvent(
          new CustomEvent('cellmill-task', { bubbles: true, detail: { task: span.ticket } })
        )
    });
    listen(this._canvas, this._chart);
    this._strips.follow(this._chart);
  }

  draw(state: KernelState): void {
    const model = state.sections.timeline;
    const began = state.snapshot?.began ?? 0;
    if (began !== model.began) {
      model.began = began;
      model.version++;
    }
    this._strips.take(state.sections.usage, state.recorded, state.run !== null);
    if (model === this._model && model.version === this._version) {
      return;
    }
    const other = model !== this._model; // of another kernel or run
    this._model = model;
    this._version = model.version;
    this._run = state.run;
    const { frame } = model;
    if (other || (frame !== null && frame.work !== this._work)) {
      this._work = frame?.work ?? -1;
      this._chart.forget();
      this._strips.choose(null);
    }
    const known = frame?.known !== false;
    const some = model.spans.length + model.running.length > 0;
    this._frame.hidden = !known || !some;
    this._strips.hide(this._frame.hidden);
    this._bar.hidden = this._frame.hidden;
    const words = known
      ? summary(model, this._trans, model.last)
      : this._trans.__('This backend does not tell when its tasks ran.');
    setText(this._words, words);
    this._canvas.setAttribute(
      'aria-label',
      this._trans.__('What the workers did: %1. Plus and minus zoom, arrows move.', words)
    );
    const ended = state.snapshot === null ? 0 : ran(state.snapshot.counts);
    const note = known ? caveats(model, this._trans, ended, state.recorded) : '';
    setText(this._note, note);
    this._note.hidden = note === '';
    this._drawLegend();
    this._chart.draw(model);
  }

  dispose(): void {
    window.clearTimeout(this._timer);
    this._strips.dispose();
    this._chart.dispose();
    this._parent.replaceChildren();
  }

  private _tool(label: string, title: string, act: () => void): HTMLButtonElement {
    const made = button(this._bar, 'cellmill-button', act);
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

  /** Show a span's tooltip beside the pointer; null hides it. */
  private _showTip(span: Span | null, event: MouseEvent | null): void {
    this._tip.hidden = span === null || event === null;
    if (span === null || event === null) {
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

  private _drawn(model: TimelineModel, picture: Picture, mode: Mode): void {
    this._whole.setAttribute('aria-pressed', String(mode === 'whole'));
    this._follow.setAttribute('aria-pressed', String(mode === 'follow'));
    this._strips.draw(picture, model.workers());
    this._askForDetail(model, picture, mode);
  }

  /** Request the single tasks once a window with wide slices stays unchanged. */
  private _askForDetail(model: TimelineModel, picture: Picture, mode: Mode): void {
    const { from, to } = picture;
    const pixel = (to - from) / Math.max(1, picture.width - picture.left);
    const wide = (model.frame?.threshold ?? 0) > WIDE * pixel && mode === 'free';
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
        run: this._run,
        start: Math.max(0, from - beside),
        end: to + beside
      });
    }, SETTLE);
  }

  /** Request what one worker used. */
  private _askForWorker(worker: number): void {
    this._send({
      cellmill: VERSION,
      kind: 'show-worker-usage',
      request: ++this._requests,
      run: this._run,
      worker
    });
  }

  private readonly _strips: StripsView;
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
  private readonly _chart: TimelineChart;
  private _model: TimelineModel | null = null;
  private _version = -1;
  /** time of the last full picture */
  private _work = -1;
  private _run: number | null = null;
  private _timer = 0;
  private _requests = Math.floor(Math.random() * 1e9);
}

export const timelineTab: TabKind = {
  id: 'timeline',
  label: trans => trans.__('Timeline'),
  sections: ['timeline', 'usage'],
  make: options => new TimelineTab(options)
};
