import assert from 'node:assert/strict';
import { test } from 'node:test';

import { TimelineModel, readSpans } from '../../src/model/timeline';
import { summary } from '../../src/view/timeline/labels';
import { untranslated } from '../../src/view/translator';
import { frame, packed } from '../timelineFrames';

test('tickets of 63 bits arrive whole, also from the middle of a buffer', () => {
  const ticket = 2n ** 63n - 25n;
  const bytes = new Uint8Array(8 + 64);
  bytes.set(packed({ start: 1_500_000_000, end: 2_000_000_000, ticket }), 8);
  const [one] = readSpans(bytes.subarray(8));
  assert.ok(one !== undefined);
  assert.equal(one.span.ticket, '9223372036854775783');
  assert.equal(one.span.start, 1.5);
});

test('later spans take the places of earlier ones, and a missed frame changes nothing', () => {
  const model = new TimelineModel();
  model.push(frame(1, 0, packed({ start: 1e9, end: 2e9 }, { start: 3e9, end: 4e9 })), 10);
  model.push(frame(2, 1, packed({ start: 3e9, end: 5e9, count: 2, place: 1 })), 10.2);
  assert.deepEqual(
    model.spans.map(span => [span.end, span.count]),
    [
      [2, 1],
      [5, 2]
    ]
  );
  model.push(frame(4, 3, packed({ start: 9e9, end: 9e9, place: 2 })), 10.4);
  assert.equal(model.spans.length, 2);
  model.push(frame(5, 0, packed({ start: 7e9, end: 8e9 })), 10.6);
  assert.equal(model.spans.length, 1);
  assert.equal(model.first, 7);
  assert.equal(model.name(1), 'fold');
  assert.equal(model.last(99), 8); // nothing runs: time alone changes nothing
});

test('an open span reaches to the present', () => {
  const model = new TimelineModel();
  const running = packed({ start: 99e9, end: 100e9, running: true });
  model.push(frame(1, 0, new Uint8Array(), { running }), 10);
  assert.equal(model.last(12.5), 102.5);
  assert.match(summary(model, untranslated, model.last(12.5)), /1 running/);
});

test('functions of one name share a colour and keep it in later work', () => {
  const model = new TimelineModel();
  const names = [
    { number: 1, name: 'a' },
    { number: 2, name: 'b' },
    { number: 3, name: 'a' }
  ];
  model.push(frame(1, 0, packed({ start: 1, end: 2, functions: [2] }), { names }), 0);
  assert.equal(model.colour(1), model.colour(3));
  assert.notEqual(model.colour(1), model.colour(2));
  const before = model.colour(2);
  model.push(frame(2, 0, new Uint8Array(), { work: 2, names: [{ number: 9, name: 'c' }] }), 1);
  assert.equal(model.colour(2), before);
});
