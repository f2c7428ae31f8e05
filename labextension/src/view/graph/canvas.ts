/** Draws a task graph on a canvas. Handles no events. */

import { GRAPH_STATES, type GraphState, type TaskGraph } from '../../model/taskGraph';
import type { BoxText } from './labels';
import { READABLE, neighbours, passages, type Layout } from './layout';

/** Position of the graph on the canvas: screen = graph * scale + offset, in CSS pixels. */
export interface Camera {
  readonly scale: number;
  readonly left: number;
  readonly top: number;
}

/** What is highlighted. */
export interface Marks {
  /** the node under the pointer or chosen with the keyboard; -1 if there is none */
  readonly node: number;
  /** nodes of the longest path, inputs first */
  readonly path: readonly number[];
}

interface Colours {
  readonly states: readonly string[];
  readonly edge: string;
  readonly mark: string;
  readonly text: string;
  readonly faint: string;
  readonly box: string;
  readonly font: string;
}

const FAINT = 0.18;

function coloursOf(element: HTMLElement): Colours {
  const style = getComputedStyle(element);
  const get = (name: string): string => style.getPropertyValue(name).trim();
  return {
    states: GRAPH_STATES.map(state => get(`--cellmill-graph-${state}`)),
    edge: get('--cellmill-graph-edge'),
    mark: get('--cellmill-graph-mark'),
    text: get('--cellmill-graph-text'),
    faint: get('--cellmill-graph-faint'),
    box: get('--cellmill-graph-box'),
    font: style.fontFamily
  };
}

/** Draw everything; `label` returns the text of a node that is a box. */
export function drawGraph(
  canvas: HTMLCanvasElement,
  graph: TaskGraph,
  layout: Layout,
  camera: Camera,
  marks: Marks,
  label: (node: number) => BoxText
): void {
  const { clientWidth: width, clientHeight: height } = canvas;
  const context = canvas.getContext('2d');
  if (context === null || width === 0 || height === 0) {
    return;
  }
  const pixels = window.devicePixelRatio;
  if (
    canvas.width !== Math.round(width * pixels) ||
    canvas.height !== Math.round(height * pixels)
  ) {
    canvas.width = Math.round(width * pixels);
    canvas.height = Math.round(height * pixels);
  }
  context.setTransform(pixels, 0, 0, pixels, 0, 0);
  context.clearRect(0, 0, width, height);
  context.translate(camera.left, camera.top);
  context.scale(camera.scale, camera.scale);
  const colours = coloursOf(canvas);
  const near = shown(graph, layout, marks);
  const drawLines = (): void => {
    drawEdges(context, graph, layout, camera, colours, near !== null);
    drawMarkedEdges(context, graph, layout, camera, marks, colours);
  };
  if (layout.form.width > layout.form.height) {
    drawBoxes(context, graph, layout, camera, colours, near, label);
    drawLines(); // over the boxes, which they go round
  } else {
    drawLines();
    drawDots(context, graph, layout, colours, near);
  }
  drawRing(context, layout, marks.node, camera, colours);
}

/** The nodes that are not faded; null if none is faded. */
function shown(graph: TaskGraph, layout: Layout, marks: Marks): Set<number> | null {
  if (marks.node < 0 || marks.node >= graph.size) {
    return marks.path.length > 0 ? new Set(marks.path) : null;
  }
  return new Set([
    marks.node,
    ...neighbours(layout.inputs, marks.node),
    ...neighbours(layout.dependents, marks.node)
  ]);
}

function trace(path: Path2D, layout: Layout, from: number, to: number): void {
  const half = layout.form.height / 2;
  const x0 = layout.x[from] ?? 0;
  const y0 = (layout.y[from] ?? 0) + half;
  const x1 = layout.x[to] ?? 0;
  const y1 = (layout.y[to] ?? 0) - half;
  path.moveTo(x0, y0);
  if (layout.form.width === layout.form.height) {
    path.lineTo(x1, y1);
    return;
  }
  let [x, y] = [x0, y0];
  const curve = (toX: number, toY: number): void => {
    const bend = (toY - y) / 2;
    path.bezierCurveTo(x, y + bend, toX, toY - bend, toX, toY);
    [x, y] = [toX, toY];
  };
  for (const passage of passages(layout, from, to)) {
    curve(passage.x, passage.top);
    path.lineTo(passage.x, passage.bottom);
    y = passage.bottom;
  }
  curve(x1, y1);
}

function drawEdges(
  context: CanvasRenderingContext2D,
  graph: TaskGraph,
  layout: Layout,
  camera: Camera,
  colours: Colours,
  faded: boolean
): void {
  const path = new Path2D();
  for (let at = 0; at < graph.edges.length; at += 2) {
    trace(path, layout, graph.edges[at] ?? 0, graph.edges[at + 1] ?? 0);
  }
  const many = graph.edges.length / 2;
  context.globalAlpha = (many > 3000 ? 0.25 : many > 600 ? 0.45 : 0.8) * (faded ? 0.4 : 1);
  context.strokeStyle = colours.edge;
  context.lineWidth =
    (layout.form.width > layout.form.height ? 1.25 : 0.75) / Math.min(1, camera.scale);
  context.stroke(path);
  context.globalAlpha = 1;
}

function drawMarkedEdges(
  context: CanvasRenderingContext2D,
  graph: TaskGraph,
  layout: Layout,
  camera: Camera,
  marks: Marks,
  colours: Colours
): void {
  const path = new Path2D();
  marks.path.slice(1).forEach((node, index) => trace(path, layout, marks.path[index] ?? 0, node));
  if (marks.node >= 0 && marks.node < graph.size) {
    neighbours(layout.inputs, marks.node).forEach(other => trace(path, layout, other, marks.node));
    neighbours(layout.dependents, marks.node).forEach(other =>
      trace(path, layout, marks.node, other)
    );
  }
  context.strokeStyle = colours.mark;
  context.lineWidth = 2 / Math.min(1, camera.scale);
  context.stroke(path);
}

function drawDots(
  context: CanvasRenderingContext2D,
  graph: TaskGraph,
  layout: Layout,
  colours: Colours,
  near: Set<number> | null
): void {
  const radius = layout.form.width / 2;
  const paint = (wanted: (node: number) => boolean): void => {
    const paths = GRAPH_STATES.map(() => new Path2D());
    for (let node = 0; node < graph.size; node++) {
      if (wanted(node)) {
        const path = paths[graph.states[node] ?? 0];
        const x = layout.x[node] ?? 0;
        const y = layout.y[node] ?? 0;
        if (path !== undefined) {
          addDot(path, GRAPH_STATES[graph.states[node] ?? 0], x, y, radius);
        }
      }
    }
    paths.forEach((path, state) => {
      context.fillStyle = colours.states[state] ?? '';
      context.fill(path);
    });
  };
  context.globalAlpha = near === null ? 1 : FAINT;
  paint(node => near?.has(node) !== true);
  context.globalAlpha = 1;
  if (near !== null) {
    paint(node => near.has(node));
  }
}

/** Round, but for what did not end well: failed tasks are squares and lost ones bars, told apart without their colour. */
function addDot(
  path: Path2D,
  state: GraphState | undefined,
  x: number,
  y: number,
  radius: number
): void {
  if (state === 'failed') {
    path.rect(x - radius, y - radius, 2 * radius, 2 * radius);
  } else if (state === 'lost') {
    path.rect(x - radius, y - radius, 0.7 * radius, 2 * radius);
    path.rect(x + 0.3 * radius, y - radius, 0.7 * radius, 2 * radius);
  } else {
    path.moveTo(x + radius, y);
    path.arc(x, y, radius, 0, 2 * Math.PI);
  }
}

/** A box shows its state at the left edge; a group shows its tasks by state along the lower edge. */
function drawBoxes(
  context: CanvasRenderingContext2D,
  graph: TaskGraph,
  layout: Layout,
  camera: Camera,
  colours: Colours,
  near: Set<number> | null,
  label: (node: number) => BoxText
): void {
  const { width, height } = layout.form;
  context.textBaseline = 'middle';
  for (let node = 0; node < graph.size; node++) {
    const left = (layout.x[node] ?? 0) - width / 2;
    const top = (layout.y[node] ?? 0) - height / 2;
    const shape = new Path2D();
    shape.roundRect(left, top, width, height, 4);
    context.save();
    context.globalAlpha = near === null || near.has(node) ? 1 : 0.3;
    context.fillStyle = colours.box;
    context.fill(shape);
    context.save();
    context.clip(shape);
    drawStates(context, graph, node, left, top, width, height, colours);
    if (camera.scale >= READABLE) {
      drawText(context, label(node), left + 11, top, width - 17, colours);
    }
    context.restore();
    context.strokeStyle = colours.edge;
    context.lineWidth = 1;
    context.stroke(shape);
    context.restore();
  }
}

/** Two lines: the name with the number at its right, and the rest below. */
function drawText(
  context: CanvasRenderingContext2D,
  { name, number, more }: BoxText,
  left: number,
  top: number,
  width: number,
  colours: Colours
): void {
  context.font = `11px ${colours.font}`;
  context.fillStyle = colours.faint;
  context.fillText(fit(context, more, width), left, top + 25);
  const taken = number === '' ? 0 : context.measureText(number).width + 4;
  context.fillText(number, left + width + 4 - taken, top + 11);
  context.font = `12px ${colours.font}`;
  context.fillStyle = colours.text;
  context.fillText(fit(context, name, width - taken), left, top + 11);
}

function drawStates(
  context: CanvasRenderingContext2D,
  graph: TaskGraph,
  node: number,
  left: number,
  top: number,
  width: number,
  height: number,
  colours: Colours
): void {
  const { counts, size } = graph;
  if (counts === null) {
    context.fillStyle = colours.states[graph.states[node] ?? 0] ?? '';
    const step = GRAPH_STATES[graph.states[node] ?? 0] === 'lost' ? 4 : height; // striped, as elsewhere
    for (let at = 0; at < height; at += step) {
      context.fillRect(left, top + at, 5, Math.min(height, step === height ? height : 2));
    }
    return;
  }
  const here = GRAPH_STATES.map((_, state) => counts[state * size + node] ?? 0);
  const all = here.reduce((sum, one) => sum + one, 0);
  let at = left;
  here.forEach((one, state) => {
    context.fillStyle = colours.states[state] ?? '';
    context.fillRect(at, top + height - 4, (width * one) / all, 4);
    at += (width * one) / all;
  });
}

function drawRing(
  context: CanvasRenderingContext2D,
  layout: Layout,
  node: number,
  camera: Camera,
  colours: Colours
): void {
  if (node < 0 || node >= layout.x.length) {
    return;
  }
  const { width, height } = layout.form;
  const ring = new Path2D();
  const margin = 2 / camera.scale;
  ring.roundRect(
    (layout.x[node] ?? 0) - width / 2 - margin,
    (layout.y[node] ?? 0) - height / 2 - margin,
    width + 2 * margin,
    height + 2 * margin,
    Math.min(height / 2, 5) + margin
  );
  context.strokeStyle = colours.mark;
  context.lineWidth = 2 / camera.scale;
  context.stroke(ring);
}

/** The text, shortened to at most `most` pixels. */
function fit(context: CanvasRenderingContext2D, text: string, most: number): string {
  if (context.measureText(text).width <= most) {
    return text;
  }
  let length = Math.min(text.length, 40);
  while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > most) {
    length--;
  }
  return `${text.slice(0, length)}…`;
}
