import assert from 'node:assert/strict';
import { test } from 'node:test';

import { CellsModel, cellState } from '../../src/model/cells';
import type { CellRuns } from '../../src/protocol/messages';

function cell(request: string, more: Partial<CellRuns> = {}): CellRuns {
  return {
    request,
    cell: 'In[1]',
    runs: [1],
    total: 4,
    done: 4,
    failed: 0,
    lost: 0,
    cancelled: 0,
    hits: 0,
    over: true,
    seconds: 1,
    lines: [],
    ...more
  };
}

test('what changed replaces what was, and runs lead to their cells', () => {
  const model = new CellsModel();
  model.push({ cellmill: 1, kind: 'cells', cells: [cell('a'), cell('b', { runs: [2, 3] })] });
  model.push({ cellmill: 1, kind: 'cells', cells: [cell('a', { done: 9 })] });
  assert.equal(model.all.get('a')?.done, 9);
  assert.equal(model.ofRun(3)?.request, 'b');
  assert.equal(model.ofRun(4), undefined);
  const many = Array.from({ length: 300 }, (_, index) => cell(`r${index}`));
  model.push({ cellmill: 1, kind: 'cells', cells: many });
  assert.equal(model.all.size, 256);
  assert.equal(model.all.has('a'), false);
});

test('tasks that are outstanding run, then the worst end is told', () => {
  assert.equal(cellState(cell('a', { over: false, failed: 1 })), 'running');
  assert.equal(cellState(cell('a', { failed: 1, lost: 0, cancelled: 1 })), 'failed');
  assert.equal(cellState(cell('a', { failed: 2, lost: 1 })), 'failed');
  assert.equal(cellState(cell('a', { failed: 1, lost: 1 })), 'lost');
  assert.equal(cellState(cell('a', { cancelled: 1 })), 'cancelled');
  assert.equal(cellState(cell('a')), 'done');
});
