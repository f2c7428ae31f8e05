/** A line over time, with its name and the value at the cursor or the newest one above it. */

import uPlot from 'uplot';

import type { Course } from '../model/history';
import { child, setText } from './dom';

const HEIGHT = 84;
/** Height of the labels on the last chart's time axis, in CSS pixels. */
const TIMES = 22;
const LABELS = 46;

export type Series = 'rate' | 'queued' | 'running';

/** Times and values, as uPlot takes them. */
type Line = [number[], (number | null)[]];

/** The element around a canvas, with what the canvas shows, for tests. */
interface PlotElement extends HTMLElement {
  drawn?: Line;
}

export class Chart {
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
    this._present = course.present;
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
          y: { range: () => [0, this._high()] }
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

  /** The end of the axis: what this work reached fills it, and a flood before it runs out of the picture. */
  private _high(): number {
    const values = this._data[1].slice(this._present);
    const high = Math.max(0, ...values.map(value => value ?? 0));
    return high > 0 ? high * 1.08 : 1;
  }

  private readonly _value: HTMLElement;
  private readonly _plot: PlotElement;
  private readonly _times: boolean;
  private readonly _sync: string;
  private _data: Line = [[], []];
  private _present = 0;
  private _chart: uPlot | null = null;
}

/** The colour made nearly transparent, for the area below a line. */
function faint(colour: string): string {
  return /^#[0-9a-f]{6}$/i.test(colour) ? `${colour}22` : 'transparent';
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
