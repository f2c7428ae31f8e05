import assert from 'node:assert/strict';
import { test } from 'node:test';

import { preferences } from '../../src/lab/settings';

test('settings of any shape become preferences', () => {
  const defaults = preferences({});
  assert.deepEqual(
    preferences({ openIn: 7, picturesPerSecond: 'x', showInStatusBar: 1 }),
    defaults
  );
  assert.equal(preferences({ picturesPerSecond: 99 }).pictures, 10);
  assert.equal(preferences({ picturesPerSecond: 0 }).pictures, 1);
  assert.equal(preferences({ openIn: 'main' }).place, 'main');
  assert.equal(preferences({ notifyAfter: -1 }).notifyAfter, 30);
  assert.equal(preferences({ notifyAfter: 0 }).notifyAfter, 0);
});
