import assert from 'node:assert/strict';
import { test } from 'node:test';

import { presenceOf, type Circumstances, type Presence } from '../../src/model/presence';

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
