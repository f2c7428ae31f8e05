import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { MOST_OFFSET, nextRequest, PAGE, Query } from '../../src/view/tasks/query';
import { parts } from '../../src/view/tasks/stages';
import type { FailureCalls } from '../../src/protocol/messages';
import { foldText } from '../../src/view/tasks/fold';
import {
  debugLine,
  FILTERS,
  span,
  STATES,
  stateName,
  taskName,
  tone
} from '../../src/view/tasks/labels';
import { untranslated } from '../../src/view/translator';

const trans = {
  __: (text: string): string => text,
  _n: (text: string): string => text
};

void test('spans are read at a glance', () => {
  const cases: readonly [number, string][] = [
    [0, '0'],
    [8.4e-7, '840 ns'],
    [1.234e-5, '12.3 µs'],
    [0.0045, '4.50 ms'],
    [0.9999, '1.00 s'],
    [1.25, '1.25 s'],
    [185, '3:05'],
    [3725, '1:02:05']
  ];
  for (const [seconds, text] of cases) {
    assert.equal(span(seconds), text);
  }
});

void test('every state has a name and belongs to one filter', () => {
  for (const state of STATES) {
    assert.notEqual(stateName(state, trans), 'unknown');
    assert.equal(FILTERS.filter(filter => filter.states.includes(state)).length, 1, state);
  }
  assert.equal(stateName('new in a later version', trans), 'unknown');
  const styles = readFileSync(join(process.cwd(), 'labextension/style/states.css'), 'utf8');
  assert.deepEqual(
    STATES.filter(state => !styles.includes(`--cellmill-state-${tone(state)}:`)),
    ['retried']
  );
});

void test('an attempt that was tried again is no failure', () => {
  const failed = FILTERS.find(filter => filter.id === 'failed');
  assert.deepEqual(failed?.states, ['failed', 'lost', 'not-run']);
  assert.equal(tone('retried'), 'retried');
});

void test('a query asks for the states of its filters', () => {
  const query = new Query();
  assert.deepEqual(query.command(7).states, []);
  query.offset = 300;
  query.toggle('done');
  query.toggle('running');
  assert.deepEqual(query.command(7).states, ['running', 'stopping', 'done']);
  assert.equal(query.offset, 0); // another question begins at its first rows
  query.toggle('done');
  assert.deepEqual(query.command(7).states, ['running', 'stopping']);
  assert.equal(query.more(PAGE), false);
  assert.equal(query.more(PAGE + 1), true);
  query.offset = 300;
  assert.equal(query.command(7).offset, 300);
  assert.equal(query.more(300 + PAGE), false);
  assert.equal(query.more(301 + PAGE), true);
  query.offset = MOST_OFFSET;
  assert.equal(query.more(10 * MOST_OFFSET), false);
  assert.notEqual(nextRequest(), nextRequest());
});

void test('what is not known of a journey is left out, and the rest adds up', () => {
  assert.deepEqual(parts([0, 0.5, 1, -1, -1, -1, -1, 3]), [
    { interval: 0, from: 0, seconds: 0.5 },
    { interval: 1, from: 0.5, seconds: 0.5 },
    { interval: 6, from: 1, seconds: 2 }
  ]);
  assert.deepEqual(parts([0, -1, -1, -1, -1, -1, -1, -1]), []);
  assert.deepEqual(parts([]), []);
});

void test('tasks are named by number, place and size', () => {
  assert.equal(taskName(17, null, 1), '#17');
  assert.equal(taskName(17, 0, 1), '#17');
  assert.equal(taskName(17, 3, 1), '#17.3');
  assert.equal(taskName(17, null, 40), '#17 ×40');
});

function fold(all: number, known: number): FailureCalls {
  return {
    cellmill: 1,
    kind: 'failure-calls',
    request: 1,
    failure: 1,
    count: all,
    known,
    open: known,
    until: 0,
    calls: [],
    python: null,
    exact: null
  };
}

void test('a line of failures says which part of its calls is shown, and what is gone', () => {
  assert.equal(foldText(fold(1, 1), 1, untranslated), '1 call');
  assert.equal(foldText(fold(12, 12), 12, untranslated), '12 calls');
  assert.equal(foldText(fold(1234, 1234), 50, untranslated), 'First 50 of 1,234 calls');
  assert.equal(
    foldText(fold(9000, 2056), 50, untranslated),
    '50 of 9,000 calls; 6,944 are not kept any more'
  );
});

void test('the debugger is given the element where there are several', () => {
  assert.equal(debugLine(17, 0), '%cellmill debug 17');
  assert.equal(debugLine(17, null), '%cellmill debug 17');
  assert.equal(debugLine(17, 3), '%cellmill debug 17 3');
});
