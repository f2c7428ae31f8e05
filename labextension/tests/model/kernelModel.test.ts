import assert from 'node:assert/strict';
import { test } from 'node:test';

import { HISTORY_STEPS, KernelModel } from '../../src/model/kernelModel';
import { snapshot } from '../frames';

function near(actual: number, expected: number): void {
  assert.ok(
    Math.abs(actual - expected) < 1e-6 * Math.max(1, Math.abs(expected)),
    `${actual} is not ${expected}`
  );
}

/** Ten frames a second of a piece of work at 50 tasks a second; the page's clock is 1000 s ahead. */
function steady(model: KernelModel, seconds: number, total: number): number {
  for (let tick = 0; tick <= seconds * 10; tick++) {
    model.push(snapshot(tick / 10, tick * 5, total), 1000 + tick / 10);
  }
  return 1000 + seconds;
}

test('presence follows hello, tasks and goodbye', () => {
  const model = new KernelModel();
  assert.equal(model.presence, 'unknown');
  model.push({ cellmill: 1, kind: 'hello', release: '1' }, 0);
  assert.equal(model.presence, 'loaded');
  model.push(snapshot(0, 0, 0), 0);
  assert.equal(model.presence, 'loaded');
  model.push(snapshot(0, 0, 4), 0);
  model.push({ cellmill: 1, kind: 'hello', release: '1' }, 0);
  assert.equal(model.presence, 'live');
  model.push({ cellmill: 1, kind: 'goodbye' }, 1);
  assert.equal(model.presence, 'absent');
  assert.equal(model.state(1).snapshot, null);
});

test('the rate of running tasks is that of the last seconds', () => {
  const model = new KernelModel();
  const now = steady(model, 10, 10_000);
  near(model.state(now).rate, 50);
});

test('without frames the rate falls to zero, since frames stop only when nothing changes', () => {
  const model = new KernelModel();
  const now = steady(model, 10, 10_000);
  assert.ok(model.state(now + 1).rate < 40);
  near(model.state(now + 60).rate, 0);
});

test('the rate of finished work is its mean', () => {
  const model = new KernelModel();
  steady(model, 10, 10_000);
  model.push(snapshot(20, 10_000, 10_000), 1020);
  near(model.state(1100).rate, 500);
  assert.equal(model.busy, false);
});

test('the time left goes down between frames, and ends with the work', () => {
  const model = new KernelModel();
  const left = { seconds: 8, unknown: ['fit'], late: [] };
  model.push(snapshot(2, 20, 100, { left }), 1002);
  assert.deepEqual(model.state(1005).left, { seconds: 5, unknown: ['fit'], late: [] });
  near(model.state(1005).elapsed, 5);
  assert.equal(model.state(1100).left?.seconds, 0);
  model.push(snapshot(20, 100, 100, { left: null }), 1020);
  assert.equal(model.state(1030).left, null);
  near(model.state(1030).elapsed, 20);
});

test('that nothing tells the time left is said after a second', () => {
  const model = new KernelModel();
  const untimed = { seconds: null, unknown: ['fit'], late: [] };
  model.push(snapshot(0.5, 0, 100, { left: untimed }), 1000.5);
  assert.equal(model.state(1000.6).left, null);
  assert.deepEqual(model.state(1002).left, untimed);
});

test('work that was over within one frame still has a rate', () => {
  const model = new KernelModel();
  model.push(snapshot(5, 40, 40, { began: 4.9, elapsed: 0.08 }), 5);
  near(model.state(5).rate, 500);
});

test('the history has a bin for every step and ends now', () => {
  const model = new KernelModel();
  const now = steady(model, 10, 10_000);
  const { history } = model.state(now);
  assert.equal(history.length, HISTORY_STEPS);
  near(history.at(-1) ?? 0, 50);
  near(history[0] ?? -1, 0);
});

test('a new piece of work neither lowers the history nor inherits counts', () => {
  const model = new KernelModel();
  const now = steady(model, 4, 200);
  model.push(snapshot(5, 10, 100, { work: 2, began: 4.5, elapsed: 0.5 }), now + 1);
  const state = model.state(now + 1);
  assert.equal(state.snapshot?.counts.done, 10);
  assert.ok(state.history.every(rate => rate >= 0));
  near(state.history.at(-1) ?? 0, 20);
  assert.ok(state.present > 0 && state.present < state.history.length);
  assert.ok(state.history.slice(state.present).every(rate => rate <= 30));
});

test('an answer that a later frame overtook changes nothing', () => {
  const model = new KernelModel();
  model.push(snapshot(5, 10, 100), 5);
  model.push(snapshot(4, 8, 100), 5);
  assert.equal(model.state(5).snapshot?.counts.done, 10);
});

test('memory stays bounded over a long run', () => {
  const model = new KernelModel();
  steady(model, 2000, 1_000_000);
  const points = (model as unknown as { _points: unknown[] })._points;
  assert.ok(points.length < 500, `${points.length} points`);
});

test('a frame that could not be read is told for a while, and the counters stay', () => {
  const model = new KernelModel();
  model.push(snapshot(5, 10, 100), 5);
  model.noteUnreadable('Snapshot.time is no number', 6);
  assert.equal(model.state(7).unreadable, 'Snapshot.time is no number');
  assert.equal(model.state(7).snapshot?.counts.done, 10);
  assert.equal(model.state(17).unreadable, '');
});

test('a page that comes late has the whole course of the work', () => {
  const seen = new KernelModel();
  steady(seen, 10, 10_000);
  const late = new KernelModel();
  late.push(snapshot(10, 500, 10_000, { elapsed: 10 }), 1010);
  assert.ok(
    late
      .state(1010)
      .course(null, 10)
      .rate.slice(1, 8)
      .every(rate => rate === null)
  );
  const time = Array.from({ length: 101 }, (_, tick) => tick / 10);
  const frame = {
    cellmill: 1,
    kind: 'course',
    run: null,
    work: 1,
    began: 0,
    time,
    ran: time.map(at => 50 * at),
    queued: time.map(at => 9998 - 50 * at),
    running: time.map(() => 2)
  } as const;
  late.push({ ...frame, work: 7 }, 1010); // of other work
  assert.equal(late.state(1010).course(null, 10).rate[3], null);
  late.push(frame, 1010);
  const course = late.state(1010).course(null, 10);
  for (let step = 1; step <= 10; step++) {
    near(course.rate[step] ?? NaN, 50);
    near(course.running[step] ?? NaN, 2);
  }
  near(late.state(1010).rate, 50);
  late.push(frame, 1010);
  near(late.state(1010).course(null, 10).rate[5] ?? NaN, 50);
});

test('short work that is told long after its end is drawn where it was', () => {
  const model = new KernelModel();
  const now = steady(model, 4, 200);
  const work = { work: 2, began: 6, elapsed: 0.2 };
  model.push(snapshot(7, 1000, 1000, work), now + 3);
  const check = (): void => {
    const course = model.state(now + 3).course(null, 10);
    assert.equal(course.time.at(-1)?.toFixed(3), '0.200');
    course.rate.forEach(rate => assert.equal(Math.round(rate ?? NaN), 5000));
  };
  check();
  model.push(
    {
      cellmill: 1,
      kind: 'course',
      run: null,
      work: 2,
      began: 6,
      time: [6.1, 6.2],
      ran: [500, 1000],
      queued: [500, 0],
      running: [0, 0]
    },
    now + 3
  );
  check();
});

test('a page that comes long after the work shows it whole', () => {
  const late = new KernelModel();
  late.push(snapshot(100, 10, 10, { elapsed: 10 }), 1100);
  const time = Array.from({ length: 11 }, (_, tick) => tick);
  late.push(
    {
      cellmill: 1,
      kind: 'course',
      run: null,
      work: 1,
      began: 0,
      time: [...time, 99],
      ran: [...time, 10],
      queued: [...time.map(at => Math.max(0, 8 - at)), 0],
      running: [...time.map(at => Math.min(2, 10 - at)), 0]
    },
    1100
  );
  const course = late.state(1100).course(null, 10);
  near(course.time.at(-1) ?? NaN, 10);
  near(course.rate[5] ?? NaN, 1);
  near(course.queued[3] ?? NaN, 5);
  assert.equal(course.queued.at(-1), 0);
});
