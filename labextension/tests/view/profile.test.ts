import assert from 'node:assert/strict';
import { test } from 'node:test';

import { VERSION, type Profile } from '../../src/protocol/messages';
import { bars, functionTimes, hueOf, pathOf } from '../../src/view/profile/layout';

/** work calls inner_a (3 s) and inner_b (1 s, of which 0.5 s in a call of work). */
const PROFILE: Profile = {
  cellmill: VERSION,
  kind: 'profile',
  known: true,
  on: true,
  seconds: 5,
  samples: 250,
  note: '',
  labels: ['work', 'inner_a', 'inner_b', 'sleep'].map(name => ({ name, place: `${name}.py:1` })),
  label: [0, 1, 2, 0, 3],
  parent: [-1, 0, 0, 2, -1],
  total: [4, 3, 1, 0.5, 1],
  own: [0, 3, 0.5, 0.5, 1],
  line: [0, 5, 7, 2, 0]
};

test('bars lie below their callers, side by side', () => {
  const placed = bars(PROFILE, -1, 0);
  assert.deepEqual(
    placed.map(({ node, depth, left, width }) => [node, depth, left, width]),
    [
      [0, 0, 0, 0.8],
      [1, 1, 0, 0.6],
      [2, 1, 0.6, 0.2],
      [3, 2, 0.6, 0.1],
      [4, 0, 0.8, 0.2]
    ]
  );
});

test('bars that are too narrow to be seen are left out, and keep their place', () => {
  assert.deepEqual(
    bars(PROFILE, -1, 0.2).map(bar => bar.node),
    [0, 1, 2, 4]
  );
});

test('a chosen node fills the width, below its callers', () => {
  const placed = bars(PROFILE, 2, 0);
  assert.deepEqual(
    placed.map(({ node, depth, width }) => [node, depth, width]),
    [
      [0, 0, 1],
      [2, 1, 1],
      [3, 2, 0.5]
    ]
  );
});

test('a node is known by the functions on the way to it', () => {
  assert.equal(pathOf(PROFILE, 2), 'work\twork.py:1\ninner_b\tinner_b.py:1');
  assert.notEqual(pathOf(PROFILE, 0), pathOf(PROFILE, 3));
});

test('a function that calls itself counts once', () => {
  const times = functionTimes(PROFILE, 3);
  assert.deepEqual(
    times.map(({ name, own, total }) => [name, own, total]),
    [
      ['inner_a', 3, 3],
      ['sleep', 1, 1],
      ['work', 0.5, 4]
    ]
  );
});

test('a name keeps its colour', () => {
  assert.equal(hueOf('inner_a'), hueOf('inner_a'));
  assert.notEqual(hueOf('inner_a'), hueOf('inner_b'));
});
