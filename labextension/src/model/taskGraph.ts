/** The graph of tasks and dependencies, from the kernel's frames. */

import { ProtocolError } from '../protocol/parse';
import type { Graph, GraphStates } from '../protocol/messages';

/** States of a task, by the numbers in frames. */
export const GRAPH_STATES = [
  'waiting',
  'queued',
  'running',
  'done',
  'failed',
  'cancelled',
  'skipped',
  'lost'
] as const;
export type GraphState = (typeof GRAPH_STATES)[number];

/** Tasks, or groups of them, and the edges between them. Columns have an entry for each node. */
export interface TaskGraph {
  /** changes with the nodes and edges */
  readonly structure: number;
  /** tasks with inputs or dependents, and pairs of a task and an input of it */
  readonly tasks: number;
  /** how many of these are tasks of the run that it shows; the others are their inputs and dependents */
  readonly own: number;
  readonly dependencies: number;
  /** the oldest dependencies are missing */
  readonly partial: boolean;
  /** whether a node is a group, and the depths that one holds */
  readonly folded: boolean;
  readonly span: number;
  readonly names: readonly string[];
  readonly size: number;
  /** short text of each task's own arguments; empty if they are not told */
  readonly arguments: readonly string[];
  readonly functions: Uint16Array;
  readonly depths: Uint16Array;
  /** the state; of a group, the most important one */
  readonly states: Uint8Array;
  /** of groups: a column of counts for each state; those of earlier releases have none of the last states */
  readonly counts: Uint32Array | null;
  readonly seconds: Float32Array;
  /** empty for groups */
  readonly tickets: BigUint64Array;
  /** pairs: input, dependent */
  readonly edges: Uint32Array;
  /** of groups: how many dependencies each edge represents */
  readonly weights: Uint32Array | null;
}

/** States by importance: a group has the colour of the first that any of its tasks has. */
const WEIGHTY: readonly GraphState[] = [
  'failed',
  'lost',
  'running',
  'skipped',
  'queued',
  'waiting',
  'cancelled',
  'done'
];

/** A copy of the bytes at an aligned address, as typed arrays need it. */
function aligned(bytes: Uint8Array): ArrayBuffer {
  const copy = new ArrayBuffer(bytes.byteLength);
  new Uint8Array(copy).set(bytes);
  return copy;
}

function check(holds: boolean, what: string): void {
  if (!holds) {
    throw new ProtocolError(`graph: ${what}`);
  }
}

function whole(bytes: Uint8Array, size: number, width: number, what: string): ArrayBuffer {
  check(bytes.byteLength === size * width, `${what} has not one entry for each node`);
  return aligned(bytes);
}

function weightiest(counts: Uint32Array, size: number): Uint8Array {
  const states = new Uint8Array(size);
  for (let node = 0; node < size; node++) {
    const found = WEIGHTY.find(
      state => (counts[GRAPH_STATES.indexOf(state) * size + node] ?? 0) > 0
    );
    states[node] = GRAPH_STATES.indexOf(found ?? 'done');
  }
  return states;
}

/** Read a frame; throws ProtocolError if the lengths of its columns do not match. */
export function readGraph(frame: Graph): TaskGraph {
  const size = frame.functions.byteLength / 2;
  check(Number.isInteger(size), 'functions are cut off');
  const functions = new Uint16Array(aligned(frame.functions));
  check(
    functions.every(place => place < frame.names.length),
    'a function has no name'
  );
  const told = size > 0 ? Math.min(frame.states.byteLength / (4 * size), GRAPH_STATES.length) : 0;
  const counts = frame.folded
    ? new Uint32Array(whole(frame.states, size, 4 * Math.floor(told), 'states'))
    : null;
  const states =
    counts === null
      ? new Uint8Array(whole(frame.states, size, 1, 'states'))
      : weightiest(counts, size);
  check(
    states.every(state => state < GRAPH_STATES.length),
    'a state is unknown'
  );
  const step = frame.folded ? 3 : 2;
  const width = frame.folded ? 4 : 2;
  check(frame.edges.byteLength % (step * width) === 0, 'edges are cut off');
  const flat = frame.folded
    ? new Uint32Array(aligned(frame.edges))
    : new Uint16Array(aligned(frame.edges));
  const edges = new Uint32Array((flat.length / step) * 2);
  const weights = frame.folded ? new Uint32Array(flat.length / step) : null;
  for (let edge = 0; edge < flat.length / step; edge++) {
    edges[2 * edge] = flat[step * edge] ?? 0;
    edges[2 * edge + 1] = flat[step * edge + 1] ?? 0;
    if (weights !== null) {
      weights[edge] = flat[step * edge + 2] ?? 0;
    }
  }
  check(
    edges.every(node => node < size),
    'an edge leads nowhere'
  );
  return {
    structure: frame.structure,
    tasks: frame.tasks,
    own: frame.own ?? frame.tasks,
    dependencies: frame.dependencies,
    partial: frame.partial,
    folded: frame.folded,
    span: frame.span,
    names: frame.names,
    arguments: frame.arguments ?? [],
    size,
    functions,
    depths: new Uint16Array(whole(frame.depths, size, 2, 'depths')),
    states,
    counts,
    seconds: new Float32Array(whole(frame.seconds, size, 4, 'seconds')),
    tickets: new BigUint64Array(whole(frame.tickets, frame.folded ? 0 : size, 8, 'tickets')),
    edges,
    weights
  };
}

/** The graph with new states; null if they belong to another structure. */
export function withStates(graph: TaskGraph, frame: GraphStates): TaskGraph | null {
  if (graph.folded || frame.structure !== graph.structure) {
    return null;
  }
  const states = new Uint8Array(whole(frame.states, graph.size, 1, 'states'));
  check(
    states.every(state => state < GRAPH_STATES.length),
    'a state is unknown'
  );
  const seconds = new Float32Array(whole(frame.seconds, graph.size, 4, 'seconds'));
  return { ...graph, states, seconds };
}

/** Number of tasks in each state. */
export function stateCounts(graph: TaskGraph): number[] {
  const found = GRAPH_STATES.map(() => 0);
  for (let node = 0; node < graph.size; node++) {
    GRAPH_STATES.forEach((_, state) => {
      const here =
        graph.counts === null
          ? Number(graph.states[node] === state)
          : (graph.counts[state * graph.size + node] ?? 0);
      found[state] = (found[state] ?? 0) + here;
    });
  }
  return found;
}
