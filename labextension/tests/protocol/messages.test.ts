import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ProtocolError } from '../../src/protocol/parse';
import { STAGES, parseFrame } from '../../src/protocol/messages';
import { snapshot } from '../frames';

test('a frame survives the way through JSON', () => {
  const frame = snapshot(1.5, 3, 10, {
    runs: [
      { id: 1, name: 'f', total: null, done: 3, failed: 0, lost: 0, cancelled: 0, priority: 0 }
    ]
  });
  assert.deepEqual(parseFrame(JSON.parse(JSON.stringify(frame))), frame);
});

test('fields of a later release are left out, not refused', () => {
  assert.deepEqual(parseFrame({ ...snapshot(1, 1, 1), more: 'later' }), snapshot(1, 1, 1));
});

test('they are left out at any depth, and of the copy alone', () => {
  const run = {
    id: 1,
    name: 'f',
    total: null,
    done: 3,
    failed: 0,
    lost: 0,
    cancelled: 0,
    priority: 0
  };
  const frame = snapshot(1, 1, 1, { runs: [run, run] });
  const later = { ...frame, runs: [run, { ...run, more: 'later' }] };
  assert.deepEqual(parseFrame(later), frame);
  assert.deepEqual(later.runs[1], { ...run, more: 'later' });
});

test('binary parts come from the buffers, whatever the JSON has', () => {
  const data = { cellmill: 1, kind: 'graph-states', run: null, structure: 1 };
  const bytes = new Uint8Array([7, 8, 9]);
  const buffers = [bytes.buffer, new DataView(bytes.buffer, 1, 2)];
  const frame = {
    ...data,
    states: new Uint8Array([7, 8, 9]),
    seconds: new Uint8Array([8, 9])
  };
  assert.deepEqual(parseFrame(data, buffers), frame);
  assert.deepEqual(parseFrame({ ...data, states: 'no', more: 'later' }, buffers), frame);
  assert.throws(() => parseFrame(data, buffers.slice(1)), /GraphStates\.seconds did not come/);
});

test('no field may be of another type, and none missing but what may be null', () => {
  const all = snapshot(1, 1, 1, {
    runs: [
      {
        id: 1,
        name: 'f',
        total: null,
        done: 3,
        failed: 0,
        lost: null,
        cancelled: null,
        priority: 0
      }
    ]
  });
  const frame = { ...all, counts: { ...all.counts, lost: null } };
  const places: [string, Record<string, unknown>][] = [
    ['Snapshot', { ...frame }],
    ['Snapshot.counts', { ...frame.counts }],
    ['Snapshot.runs[0]', { ...frame.runs[0] }]
  ];
  for (const [place, object] of places) {
    for (const key of Object.keys(object).filter(name => name !== 'kind')) {
      const missing = object[key] === null ? [] : [undefined];
      for (const wrong of [...missing, {}, [3], NaN, 1n]) {
        const changed = { ...object, [key]: wrong };
        const whole =
          place === 'Snapshot'
            ? changed
            : { ...frame, ...(place.endsWith('s') ? { counts: changed } : { runs: [changed] }) };
        assert.throws(
          () => parseFrame(whole),
          error => error instanceof ProtocolError && error.message.startsWith(`${place}.${key}`)
        );
      }
    }
  }
});

test('a record of an earlier release has no account of its journeys', () => {
  const frame = {
    cellmill: 1,
    kind: 'journey',
    run: null,
    known: true,
    work: 1,
    tasks: 0,
    sampled: 0,
    dropped: 0,
    hidden: 0,
    functions: []
  };
  const parsed = parseFrame(frame);
  assert.equal(parsed.kind === 'journey' && parsed.account, null);
});

test('what does not follow the schema is named', () => {
  const wrong: [unknown, RegExp][] = [
    [null, /Frame is no object/],
    [{ cellmill: 1, kind: 'dance' }, /Frame\.kind is unknown: dance/],
    [{ cellmill: 2, kind: 'goodbye' }, /Goodbye\.cellmill is not 1/],
    [{ cellmill: 1, kind: 'hello', release: 7 }, /Hello\.release is no string/],
    [{ ...snapshot(1, 1, 1), counts: { total: 1 } }, /Snapshot\.counts\.done is no number/],
    [{ ...snapshot(1, 1, 1), workers: 1.5 }, /Snapshot\.workers is no integer/],
    [{ ...snapshot(1, 1, 1), runs: [{}] }, /Snapshot\.runs\[0\]\.id is no number/]
  ];
  for (const [frame, message] of wrong) {
    assert.throws(
      () => parseFrame(frame),
      error => error instanceof ProtocolError && message.test(error.message)
    );
  }
});

test('the stages are those of a journey, in order', () => {
  assert.equal(STAGES.length, 8);
  assert.equal(STAGES[0], 'submitted');
  assert.equal(STAGES.at(-1), 'resolved');
});
