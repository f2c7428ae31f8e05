import { readGraph, type TaskGraph } from '../src/model/taskGraph';
import type { Graph } from '../src/protocol/messages';

export function bytes(column: ArrayBufferView): Uint8Array {
  return new Uint8Array(column.buffer, column.byteOffset, column.byteLength);
}

/** A frame with these edges; depths are the longest paths, and all is done. */
export function frame(size: number, edges: readonly (readonly [number, number])[]): Graph {
  const depths = new Uint16Array(size);
  for (const [from, to] of edges) {
    depths[to] = Math.max(depths[to] ?? 0, (depths[from] ?? 0) + 1);
  }
  return {
    cellmill: 1,
    kind: 'graph',
    run: null,
    own: null,
    structure: 7,
    tasks: size,
    dependencies: edges.length,
    partial: false,
    folded: false,
    span: 1,
    names: ['f'],
    arguments: null,
    functions: bytes(new Uint16Array(size)),
    depths: bytes(depths),
    states: new Uint8Array(size).fill(3),
    seconds: bytes(new Float32Array(size).fill(1)),
    tickets: bytes(BigUint64Array.from({ length: size }, (_, i) => (BigInt(i + 1) << 32n) | 5n)),
    edges: bytes(Uint16Array.from(edges.flat()))
  };
}

export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state / 2147483648;
  };
}

/** Each node takes up to `most` earlier ones that are not far back. */
export function dag(size: number, most: number, seed = 1, back = 200): TaskGraph {
  const dice = random(seed);
  const edges: [number, number][] = [];
  for (let node = 1; node < size; node++) {
    for (let k = Math.floor(dice() * (most + 1)); k > 0; k--) {
      edges.push([Math.max(0, node - 1 - Math.floor(dice() * back)), node]);
    }
  }
  return readGraph(frame(size, edges));
}
