import assert from 'node:assert/strict';
import { test } from 'node:test';

import { MOST_LINES, OutputModel } from '../../src/model/output';
import type { Output } from '../../src/protocol/messages';
import { matching, speakers, workersOf } from '../../src/view/output/filter';
import { countText } from '../../src/view/tabs/output';
import { untranslated } from '../../src/view/translator';

const SPEAKERS = [
  { name: 'fit 1', task: '7', element: 1, worker: 0 },
  { name: 'fit 2', task: '7', element: 2, worker: 1 },
  { name: 'worker', task: null, element: 0, worker: 1 }
];

type Piece = readonly [speaker: number, text: string, stream?: number];

function frame(first: number, pieces: readonly Piece[], more: Partial<Output> = {}): Output {
  return {
    cellmill: 1,
    kind: 'output',
    run: null,
    known: true,
    feed: 1,
    lines: 0,
    gap: false,
    speakers: SPEAKERS,
    speaker: pieces.map(([speaker]) => speaker),
    number: pieces.map((_, index) => first + index),
    stream: pieces.map(([, , stream]) => stream ?? 1),
    time: pieces.map(() => 0),
    text: pieces.map(([, text]) => text),
    ...more
  };
}

const texts = (model: OutputModel): string[] => model.lines.map(line => line.text);

void test('pieces of tasks that print at once are put together', () => {
  const model = new OutputModel();
  model.push(
    frame(0, [
      [0, 'a'],
      [1, 'b\nc'],
      [0, 'd\n'],
      [0, 'err\n', 2],
      [1, '!\n\n']
    ])
  );
  assert.deepEqual(texts(model), ['ad', 'b', 'c!', 'err', '']);
  assert.deepEqual(
    model.lines.map(line => line.key),
    ['7.1', '7.2', '7.2', '7.1', '7.2']
  );
});

void test('a piece that is told again is taken once, and a new pool begins anew', () => {
  const model = new OutputModel();
  model.push(
    frame(0, [
      [0, 'a\n'],
      [0, 'b\n']
    ])
  );
  model.push(
    frame(
      0,
      [
        [0, 'a\n'],
        [0, 'b\n'],
        [0, 'c\n']
      ],
      { gap: true }
    )
  );
  assert.deepEqual(texts(model), ['a', 'b', 'c']);
  model.push(frame(0, [[0, 'z\n']], { feed: 2 }));
  assert.deepEqual(texts(model), ['z']);
});

void test('what comes after a gap does not continue a line from before it', () => {
  const model = new OutputModel();
  model.push(frame(0, [[0, 'begin']]));
  model.push(frame(9, [[0, 'end\n']], { gap: true, lines: 5 }));
  assert.deepEqual(texts(model), ['begin', 'end']);
  assert.equal(model.dropped, 4);
});

void test('a line that draws over itself shows its newest state, without colours', () => {
  const model = new OutputModel();
  model.push(
    frame(0, [
      [0, ' 1 %\r'],
      [0, '\x1b[32m50 %\x1b[0m\r']
    ])
  );
  assert.deepEqual(texts(model), ['50 %\r']);
  model.push(frame(2, [[0, '100 %\n']]));
  assert.deepEqual(texts(model), ['100 %']);
});

void test('the newest lines are kept and the others counted', () => {
  const model = new OutputModel();
  const many = MOST_LINES + 100;
  for (let at = 0; at < many; at += 100) {
    const pieces = Array.from({ length: 100 }, (_, index): Piece => [0, `${at + index}\n`]);
    model.push(frame(at, pieces, { lines: at + 100 }));
  }
  assert.equal(model.lines.length, MOST_LINES);
  assert.equal(model.lines[0]?.text, '100');
  assert.equal(model.dropped, 100);
  model.push(frame(many, [[0, `${'x'.repeat(5_000_000)}\n`]], { lines: many + 1 }));
  assert.equal(model.lines.at(-1)?.text.length, 4000);
});

void test('lines are filtered by text, task, worker and stream', () => {
  const model = new OutputModel();
  model.push(
    frame(0, [
      [0, 'Alpha\n'],
      [1, 'beta\n'],
      [2, 'gamma\n', 2]
    ])
  );
  const none = { text: '', streams: new Set<number>(), worker: null, task: '' };
  const found = (filter: object): string[] =>
    matching(model.lines, { ...none, ...filter }, 10).shown.map(line => line.text);
  assert.deepEqual(found({}), ['Alpha', 'beta', 'gamma']);
  assert.deepEqual(found({ text: 'ALPH' }), ['Alpha']);
  assert.deepEqual(found({ text: 'fit 2' }), ['beta']);
  assert.deepEqual(found({ worker: 1 }), ['beta', 'gamma']);
  assert.deepEqual(found({ task: '7.1' }), ['Alpha']);
  assert.deepEqual(found({ streams: new Set([2]) }), ['gamma']);
  assert.deepEqual(matching(model.lines, none, 2), { shown: model.lines.slice(1), matched: 3 });
  assert.deepEqual(speakers(model.lines, 2), [
    ['worker 1', 'worker'],
    ['7.2', 'fit 2']
  ]);
  assert.deepEqual(workersOf(model.lines), [0, 1]);
});

void test('the count says which part is shown and what is gone', () => {
  const words = (shown: number, matched: number, dropped: number): string =>
    countText(shown, matched, { dropped }, untranslated);
  assert.equal(words(1, 1, 0), '1 line');
  assert.equal(words(300, 4812, 0), 'The newest 300 of 4,812 lines');
  assert.equal(words(2, 2, 1234), '2 lines; 1,234 earlier ones are not kept');
});
