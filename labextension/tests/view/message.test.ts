import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Presence } from '../../src/model/presence';
import { messageOf } from '../../src/view/message';
import { untranslated } from '../../src/view/translator';

test('each presence without tasks has its own message', () => {
  const presences: Presence[] = ['unknown', 'busy', 'absent', 'loaded', 'foreign', 'no-kernel'];
  presences.push('restarting', 'dead', 'old-page', 'old-kernel');
  const texts = presences.map(presence => messageOf(presence, untranslated).text);
  assert.equal(new Set(texts).size, presences.length);
  assert.ok(texts.every(text => text !== ''));
  assert.equal(messageOf('live', untranslated).text, '');
});
