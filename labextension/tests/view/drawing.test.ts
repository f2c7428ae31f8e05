import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Drawing } from '../../src/view/drawing';

const INTERVAL = 100;

/** A page with a clock of its own: its timers fire as `pass` moves it on, animation frames when `paint` is called. */
class Page {
  constructor() {
    Object.assign(globalThis, {
      window: this,
      document: this,
      performance: { now: () => this.time }
    });
  }
  time = 0;
  visibilityState = 'visible';

  setTimeout(call: () => void, wait: number): number {
    this._timers.set(++this._last, [this.time + wait, call]);
    return this._last;
  }

  clearTimeout(timer: number): void {
    this._timers.delete(timer);
  }

  requestAnimationFrame(call: () => void): number {
    this._frames.set(++this._last, call);
    return this._last;
  }

  cancelAnimationFrame(frame: number): void {
    this._frames.delete(frame);
  }

  pass(milliseconds: number): void {
    const end = this.time + milliseconds;
    for (;;) {
      const due = [...this._timers].sort(([, [one]], [, [other]]) => one - other)[0];
      if (due === undefined || due[1][0] > end) {
        break;
      }
      this._timers.delete(due[0]);
      this.time = due[1][0];
      due[1][1]();
    }
    this.time = end;
  }

  paint(): void {
    const calls = [...this._frames.values()];
    this._frames.clear();
    calls.forEach(call => call());
  }

  private _last = 0;
  private readonly _timers = new Map<number, [number, () => void]>();
  private readonly _frames = new Map<number, () => void>();
}

/** A picture that notes when it was drawn. */
function picture(page: Page, interval = INTERVAL, moves = false): [Drawing, number[]] {
  const times: number[] = [];
  const drawing = new Drawing(
    () => {
      times.push(page.time);
      return moves;
    },
    () => interval
  );
  return [drawing, times];
}

test('what comes together is drawn once, soon', () => {
  const page = new Page();
  const [drawing, times] = picture(page);
  drawing.ask();
  page.pass(5);
  drawing.ask();
  page.pass(INTERVAL);
  assert.equal(times.length, 1);
  assert.ok(times[0] !== undefined && times[0] < 17, `within one frame of a screen: ${times[0]}`);
});

test('a flood is drawn as often as a view asks for it', () => {
  const page = new Page();
  const [drawing, times] = picture(page);
  for (let i = 0; i < 2000; i++) {
    drawing.ask();
    page.pass(1);
  }
  assert.ok(times.length >= 19 && times.length <= 21, String(times.length));
});

test('a hidden page draws nothing until it shows', () => {
  const page = new Page();
  const [drawing, times] = picture(page);
  page.visibilityState = 'hidden';
  for (let i = 0; i < 50; i++) {
    drawing.ask();
    page.pass(20);
  }
  assert.deepEqual(times, []);
  page.visibilityState = 'visible';
  page.paint();
  assert.deepEqual(times, [1000]);
  drawing.ask();
  page.pass(INTERVAL);
  assert.equal(times.length, 2);
});

test('what is due soon comes along', () => {
  const page = new Page();
  const [one, times] = picture(page);
  const [other, along] = picture(page, 300);
  other.now();
  page.pass(1);
  other.ask();
  one.ask();
  page.pass(60); // the other's turn is far
  assert.deepEqual([times.length, along.length], [1, 1]);
  page.pass(100);
  one.ask();
  page.pass(10);
  assert.deepEqual([times.length, along.length], [2, 2]);
  assert.equal(times[1], along[1]);
});

test('time alone asks once a second, and stopped it asks no more', () => {
  const page = new Page();
  const [drawing, times] = picture(page, INTERVAL, true);
  drawing.now();
  page.pass(3500);
  assert.equal(times.length, 4);
  drawing.stop();
  page.pass(3000);
  assert.equal(times.length, 4);
});
