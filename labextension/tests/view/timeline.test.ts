import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { FunctionJourney, Timeline } from '../../src/protocol/messages';
import { TimelineModel, readSpans } from '../../src/model/timeline';
import { mean, reading, wholeMean } from '../../src/view/journey/reading';
import { axis, brief } from '../../src/view/timeline/axis';
import { Range } from '../../src/view/timeline/range';
import { mergeNarrow, nearest, neighbour, visibleSpans } from '../../src/view/timeline/viewport';
import { caveats, describe, summary } from '../../src/view/timeline/labels';

const trans = {
  __: (text: string, ...args: unknown[]) =>
    text.replace(/%(\d)/g, (_, n: string) => String(args[Number(n) - 1])),
  _n: (one: string, many: string, n: number, ...args: unknown[]) =>
    (n === 1 ? one : many).replace(/%(\d)/g, (_, k: string) => String([n, ...args][Number(k) - 1]))
};

interface Given {
  start: number;
  end: number;
  ticket?: bigint;
  count?: number;
  failed?: number;
  worker?: number;
  running?: boolean;
  functions?: number[];
  shares?: number[];
  place?: number;
}

/** Spans as the kernel packs them; times are nanoseconds. */
function packed(...spans: Given[]): Uint8Array {
  const bytes = new Uint8Array(64 * spans.length);
  const view = new DataView(bytes.buffer);
  spans.forEach((span, index) => {
    const at = 64 * index;
    view.setBigUint64(at, BigInt(span.start), true);
    view.setBigUint64(at + 8, BigInt(span.end), true);
    view.setBigUint64(at + 16, span.ticket ?? BigInt(index + 1), true);
    view.setUint32(at + 24, span.count ?? 1, true);
    view.setUint32(at + 28, span.failed ?? 0, true);
    view.setUint16(at + 36, span.worker ?? 0, true);
    view.setUint16(at + 38, span.running === true ? 1 : 0, true);
    for (let i = 0; i < 3; i++) {
      view.setUint32(at + 40 + 4 * i, span.functions?.[i] ?? (i === 0 ? 1 : 0xffff_ffff), true);
      view.setUint8(at + 52 + i, span.shares?.[i] ?? (i === 0 ? 255 : 0));
    }
    view.setUint32(at + 56, span.place ?? index, true);
  });
  return bytes;
}

function frame(
  number: number,
  follows: number,
  spans: Uint8Array,
  more: Partial<Timeline> = {}
): Timeline {
  return {
    cellmill: 1,
    kind: 'timeline',
    known: true,
    work: 1,
    number,
    follows,
    now: 100,
    tasks: 2,
    sampled: 0,
    dropped: 0,
    threshold: 0,
    workers: [0, 1],
    names: number === 1 ? [{ number: 1, name: 'fold' }] : [],
    spans,
    running: new Uint8Array(),
    ...more
  };
}

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
  assert.match(summary(model, trans, model.last(12.5)), /1 running/);
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

test('single tasks of an answer stand where slices were, and nowhere twice', () => {
  const model = new TimelineModel();
  model.push(
    frame(1, 0, packed({ start: 0, end: 1e9, count: 50 }, { start: 2e9, end: 3e9, count: 50 }), {
      threshold: 1
    }),
    0
  );
  model.pushDetail({
    cellmill: 1,
    kind: 'timeline-detail',
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
  model.push(frame(1, 0, packed(...narrow, { start: 3e9, end: 9e9 })), 0);
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
    ),
    0
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
  model.push(frame(1, 0, spans, { tasks: 1200, sampled: 900, threshold: 0.5, dropped: 7 }), 0);
  const [span] = model.spans;
  assert.ok(span !== undefined);
  const lines = describe(span, model, trans, true);
  assert.deepEqual(lines.slice(0, 4), [
    'fold',
    'about 1,200 tasks in 1.00 s',
    '50% of that time in your code',
    '3 failed'
  ]);
  const note = caveats(model, trans, false);
  assert.match(note, /shorter than 500 ms.*zoom in/);
  assert.match(caveats(model, trans, true), /shorter than 500 ms were recorded together/);
  assert.match(note, /900 of 1,200/);
  assert.match(note, /7 were gone/);
});

/** Figures with these totals, in microseconds, over `tasks` tasks; null: unknown. */
function journey(
  tasks: number,
  totals: (number | null)[],
  more: Partial<FunctionJourney> = {}
): FunctionJourney {
  const intervals = totals.map(total => {
    const each = total === null ? 0 : total / 1e6 / tasks;
    return {
      known: total === null ? 0 : tasks,
      total: (total ?? 0) / 1e6,
      median: each,
      p95: each,
      p99: each,
      longest: each
    };
  });
  return { number: 1, name: 'f', tasks, failed: 0, cut: 0, intervals, ...more };
}

test('means are those of one task, and what is unknown stays so', () => {
  const one = journey(100, [0, 900, 100, 100, 200, 100, null, 100, null]);
  assert.equal(mean(one, 1), 9e-6);
  assert.equal(mean(one, 6), null);
  assert.equal(mean(one, 8), 0);
  assert.ok(Math.abs(wholeMean(one) - 14e-6) < 1e-12);
});

test('the reading of tiny tasks advises to send many at once', () => {
  const text = reading(journey(1000, [0, 9000, 500, 700, 2000, 600, 1000, 500, null]), trans);
  assert.match(text, /^85% of the 13\.8 µs/);
  assert.match(text, /queue takes 9\.00 µs/);
  assert.match(text, /f\.map/);
});

test('the reading of long tasks blames nothing', () => {
  const text = reading(journey(10, [0, 100, 10, 10, 900_000, 10, 10, 10, null]), trans);
  assert.match(text, /^On average a task takes 90\.0 ms .* 99% of that is your code\.$/);
});

test('the reading of waiting tasks says for what they wait, and advises no batches', () => {
  const queued = reading(journey(500, [0, 5e7, 1e5, 1000, 5e6, 1000, 1000, 1000, null]), trans);
  assert.match(queued, /queue takes 100 ms.*more tasks than workers/);
  assert.doesNotMatch(queued, /f\.map/);
  const inputs = reading(journey(500, [5e7, 1e5, 1e5, 1000, 5e6, 1000, 1000, 1000, null]), trans);
  assert.match(inputs, /results of others/);
  assert.equal(
    reading(journey(5, [null, null, null, null, null, null, null, null, null]), trans),
    ''
  );
});
