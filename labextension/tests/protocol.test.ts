import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ProtocolError, STAGES, parseFrame } from '../src/protocol';
import { snapshot } from './frames';

test('a frame survives the way through JSON', () => {
  const frame = snapshot(1.5, 3, 10, {
    runs: [{ id: 1, name: 'f', total: null, done: 3, failed: 0, priority: 0 }]
  });
  assert.deepEqual(parseFrame(JSON.parse(JSON.stringify(frame))), frame);
});

test('fields of a later release are left out, not refused', () => {
  assert.deepEqual(parseFrame({ ...snapshot(1, 1, 1), more: 'later' }), snapshot(1, 1, 1));
});

test('what does not follow the schema is named', () => {
  const wrong: [unknown, RegExp][] = [
    [null, /Frame is no object/],
    [{ cellmill: 1, kind: 'dance' }, /Frame\.kind is unknown: dance/],
    [{ cellmill: 2, kind: 'goodbye' }, /Goodbye\.cellmill is not 1/],
    [{ cellmill: 1, kind: 'hello', release: 7 }, /Hello\.release is no string/],
    [{ ...snapshot(1, 1, 1), counts: { total: 1 } }, /Snapshot\.counts\.done is no number/],
    [{ ...snapshot(1, 1, 1), workers: 1.5 }, /Snapshot\.workers is no integer/],
    [{ ...snapshot(1, 1, 1), runs: [{}] }, /Snapshot\.runs\[0\]\.id is no number/]
  ];
  for (const [frame, message] of wrong) {
    assert.throws(
      () => parseFrame(frame),
      error => error instanceof ProtocolError && message.test(error.message)
    );
  }
});

test('the stages are those of a journey, in order', () => {
  assert.equal(STAGES.length, 8);
  assert.equal(STAGES[0], 'submitted');
  assert.equal(STAGES.at(-1), 'resolved');
});
