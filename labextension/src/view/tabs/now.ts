/** Throughput, queue and running tasks over time. */

import uPlot from 'uplot';

import type { Course } from '../../model/history';
import type { KernelState } from '../../model/kernelModel';
import { button, child, setText } from '../dom';
import { count, duration, rate } from '../format';
import { NearView } from '../near';
import { onThemeChange } from '../theme';
import type { Translator } from '../translator';
import type { Tab, TabKind, TabOptions } from './tab';

const STEPS = 120;
const HEIGHT = 84;
/** Height of the labels on the last chart's time axis, in CSS pixels. */
const TIMES = 22;
const LABELS = 46;

type Series = 'rate' | 'queued' | 'running';
const SERIES: readonly Series[] = ['rate', 'queued', 'running'];

/** Times and values, as uPlot takes them. */
type Line = [number[], (number | null)[]];

/** The element around a canvas, with what the canvas shows, for tests. */
interface PlotElement extends HTMLElement {
  drawn?: Line;
}

/** One line over time; above it its name, and the value at the cursor or the newest one. */
class Chart {
  constructor(
    parent: HTMLElement,
    name: string,
    private readonly _series: Series,
    times: boolean,
    sync: string,
    private readonly _point: (index: number | null) => void
  ) {
    this.element = child(parent, 'div', `cellmill-chart cellmill-chart-${_series}`);
    const head = child(this.element, 'div', 'cellmill-chart-head');
    child(head, 'span', `cellmill-swatch cellmill-swatch-${_series}`);
    child(head, 'span', 'cellmill-chart-name').textContent = name;
    this._value = child(head, 'span', 'cellmill-chart-value');
    this._plot = child(this.element, 'div', 'cellmill-chart-plot');
    this._plot.setAttribute('role', 'img');
    this._times = times;
    this._sync = sync;
  }

  readonly element: HTMLElement;

  /** Draw a course; `label` is for screen readers. */
  draw(course: Course, label: string): void {
    this._plot.setAttribute('aria-label', label);
    this._data = [[...course.time], [...course[this._series]]];
    this._plot.drawn = this._data;
    const width = this._plot.clientWidth;
    if (width === 0) {
      return;
    }
    if (this._chart === null) {
      this._chart = this._make(width);
    } else {
      this._chart.setData(this._data);
    }
  }

  /** Set the text of the value. */
  show(text: string): void {
    setText(this._value, text);
  }

  resize(): void {
    const width = this._plot.clientWidth;
    if (width === 0) {
      return;
    }
    if (this._chart === null && this._data[0].length > 0) {
      this._chart = this._make(width);
    } else if (this._chart !== null && width !== this._chart.width) {
      this._chart.setSize({ width, height: this._chart.height });
    }
  }

  redraw(): void {
    this._chart?.redraw(false);
  }

  /** Put the cursor on a step; null removes it. */
  cursor(index: number | null): void {
    const chart = this._chart;
    const time = index === null ? undefined : this._data[0][index];
    const left = chart === null || time === undefined ? -10 : chart.valToPos(time, 'x');
    chart?.setCursor({ left, top: left < 0 ? -10 : 1 }, false);
  }

  dispose(): void {
    this._chart?.destroy();
    this._chart = null;
  }

  private _make(width: number): uPlot {
    const colour = (name: string) => (): string =>
      getComputedStyle(this.element).getPropertyValue(`--cellmill-chart-${name}`).trim();
    const axis = {
      stroke: colour('text'),
      font: '11px sans-serif',
      grid: { stroke: colour('grid'), width: 1 },
      ticks: { show: false }
    };
    return new uPlot(
      {
        width,
        height: HEIGHT + (this._times ? TIMES : 0),
        padding: [6, 8, this._times ? 0 : 4, 0],
        legend: { show: false },
        cursor: {
          sync: { key: this._sync },
          y: false,
          drag: { x: false, y: false },
          points: { size: 6, fill: colour(this._series), stroke: colour(this._series) }
        },
        scales: {
          x: { time: false },
          y: { range: (_, __, high) => [0, high > 0 ? high * 1.08 : 1] }
        },
        axes: [
          {
            ...axis,
            show: this._times,
            size: TIMES,
            gap: 4,
            space: 60,
            values: (_, values) => values.map(moment)
          },
          {
            ...axis,
            size: LABELS,
            gap: 4,
            space: 24,
            values: (_, values) =>
              values.map(value => (Number.isInteger(value) || value < 10 ? short(value) : ''))
          }
        ],
        series: [
          {},
          {
            stroke: colour(this._series),
            fill: () => faint(colour(this._series)()),
            width: 1.5,
            points: { show: false }
          }
        ],
        hooks: { setCursor: [chart => this._point(chart.cursor.idx ?? null)] }
      },
      this._data,
      this._plot
    );
  }

  private readonly _value: HTMLElement;
  private readonly _plot: PlotElement;
  private readonly _times: boolean;
  private readonly _sync: string;
  private _data: Line = [[], []];
  private _chart: uPlot | null = null;
}

let tabs = 0;

class NowTab implements Tab {
  constructor({ parent, trans }: TabOptions) {
    this._trans = trans;
    this._root = child(parent, 'div', 'cellmill-now');
    this._near = new NearView(this._root, trans);
    const head = child(this._root, 'div', 'cellmill-now-head');
    const choices = child(head, 'div', 'cellmill-windows');
    choices.setAttribute('role', 'group');
    choices.setAttribute('aria-label', trans.__('Time shown'));
    this._buttons = windowsOf(trans).map(({ seconds, name }) => {
      const choice = button(choices, 'cellmill-window', () => this._choose(seconds));
      choice.textContent = name;
      return { seconds, choice };
    });
    this._when = child(head, 'span', 'cellmill-now-when');
    const charts = child(this._root, 'div', 'cellmill-charts');
    charts.tabIndex = 0;
    charts.setAttribute('role', 'group');
    charts.setAttribute(
      'aria-label',
      trans.__('Throughput, queue and running tasks over time. Arrow keys move through it.')
    );
    charts.addEventListener('keydown', event => this._pressed(event));
    charts.addEventListener('blur', () => this._move(null));
    const sync = `cellmill-now-${tabs++}`;
    this._charts = SERIES.map((series, index) => {
      const last = index === SERIES.length - 1;
      const name = seriesName(trans, series);
      return new Chart(charts, name, series, last, sync, at => this._pointed(at));
    });
    this._spoken = child(this._root, 'span', 'cellmill-spoken');
    this._spoken.setAttribute('aria-live', 'polite');
    this._resized = new ResizeObserver(() => this._charts.forEach(chart => chart.resize()));
    this._resized.observe(charts);
    this._endTheme = onThemeChange(() => this._charts.forEach(chart => chart.redraw()));
    this._choose(30);
  }

  draw(state: KernelState): void {
    this._state = state;
    this._near.draw(state.sections.workers);
    const course = state.course(this._seconds, STEPS);
    const last = this._course;
    this._course = course;
    if (last !== null && equal(course, last)) {
      return;
    }
    SERIES.forEach((series, index) => {
      const values = course[series].filter(value => value !== null);
      const label = this._trans.__(
        '%1: now %2, at most %3 in the time shown',
        seriesName(this._trans, series),
        value(series, values.at(-1) ?? null),
        value(series, values.length > 0 ? Math.max(...values) : null)
      );
      this._charts[index]?.draw(course, label);
    });
    this._show();
  }

  dispose(): void {
    this._resized.disconnect();
    this._endTheme();
    this._charts.forEach(chart => chart.dispose());
    this._root.remove();
  }

  private _choose(seconds: number | null): void {
    this._seconds = seconds;
    for (const entry of this._buttons) {
      entry.choice.setAttribute('aria-pressed', String(entry.seconds === seconds));
    }
    if (this._state !== null) {
      this.draw(this._state);
    }
  }

  /** Handle a move of the cursor to a step; null for none. */
  private _pointed(index: number | null): void {
    if (index !== this._index) {
      this._index = index;
      this._show();
    }
  }

  private _move(index: number | null): void {
    this._charts[0]?.cursor(index);
    this._charts.slice(1).forEach(chart => chart.cursor(index));
    this._pointed(index);
    setText(this._spoken, index === null ? '' : this._words(index));
  }

  private _pressed(event: KeyboardEvent): void {
    const here = this._index ?? STEPS;
    const steps: Record<string, number> = {
      ArrowLeft: here - 1,
      ArrowRight: here + 1,
      Home: 0,
      End: STEPS
    };
    const to = steps[event.key];
    if (to === undefined) {
      return;
    }
    event.preventDefault();
    this._move(Math.min(STEPS, Math.max(0, to)));
  }

  private _show(): void {
    const course = this._course;
    if (course === null) {
      return;
    }
    const at = this._index ?? course.time.length - 1;
    SERIES.forEach((series, index) => {
      this._charts[index]?.show(value(series, course[series][at] ?? null));
    });
    const time = course.time[at];
    setText(this._when, this._index === null || time === undefined ? '' : this._moment(time));
  }

  private _moment(time: number): string {
    return time < 0
      ? this._trans.__('%1 ago', duration(-time))
      : this._seconds === null
        ? this._trans.__('after %1', duration(time))
        : this._trans.__('now');
  }

  private _words(index: number): string {
    const course = this._course;
    const time = course?.time[index];
    if (course === null || time === undefined) {
      return '';
    }
    const said = SERIES.map(
      series => `${seriesName(this._trans, series)} ${value(series, course[series][index] ?? null)}`
    );
    return `${this._moment(time)}: ${said.join(', ')}`;
  }

  private readonly _trans: Translator;
  private readonly _root: HTMLElement;
  private readonly _near: NearView;
  private readonly _buttons: readonly {
    readonly seconds: number | null;
    readonly choice: HTMLButtonElement;
  }[];
  private readonly _when: HTMLElement;
  private readonly _charts: readonly Chart[];
  private readonly _spoken: HTMLElement;
  private readonly _resized: ResizeObserver;
  private readonly _endTheme: () => void;
  private _seconds: number | null = null;
  private _state: KernelState | null = null;
  private _course: Course | null = null;
  private _index: number | null = null;
}

/** Whether two courses have the same values. */
function equal(one: Course, other: Course): boolean {
  const same = (a: readonly (number | null)[], b: readonly (number | null)[]): boolean =>
    a.length === b.length && a.every((value, index) => value === b[index]);
  return same(one.time, other.time) && SERIES.every(series => same(one[series], other[series]));
}

/** The colour made nearly transparent, for the area below a line. */
function faint(colour: string): string {
  return /^#[0-9a-f]{6}$/i.test(colour) ? `${colour}22` : 'transparent';
}

function windowsOf(
  trans: Translator
): readonly { readonly seconds: number | null; readonly name: string }[] {
  return [
    { seconds: 30, name: trans.__('30 s') },
    { seconds: 300, name: trans.__('5 min') },
    { seconds: null, name: trans.__('Whole run') }
  ];
}

function seriesName(trans: Translator, series: Series): string {
  const names: Record<Series, string> = {
    rate: trans.__('Tasks per second'),
    queued: trans.__('Queued'),
    running: trans.__('Running')
  };
  return names[series];
}

function value(series: Series, number: number | null): string {
  return number === null ? '–' : series === 'rate' ? rate(number) : count(number);
}

/** A number on an axis. */
function short(number: number): string {
  if (number >= 1e6) {
    return `${number / 1e6}M`;
  }
  return number >= 1e4 ? `${number / 1000}k` : String(number);
}

/** A time on the axis: relative to now, or since the beginning. */
function moment(seconds: number): string {
  const size = Math.abs(seconds);
  const text =
    size >= 3600
      ? `${Math.round(size / 360) / 10} h`
      : size >= 120
        ? `${Math.round(size / 6) / 10} min`
        : `${size} s`;
  return seconds < 0 ? `−${text}` : text;
}

export const nowTab: TabKind = {
  id: 'now',
  label: trans => trans.__('Now'),
  sections: ['workers'],
  make: options => new NowTab(options)
};
