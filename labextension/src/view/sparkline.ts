/** A small filled line on a canvas, in the theme's colours. */

/** Draws a series of values; the last one stands at the right edge. */
export class Sparkline {
  constructor(parent: HTMLElement) {
    this._canvas = document.createElement('canvas');
    this._canvas.className = 'cellmill-sparkline';
    this._canvas.setAttribute('role', 'img');
    parent.append(this._canvas);
  }

  /** Draw `values` from zero to their maximum; `label` is what a screen reader says. */
  draw(values: readonly number[], label: string): void {
    this._canvas.setAttribute('aria-label', label);
    const width = this._canvas.clientWidth;
    const height = this._canvas.clientHeight;
    const context = this._canvas.getContext('2d');
    if (context === null || width === 0 || height === 0) {
      return;
    }
    const scale = window.devicePixelRatio;
    this._canvas.width = Math.round(width * scale);
    this._canvas.height = Math.round(height * scale);
    context.scale(scale, scale);
    const colour = getComputedStyle(this._canvas).color;
    const peak = Math.max(...values, Number.MIN_VALUE);
    const line = new Path2D();
    values.forEach((value, index) => {
      const x = (index / Math.max(1, values.length - 1)) * width;
      line.lineTo(x, height - 1 - (value / peak) * (height - 3));
    });
    const area = new Path2D(line);
    area.lineTo(width, height);
    area.lineTo(0, height);
    context.fillStyle = colour;
    context.globalAlpha = 0.15;
    context.fill(area);
    context.globalAlpha = 1;
    context.strokeStyle = colour;
    context.lineWidth = 1.5;
    context.stroke(line);
  }

  private readonly _canvas: HTMLCanvasElement;
}
