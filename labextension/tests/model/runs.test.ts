import assert from 'node:assert/strict';
import { test } from 'node:test';

import { KernelModel } from '../../src/model/kernelModel';
import type { RunRecord } from '../../src/protocol/messages';
import { snapshot } from '../frames';

function record(id: number, more: Partial<RunRecord> = {}): RunRecord {
  return {
    id,
    cell: `In[${id}]`,
    name: 'fit',
    began: 1000 + id,
    wall: 2,
    submitted: 10,
    succeeded: 7,
    failed: 2,
    lost: 0,
    cancelled: 1,
    hits: 0,
    busy: 0.5,
    kept: true,
    ...more
  };
}

function told(...runs: RunRecord[]): { cellmill: 1; kind: 'runs'; runs: RunRecord[] } {
  return { cellmill: 1, kind: 'runs', runs };
}

test('runs are newest first, and later frames change single ones', () => {
  const model = new KernelModel();
  model.push(told(record(1), record(2, { wall: null, succeeded: 1 })), 0);
  model.push(told(record(2, { succeeded: 7 })), 1);
  assert.deepEqual(
    model.state(1).runs.map(run => [run.id, run.succeeded]),
    [
      [2, 7],
      [1, 7]
    ]
  );
});

test('a run is drawn from its record until the kernel tells more', () => {
  const model = new KernelModel();
  assert.equal(model.state(0).scoped(1), null);
  model.push(snapshot(5, 20, 40), 0);
  model.push(told(record(1)), 0);
  const state = model.state(0).scoped(1);
  assert.equal(state?.run, 1);
  assert.deepEqual(state.snapshot?.counts, {
    total: 10,
    done: 10,
    failed: 2,
    lost: 0,
    cancelled: 1,
    running: 0,
    queued: 0
  });
  assert.equal(state.elapsed, 2);
});

test('frames of a run change what is drawn of it alone', () => {
  const model = new KernelModel();
  model.push(snapshot(5, 20, 40), 100);
  model.push(told(record(1), record(2)), 100);
  model.push(snapshot(5, 3, 10, { run: 1, work: 1, began: 1 }), 100);
  model.push(snapshot(5, 17, 30, { run: 2, work: 2, began: 2 }), 100);
  const all = model.state(100);
  assert.equal(all.snapshot?.counts.done, 20);
  assert.equal(all.scoped(1)?.snapshot?.counts.done, 3);
  assert.equal(all.scoped(2)?.snapshot?.counts.done, 17);
  assert.equal(all.scoped(1)?.elapsed, 4);
  const course = { time: [1, 3], ran: [0, 2], queued: [10, 8], running: [0, 2] };
  model.push({ cellmill: 1, kind: 'course', run: 1, work: 1, began: 1, ...course }, 100);
  const whole = model.state(100).scoped(1)?.course(null, 4);
  assert.equal(whole?.running[2], 2);
});

test('single tasks and workers are the same in every scope, the map is not', () => {
  const model = new KernelModel();
  model.push(snapshot(5, 20, 40), 0);
  model.push(told(record(1)), 0);
  const all = model.state(0);
  const one = all.scoped(1);
  assert.notEqual(one?.sections, all.sections);
  assert.equal(one?.sections.tasks, all.sections.tasks);
  assert.ok(model.state(1).scoped(1)?.sections === one.sections);
  model.reset('unknown');
  assert.equal(model.state(2).runs.length, 0);
});

test('the course of a run that is over ends with its last task, not with the look after it', () => {
  const model = new KernelModel();
  model.push(snapshot(9, 40, 40), 0);
  model.push(told(record(1)), 0);
  model.push(snapshot(9, 10, 10, { run: 1, work: 1, began: 1, elapsed: 2 }), 0);
  const course = { time: [2, 3.05], ran: [0, 10], queued: [10, 0], running: [0, 0] };
  model.push({ cellmill: 1, kind: 'course', run: 1, work: 1, began: 1, ...course }, 0);
  const whole = model.state(0).scoped(1)?.course(null, 4);
  assert.equal(whole?.queued.at(-1), 0);
});
