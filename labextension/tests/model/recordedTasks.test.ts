import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { ListTasks, ShowTask, TaskRecord, TaskRow } from '../../src/protocol/messages';
import { RecordedTasks } from '../../src/model/recordedTasks';

function row(number: number, state: string, more: Partial<TaskRow> = {}): TaskRow {
  return {
    task: String(number * 2 ** 32),
    number,
    element: null,
    count: 1,
    function: number % 2 === 0 ? 'even' : 'odd',
    state,
    worker: 0,
    attempt: 1,
    priority: null,
    age: 1,
    queued: 0.1 * number,
    run: state === 'done' ? 1 / number : null,
    ...more
  };
}

function record(of: TaskRow, more: Partial<TaskRecord> = {}): TaskRecord {
  return {
    row: of,
    position: of.number + 10,
    attempt: {
      state: of.state,
      worker: 0,
      element: null,
      attempt: of.attempt,
      stamps: [0, 1],
      pack: 0
    },
    arguments: null,
    output: '',
    error: '',
    message: '',
    traceback: '',
    memory: null,
    ...more
  };
}

function recorded(): RecordedTasks {
  const tasks = new RecordedTasks();
  const rows = [row(4, 'running'), row(3, 'done'), row(2, 'failed')];
  const failed = { error: 'ValueError', message: 'Bad day', traceback: 'in even', output: 'said' };
  tasks.pushList({ cellmill: 1, kind: 'task-list', request: 0, matched: 9, rows, failures: [] });
  tasks.pushRecords([
    record(row(3, 'done')),
    record(row(2, 'failed'), failed),
    record(row(1, 'done'))
  ]);
  return tasks;
}

function list(more: Partial<ListTasks>): readonly number[] {
  const command: ListTasks = {
    cellmill: 1,
    kind: 'list-tasks',
    failure: null,
    request: 7,
    states: [],
    order: 'news',
    text: '',
    run: null,
    offset: 0,
    count: 100,
    ...more
  };
  const answer = recorded().answer(command);
  assert.ok(answer?.kind === 'task-list' && answer.request === 7);
  return answer.rows.map(one => one.number);
}

function show(more: Partial<ShowTask>): ReturnType<RecordedTasks['answer']> {
  const command = {
    cellmill: 1,
    kind: 'show-task',
    run: null,
    request: 8,
    task: '',
    element: null,
    position: null
  } as const;
  return recorded().answer({ ...command, ...more });
}

test('the table opens as it did, and has what was over behind it', () => {
  assert.deepEqual(list({}), [4, 3, 2, 1]);
  assert.deepEqual([recorded().size, recorded().total], [4, 9]);
});

test('filters, orders, search and pages are those of a kernel', () => {
  assert.deepEqual(list({ states: ['done'] }), [3, 1]);
  assert.deepEqual(list({ order: 'oldest' }), [1, 2, 3, 4]);
  assert.deepEqual(list({ order: 'run' }).slice(0, 2), [1, 3]);
  assert.deepEqual(list({ order: 'queue', offset: 1, count: 2 }), [3, 2]);
  assert.deepEqual(list({ text: 'ODD' }), [3, 1]);
  assert.deepEqual(list({ text: 'bad day' }), [2]);
  assert.deepEqual(list({ text: '#3' }), [3]);
});

test('a task is told in full by its ticket, its number and its place in the map', () => {
  for (const more of [{ task: String(2 * 2 ** 32) }, { task: '2' }, { position: 12 }]) {
    const detail = show(more);
    assert.ok(detail?.kind === 'task-detail' && detail.request === 8);
    assert.deepEqual([detail.number, detail.state, detail.error], [2, 'failed', 'ValueError']);
    assert.deepEqual([detail.attempts.length, detail.can.length, detail.output], [1, 0, 'said']);
  }
});

test('of one that runs, and of one that was left out, no more is told than is known', () => {
  const runs = show({ task: '4' });
  assert.ok(runs?.kind === 'task-detail');
  assert.deepEqual([runs.state, runs.attempts.length], ['running', 0]);
  const gone = show({ position: 5000 });
  assert.ok(gone?.kind === 'task-detail');
  assert.deepEqual([gone.number, gone.state], [0, 'unknown']);
});

test('what needs a kernel is not answered', () => {
  assert.equal(recorded().answer({ cellmill: 1, kind: 'pause' }), null);
});
