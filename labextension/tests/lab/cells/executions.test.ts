import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Executions, digest } from '../../../src/lab/cells/executions';

class Kept {
  readonly texts = new Map<string, string>();
  getItem = (key: string): string | null => this.texts.get(key) ?? null;
  setItem = (key: string, text: string): void => void this.texts.set(key, text);
}

test('a cell has its newest execution only, also after a reload', () => {
  const kept = new Kept();
  const before = new Executions(kept, 'one');
  before.note('a', 'first', 'x = 1');
  before.note('b', 'second', 'y');
  before.note('a', 'third', 'x = 2');
  for (const known of [before, new Executions(kept, 'one')]) {
    assert.equal(known.of('a')?.request, 'third');
    assert.equal(known.of('a')?.digest, digest('x = 2'));
    assert.equal(known.cellOf('first'), null);
    assert.equal(known.cellOf('second'), 'b');
  }
  assert.equal(new Executions(kept, 'another kernel').of('a'), undefined);
});

test('a storage that is broken, full or foreign is as good as none', () => {
  const kept = new Kept();
  for (const text of ['{', '7', '[["a"]]', '[["a",{"request":1,"digest":"x"}]]', '[null]']) {
    kept.texts.set('cellmill:executions:k', text);
    assert.equal(new Executions(kept, 'k').of('a'), undefined, text);
  }
  kept.setItem = () => {
    throw new Error('full');
  };
  const known = new Executions(kept, 'k');
  known.note('a', 'first', '');
  assert.equal(known.of('a')?.request, 'first');
});

test('other sources have other digests', () => {
  const sources = ['', ' ', 'a', 'b', 'ab', 'ba', 'x = 1', 'x = 2', 'x = 1\n'];
  assert.equal(new Set(sources.map(digest)).size, sources.length);
});
