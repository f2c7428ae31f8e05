/** Strips below the timeline, on its time axis: workers, memory and processors. */

import { most, type AllWorkers, type OneWorker, type Rows } from '../../model/usage';
import { bytes } from '../format';
import type { Translator } from '../translator';
import { place, type Palette } from './painter';

/** The height of one strip, and the space above it, in CSS pixels. */
export const STRIP = 38;
export const GAP = 8;

/** What the strips share with the timeline: edges, window and colours. */
export interface TimeAxis {
  readonly width: number;
  readonly left: number;
  readonly from: number;
  readonly to: number;
  readonly palette: Palette;
}

/** Colours of the strips' areas. */
export interface StripPalette {
  readonly busy: string;
  readonly memory: string;
  readonly cpu: string;
}

interface Area {
  readonly values: Float64Array;
  readonly colour: string;
  /** opacity */
  readonly alpha: number;
  /** a line instead of an area */
  readonly line?: boolean;
}

export interface Strip {
  readonly name: string;
  readonly rows: Rows;
  /** the value at the strip's top, and how it is written there */
  readonly top: number;
  readonly label: string;
  /** drawn in this order, each from zero */
  readonly areas: readonly Area[];
  /** a line at this value; null for none */
  readonly limit: number | null;
}

/** Element by element: the sum, where both are known; else the one that is. */
function sum(one: Float64Array, other: Float64Array): Float64Array {
  return one.map((value, index) => {
    const more = other[index] ?? NaN;
    return Number.isNaN(value) ? more : Number.isNaN(more) ? value : value + more;
  });
}

/** The strips of all workers, or of one. */
export function stripsOf(
  all: AllWorkers,
  one: OneWorker | null,
  colours: StripPalette,
  trans: Translator
): Strip[] {
  const workers = sum(all.busy, all.idle);
  const top = Math.max(1, Math.ceil(most(workers)));
  const strips: Strip[] = [
    {
      name: trans.__('busy'),
      rows: all,
      top,
      label: String(top),
      areas: [
        { values: workers, colour: colours.busy, alpha: 0.25 },
        { values: all.busy, colour: colours.busy, alpha: 0.9 }
      ],
      limit: null
    }
  ];
  if (one !== null) {
    const largest = Math.max(1, 1.1 * most(one.memory));
    const cpus = Math.max(1, most(one.cpu));
    strips.push(
      {
        name: trans.__('memory'),
        rows: one,
        top: largest,
        label: bytes(largest),
        areas: [{ values: one.memory, colour: colours.memory, alpha: 0.7 }],
        limit: null
      },
      {
        name: trans.__('CPU'),
        rows: one,
        top: cpus,
        label: cpus.toFixed(1),
        areas: [{ values: one.cpu, colour: colours.cpu, alpha: 0.7 }],
        limit: 1
      }
    );
    return strips;
  }
  const used = sum(all.cpu, all.kernel);
  const cpus = Math.max(all.cpus, most(used));
  strips.push(
    {
      name: trans.__('memory'),
      rows: all,
      top: all.limit,
      label: bytes(all.limit),
      areas: [
        { values: all.memory, colour: colours.memory, alpha: 0.7 },
        { values: all.used, colour: colours.memory, alpha: 1, line: true }
      ],
      limit: all.limit
    },
    {
      name: trans.__('CPU'),
      rows: all,
      top: cpus,
      label: String(Math.round(cpus * 10) / 10),
      areas: [
        { values: used, colour: colours.cpu, alpha: 0.3 },
        { values: all.cpu, colour: colours.cpu, alpha: 0.7 }
      ],
      limit: all.cpus
    }
  );
  return strips;
}

/** The height of so many strips. */
export function heightOf(strips: number): number {
  return strips * (STRIP + GAP);
}

/** Draw strips below one another; `marked` is a moment at which a line crosses them. */
export function paintStrips(
  context: CanvasRenderingContext2D,
  strips: readonly Strip[],
  axis: TimeAxis,
  marked: number | null
): void {
  const { width, left, palette } = axis;
  const height = heightOf(strips.length);
  context.clearRect(0, 0, width, height);
  context.font = `11px ${getComputedStyle(context.canvas).fontFamily}`;
  strips.forEach((strip, index) => paintStrip(context, strip, axis, index * (STRIP + GAP) + GAP));
  if (marked !== null && marked >= axis.from && marked <= axis.to) {
    context.fillStyle = palette.text;
    context.fillRect(Math.round(place(axis, marked)), 0, 1, height);
  }
  context.strokeStyle = palette.line;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(left + 0.5, GAP);
  context.lineTo(left + 0.5, height);
  context.stroke();
}

function paintStrip(
  context: CanvasRenderingContext2D,
  strip: Strip,
  axis: TimeAxis,
  y: number
): void {
  const { width, left, palette } = axis;
  const bottom = y + STRIP;
  context.fillStyle = palette.faint;
  context.textAlign = 'right';
  context.textBaseline = 'top';
  context.fillText(strip.label, left - 6, y);
  context.textBaseline = 'bottom';
  context.fillText(strip.name, left - 6, bottom);
  context.save();
  context.beginPath();
  context.rect(left, y - 1, width - left, STRIP + 1);
  context.clip();
  for (const area of strip.areas) {
    paintArea(context, strip, area, axis, y);
  }
  context.restore();
  context.strokeStyle = palette.line;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(left, bottom - 0.5);
  context.lineTo(width, bottom - 0.5);
  context.stroke();
  if (strip.limit !== null) {
    const at = Math.round(bottom - (strip.limit / strip.top) * STRIP) + 0.5;
    context.strokeStyle = palette.error;
    context.setLineDash([3, 3]);
    context.beginPath();
    context.moveTo(left, at);
    context.lineTo(width, at);
    context.stroke();
    context.setLineDash([]);
  }
}

function paintArea(
  context: CanvasRenderingContext2D,
  strip: Strip,
  area: Area,
  axis: TimeAxis,
  y: number
): void {
  const { start, time } = strip.rows;
  context.globalAlpha = area.alpha;
  context.fillStyle = area.colour;
  area.values.forEach((value, index) => {
    const [begin, end] = [start[index] ?? 0, time[index] ?? 0];
    if (Number.isNaN(value) || end < axis.from || begin > axis.to) {
      return;
    }
    const x = Math.round(place(axis, begin)); // no seams between rows
    const tall = Math.min(1, value / strip.top) * STRIP;
    const length = Math.max(1, Math.round(place(axis, end)) - x);
    context.fillRect(x, y + STRIP - tall, length, area.line === true ? 1.5 : tall);
  });
  context.globalAlpha = 1;
}
