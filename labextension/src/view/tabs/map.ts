/** The state map: every task as a cell, in the order of submission. */

import type { KernelState } from '../../model/kernelModel';
import { VERSION, type Command, type MapCounts, type StateMap } from '../../protocol/messages';
import {
  FORGOTTEN,
  STATES,
  cellOf,
  partPicture,
  wholePicture,
  zoomRange,
  type MapPicture,
  type TaskState
} from '../../model/stateMap';
import { button, child, setText } from '../dom';
import { count } from '../format';
import { MapCanvas } from '../mapCanvas';
import { someBad, stateName } from '../mapLabels';
import { onThemeChange } from '../theme';
import type { Translator } from '../translator';
import type { Tab, TabKind, TabOptions } from './tab';

/** The detail of the event for a click on a single task. */
export interface TaskChosen {
  /** its number in the present piece of work, from 1 */
  readonly task: number;
  /** its position in the kernel, as journeys name it, or in the run */
  readonly position: number;
  /** the run's id; null for a position in the kernel */
  readonly run: number | null;
}

/** Name of that event, which bubbles. */
export const TASK_CHOSEN = 'cellmill-task';

/** Cells of the whole picture that the zoomed range covers. */
const ZOOM_CELLS = 64;
/** Seconds between requests for the zoomed part. */
const REFRESH = 0.5;
/** States in the order of the legend; rare ones are shown only if there are any. */
const LEGEND: readonly (keyof MapCounts)[] = [
  'done',
  'running',
  'queued',
  'waiting',
  'failed',
  'lost',
  'cancelled'
];
const ALWAYS: ReadonlySet<string> = new Set(['done', 'running', 'queued', 'failed']);

interface Zoom {
  readonly work: number;
  readonly start: number;
  readonly end: number;
}

class MapTab implements Tab {
  constructor({ parent, trans, send }: TabOptions) {
    this._trans = trans;
    this._send = send;
    this._root = child(parent, 'div', 'cellmill-map');
    this._legend = child(this._root, 'ul', 'cellmill-legend');
    const frame = child(this._root, 'div', 'cellmill-map-frame');
    const canvas = document.createElement('canvas');
    canvas.className = 'cellmill-map-canvas';
    canvas.tabIndex = 0;
    canvas.setAttribute('role', 'img');
    frame.append(canvas);
    this._canvas = new MapCanvas(canvas);
    this._mark = child(frame, 'div', 'cellmill-map-mark');
    this._mark.hidden = true;
    const foot = child(this._root, 'div', 'cellmill-map-foot');
    this._words = child(foot, 'span', 'cellmill-map-words');
    this._words.setAttribute('aria-live', 'polite');
    this._back = button(foot, 'cellmill-button cellmill-map-back', () => this._unzoom());
    this._back.textContent = trans.__('Show all');
    this._note = child(this._root, 'p', 'cellmill-map-note');
    this._empty = child(parent, 'p', 'cellmill-message');
    this._listen(canvas);
    this._resized = new ResizeObserver(() => this._paint());
    this._resized.observe(canvas);
    this._endTheme = onThemeChange(() => this._paint());
  }

  draw(state: KernelState): void {
    const frame = state.sections.stateMap;
    this._state = state;
    this._root.hidden = frame === null;
    this._empty.hidden = frame !== null;
    if (frame === null) {
      const kept = state.snapshot?.backend !== 'inline';
      setText(
        this._empty,
        kept
          ? this._trans.__('Waiting for the state map…')
          : this._trans.__('The inline backend keeps no state map: it runs each call at once.')
      );
      return;
    }
    if (state.run !== this._run || (this._zoom !== null && this._zoom.work !== frame.work)) {
      this._zoom = null; // another run or piece of work has other tasks
      this._part = this._shown = this._cursor = null;
    }
    this._work = frame.work;
    this._run = state.run;
    if (this._zoom !== null) {
      this._look(this._zoom, frame);
      const part = state.sections.mapParts.get(this._request);
      if (part !== undefined && part !== this._part) {
        this._part = part;
        if (part.start >= this._zoom.start && part.end <= this._zoom.end) {
          this._picture = partPicture(part, frame.origin, this._zoom.start, this._zoom.end);
          this._paint();
        }
      }
    } else if (frame !== this._shown) {
      this._picture = wholePicture(frame);
      this._paint();
    }
    this._shown = this._zoom === null ? frame : null;
  }

  dispose(): void {
    window.clearTimeout(this._timer);
    this._resized.disconnect();
    this._endTheme();
    this._root.remove();
    this._empty.remove();
  }

  private _listen(canvas: HTMLCanvasElement): void {
    canvas.addEventListener('mousemove', event => this._point(this._under(event)));
    canvas.addEventListener('mouseleave', () => this._point(null));
    canvas.addEventListener('click', event => {
      this._point(this._under(event));
      this._choose();
    });
    canvas.addEventListener('focus', () => this._point(this._cursor ?? 0));
    canvas.addEventListener('blur', () => this._point(null));
    this._root.addEventListener('keydown', event => this._pressed(event));
  }

  private _under(event: MouseEvent): number | null {
    return this._canvas.cellAt(event.offsetX, event.offsetY, this._picture?.cells.length ?? 0);
  }

  private _pressed(event: KeyboardEvent): void {
    if (event.key === 'Escape' && this._zoom !== null) {
      event.stopPropagation();
      this._unzoom();
      return;
    }
    const cells = this._picture?.cells.length ?? 0;
    if (event.target !== this._canvas.element || cells === 0) {
      return;
    }
    const here = this._cursor ?? 0;
    const steps: Record<string, number> = {
      ArrowRight: here + 1,
      ArrowLeft: here - 1,
      ArrowDown: here + this._canvas.columns,
      ArrowUp: here - this._canvas.columns,
      Home: 0,
      End: cells - 1
    };
    const to = steps[event.key];
    if (to !== undefined) {
      event.preventDefault();
      this._point(to >= 0 && to < cells ? to : here);
    } else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      this._choose();
    }
  }

  /** Set the cell under the pointer; null for none. */
  private _point(cell: number | null): void {
    this._cursor = cell;
    this._drawCursor();
  }

  /** Act on the cell under the pointer: emit an event for a single task, zoom into several. */
  private _choose(): void {
    const picture = this._picture;
    const cell = this._cursor;
    if (picture === null || cell === null || picture.cells[cell] === FORGOTTEN) {
      return;
    }
    if (picture.span === 1) {
      const position = picture.start + cell;
      const detail: TaskChosen = { task: position - picture.origin + 1, position, run: this._run };
      this._root.dispatchEvent(new CustomEvent(TASK_CHOSEN, { detail, bubbles: true }));
      return;
    }
    if (this._state?.recorded === true) {
      setText(this._words, this._trans.__('A recording holds no closer look than this one.'));
      return;
    }
    this._zoom = { work: this._work, ...zoomRange(picture, cell, ZOOM_CELLS) };
    this._cursor = picture.start + cell * picture.span - this._zoom.start;
    this._asked = 0;
    this._askedAt = null;
    this._redraw();
  }

  private _unzoom(): void {
    this._zoom = null;
    this._part = null;
    this._cursor = null;
    this._shown = null;
    this._canvas.element.focus();
    this._redraw();
  }

  private _redraw(): void {
    if (this._state !== null) {
      this.draw(this._state);
    }
  }

  /** Request the zoomed part if the map has changed, at most every `REFRESH` seconds. */
  private _look({ start, end }: Zoom, frame: StateMap): void {
    if (frame === this._askedAt) {
      return;
    }
    const left = this._asked + REFRESH - performance.now() / 1000;
    window.clearTimeout(this._timer);
    if (left > 0) {
      this._timer = window.setTimeout(() => this._redraw(), 1000 * left);
      return;
    }
    this._asked = performance.now() / 1000;
    this._askedAt = frame;
    const { _request: request, _run: run } = this;
    this._send({ cellmill: VERSION, kind: 'zoom-map', request, run, start, end });
  }

  private _paint(): void {
    const picture = this._picture;
    if (picture === null || this._root.hidden) {
      return;
    }
    this._canvas.draw(picture);
    this._drawLegend(picture);
    this._drawFoot(picture);
    this._drawCursor();
    const data = this._root.dataset;
    data.cells = String(picture.cells.length);
    data.span = String(picture.span);
    data.start = String(picture.start - picture.origin);
    data.failed = String(picture.counts.failed);
    data.lost = String(picture.counts.lost);
    data.done = String(picture.counts.done);
  }

  private _drawLegend(picture: MapPicture): void {
    const { counts } = picture;
    LEGEND.forEach((state, index) => {
      const item = this._legend.children[index] ?? this._addLegend(state);
      (item as HTMLElement).hidden = counts[state] === 0 && !ALWAYS.has(state);
      const number = item.lastElementChild;
      if (number !== null) {
        setText(number, count(counts[state]));
      }
    });
  }

  private _addLegend(state: TaskState): HTMLElement {
    const item = child(this._legend, 'li', 'cellmill-legend-item');
    item.dataset.state = state;
    child(item, 'span', `cellmill-swatch cellmill-swatch-${state}`);
    child(item, 'span', 'cellmill-legend-name').textContent = stateName(this._trans, state);
    child(item, 'span', 'cellmill-legend-count');
    return item;
  }

  private _drawFoot(picture: MapPicture): void {
    const trans = this._trans;
    const { start, end, origin, span, counts } = picture;
    const tasks = end - start;
    this._back.hidden = this._zoom === null;
    const each =
      span === 1 ? trans.__('one cell a task') : trans.__('%1 tasks a cell', count(span));
    const which =
      this._zoom === null
        ? trans._n('%2 task', '%2 tasks', tasks, count(tasks))
        : trans.__('Tasks %1 to %2', count(start - origin + 1), count(end - origin));
    const gone =
      picture.forgotten > 0
        ? trans.__('; the first %1 are no longer kept', count(picture.forgotten))
        : '';
    setText(this._note, `${which}, ${each}${gone}`);
    const said = LEGEND.filter(state => counts[state] > 0)
      .map(state => `${count(counts[state])} ${stateName(trans, state).toLocaleLowerCase()}`)
      .join(', ');
    this._canvas.element.setAttribute(
      'aria-label',
      trans.__('State map. %1: %2. Arrow keys move from cell to cell.', which, said)
    );
  }

  private _drawCursor(): void {
    const picture = this._picture;
    const cell = this._cursor;
    const shown = picture !== null && cell !== null && cell < picture.cells.length;
    this._mark.hidden = !shown;
    if (!shown) {
      setText(this._words, '');
      return;
    }
    const { x, y, side } = this._canvas.place(cell);
    this._mark.style.transform = `translate(${x - 2}px, ${y - 2}px)`;
    this._mark.style.width = this._mark.style.height = `${side + 3}px`;
    setText(this._words, this._wordsFor(picture, cell));
  }

  private _wordsFor(picture: MapPicture, cell: number): string {
    const trans = this._trans;
    const value = picture.cells[cell] ?? 0;
    const first = picture.start + cell * picture.span - picture.origin + 1;
    const all = count(this._state?.sections.stateMap?.total ?? picture.end - picture.origin);
    if (value === FORGOTTEN) {
      return trans.__('Task %1 of %2: no longer kept', count(first), all);
    }
    if (picture.span === 1) {
      const state = stateName(trans, STATES[value] ?? 'unknown').toLocaleLowerCase();
      return trans.__('Task %1 of %2: %3', count(first), all, state);
    }
    const last = Math.min(first + picture.span - 1, picture.end - picture.origin);
    const { share, failed, running, waiting, cancelled } = cellOf(value);
    const parts = [
      share === 15
        ? trans.__('all done')
        : share === 0
          ? trans.__('none done')
          : trans.__('about %1% done', Math.round((100 * share) / 15)),
      failed ? someBad(picture, trans) : '',
      running ? trans.__('some running') : '',
      waiting ? trans.__('some waiting') : '',
      cancelled ? trans.__('some cancelled') : ''
    ];
    const said = parts.filter(part => part !== '').join(', ');
    return trans.__('Tasks %1 to %2: %3', count(first), count(last), said);
  }

  private readonly _trans: Translator;
  private readonly _send: (command: Command) => void;
  private readonly _root: HTMLElement;
  private readonly _legend: HTMLElement;
  private readonly _canvas: MapCanvas;
  private readonly _mark: HTMLElement;
  private readonly _words: HTMLElement;
  private readonly _back: HTMLButtonElement;
  private readonly _note: HTMLElement;
  private readonly _empty: HTMLElement;
  private readonly _resized: ResizeObserver;
  private readonly _endTheme: () => void;
  /** of this tab: answers to other requests arrive here too */
  private readonly _request = Math.floor(Math.random() * 2 ** 31);
  private _picture: MapPicture | null = null;
  private _shown: unknown = null;
  private _part: unknown = null;
  private _zoom: Zoom | null = null;
  private _cursor: number | null = null;
  private _work = 0;
  private _run: number | null = null;
  private _asked = 0;
  private _askedAt: StateMap | null = null;
  private _timer = 0;
  private _state: KernelState | null = null;
}

export const mapTab: TabKind = {
  id: 'map',
  label: trans => trans.__('Map'),
  sections: ['state-map'],
  make: options => new MapTab(options)
};
