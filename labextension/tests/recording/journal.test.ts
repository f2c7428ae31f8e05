import assert from 'node:assert/strict';
import { test } from 'node:test';

import { readJournal } from '../../src/recording/journal';
import { ProtocolError } from '../../src/protocol/parse';
import { snapshot } from '../frames';

const MAGIC = 'cellmill journal\n';

function record(head: unknown, body = new Uint8Array()): Buffer {
  const text = Buffer.from(JSON.stringify(head));
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32LE(text.length, 0);
  lengths.writeUInt32LE(body.length, 4);
  return Buffer.concat([lengths, text, body]);
}

const HEAD = { journal: 1, schema: 1, started: '2026-01-02T03:04:05' };

function journal(...records: Buffer[]): Uint8Array {
  return Buffer.concat([Buffer.from(MAGIC), ...records]);
}

test('frames come with their times and buffers', () => {
  const states = { cellmill: 1, kind: 'graph-states', run: null, structure: 4 };
  const data = journal(
    record(HEAD),
    record({ at: 0.5, frame: snapshot(1, 2, 3), buffers: [] }),
    record({ at: 0.75, frame: states, buffers: [2, 3] }, Uint8Array.of(1, 2, 3, 4, 5))
  );
  const { started, records, dropped } = readJournal(data);
  assert.equal(started, HEAD.started);
  assert.equal(dropped, 0);
  assert.deepEqual(
    records.map(one => one.at),
    [0.5, 0.75]
  );
  const frame = records[1]?.frame;
  assert.ok(frame?.kind === 'graph-states');
  assert.deepEqual([...frame.states], [1, 2]);
  assert.deepEqual([...frame.seconds], [3, 4, 5]);
});

test('a journal cut off anywhere holds what came before', () => {
  const data = journal(
    record(HEAD),
    record({ at: 0, frame: snapshot(1, 2, 3), buffers: [] }),
    record({ at: 1, frame: snapshot(2, 3, 3), buffers: [] })
  );
  let before = 0;
  for (let end = MAGIC.length; end <= data.length; end++) {
    const { records } = readJournal(data.subarray(0, end));
    assert.ok(records.length >= before);
    before = records.length;
  }
  assert.equal(before, 2);
});

test('frames that cannot be read are counted, the others stand', () => {
  const data = journal(
    record(HEAD),
    record({ at: 0, frame: { cellmill: 1, kind: 'of-a-later-release' }, buffers: [] }),
    record({ at: 1, frame: snapshot(2, 3, 3), buffers: [] })
  );
  const { records, dropped } = readJournal(data);
  assert.equal(records.length, 1);
  assert.equal(dropped, 1);
});

test('what is no journal, or of another version, is refused', () => {
  assert.throws(() => readJournal(Buffer.from('something else entirely')), ProtocolError);
  assert.throws(() => readJournal(journal(record({ ...HEAD, journal: 2 }))), ProtocolError);
  assert.throws(() => readJournal(journal(record({ ...HEAD, schema: 9 }))), ProtocolError);
});
