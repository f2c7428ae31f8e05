import assert from 'node:assert/strict';
import { test } from 'node:test';

import { most, numbers, rowAt } from '../../src/model/usage';
import type { WorkerState } from '../../src/protocol/messages';
import { nearOnes } from '../../src/view/near';
import type { Palette } from '../../src/view/timeline/painter';
import { heightOf, paintStrips, stripsOf } from '../../src/view/timeline/strips';
import { untranslated } from '../../src/view/translator';

function column(...values: number[]): Float64Array {
  return Float64Array.from(values);
}

test('a column is read where it lies, at any place of its buffer', () => {
  const bytes = new Uint8Array(24);
  new DataView(bytes.buffer).setFloat64(3, 1.5, true);
  new DataView(bytes.buffer).setFloat64(11, -2, true);
  assert.deepEqual([...numbers(bytes.subarray(3, 19))], [1.5, -2]);
});

test('the row of a moment, also beside it, and none where nothing was looked at', () => {
  const rows = { start: column(1, 2, 10), time: column(2, 3, 11) };
  assert.deepEqual(
    [0.5, 1.5, 2.5, 3.5, 10.5, 12].map(moment => rowAt(rows, moment)),
    [-1, 0, 1, -1, 2, -1]
  );
  assert.equal(rowAt(rows, 3.5, 1), 1);
  assert.equal(rowAt(rows, 9.5, 1), 2);
  assert.equal(rowAt(rows, 99, Infinity), 2);
  assert.equal(rowAt({ start: column(), time: column() }, 1, 5), -1);
});

test('what is not known is no largest value', () => {
  assert.equal(most(column(NaN, 3, NaN), column(2)), 3);
  assert.equal(most(column(NaN)), 0);
});

const ALL = {
  known: true,
  cpus: 4,
  limit: 8e9,
  start: column(0, 10),
  time: column(10, 20),
  busy: column(1, 2),
  idle: column(1, 0),
  memory: column(NaN, 2e9),
  used: column(3e9, 4e9),
  cpu: column(NaN, 2),
  kernel: column(0.5, 0.5)
};
const COLOURS = { busy: 'blue', memory: 'violet', cpu: 'green' };

test('all workers are drawn against what there is, one against its own most', () => {
  const strips = stripsOf(ALL, null, COLOURS, untranslated);
  assert.deepEqual(
    strips.map(({ name, top, label, limit }) => [name, top, label, limit]),
    [
      ['busy', 2, '2', null],
      ['memory', 8e9, '8.0 GB', 8e9],
      ['CPU', 4, '4', 4]
    ]
  );
  const one = { ...ALL, worker: 1, request: 1, memory: column(1e9, 2e9), cpu: column(0.5, 1) };
  const own = stripsOf(ALL, one, COLOURS, untranslated);
  assert.deepEqual(
    own.map(({ name, limit }) => [name, limit]),
    [
      ['busy', null],
      ['memory', null],
      ['CPU', 1]
    ]
  );
});

test('a row begins and ends where the timeline has these moments', () => {
  const filled: number[][] = [];
  const context = new Proxy(
    { canvas: null, fillRect: (...box: number[]) => filled.push(box) },
    {
      get: (given, name): unknown => Reflect.get(given, name) ?? ((): void => undefined),
      set: () => true
    }
  );
  (globalThis as { getComputedStyle?: unknown }).getComputedStyle = () => ({ fontFamily: 'x' });
  const strips = stripsOf(ALL, null, COLOURS, untranslated).slice(0, 1);
  const axis = { width: 470, left: 70, from: 5, to: 25, palette: {} as Palette };
  paintStrips(context as unknown as CanvasRenderingContext2D, strips, axis, 15);
  assert.deepEqual(
    filled.map(([x, , width]) => [x, width]),
    [
      [-30, 200],
      [170, 200],
      [-30, 200],
      [170, 200],
      [270, 1]
    ]
  );
  assert.equal(filled[4]?.[3], heightOf(1));
});

test('a task is near its memory from nine tenths of what it declares, and never without', () => {
  const worker = { task: '1', memory: 95, declared: 100 } as WorkerState;
  const found = nearOnes([
    worker,
    { ...worker, memory: 89 },
    { ...worker, declared: null },
    { ...worker, task: null },
    { ...worker, memory: null }
  ]);
  assert.deepEqual(found, [worker]);
});
