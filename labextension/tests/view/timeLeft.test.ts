import assert from 'node:assert/strict';
import { test } from 'node:test';

import { leftText, boundText } from '../../src/view/timeLeft';
import { untranslated } from '../../src/view/translator';

test('an estimate is told as one, and a bound as a bound', () => {
  assert.equal(leftText({ seconds: 42.4, unknown: [], late: [] }, untranslated), 'about 42 s left');
  assert.equal(leftText({ seconds: 0.2, unknown: [], late: [] }, untranslated), 'about 1 s left');
  assert.equal(
    leftText({ seconds: 185, unknown: ['fit'], late: [] }, untranslated),
    'at least 3:05 left'
  );
  assert.equal(
    leftText({ seconds: 1, unknown: [], late: ['fit'] }, untranslated),
    'at least 1 s left'
  );
  assert.equal(
    boundText({ seconds: 1, unknown: [], late: ['fit'] }, untranslated),
    'fit runs longer than before'
  );
  assert.equal(
    leftText({ seconds: null, unknown: ['fit'], late: [] }, untranslated),
    'time left not known'
  );
  assert.equal(boundText({ seconds: 1, unknown: [], late: [] }, untranslated), '');
  assert.equal(
    boundText({ seconds: 1, unknown: ['fit'], late: [] }, untranslated),
    'fit not timed yet'
  );
  assert.equal(
    boundText({ seconds: 1, unknown: ['fit', 'rank'], late: [] }, untranslated),
    'fit and 1 other function not timed yet'
  );
});
