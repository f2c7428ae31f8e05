import assert from 'node:assert/strict';
import { test } from 'node:test';

import { readGraph, type TaskGraph } from '../../src/model/taskGraph';
import { fitted, nodeAt, zoomed } from '../../src/view/graph/camera';
import { boxText, hint, summary } from '../../src/view/graph/labels';
import { boxesIn, layOut, longestPath, neighbours, passages } from '../../src/view/graph/layout';
import { untranslated } from '../../src/view/translator';
import { bytes, dag, frame } from '../graphFrames';

test('each node is in one layer, at a place of its own, below its inputs', () => {
  for (const seed of [1, 2, 3]) {
    const graph = dag(500, 3, seed);
    const layout = layOut(graph);
    const seen = layout.layers.flatMap(layer => [...layer]);
    assert.equal(seen.length, graph.size);
    assert.equal(new Set(seen).size, graph.size);
    const places = new Set(seen.map(node => `${layout.x[node]} ${layout.y[node]}`));
    assert.equal(places.size, graph.size);
    for (let at = 0; at < graph.edges.length; at += 2) {
      const [from, to] = [graph.edges[at] ?? 0, graph.edges[at + 1] ?? 0];
      assert.ok((layout.y[from] ?? 0) < (layout.y[to] ?? 0));
      assert.ok(neighbours(layout.inputs, to).includes(from));
      assert.ok(neighbours(layout.dependents, from).includes(to));
    }
    layout.layers.forEach((layer, index) =>
      layer.forEach((node, place) => {
        assert.equal(layout.layerOf[node], index);
        assert.equal(layout.placeOf[node], place);
      })
    );
  }
});

function crossings(graph: TaskGraph, at: ArrayLike<number>): number {
  let found = 0;
  for (let a = 0; a < graph.edges.length; a += 2) {
    for (let b = 0; b < a; b += 2) {
      const x = (edge: number): number => at[graph.edges[edge] ?? 0] ?? 0;
      found += (x(a) - x(b)) * (x(a + 1) - x(b + 1)) < 0 ? 1 : 0;
    }
  }
  return found;
}

test('no edge of fifty boxes runs over a box that is not its end', () => {
  for (const seed of [1, 2, 3]) {
    for (const width of [226, 276, 620, 1200]) {
      const graph = dag(50, 3, seed, 20);
      const layout = layOut(graph, boxesIn(width));
      const { form } = layout;
      assert.ok(form.width > form.height);
      for (let at = 0; at < graph.edges.length; at += 2) {
        const [from, to] = [graph.edges[at] ?? 0, graph.edges[at + 1] ?? 0];
        const way = passages(layout, from, to);
        assert.equal(way.length, (layout.rowOf[to] ?? 0) - (layout.rowOf[from] ?? 0) - 1);
        const heights = [
          (layout.y[from] ?? 0) + form.height / 2,
          ...way.flatMap(({ top, bottom }) => [top, bottom]),
          (layout.y[to] ?? 0) - form.height / 2
        ];
        assert.deepEqual(
          heights,
          [...heights].sort((a, b) => a - b)
        );
        for (const { x, top, bottom } of way) {
          for (let node = 0; node < graph.size; node++) {
            const beside = Math.abs((layout.x[node] ?? 0) - x) >= form.width / 2;
            const y = layout.y[node] ?? 0;
            assert.ok(beside || y + form.height / 2 <= top || y - form.height / 2 >= bottom);
          }
        }
      }
    }
  }
});

test('a box tells the number, the time and the arguments of its task', () => {
  const given = frame(2, [[0, 1]]);
  const seconds = bytes(Float32Array.from([1.5, 0]));
  const states = Uint8Array.from([3, 7]);
  const graph = readGraph({ ...given, seconds, states, arguments: ["'a.csv'", ''] });
  const [first, second] = [0, 1].map(node => boxText(untranslated, graph, node));
  assert.deepEqual(first, { name: 'f', number: '#1', more: "1.5 s · 'a.csv'" });
  assert.deepEqual(second, { name: 'f', number: '#2', more: 'lost' });
});

test('the order within layers has few crossings', () => {
  // Ten pairs of chains, shuffled: they can be drawn without any.
  const edges: [number, number][] = [];
  const order = [3, 7, 1, 9, 0, 5, 8, 2, 6, 4];
  for (let layer = 0; layer < 5; layer++) {
    for (let i = 0; i < 10; i++) {
      edges.push([layer * 10 + i, (layer + 1) * 10 + (order[i] ?? 0)]);
    }
  }
  const graph = readGraph(frame(60, edges));
  const layout = layOut(graph);
  const before = crossings(
    graph,
    Array.from({ length: 60 }, (_, node) => node % 10)
  );
  assert.ok(before > 50);
  assert.equal(crossings(graph, layout.placeOf), 0);
});

test('4,000 nodes are laid out fast', () => {
  const graph = dag(4000, 5);
  assert.ok(graph.edges.length > 16_000);
  layOut(graph);
  const times = Array.from({ length: 7 }, () => {
    const start = performance.now();
    layOut(graph);
    return performance.now() - start;
  }).sort((a, b) => a - b);
  console.log(`4,000 nodes, ${graph.edges.length / 2} edges: ${(times[0] ?? 0).toFixed(1)} ms`);
  assert.ok((times[0] ?? Infinity) < 500); // 20 ms on an idle machine
});

test('the longest path is the one that ran longest', () => {
  const given = frame(6, [
    [0, 2],
    [1, 2],
    [2, 3],
    [1, 4],
    [4, 5]
  ]);
  const seconds = Float32Array.from([1, 2, 1, 1, 10, 1]);
  const graph = readGraph({ ...given, seconds: bytes(seconds) });
  assert.deepEqual(longestPath(graph, layOut(graph)), [1, 4, 5]);
  const idle = readGraph({ ...given, seconds: bytes(new Float32Array(6)) });
  assert.deepEqual(longestPath(idle, layOut(idle)), []);
});

test('what is under the pointer stays there while one zooms', () => {
  const layout = layOut(dag(300, 2));
  const camera = fitted(layout, 280, 300);
  assert.equal(nodeAt(camera, layout, -50, -50), -1);
  for (const node of [0, 17, 299]) {
    const x = (layout.x[node] ?? 0) * camera.scale + camera.left;
    const y = (layout.y[node] ?? 0) * camera.scale + camera.top;
    assert.equal(nodeAt(camera, layout, x, y), node);
    assert.equal(nodeAt(zoomed(camera, 3, x, y), layout, x, y), node);
  }
});

test('what failed, was lost or cancelled after it ran is told in a word, and how much of a graph is kept', () => {
  const given = frame(3, [
    [0, 1],
    [1, 2]
  ]);
  const seconds = bytes(Float32Array.from([1.5, 1.5, 0]));
  const graph = readGraph({ ...given, seconds, states: Uint8Array.from([4, 7, 5]) });
  const words = [0, 1, 2].map(node => boxText(untranslated, graph, node).more);
  assert.deepEqual(words, ['failed · 1.5 s', 'lost · 1.5 s', 'cancelled']);
  assert.equal(summary(untranslated, graph, 9), '3 tasks, 2 dependencies');
  const part = { ...graph, partial: true };
  assert.equal(
    summary(untranslated, part, 1200),
    'the newest 3 of 1,200 tasks, 2 dependencies, the dependencies of older ones are not kept'
  );
  assert.equal(
    hint(untranslated, part, [], 1197),
    '1,197 other tasks are older, or depend on none.'
  );
});
