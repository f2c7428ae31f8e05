import { deepEqual } from 'node:assert/strict';
import { test } from 'node:test';

import { heights } from '../../src/view/sparkline';

test('an earlier flood does not flatten what is there now', () => {
  deepEqual(heights([9000, 8000, 0, 2, 4, 1], 3), [1, 1, 0, 0.5, 1, 0.25]);
});

test('without anything there is a line at the bottom', () => {
  deepEqual(heights([0, 0], 0), [0, 0]);
  deepEqual(heights([], 0), []);
});
