import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { RunRecord, Snapshot } from '../../src/protocol/messages';
import { earlierText } from '../../src/view/partText';
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
    cancelled: 0,
    busy: null,
    kept
  };
}

test('a view of all that is kept says so where the counters are of less', () => {
  const snapshot = { counts: { total: 60 } } as Snapshot;
  const runs = [runOf(2, 60, true), runOf(1, 402, true)];
  assert.match(earlierText({ run: null, runs, snapshot }, untranslated), /Earlier work/);
  assert.equal(earlierText({ run: 2, runs, snapshot }, untranslated), '');
  const replaced = [runOf(2, 60, true), runOf(1, 402, false)];
  assert.equal(earlierText({ run: null, runs: replaced, snapshot }, untranslated), '');
  assert.equal(earlierText({ run: null, runs, snapshot: null }, untranslated), '');
});
