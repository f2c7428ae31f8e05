/** A small filled line on a canvas, in the theme's colours. */

import { onThemeChange } from './theme';

/** Return the heights of values from 0 to 1: 1 is the maximum of those from `present` on, at which higher ones are cut. */
export function heights(values: readonly number[], present: number): readonly number[] {
  const peak = Math.max(...values.slice(present), Number.MIN_VALUE);
  return values.map(value => Math.min(1, value / peak));
}

/** Draws a series of values, the last one at the right edge. */
export class Sparkline {
  constructor(parent: HTMLElement) {
    this._canvas = document.createElement('canvas');
    this._canvas.className = 'cellmill-sparkline';
    this._canvas.setAttribute('role', 'img');
    parent.append(this._canvas);
    // Reading size and colour with each picture would force another layout of the page.
    this._resized = new ResizeObserver(() => this._resize());
    this._resized.observe(this._canvas);
    this._endTheme = onThemeChange(() => {
      this._colour = '';
      this._paint();
    });
  }

  /** Draw `values` from zero to the maximum of those from `present` on, which earlier ones may exceed; `label` is for screen
   * readers. */
  draw(values: readonly number[], label: string, present = 0): void {
    const same =
      values.length === this._values.length && values.every((v, i) => v === this._values[i]);
    if (same && present === this._present) {
      return;
    }
    this._present = present;
    this._values = values;
    this._canvas.setAttribute('aria-label', label);
    this._paint();
  }

  dispose(): void {
    this._resized.disconnect();
    this._endTheme();
  }

  private _resize(): void {
    this._width = this._canvas.clientWidth;
    this._height = this._canvas.clientHeight;
    this._scale = window.devicePixelRatio;
    this._canvas.width = Math.round(this._width * this._scale);
    this._canvas.height = Math.round(this._height * this._scale);
    this._paint();
  }

  private _paint(): void {
    const { _width: width, _height: height, _values: values } = this;
    const context = this._canvas.getContext('2d');
    if (context === null || width === 0 || height === 0) {
      return;
    }
    if (this._colour === '') {
      this._colour = getComputedStyle(this._canvas).color;
    }
    context.setTransform(this._scale, 0, 0, this._scale, 0, 0);
    context.clearRect(0, 0, width, height);
    const line = new Path2D();
    heights(values, this._present).forEach((part, index) => {
      const x = (index / Math.max(1, values.length - 1)) * width;
      line.lineTo(x, height - 1 - part * (height - 3));
    });
    const area = new Path2D(line);
    area.lineTo(width, height);
    area.lineTo(0, height);
    context.fillStyle = context.strokeStyle = this._colour;
    context.globalAlpha = 0.15;
    context.fill(area);
    context.globalAlpha = 1;
    context.lineWidth = 1.5;
    context.stroke(line);
  }

  private readonly _canvas: HTMLCanvasElement;
  private readonly _resized: ResizeObserver;
  private readonly _endTheme: () => void;
  private _values: readonly number[] = [];
  private _present = 0;
  private _width = 0;
  private _height = 0;
  private _scale = 1;
  private _colour = '';
}
