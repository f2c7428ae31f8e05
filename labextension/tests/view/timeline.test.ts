import assert from 'node:assert/strict';
import { test } from 'node:test';

import { TimelineModel } from '../../src/model/timeline';
import { axis, brief } from '../../src/view/timeline/axis';
import { caveats, describe, summary } from '../../src/view/timeline/labels';
import { Range } from '../../src/view/timeline/range';
import { mergeNarrow, nearest, neighbour, visibleSpans } from '../../src/view/timeline/viewport';
import { untranslated } from '../../src/view/translator';
import { frame, packed } from '../timelineFrames';

test('single tasks of an answer stand where slices were, and nowhere twice', () => {
  const model = new TimelineModel();
  model.push(
    frame(1, 0, packed({ start: 0, end: 1e9, count: 50 }, { start: 2e9, end: 3e9, count: 50 }), {
      threshold: 1
    })
  );
  model.pushDetail({
    cellmill: 1,
    kind: 'timeline-detail',
    run: null,
    request: 1,
    start: 1.5,
    end: 4,
    found: 2,
    names: [],
    spans: packed(
      { start: 2.1e9, end: 2.2e9, ticket: 7n },
      { start: 2.5e9, end: 2.6e9, ticket: 8n }
    )
  });
  const seen = visibleSpans(model, 0, 4);
  assert.deepEqual(
    seen.map(span => [span.start, span.count]),
    [
      [0, 50],
      [2, 50]
    ],
    'the slice begins before the earliest row that is still known'
  );
  model.pushDetail({
    cellmill: 1,
    kind: 'timeline-detail',
    run: null,
    request: 2,
    start: 1.5,
    end: 4,
    found: 2,
    names: [],
    spans: packed({ start: 2e9, end: 2.2e9, ticket: 7n }, { start: 2.5e9, end: 2.6e9, ticket: 8n })
  });
  assert.deepEqual(
    visibleSpans(model, 1.6, 4).map(span => span.ticket),
    ['7', '8']
  );
});

test('spans too narrow to be told apart are one for each pixel', () => {
  const model = new TimelineModel();
  const narrow = [10, 12, 14, 210].map(at => ({
    start: at * 1e7,
    end: (at + 1) * 1e7,
    failed: at === 12 ? 1 : 0
  }));
  model.push(frame(1, 0, packed(...narrow, { start: 3e9, end: 9e9 })));
  const seen = mergeNarrow(model.spans, 1);
  assert.deepEqual(
    seen.map(span => [span.start, span.count, span.failed]),
    [
      [3, 1, 0],
      [0.1, 3, 1],
      [2.1, 1, 0]
    ]
  );
  assert.ok(Math.abs((seen[1]?.functions[0]?.share ?? 0) - 0.03) < 1e-9);
});

test('the keyboard goes from span to span and from row to row', () => {
  const model = new TimelineModel();
  model.push(
    frame(
      1,
      0,
      packed(
        { start: 3e9, end: 4e9 },
        { start: 1e9, end: 2e9 },
        { start: 3.5e9, end: 4e9, worker: 1 }
      )
    )
  );
  const first = neighbour(model.spans, null, 0, 1);
  assert.equal(first?.start, 1);
  assert.equal(neighbour(model.spans, first, 0, 1)?.start, 3);
  assert.equal(neighbour(model.spans, first, 0, -1)?.start, 1);
  assert.equal(nearest(model.spans, 1, 3)?.start, 3.5);
  assert.equal(nearest(model.spans, 5, 3), null);
});

test('a window follows, stays, or shows all', () => {
  const range = new Range();
  assert.deepEqual(range.window(10, 20), { from: 10, to: 20 });
  assert.deepEqual(range.window(10, 30), { from: 10, to: 30 });
  range.zoom(0.5, 20, 10, 30);
  assert.deepEqual(range.window(10, 40), { from: 15, to: 25 });
  assert.equal(range.mode, 'free');
  range.pan(-100, 10, 40);
  assert.deepEqual(range.window(10, 40), { from: 5, to: 15 });
  range.follow();
  assert.deepEqual(range.window(10, 50), { from: 40, to: 50 });
  range.zoom(0.5, 42, 10, 50);
  assert.deepEqual(range.window(10, 60), { from: 55, to: 60 });
  range.zoom(100, 55, 10, 60);
  assert.equal(range.mode, 'whole');
});

test('durations have three digits and their unit', () => {
  const cases: [number, string][] = [
    [0, '0 s'],
    [42e-9, '42 ns'],
    [14.23e-6, '14.2 µs'],
    [0.35, '350 ms'],
    [2.046, '2.05 s'],
    [185, '3:05 min']
  ];
  for (const [value, text] of cases) {
    assert.equal(brief(value), text);
  }
});

test('marks are round, few, and count from a near moment where steps are small', () => {
  const plain = axis(0, 10, 500);
  assert.equal(plain.base, '');
  assert.deepEqual(
    plain.marks.map(mark => mark.label),
    ['0 s', '2 s', '4 s', '6 s', '8 s', '10 s']
  );
  const near = axis(12.3451, 12.3455, 400);
  assert.equal(near.base, '12.345 s');
  assert.equal(near.marks[0]?.label, '+100 µs');
  assert.ok(near.marks.length <= 6);
  assert.deepEqual(axis(1, 1, 400).marks, []);
});

test('a slice says what it holds, and what is guessed', () => {
  const model = new TimelineModel();
  const spans = packed({ start: 0, end: 1e9, count: 1200, failed: 3, shares: [128, 0, 0] });
  model.push(frame(1, 0, spans, { tasks: 1200, sampled: 900, threshold: 0.5, dropped: 7 }));
  const [span] = model.spans;
  assert.ok(span !== undefined);
  const lines = describe(span, model, untranslated, true);
  assert.deepEqual(lines.slice(0, 4), [
    'fold',
    'about 1,200 tasks in 1.00 s',
    '50% of that time in your code',
    '3 failed'
  ]);
  const note = caveats(model, untranslated, 1207, false);
  assert.match(note, /shorter than 500 ms.*zoom in/);
  assert.match(
    caveats(model, untranslated, 1207, true),
    /shorter than 500 ms were recorded together/
  );
  assert.match(note, /900 of 1,200/);
  assert.match(note, /These are 1,200 of 1,207 tasks; the records of the others are gone/);
  assert.doesNotMatch(caveats(model, untranslated, 1200, false), /These are/);
});

test('lost tasks are told apart from cancelled ones', () => {
  const model = new TimelineModel();
  const one = { start: 0, end: 1e9, cut: 1, lost: 1 };
  const several = { start: 2e9, end: 3e9, count: 9, cut: 5, lost: 2, place: 1 };
  model.push(frame(1, 0, packed(one, several), { tasks: 10 }));
  const [first, second] = model.spans.map(span => describe(span, model, untranslated, false));
  assert.deepEqual(first?.slice(2, 3), ['lost']);
  assert.deepEqual(second?.slice(3, 5), ['2 lost', '3 cancelled']);
  assert.match(summary(model, untranslated, 3), /3 lost, 3 cancelled/);
});
