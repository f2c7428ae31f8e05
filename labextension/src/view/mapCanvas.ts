/** The state map's picture: coloured squares on a canvas, in the colours of the theme. */

import {
  FORGOTTEN,
  STATES,
  cellOf,
  gridOf,
  type Grid,
  type MapPicture,
  type TaskState
} from '../model/stateMap';

/** The largest side of a cell, and the smallest with gaps between cells, in CSS pixels. */
const LARGEST = 14;
const APART = 5;
/** The picture's largest height, in CSS pixels and as a fraction of its width. */
const HIGHEST = 340;
const LEAST_HIGH = 180;
const PROPORTION = 0.75;
const ALL = 15;
const FAILED = STATES.indexOf('failed');
const LOST = STATES.indexOf('lost');
/** The side of a failure's mark, if cells are smaller and at most this fraction of them has a failure. */
const MARK = 4;
const RARE = 0.02;

type Colours = Readonly<Record<(typeof STATES)[number] | 'crossing', string>>;

/** A run of pixels in one colour. */
interface Stripe {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Draws pictures and finds cells in them. */
export class MapCanvas {
  constructor(readonly element: HTMLCanvasElement) {}

  /** Draw a picture over the element's width, and set its height. */
  draw(picture: MapPicture): void {
    const width = this.element.clientWidth;
    const context = this.element.getContext('2d');
    if (width === 0 || context === null) {
      return;
    }
    const scale = window.devicePixelRatio;
    const high = Math.min(HIGHEST, Math.max(LEAST_HIGH, width * PROPORTION));
    this._grid = gridOf(picture.cells.length, width, high, LARGEST);
    const height = Math.ceil(this._grid.rows * this._grid.side);
    this.element.style.height = `${height}px`;
    this._fit(Math.round(width * scale), Math.round(height * scale));
    context.clearRect(0, 0, this.element.width, this.element.height);
    this._paint(context, picture, this._grid, scale);
  }

  /** The cell at a point of the element in CSS pixels, or null. */
  cellAt(x: number, y: number, cells: number): number | null {
    const { columns, side } = this._grid;
    const column = Math.floor(x / side);
    const cell = Math.floor(y / side) * columns + column;
    return x >= 0 && y >= 0 && column < columns && cell < cells ? cell : null;
  }

  /** A cell's position, in CSS pixels. */
  place(cell: number): { readonly x: number; readonly y: number; readonly side: number } {
    const { columns, side } = this._grid;
    return { x: (cell % columns) * side, y: Math.floor(cell / columns) * side, side };
  }

  /** Cells in a row. */
  get columns(): number {
    return this._grid.columns;
  }

  /** Set the canvas's size if it differs: setting it clears the canvas and allocates memory. */
  private _fit(width: number, height: number): void {
    if (this.element.width !== width || this.element.height !== height) {
      this.element.width = width;
      this.element.height = height;
    }
  }

  private _paint(
    context: CanvasRenderingContext2D,
    picture: MapPicture,
    grid: Grid,
    scale: number
  ): void {
    const colours = coloursOf(this.element);
    const gap = grid.side >= APART ? Math.max(1, Math.round(scale)) : 0;
    const { cells, span } = picture;
    const bad = badOf(picture, colours);
    const edge = (index: number): number => Math.round(index * grid.side * scale);
    const strokes = new Path2D();
    // Equal cells side by side are one stripe, unless there are gaps between cells.
    for (let row = 0; row < grid.rows; row++) {
      const y = edge(row);
      const height = edge(row + 1) - y - gap;
      const end = Math.min(cells.length, (row + 1) * grid.columns);
      for (let cell = row * grid.columns; cell < end;) {
        const value = cells[cell] ?? 0;
        let next = cell + 1;
        while (gap === 0 && next < end && cells[next] === value) {
          next++;
        }
        const x = edge(cell - row * grid.columns);
        const width = edge(next - row * grid.columns) - x - gap;
        const stripe = { x, y, width, height };
        if (value === FORGOTTEN) {
          fill(context, stripe, colours.unknown, 1);
        } else if (span === 1) {
          fill(context, stripe, colours[STATES[value] ?? 'unknown'], 1);
          if (gap > 0) {
            strike(strokes, STATES[value], stripe);
          }
        } else {
          paintSum(context, stripe, value, colours, bad);
        }
        cell = next;
      }
    }
    // Crossed out or striped, as parts of bars are: they are told from other states without their colour.
    context.globalAlpha = 1;
    context.strokeStyle = colours.crossing;
    context.lineWidth = Math.max(1, Math.round(1.5 * scale));
    context.stroke(strokes);
    this._paintRare(context, picture, grid, scale, colours, bad);
    context.globalAlpha = 1;
  }

  /** Draw marks larger than the cells, so that a few failures among many small cells are visible. */
  private _paintRare(
    context: CanvasRenderingContext2D,
    { cells, span }: MapPicture,
    grid: Grid,
    scale: number,
    colours: Colours,
    bad: string
  ): void {
    if (grid.side >= MARK) {
      return;
    }
    const failed: number[] = [];
    for (let cell = 0; cell < cells.length; cell++) {
      const value = cells[cell] ?? 0;
      if (
        value !== FORGOTTEN &&
        (span === 1 ? value === FAILED || value === LOST : cellOf(value).failed)
      ) {
        failed.push(cell);
      }
    }
    if (failed.length > cells.length * RARE) {
      return;
    }
    const size = Math.round(MARK * scale);
    for (const cell of failed) {
      const { x, y, side } = this.place(cell);
      const left = Math.round((x + side / 2) * scale - size / 2);
      const top = Math.round((y + side / 2) * scale - size / 2);
      const colour = span > 1 ? bad : cells[cell] === LOST ? colours.lost : colours.failed;
      fill(context, { x: left, y: top, width: size, height: size }, colour, 1);
    }
  }

  private _grid: Grid = { columns: 1, rows: 1, side: 1 };
}

/** What tells a state without its colour: cancelled tasks are crossed out, lost ones are striped. */
function strike(strokes: Path2D, state: TaskState | undefined, stripe: Stripe): void {
  const { x, y, width, height } = stripe;
  if (state === 'cancelled') {
    strokes.moveTo(x, y + height);
    strokes.lineTo(x + width, y);
  } else if (state === 'lost') {
    for (const part of [0.3, 0.7]) {
      strokes.moveTo(x + width * part, y);
      strokes.lineTo(x + width * part, y + height);
    }
  }
}

/** The colour of cells for several tasks of which some failed or were lost: which of both, only all counts tell. */
function badOf({ counts }: MapPicture, colours: Colours): string {
  return counts.failed === 0 && counts.lost > 0 ? colours.lost : colours.failed;
}

/** The colour shows how much of a cell is done; a bar at its lower edge shows that at least one task failed or was lost. */
function paintSum(
  context: CanvasRenderingContext2D,
  stripe: Stripe,
  value: number,
  colours: Colours,
  bad: string
): void {
  const { share, failed, running, waiting, cancelled } = cellOf(value);
  const under = running
    ? colours.running
    : waiting
      ? colours.queued
      : cancelled
        ? colours.cancelled
        : failed
          ? bad
          : colours.done;
  fill(context, stripe, under, 1);
  if (share > 0 && share < ALL) {
    fill(context, stripe, colours.done, running ? (0.7 * share) / ALL : share / ALL);
  } else if (share === ALL) {
    fill(context, stripe, colours.done, 1);
  }
  if (failed) {
    const height = Math.max(1, Math.round(stripe.height * 0.4));
    fill(context, { ...stripe, y: stripe.y + stripe.height - height, height }, bad, 1);
  }
}

function fill(
  context: CanvasRenderingContext2D,
  { x, y, width, height }: Stripe,
  colour: string,
  alpha: number
): void {
  context.globalAlpha = alpha;
  context.fillStyle = colour;
  context.fillRect(x, y, width, height);
}

/** The present colours of the style sheet, which change with the theme. */
function coloursOf(element: Element): Colours {
  const style = getComputedStyle(element);
  const entries = [...STATES, 'crossing'].map(state => [
    state,
    style.getPropertyValue(`--cellmill-map-${state}`).trim()
  ]);
  return Object.fromEntries(entries) as Colours;
}
