/** Draws rows of spans on a canvas. */

import type { Span } from '../../model/timeline';
import { axis } from './axis';

/** Colours of the theme, as the style sheet resolved them. */
export interface Palette {
  readonly text: string;
  readonly faint: string;
  readonly line: string;
  readonly stripe: string;
  readonly error: string;
  readonly lost: string;
  readonly others: string;
  readonly functions: readonly string[];
}

export interface Picture {
  readonly width: number;
  readonly height: number;
  /** pixels left of the first moment, for the workers' names */
  readonly left: number;
  readonly row: number;
  readonly workers: readonly number[];
  readonly labels: readonly string[];
  readonly spans: readonly Span[];
  /** seconds; `first` is where the axis counts from */
  readonly from: number;
  readonly to: number;
  readonly first: number;
  readonly palette: Palette;
  readonly colour: (number: number) => number;
  /** drawn with an outline */
  readonly chosen: Span | null;
}

/** Below the rows, for the axis. */
export const AXIS = 20;
const LEAST = 1;

/** A time's x coordinate. */
export function place(
  picture: Pick<Picture, 'left' | 'width' | 'from' | 'to'>,
  time: number
): number {
  const { left, width, from, to } = picture;
  return left + ((time - from) / (to - from)) * (width - left);
}

/** The span at a point of the picture, or a few pixels beside it. */
export function spanAt(picture: Picture, x: number, y: number): Span | null {
  const worker = picture.workers[Math.floor(y / picture.row)];
  let best: Span | null = null;
  let least = 4;
  for (const span of picture.spans) {
    if (span.worker !== worker || x < picture.left) {
      continue;
    }
    const off = Math.max(place(picture, span.start) - x, x - place(picture, span.end), 0);
    if (off <= least) {
      best = span; // of overlapping spans the last one, which is drawn on top
      least = off;
    }
  }
  return best;
}

/** Draw the whole picture. */
export function paint(context: CanvasRenderingContext2D, picture: Picture): void {
  const { width, height, left, palette } = picture;
  context.clearRect(0, 0, width, height);
  context.font = `11px ${getComputedStyle(context.canvas).fontFamily}`;
  context.textBaseline = 'middle';
  const rows = new Map(picture.workers.map((worker, index) => [worker, index * picture.row]));
  picture.workers.forEach((worker, index) => {
    const y = rows.get(worker) ?? 0;
    if (index % 2 === 1) {
      context.fillStyle = palette.stripe;
      context.fillRect(left, y, width - left, picture.row);
    }
    context.fillStyle = palette.faint;
    context.textAlign = 'right';
    context.fillText(picture.labels[index] ?? '', left - 6, y + picture.row / 2);
  });
  paintAxis(context, picture);
  context.save();
  context.beginPath();
  context.rect(left, 0, width - left, height - AXIS);
  context.clip();
  for (const span of picture.spans) {
    const y = rows.get(span.worker);
    if (y !== undefined && span.end >= picture.from && span.start <= picture.to) {
      paintSpan(context, picture, span, y + 1, picture.row - 2);
    }
  }
  context.restore();
}

function paintAxis(context: CanvasRenderingContext2D, picture: Picture): void {
  const { width, height, left, palette, first } = picture;
  const bottom = height - AXIS;
  const { base, marks } = axis(picture.from - first, picture.to - first, width - left);
  context.strokeStyle = palette.line;
  context.lineWidth = 1;
  context.beginPath();
  for (const mark of marks) {
    const x = Math.round(place(picture, mark.at + first)) + 0.5;
    context.moveTo(x, 0);
    context.lineTo(x, bottom + 4);
  }
  context.moveTo(left, bottom + 0.5);
  context.lineTo(width, bottom + 0.5);
  context.stroke();
  context.fillStyle = palette.faint;
  if (base !== '') {
    context.textAlign = 'left';
    context.fillText(base, 2, bottom + AXIS / 2 + 2);
  }
  context.textAlign = 'center';
  let taken = base === '' ? left - 12 : context.measureText(base).width + 6;
  for (const mark of marks) {
    const half = context.measureText(mark.label).width / 2;
    // a label at the right edge is moved to the left of its mark
    const x = Math.min(place(picture, mark.at + first), width - half);
    if (x - half >= taken) {
      taken = x + half + 8;
      context.fillText(mark.label, x, bottom + AXIS / 2 + 2);
    }
  }
}

function paintSpan(
  context: CanvasRenderingContext2D,
  picture: Picture,
  span: Span,
  y: number,
  height: number
): void {
  const { palette } = picture;
  const begin = Math.max(picture.left - 4, place(picture, span.start));
  const end = Math.min(picture.width + 4, place(picture, span.end));
  const length = Math.max(LEAST, end - begin - (end - begin > 4 ? 0.5 : 0));
  // The part of a slice that is idle time between tasks is drawn as a tint.
  context.globalAlpha = 0.22;
  context.fillStyle = colourOf(picture, span.functions[0]?.number);
  context.fillRect(begin, y, length, height);
  context.globalAlpha = span.running ? 0.6 : 1;
  let top = y + height;
  const parts = [
    ...span.functions.map(part => ({
      share: part.share,
      colour: colourOf(picture, part.number)
    })),
    { share: span.others, colour: palette.others }
  ];
  for (const part of parts) {
    const tall = part.share * height;
    top -= tall;
    context.fillStyle = part.colour;
    context.fillRect(begin, top, length, tall);
  }
  context.globalAlpha = 1;
  paintEnds(context, picture, span, { x: begin, y, width: length, height });
  if (span.running) {
    context.fillStyle = palette.text;
    context.fillRect(end - 1, y, 1.5, height);
  }
  if (span === picture.chosen) {
    context.strokeStyle = palette.text;
    context.lineWidth = 2;
    context.strokeRect(begin, y, Math.max(3, length), height);
  }
}

/** Mark what of a span did not end well: failed and lost tasks with an edge above, the cancelled ones hatched. */
function paintEnds(
  context: CanvasRenderingContext2D,
  { palette }: Picture,
  span: Span,
  { x, y, width, height }: { x: number; y: number; width: number; height: number }
): void {
  if (span.cut > span.lost) {
    hatch(context, palette.text, x, y, width, height);
  }
  const wide = Math.max(2, width);
  if (span.lost > 0) {
    context.fillStyle = palette.lost;
    context.fillRect(x, y, wide, 4);
    for (let at = x; at < x + wide; at += 5) {
      context.fillRect(at, y, Math.min(2, width), height); // stripes, as in bars and map
    }
  }
  if (span.failed > 0) {
    context.fillStyle = palette.error;
    context.fillRect(x, y, wide, 3);
    context.fillRect(x, y, Math.min(2, width), height);
  }
}

function colourOf(picture: Picture, number: number | undefined): string {
  const { functions, others } = picture.palette;
  return number === undefined || functions.length === 0
    ? others
    : (functions[picture.colour(number) % functions.length] ?? others);
}

/** Fill with slanted lines, at positions that do not depend on the span's width. */
function hatch(
  context: CanvasRenderingContext2D,
  colour: string,
  x: number,
  y: number,
  width: number,
  height: number
): void {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.strokeStyle = colour;
  context.globalAlpha = 0.7;
  context.lineWidth = 1;
  context.beginPath();
  for (let at = x - (x % 5) - height; at < x + width; at += 5) {
    context.moveTo(at, y + height);
    context.lineTo(at + height, y);
  }
  context.stroke();
  context.restore();
}
