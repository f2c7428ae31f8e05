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
  model.push(frame(1, 0, packed({ start: 1e9, end: 2e9 }, { start: 3e9, end: 4e9 })));
  model.push(frame(2, 1, packed({ start: 3e9, end: 5e9, count: 2, place: 1 })));
  assert.deepEqual(
    model.spans.map(span => [span.end, span.count]),
    [
      [2, 1],
      [5, 2]
    ]
  );
  model.push(frame(4, 3, packed({ start: 9e9, end: 9e9, place: 2 })));
  assert.equal(model.spans.length, 2);
  model.push(frame(5, 0, packed({ start: 7e9, end: 8e9 })));
  assert.equal(model.spans.length, 1);
  assert.equal(model.first, 7);
  model.began = 5; // with the submission of the first task
  assert.equal(model.first, 5);
  model.began = 7.5; // of an estimate
  assert.equal(model.first, 7);
  assert.equal(model.name(1), 'fold');
  assert.equal(model.last, 8);
});

test('an open span reaches as far as the kernel has told', () => {
  const model = new TimelineModel();
  const running = packed({ start: 99e9, end: 100e9, running: true });
  model.push(frame(1, 0, new Uint8Array(), { running }));
  assert.equal(model.last, 100);
  assert.match(summary(model, untranslated, model.last), /1 running/);
});

test('functions of one name share a colour and keep it in later work', () => {
  const model = new TimelineModel();
  const names = [
    { number: 1, name: 'a', colour: 4 },
    { number: 2, name: 'b', colour: 0 },
    { number: 3, name: 'a', colour: 4 }
  ];
  model.push(frame(1, 0, packed({ start: 1, end: 2, functions: [2] }), { names }));
  assert.equal(model.colour(1), 4);
  assert.equal(model.colour(1), model.colour(3));
  assert.notEqual(model.colour(1), model.colour(2));
  const before = model.colour(2);
  model.push(
    frame(2, 0, new Uint8Array(), { work: 2, names: [{ number: 9, name: 'c', colour: 1 }] })
  );
  assert.equal(model.colour(2), before);
});
