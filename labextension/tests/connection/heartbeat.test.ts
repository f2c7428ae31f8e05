import assert from 'node:assert/strict';
import { mock, test } from 'node:test';

import { BEAT, Heartbeat } from '../../src/connection/heartbeat';

Object.assign(globalThis, { window: globalThis });

/** A heart on a clock of its own, and the beats that were not heard yet. */
class Bench {
  constructor() {
    mock.timers.enable({ apis: ['setTimeout'] });
  }
  time = 0;
  beats = 0;
  readonly unheard: (() => void)[] = [];
  readonly heart = new Heartbeat(
    () =>
      new Promise(heard => {
        this.beats++;
        this.unheard.push(heard);
      }),
    () => this.time
  );
  pass(milliseconds: number): void {
    this.time += milliseconds;
    mock.timers.tick(milliseconds);
  }
  async heard(): Promise<void> {
    this.unheard.splice(0).forEach(heard => heard());
    await Promise.resolve();
    await Promise.resolve();
  }
  end(): void {
    this.heart.dispose();
    mock.timers.reset();
  }
}

test('a page that is sent frames speaks every five seconds, one that is sent nothing does not', async () => {
  const bench = new Bench();
  bench.pass(10 * BEAT);
  assert.equal(bench.beats, 0);
  bench.heart.frame(); // long after the last sign
  assert.equal(bench.beats, 1);
  await bench.heard();
  for (let frame = 0; frame < 10; frame++) {
    bench.heart.frame();
    bench.pass(BEAT / 20);
  }
  assert.equal(bench.beats, 1);
  bench.pass(BEAT / 2);
  assert.equal(bench.beats, 2); // also where no more frames come
  await bench.heard();
  bench.pass(10 * BEAT);
  assert.equal(bench.beats, 2);
  bench.end();
});

test('signs do not pile up before a kernel that hears pages between cells alone', async () => {
  const bench = new Bench();
  bench.pass(BEAT);
  for (let frame = 0; frame < 100; frame++) {
    bench.heart.frame();
    bench.pass(BEAT / 10);
  }
  assert.equal(bench.beats, 1);
  await bench.heard(); // and frames came meanwhile
  assert.equal(bench.beats, 2);
  bench.heart.frame();
  bench.pass(60_000);
  bench.heart.frame();
  assert.equal(bench.beats, 3); // the answer may be lost
  bench.end();
});

test('once it goes another way, the answer to an earlier sign is not waited for', () => {
  const bench = new Bench();
  bench.pass(BEAT);
  bench.heart.frame();
  assert.equal(bench.beats, 1);
  bench.heart.restart();
  bench.heart.frame();
  bench.pass(BEAT);
  assert.equal(bench.beats, 2);
  bench.end();
});

test('after its end there is no sign', async () => {
  const bench = new Bench();
  bench.heart.frame();
  bench.heart.dispose();
  bench.pass(2 * BEAT);
  assert.equal(bench.beats, 0);
  bench.heart.frame();
  bench.heart.dispose();
  await bench.heard();
  assert.equal(bench.beats, 1);
  bench.end();
});
