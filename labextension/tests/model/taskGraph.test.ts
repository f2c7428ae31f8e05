import assert from 'node:assert/strict';
import { test } from 'node:test';

import { readGraph, stateCounts, withStates } from '../../src/model/taskGraph';
import type { Graph } from '../../src/protocol/messages';
import { ProtocolError } from '../../src/protocol/parse';
import { bytes, frame } from '../graphFrames';

test('states that belong to another graph are not taken', () => {
  const graph = readGraph(frame(3, [[0, 1]]));
  const states = Uint8Array.from([3, 2, 4]);
  const update = {
    cellmill: 1,
    kind: 'graph-states',
    run: null,
    structure: 7,
    states,
    seconds: bytes(new Float32Array(3))
  } as const;
  assert.deepEqual([...(withStates(graph, update)?.states ?? [])], [3, 2, 4]);
  assert.equal(withStates(graph, { ...update, structure: 8 }), null);
  assert.throws(() => withStates(graph, { ...update, states: states.slice(1) }), ProtocolError);
});

test('columns that do not fit together are refused', () => {
  const good = frame(3, [[0, 1]]);
  const bad: Partial<Graph>[] = [
    { edges: bytes(Uint16Array.from([0, 3])) },
    { edges: good.edges.slice(1) },
    { depths: good.depths.slice(2) },
    { functions: good.functions.slice(1) },
    { names: [] },
    { states: Uint8Array.from([0, 8, 0]) },
    { tickets: good.tickets.slice(8) }
  ];
  for (const change of bad) {
    assert.throws(() => readGraph({ ...good, ...change }), ProtocolError);
  }
});

test('of a group the state that matters most is shown', () => {
  const counts = new Uint32Array(16);
  counts.set([5, 0], 6); // done
  counts.set([1, 0], 8); // failed
  counts.set([0, 2], 0); // waiting
  const given = frame(2, []);
  const graph = readGraph({
    ...given,
    folded: true,
    states: bytes(counts),
    tickets: new Uint8Array(),
    edges: bytes(Uint32Array.from([0, 1, 9]))
  });
  assert.deepEqual([...graph.states], [4, 0]);
  assert.deepEqual([...(graph.weights ?? [])], [9]);
  assert.deepEqual(stateCounts(graph), [2, 0, 0, 5, 1, 0, 0, 0]);
  // Recordings of an earlier release have no column of lost ones.
  const earlier = { ...given, folded: true, states: bytes(counts.slice(0, 14)) };
  const edges = bytes(Uint32Array.from([0, 1, 9]));
  const older = readGraph({ ...earlier, tickets: new Uint8Array(), edges });
  assert.deepEqual(stateCounts(older), [2, 0, 0, 5, 1, 0, 0, 0]);
});
