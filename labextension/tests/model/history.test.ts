import assert from 'node:assert/strict';
import { test } from 'node:test';

import { History } from '../../src/model/history';
import { KernelModel } from '../../src/model/kernelModel';
import type { Snapshot } from '../../src/protocol/messages';
import { snapshot } from '../frames';

function near(actual: number | null | undefined, expected: number, part = 0.05): void {
  assert.ok(
    typeof actual === 'number' && Math.abs(actual - expected) <= part * Math.max(1, expected),
    `${String(actual)} is not ${expected}`
  );
}

/** Ten points a second at 50 tasks a second. */
function steady(seconds: number): History {
  const history = new History();
  for (let tick = 0; tick <= seconds * 10; tick++) {
    history.push(tick / 10, tick * 5, 1000 - tick, 2);
  }
  return history;
}

test('a window ends now, and is empty before anything was seen', () => {
  const course = steady(10).course(30, 10, 60);
  assert.equal(course.time.length, 61);
  assert.equal(course.time[0], -30);
  assert.equal(course.time.at(-1), 0);
  assert.equal(course.rate[10], null);
  assert.equal(course.queued[10], null);
  near(course.rate.at(-1), 50);
  assert.equal(course.queued.at(-1), 900);
  assert.equal(course.running.at(-1), 2);
});

test('points that are told later take the places of those of their time', () => {
  const history = steady(10);
  history.fill([
    { time: 4, done: 0, queued: 7, running: 1 },
    { time: 6, done: 0, queued: 7, running: 1 }
  ]);
  assert.equal(history.size, 40 + 2 + 40);
  assert.equal(history.course(10, 10, 10).queued[5], 7);
});

test('the whole run begins with the work', () => {
  const history = steady(100);
  history.began = 40;
  const course = history.course(null, 100, 60);
  assert.equal(course.time[0], 0);
  near(course.time.at(-1), 60);
  assert.ok(course.rate.every(rate => rate !== null));
  course.rate.forEach(rate => near(rate, 50));
});

test('a run shorter than a second fills its window', () => {
  const history = new History();
  history.began = 5;
  history.push(5, 0, 100, 2);
  history.push(5.4, 100, 0, 0);
  const course = history.course(null, 5.4, 40);
  near(course.time.at(-1), 0.4);
  course.rate.forEach(rate => near(rate, 250));
});

test('nothing happens between two pieces of work', () => {
  const history = steady(10);
  history.push(10, 500, 0, 0);
  history.begin(50, 500);
  history.push(52, 700, 10, 2);
  const course = history.course(60, 52, 120);
  const at = (time: number): number => Math.round((time + 60 - 52) * 2);
  near(course.rate[at(30)], 0);
  near(course.rate[at(5)], 50);
  near(course.rate[at(52)], 100);
  assert.equal(course.queued[at(30)], 0);
  assert.equal(course.present, at(50)); // what was before does not decide the scale
  assert.equal(history.course(null, 52, 120).present, 0);
});

test('slow tasks give a smooth rate', () => {
  const history = new History();
  for (let second = 0; second <= 30; second++) {
    history.push(second, second, 5, 1);
  }
  history
    .course(30, 30, 120)
    .rate.slice(8)
    .forEach(rate => near(rate, 1));
});

test('memory stays bounded, and old times stay visible', () => {
  const history = new History();
  for (let tick = 0; tick <= 36_000 * 10; tick += 2) {
    history.push(tick / 10, tick * 5, 7, 2);
  }
  assert.ok(history.size <= 1600, `${history.size} points`);
  const whole = history.course(null, 36_000, 120);
  whole.rate.forEach(rate => near(rate, 50));
  history.course(300, 36_000, 120).rate.forEach(rate => near(rate, 50));
});

test('an overtaken frame changes nothing', () => {
  const history = steady(10);
  history.push(5, 0, 0, 0);
  near(history.course(30, 10, 60).rate.at(-1), 50);
});

test('the whole run begins with its first task and ends with its last change, whenever these were told', () => {
  const model = new KernelModel();
  const queue = (queued: number, total: number): Snapshot['counts'] => ({
    ...snapshot(0, total - queued, total).counts,
    running: 0,
    queued
  });
  model.push({ ...snapshot(5, 0, 0, { began: 5, elapsed: 0 }) }, 1005); // long before the first task, at 9
  model.push(
    { ...snapshot(9.25, 0, 0, { began: 9, elapsed: 0.2 }), counts: queue(40, 40) },
    1009.25
  );
  model.push({ ...snapshot(10, 0, 0, { began: 9, elapsed: 1 }), counts: queue(30, 40) }, 1010);
  model.push({ ...snapshot(11.5, 0, 0, { began: 9, elapsed: 2.2 }), counts: queue(0, 40) }, 1011.5);
  const course = model.state(1030).course(null, 22);
  near(course.time.at(-1), 2.2, 0.001);
  assert.equal(course.queued.at(-1), 0);
  assert.equal(course.queued[11], 30);
  assert.equal(course.queued.at(-2), 30);
});

test('the model records what its frames say, and forgets it', () => {
  const model = new KernelModel();
  for (let tick = 0; tick <= 100; tick++) {
    model.push(snapshot(tick / 10, tick * 5, 500), 1000 + tick / 10);
  }
  const course = model.state(1020).course(null, 50);
  near(course.time.at(-1), 10);
  course.rate.forEach(rate => near(rate, 50));
  near(model.state(1020).course(30, 60).rate.at(-1), 0);
  model.reset('absent');
  assert.ok(
    model
      .state(1020)
      .course(30, 60)
      .rate.every(rate => rate === null)
  );
});
