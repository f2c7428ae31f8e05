import assert from 'node:assert/strict';
import { test } from 'node:test';

import { failingLines } from '../../../src/lab/cells/lines';
import type { CellRuns, FailedLine } from '../../../src/protocol/messages';

function failed(line: number, text: string, more: Partial<FailedLine> = {}): FailedLine {
  return { request: 'def', line, text, error: 'ValueError', message: 'no', count: 1, ...more };
}

function runs(...lines: FailedLine[]): CellRuns {
  return {
    request: 'run',
    cell: 'In[2]',
    runs: [1],
    total: 3,
    done: 3,
    failed: 3,
    lost: 0,
    cancelled: 0,
    hits: 0,
    over: true,
    seconds: 1,
    lines
  };
}

const SOURCE = '%%parallel\ndef f(x):\n    raise ValueError\n    return g()';

test('failures are told at their lines, those of several runs together', () => {
  const found = failingLines(SOURCE, 'def', [
    runs(failed(4, 'return g()', { error: 'KeyError' }), failed(3, 'raise ValueError')),
    runs(failed(3, 'raise ValueError', { count: 4 }), failed(3, 'raise ValueError', { error: 'X' }))
  ]);
  assert.deepEqual(
    found.map(({ index, failures }) => [index, failures.map(one => [one.error, one.count])]),
    [
      [
        2,
        [
          ['ValueError', 5],
          ['X', 1]
        ]
      ],
      [3, [['KeyError', 1]]]
    ]
  );
});

test('empty lines at the top are not counted by the interpreter', () => {
  const [found] = failingLines(`\n  \n${SOURCE}`, 'def', [runs(failed(3, 'raise ValueError'))]);
  assert.equal(found?.index, 4);
});

test('no line is marked that is another one than failed', () => {
  const of = (failure: FailedLine): number => failingLines(SOURCE, 'def', [runs(failure)]).length;
  assert.equal(of(failed(3, 'raise ValueError')), 1);
  assert.equal(of(failed(2, 'raise ValueError')), 0);
  assert.equal(of(failed(9, 'raise ValueError')), 0);
  assert.equal(of(failed(9, '')), 0);
  assert.equal(of(failed(3, 'raise ValueError', { request: 'another' })), 0);
});

test('a long line is known by its beginning', () => {
  const long = `raise E('${'😀'.repeat(300)}')`;
  const told = Array.from(long).slice(0, 200).join('');
  assert.equal(failingLines(`  ${long}`, 'def', [runs(failed(1, told))]).length, 1);
});
