/** The rows of the timeline with their canvas: the window of time, and the marked span. */

import type { Span, TimelineModel } from '../../model/timeline';
import type { Colours } from './colours';
import type { TimelineActs } from './gestures';
import { AXIS, paint, spanAt, type Picture } from './painter';
import { Range, type Mode } from './range';
import { mergeNarrow, nearest, neighbour, visibleSpans } from './viewport';

const MOST_ROWS_TALL = 16; // with more workers, rows are lower
const ROW = { tall: 20, low: 12 };
/** A key moves the window by its length divided by this. */
const STEPS = 8;

export interface TimelineChartOptions {
  readonly colours: Colours;
  /** a worker's name */
  readonly label: (worker: number) => string;
  /** called after each drawing */
  readonly drawn: (model: TimelineModel, picture: Picture, mode: Mode) => void;
  /** called with the span under the pointer, or null */
  readonly pointed: (span: Span | null, event: MouseEvent | null) => void;
  readonly marked: (span: Span) => void;
  /** called when a worker's name is pressed */
  readonly chosen: (worker: number) => void;
  /** called to show a span's task */
  readonly open: (span: Span) => void;
}

export class TimelineChart implements TimelineActs {
  /** `frame` limits the picture's width, and is hidden while there is no picture. */
  constructor(
    private readonly _frame: HTMLElement,
    private readonly _canvas: HTMLCanvasElement,
    private readonly _options: TimelineChartOptions
  ) {
    this._resized = new ResizeObserver(() => this.redraw());
    this._resized.observe(_canvas);
  }

  /** Draw a model. */
  draw(model: TimelineModel): void {
    this._model = model;
    this.redraw();
  }

  /** The time under the pointer. */
  timeAt(event: MouseEvent): number {
    const picture = this._picture;
    if (picture === null) {
      return 0;
    }
    const x = event.clientX - this._canvas.getBoundingClientRect().left;
    const share = (x - picture.left) / Math.max(1, picture.width - picture.left);
    return picture.from + share * (picture.to - picture.from);
  }

  /** Begin another piece of work: unmark the span, and show all of the time. */
  forget(): void {
    this._range.showAll();
    this._chosen = null;
  }

  dispose(): void {
    this._resized.disconnect();
  }

  zoom(factor: number, around?: MouseEvent): void {
    const { first, last } = this._ends();
    const { from, to } = this._range.window(first, last);
    const at = around === undefined ? (from + to) / 2 : this.timeAt(around);
    this._range.zoom(factor, at, first, last);
    this.redraw();
  }

  pan(pixels: number): void {
    const { first, last } = this._ends();
    const { from, to } = this._range.window(first, last);
    const width = (this._picture?.width ?? 1) - (this._picture?.left ?? 0);
    this._range.pan((pixels / Math.max(1, width)) * (to - from), first, last);
    this.redraw();
  }

  step(side: 1 | -1): void {
    const width = (this._picture?.width ?? 300) - (this._picture?.left ?? 0);
    this.pan((side * width) / STEPS);
  }

  showAll(): void {
    this._range.showAll();
    this.redraw();
  }

  follow(): void {
    this._range.follow();
    this.redraw();
  }

  point(event: MouseEvent): void {
    const span = this._spanAt(event);
    this._canvas.style.cursor = span === null ? '' : 'pointer';
    this._options.pointed(span, event);
  }

  leave(): void {
    this._options.pointed(null, null);
  }

  press(event: MouseEvent): void {
    const { _picture: picture } = this;
    const box = this._canvas.getBoundingClientRect();
    if (picture !== null && event.clientX - box.left < picture.left) {
      const worker = picture.workers[Math.floor((event.clientY - box.top) / picture.row)];
      if (worker !== undefined) {
        this._options.chosen(worker);
      }
      return;
    }
    const found = this._spanAt(event);
    if (found !== null) {
      this._mark(found);
      this._options.open(found);
    }
  }

  next(by: 1 | -1): void {
    const { _picture: picture } = this;
    this._bring(neighbour(picture?.spans ?? [], this._chosen, picture?.workers[0], by));
  }

  otherWorker(by: 1 | -1): void {
    const workers = this._picture?.workers ?? [];
    const here = workers.indexOf(this._chosen?.worker ?? -1);
    const worker = workers[Math.max(0, Math.min(workers.length - 1, here < 0 ? 0 : here + by))];
    this._bring(nearest(this._picture?.spans ?? [], worker, this._chosen?.start ?? -Infinity));
  }

  open(): void {
    if (this._chosen !== null) {
      this._mark(this._chosen);
      this._options.open(this._chosen);
    }
  }

  redraw(): void {
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
    const data = this._canvas.dataset;
    data.spans = String(picture.spans.length);
    data.detail = model.detail?.complete ? 'tasks' : '';
    data.from = (picture.from - model.first).toFixed(9);
    data.to = (picture.to - model.first).toFixed(9);
    this._options.drawn(model, picture, this._range.mode);
  }

  private _compose(model: TimelineModel, width: number): Picture {
    const { first, last } = this._ends();
    const { from, to } = this._range.window(first, last);
    const workers = model.workers();
    const row = workers.length > MOST_ROWS_TALL ? ROW.low : ROW.tall;
    const end = model.time;
    const running = model.running.map(span => ({ ...span, end: Math.max(span.end, end) }));
    const left = width < 400 ? 58 : 70;
    const pixel = (to - from) / Math.max(1, width - left);
    return {
      width,
      height: workers.length * row + AXIS,
      left,
      row,
      workers,
      labels: workers.map(worker => this._options.label(worker)),
      spans: [...mergeNarrow(visibleSpans(model, from, to), pixel), ...running],
      from,
      to,
      first,
      palette: this._options.colours.read(),
      colour: number => model.colour(number),
      chosen: this._chosen
    };
  }

  private _ends(): { readonly first: number; readonly last: number } {
    const first = this._model?.first ?? 0;
    return { first, last: this._model?.last ?? 0 };
  }

  private _spanAt(event: MouseEvent): Span | null {
    const box = this._canvas.getBoundingClientRect();
    const { _picture: picture } = this;
    return picture === null
      ? null
      : spanAt(picture, event.clientX - box.left, event.clientY - box.top);
  }

  private _mark(span: Span): void {
    this._chosen = span;
    this._options.marked(span);
    this.redraw();
  }

  /** Mark a span, and move the window so that it is visible. */
  private _bring(span: Span | null): void {
    if (span === null) {
      return;
    }
    const { first, last } = this._ends();
    const { from, to } = this._range.window(first, last);
    if (span.end < from || span.start > to) {
      this._range.pan((span.start + span.end) / 2 - (from + to) / 2, first, last);
    }
    this._mark(span);
  }

  private readonly _resized: ResizeObserver;
  private readonly _range = new Range();
  private _model: TimelineModel | null = null;
  private _picture: Picture | null = null;
  private _chosen: Span | null = null;
}
