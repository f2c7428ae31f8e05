import assert from 'node:assert/strict';
import { test } from 'node:test';

import { KernelModel } from '../../src/model/kernelModel';
import { presenceOf, type Circumstances, type Presence } from '../../src/model/presence';
import { preferences } from '../../src/lab/settings';
import { messageOf } from '../../src/view/message';
import { snapshot } from '../frames';

const plain = {
  __: (text: string): string => text,
  _n: (one: string, many: string, n: number): string => (n === 1 ? one : many)
};

test('what is told is what matters most', () => {
  const base: Circumstances = {
    heard: 'unknown',
    kernel: true,
    status: 'idle',
    language: 'python',
    late: false
  };
  const cases: [Partial<Circumstances>, Presence][] = [
    [{}, 'unknown'],
    [{ kernel: null, status: 'unknown', language: '' }, 'unknown'],
    [{ kernel: false, heard: 'live' }, 'no-kernel'],
    [{ status: 'dead', heard: 'live' }, 'dead'],
    [{ status: 'restarting' }, 'restarting'],
    [{ status: 'autorestarting', heard: 'live' }, 'restarting'],
    [{ status: 'busy' }, 'busy'],
    [{ status: 'unknown', late: true }, 'busy'],
    [{ status: 'starting', late: true }, 'unknown'],
    [{ kernel: null, late: true }, 'unknown'],
    [{ status: 'busy', heard: 'absent' }, 'absent'],
    [{ status: 'busy', heard: 'live' }, 'live'],
    [{ language: 'R' }, 'foreign'],
    [{ language: 'R', heard: 'absent' }, 'foreign'],
    [{ language: 'sage', heard: 'loaded' }, 'loaded'],
    [{ language: 'Python', heard: 'absent' }, 'absent'],
    [{ heard: 'old-page' }, 'old-page']
  ];
  for (const [more, presence] of cases) {
    assert.equal(presenceOf({ ...base, ...more }), presence, JSON.stringify(more));
  }
});

test('each presence without tasks has its own message', () => {
  const presences: Presence[] = ['unknown', 'busy', 'absent', 'loaded', 'foreign', 'no-kernel'];
  presences.push('restarting', 'dead', 'old-page', 'old-kernel');
  const texts = presences.map(presence => messageOf(presence, plain).text);
  assert.equal(new Set(texts).size, presences.length);
  assert.ok(texts.every(text => text !== ''));
  assert.equal(messageOf('live', plain).text, '');
});

test('a frame that could not be read is told for a while, and the counters stay', () => {
  const model = new KernelModel();
  model.push(snapshot(5, 10, 100), 5);
  model.garble('Snapshot.time is no number', 6);
  assert.equal(model.state(7).unreadable, 'Snapshot.time is no number');
  assert.equal(model.state(7).snapshot?.counts.done, 10);
  assert.equal(model.state(17).unreadable, '');
});

test('settings of any shape become preferences', () => {
  const defaults = preferences({});
  assert.deepEqual(
    preferences({ openIn: 7, picturesPerSecond: 'x', showInStatusBar: 1 }),
    defaults
  );
  assert.equal(preferences({ picturesPerSecond: 99 }).pictures, 10);
  assert.equal(preferences({ picturesPerSecond: 0 }).pictures, 1);
  assert.equal(preferences({ openIn: 'main' }).place, 'main');
});
