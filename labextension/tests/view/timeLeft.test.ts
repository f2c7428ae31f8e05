import assert from 'node:assert/strict';
import { test } from 'node:test';

import { leftText, unknownText } from '../../src/view/timeLeft';
import { untranslated } from '../../src/view/translator';

test('an estimate is told as one, and a bound as a bound', () => {
  assert.equal(leftText({ seconds: 42.4, unknown: [] }, untranslated), 'about 42 s left');
  assert.equal(leftText({ seconds: 0.2, unknown: [] }, untranslated), 'about 1 s left');
  assert.equal(leftText({ seconds: 185, unknown: ['fit'] }, untranslated), 'at least 3:05 left');
  assert.equal(unknownText({ seconds: 1, unknown: [] }, untranslated), '');
  assert.equal(unknownText({ seconds: 1, unknown: ['fit'] }, untranslated), 'fit not timed yet');
  assert.equal(
    unknownText({ seconds: 1, unknown: ['fit', 'rank'] }, untranslated),
    'fit and 1 other function not timed yet'
  );
});
