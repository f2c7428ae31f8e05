/** Positions of a task graph's nodes: layers by depth, few crossings, wide layers as blocks, edges between the boxes. Pure
 * functions. */

import type { TaskGraph } from '../../model/taskGraph';

/** Sizes in pixels at scale 1. */
interface Form {
  readonly width: number;
  readonly height: number;
  readonly gap: number;
  /** between layers, and between the rows of a layer */
  readonly layerGap: number;
  readonly rowGap: number;
}

/** A few nodes are boxes with two lines of text, many are dots. */
const BOXES: Form = { width: 132, height: 36, gap: 16, layerGap: 32, rowGap: 14 };
const DOTS: Form = { width: 8, height: 8, gap: 6, layerGap: 30, rowGap: 6 };
const MOST_BOXES = 150;
const SWEEPS = 4;
/** The smallest scale at which text is drawn in boxes, and at which a graph of boxes is shown at first. */
export const READABLE = 0.75;
const MOST_COLUMNS = 12;

/** Boxes side by side. */
interface Row {
  readonly y: number;
  readonly columns: number;
}

/** The positions of all nodes; x and y are centres. */
export interface Layout {
  readonly form: Form;
  readonly x: Float32Array;
  readonly y: Float32Array;
  readonly width: number;
  readonly height: number;
  /** nodes of each layer, from left to right */
  readonly layers: readonly Int32Array[];
  /** by node: its layer, and its index in the layer */
  readonly layerOf: Int32Array;
  readonly placeOf: Int32Array;
  /** from the top, and the row of each node */
  readonly rows: readonly Row[];
  readonly rowOf: Int32Array;
  readonly inputs: Neighbours;
  readonly dependents: Neighbours;
}

/** The neighbours of all nodes, in one array. */
export interface Neighbours {
  readonly first: Uint32Array;
  readonly nodes: Uint32Array;
}

/** The neighbours of `node`. */
export function neighbours(all: Neighbours, node: number): Uint32Array {
  return all.nodes.subarray(all.first[node] ?? 0, all.first[node + 1] ?? 0);
}

function sorted(graph: TaskGraph, own: 0 | 1): Neighbours {
  const { edges, size } = graph;
  const first = new Uint32Array(size + 1);
  for (let at = own; at < edges.length; at += 2) {
    const node = edges[at] ?? 0;
    first[node + 1] = (first[node + 1] ?? 0) + 1;
  }
  for (let node = 0; node < size; node++) {
    first[node + 1] = (first[node + 1] ?? 0) + (first[node] ?? 0);
  }
  const next = first.slice();
  const nodes = new Uint32Array(edges.length / 2);
  for (let at = 0; at < edges.length; at += 2) {
    const node = edges[at + own] ?? 0;
    const place = next[node] ?? 0;
    next[node] = place + 1;
    nodes[place] = edges[at + 1 - own] ?? 0;
  }
  return { first, nodes };
}

/** The nodes of each depth, without empty depths. */
function byDepth(graph: TaskGraph): Int32Array[] {
  const found = new Map<number, number[]>();
  for (let node = 0; node < graph.size; node++) {
    const depth = graph.depths[node] ?? 0;
    const layer = found.get(depth);
    if (layer === undefined) {
      found.set(depth, [node]);
    } else {
      layer.push(node);
    }
  }
  return [...found.keys()]
    .sort((a, b) => a - b)
    .map(depth => Int32Array.from(found.get(depth) ?? []));
}

/** Order a layer by the mean position of each node's neighbours; nodes without neighbours stay in place. */
function order(layer: Int32Array, next: Neighbours, share: Float32Array): void {
  const key = new Map<number, number>();
  for (const node of layer) {
    let sum = 0;
    const around = neighbours(next, node);
    for (const other of around) {
      sum += share[other] ?? 0;
    }
    key.set(node, around.length > 0 ? sum / around.length : (share[node] ?? 0));
  }
  layer.sort((a, b) => (key.get(a) ?? 0) - (key.get(b) ?? 0) || a - b);
  place(layer, share);
}

/** Set each node's relative position in its layer, from 0 to 1. */
function place(layer: Int32Array, share: Float32Array): void {
  layer.forEach((node, at) => {
    share[node] = (at + 0.5) / layer.length;
  });
}

/** How many boxes fit side by side with readable names, by the picture's width. */
export function boxesIn(width: number): number {
  return Math.max(
    2,
    Math.min(MOST_COLUMNS, Math.floor(width / (READABLE * (BOXES.width + BOXES.gap))))
  );
}

/** Lay a graph out with at most `most` boxes side by side: 4,000 nodes take some milliseconds. */
export function layOut(graph: TaskGraph, most = 6): Layout {
  const inputs = sorted(graph, 1);
  const dependents = sorted(graph, 0);
  const layers = byDepth(graph);
  const share = new Float32Array(graph.size);
  layers.forEach(layer => place(layer, share));
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) {
      order(layer, down ? inputs : dependents, share);
    }
  }
  const form = graph.size <= MOST_BOXES ? BOXES : DOTS;
  return { ...spread(graph.size, layers, form, most), form, layers, inputs, dependents };
}

/** Set the coordinates: a layer that is too wide becomes a block of rows, filled column by column. */
function spread(
  size: number,
  layers: readonly Int32Array[],
  form: Form,
  boxes: number
): Pick<Layout, 'x' | 'y' | 'width' | 'height' | 'layerOf' | 'placeOf' | 'rows' | 'rowOf'> {
  const x = new Float32Array(size);
  const y = new Float32Array(size);
  const layerOf = new Int32Array(size);
  const placeOf = new Int32Array(size);
  const rowOf = new Int32Array(size);
  const rowsOfAll: Row[] = [];
  const most = form === BOXES ? boxes : Math.max(16, Math.ceil(1.3 * Math.sqrt(size)));
  let top = 0;
  let width = 0;
  layers.forEach((layer, index) => {
    const rows = Math.ceil(layer.length / most);
    const columns = Math.ceil(layer.length / rows);
    layer.forEach((node, at) => {
      const column = Math.floor(at / rows);
      layerOf[node] = index;
      placeOf[node] = at;
      rowOf[node] = rowsOfAll.length + (at % rows);
      x[node] = (column - (columns - 1) / 2) * (form.width + form.gap);
      y[node] = top + form.height / 2 + (at % rows) * (form.height + form.rowGap);
    });
    width = Math.max(width, columns * (form.width + form.gap) - form.gap);
    for (let row = 0; row < rows; row++) {
      rowsOfAll.push({ y: top + form.height / 2 + row * (form.height + form.rowGap), columns });
    }
    top += rows * (form.height + form.rowGap) - form.rowGap + form.layerGap;
  });
  for (let node = 0; node < size; node++) {
    x[node] = (x[node] ?? 0) + width / 2;
  }
  const height = Math.max(0, top - form.layerGap);
  return { x, y, layerOf, placeOf, rows: rowsOfAll, rowOf, width, height };
}

/** A straight piece of an edge: down between two boxes of a row. */
export interface Passage {
  readonly x: number;
  readonly top: number;
  readonly bottom: number;
}

/** Where an edge passes the rows between its ends, so that it crosses no box: between two boxes, or beside the row. */
export function passages(layout: Layout, from: number, to: number): Passage[] {
  const { form, rows, rowOf, width } = layout;
  const [first, last] = [rowOf[from] ?? 0, rowOf[to] ?? 0];
  const [x0, x1] = [layout.x[from] ?? 0, layout.x[to] ?? 0];
  const [y0, y1] = [layout.y[from] ?? 0, layout.y[to] ?? 0];
  const step = form.width + form.gap;
  // Edges of several inputs lie beside each other.
  const aside = (((from % 5) - 2) * form.gap) / 8;
  const found: Passage[] = [];
  for (let index = first + 1; index < last; index++) {
    const row = rows[index];
    if (row !== undefined) {
      const wanted = x0 + ((x1 - x0) * (row.y - y0)) / Math.max(1, y1 - y0);
      const left = width / 2 - (row.columns * step) / 2;
      const gutter = Math.min(row.columns, Math.max(0, Math.round((wanted - left) / step)));
      const half = form.height / 2 + form.rowGap / 2 - 1;
      found.push({ x: left + gutter * step + aside, top: row.y - half, bottom: row.y + half });
    }
  }
  return found;
}

/** The path with the longest total run time, inputs first; empty if nothing has run. */
export function longestPath(graph: TaskGraph, layout: Layout): number[] {
  const total = new Float64Array(graph.size);
  const before = new Int32Array(graph.size).fill(-1);
  let last = -1;
  for (const layer of layout.layers) {
    for (const node of layer) {
      for (const input of neighbours(layout.inputs, node)) {
        const known = before[node] ?? -1;
        if (known < 0 || (total[input] ?? 0) > (total[known] ?? 0)) {
          before[node] = input;
        }
      }
      const input = before[node] ?? -1;
      total[node] = (graph.seconds[node] ?? 0) + (input >= 0 ? (total[input] ?? 0) : 0);
      if (last < 0 || (total[node] ?? 0) > (total[last] ?? 0)) {
        last = node;
      }
    }
  }
  const path: number[] = [];
  for (let node = (total[last] ?? 0) > 0 ? last : -1; node >= 0; node = before[node] ?? -1) {
    path.unshift(node);
  }
  return path;
}
