import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Account, FunctionJourney } from '../../src/protocol/messages';
import { parts } from '../../src/view/journey/account';
import { hitsText, mean, reading, wholeMean } from '../../src/view/journey/reading';
import { untranslated } from '../../src/view/translator';

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
  const times = { edges: [], counts: [] };
  return {
    number: 1,
    name: 'f',
    tasks,
    failed: 0,
    cut: 0,
    lost: 0,
    intervals,
    times,
    memory: null,
    sent: null,
    received: null,
    ...more
  };
}

test('means are those of one task, and what is unknown stays so', () => {
  const one = journey(100, [0, 900, 100, 100, 200, 100, null, 100, null]);
  assert.equal(mean(one, 1), 9e-6);
  assert.equal(mean(one, 6), null);
  assert.equal(mean(one, 8), 0);
  assert.ok(Math.abs(wholeMean(one) - 14e-6) < 1e-12);
});

test('the reading of tiny tasks advises to send many at once', () => {
  const text = reading(
    journey(1000, [0, 9000, 500, 700, 2000, 600, 1000, 500, null]),
    untranslated
  );
  assert.match(
    text,
    /^From call to result a task takes 13\.8 µs on average: 2\.00 µs in your code/
  );
  assert.match(text, /9\.00 µs in queue\./);
  assert.match(text, /f\.map/);
});

test('the reading of long tasks blames nothing', () => {
  const text = reading(journey(10, [0, 100, 10, 10, 900_000, 10, 10, 10, null]), untranslated);
  assert.match(
    text,
    /^From call to result a task takes 90\.0 ms on average, 90\.0 ms of it in your code\.$/
  );
});

test('the reading of waiting tasks says for what they wait, and advises no batches', () => {
  const queued = reading(
    journey(500, [0, 5e7, 1e5, 1000, 5e6, 1000, 1000, 1000, null]),
    untranslated
  );
  assert.match(queued, /100 ms in queue\. .*more tasks than workers/);
  assert.doesNotMatch(queued, /f\.map/);
  const inputs = reading(
    journey(500, [5e7, 1e5, 1e5, 1000, 5e6, 1000, 1000, 1000, null]),
    untranslated
  );
  assert.match(inputs, /results of other tasks/);
  assert.equal(
    reading(journey(5, [null, null, null, null, null, null, null, null, null]), untranslated),
    ''
  );
});

const account: Account = {
  wall: 2,
  workers: 2,
  busy: 3,
  overhead: 0.25,
  idle: 0.75,
  reasons: null,
  span: 1,
  tasks: 7,
  sentence: 'as it was',
  nothing: '',
  sent: null,
  received: null,
  advice: []
};

test('the bar has all of the workers time, and says that it does not know why they were idle', () => {
  const shown = parts(account, untranslated);
  assert.deepEqual(
    shown.map(part => [part.kind, part.seconds]),
    [
      ['busy', 3],
      ['overhead', 0.25],
      ['idle', 0.75]
    ]
  );
  assert.equal(shown[2]?.name, 'idle (reasons not known)');
  assert.equal(parts({ ...account, idle: 0 }, untranslated)[2]?.name, 'idle');
});

test('the bar has a part for each reason of idle time, in the words of the sentence', () => {
  const reasons = [
    { reason: 'chain', what: 'idle while tasks waited for results of others', seconds: 0.5 },
    { reason: 'last', what: 'idle while the last task ran', seconds: 0.25 }
  ];
  assert.deepEqual(parts({ ...account, reasons }, untranslated).slice(2), [
    { name: 'idle while tasks waited for results of others', kind: 'idle-chain', seconds: 0.5 },
    { name: 'idle while the last task ran', kind: 'idle-last', seconds: 0.25 }
  ]);
});

test('results from the cache are told by function', () => {
  assert.equal(hitsText([], untranslated), '');
  const told = hitsText(
    [
      { name: 'score', count: 38_000 },
      { name: 'fit', count: 2 }
    ],
    untranslated
  );
  assert.equal(told, 'From the cache, without a task: score 38,000, fit 2.');
});
