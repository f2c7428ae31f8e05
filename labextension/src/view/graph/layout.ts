/** Positions of a task graph's nodes: layers by depth, few crossings, wide layers as blocks. Pure functions. */

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

/** A few nodes are boxes with names, many are dots. */
const BOXES: Form = { width: 112, height: 24, gap: 14, layerGap: 34, rowGap: 10 };
const DOTS: Form = { width: 8, height: 8, gap: 6, layerGap: 30, rowGap: 6 };
const MOST_BOXES = 150;
const SWEEPS = 4;
/** The smallest scale at which names are drawn in boxes. */
export const READABLE = 0.65;

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
  return Math.max(2, Math.min(8, Math.floor(width / (READABLE * (BOXES.width + BOXES.gap)))));
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
): Pick<Layout, 'x' | 'y' | 'width' | 'height' | 'layerOf' | 'placeOf'> {
  const x = new Float32Array(size);
  const y = new Float32Array(size);
  const layerOf = new Int32Array(size);
  const placeOf = new Int32Array(size);
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
      x[node] = (column - (columns - 1) / 2) * (form.width + form.gap);
      y[node] = top + form.height / 2 + (at % rows) * (form.height + form.rowGap);
    });
    width = Math.max(width, columns * (form.width + form.gap) - form.gap);
    top += rows * (form.height + form.rowGap) - form.rowGap + form.layerGap;
  });
  for (let node = 0; node < size; node++) {
    x[node] = (x[node] ?? 0) + width / 2;
  }
  return { x, y, layerOf, placeOf, width, height: Math.max(0, top - form.layerGap) };
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
