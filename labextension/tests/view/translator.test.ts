import assert from 'node:assert/strict';
import { test } from 'node:test';

import { untranslated } from '../../src/view/translator';

test('texts take their arguments', () => {
  assert.equal(untranslated.__('%1 of %2', 3, 4), '3 of 4');
  assert.equal(untranslated._n('%2 task in %3', '%2 tasks in %3', 1, '1', '2 s'), '1 task in 2 s');
  assert.equal(untranslated._n('%2 task in %3', '%2 tasks in %3', 5, '5', '2 s'), '5 tasks in 2 s');
});
