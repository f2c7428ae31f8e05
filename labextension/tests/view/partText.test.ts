import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { RunRecord, Snapshot } from '../../src/protocol/messages';
import { earlierText, listText } from '../../src/view/partText';
import { untranslated } from '../../src/view/translator';

function runOf(id: number, submitted: number, kept: boolean): RunRecord {
  return {
    id,
    cell: 'In[3]',
    name: 'fit',
    began: 0,
    wall: 1,
    submitted,
    succeeded: submitted,
    failed: 0,
    lost: 0,
    cancelled: 0,
    hits: 0,
    busy: null,
    kept
  };
}

test('a list says how many tasks it lacks, once all are over', () => {
  const counts = {
    total: 599_999,
    done: 599_999,
    failed: 0,
    lost: 0,
    cancelled: 9,
    running: 0,
    queued: 0
  };
  const over = { counts } as Snapshot;
  assert.match(listText(262_144, over, untranslated), /These are 262,144 of 599,990 tasks/);
  assert.equal(
    listText(599_991, over, untranslated),
    '8 tasks that were cancelled together are not listed.'
  );
  assert.equal(listText(599_999, over, untranslated), '');
  const going = { counts: { ...counts, done: 300_000, running: 2 } } as Snapshot;
  assert.equal(listText(262_144, going, untranslated), '');
  assert.equal(listText(5, null, untranslated), '');
});

test('a view of all that is kept says so where the counters are of less', () => {
  const snapshot = { counts: { total: 60 } } as Snapshot;
  const runs = [runOf(2, 60, true), runOf(1, 402, true)];
  assert.match(earlierText({ run: null, runs, snapshot }, untranslated), /Earlier work/);
  assert.equal(earlierText({ run: 2, runs, snapshot }, untranslated), '');
  const replaced = [runOf(2, 60, true), runOf(1, 402, false)];
  assert.equal(earlierText({ run: null, runs: replaced, snapshot }, untranslated), '');
  assert.equal(earlierText({ run: null, runs, snapshot: null }, untranslated), '');
});
