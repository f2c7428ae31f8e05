import assert from 'node:assert/strict';
import { test } from 'node:test';

import { lost, outstanding, raised, ran, succeeded } from '../../src/model/counts';
import { KernelModel } from '../../src/model/kernelModel';
import { snapshot } from '../frames';

test('cancelled tasks are over, and not done', () => {
  const counts = {
    total: 200,
    done: 200,
    failed: 6,
    lost: 2,
    cancelled: 164,
    running: 0,
    queued: 0
  };
  assert.equal(ran(counts), 36);
  assert.equal(succeeded(counts), 30);
  assert.deepEqual([raised(counts), lost(counts)], [4, 2]);
  assert.deepEqual([raised({ failed: 6, lost: null }), lost({ failed: 6, lost: null })], [6, 0]);
  assert.equal(outstanding(counts), false);
  assert.equal(outstanding({ ...counts, done: 199 }), true);
});

test('a rate counts what ran', () => {
  const model = new KernelModel();
  const frame = snapshot(10, 200, 200);
  model.push({ ...frame, counts: { ...frame.counts, cancelled: 164 } }, 10);
  assert.equal(model.state(10).rate, 3.6);
});
