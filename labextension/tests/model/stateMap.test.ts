import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  parseFrame,
  type MapCounts,
  type MapPart,
  type StateMap
} from '../../src/protocol/messages';
import { Sections } from '../../src/model/sections';
import {
  FORGOTTEN,
  cellOf,
  gridOf,
  partPicture,
  unpack,
  wholePicture,
  zoomRange
} from '../../src/model/stateMap';

const NONE: MapCounts = {
  waiting: 0,
  queued: 0,
  running: 0,
  done: 0,
  failed: 0,
  cancelled: 0,
  lost: 0
};

function frame(more: Partial<StateMap>): StateMap {
  return {
    cellmill: 1,
    kind: 'state-map',
    run: null,
    work: 1,
    origin: 100,
    start: 100,
    end: 104,
    total: 6,
    span: 1,
    counts: { ...NONE, done: 3, failed: 1 },
    cells: Uint8Array.of(3, 4, 5, 4, 4),
    ...more
  };
}

function part(request: number, more: Partial<MapPart>): MapPart {
  const { cellmill, start, end, span, counts, cells } = frame({});
  return {
    cellmill,
    kind: 'map-part',
    run: null,
    request,
    start,
    end,
    span,
    counts,
    cells,
    ...more
  };
}

test('packed bytes are literals and runs, and never more than there is room for', () => {
  const into = new Uint8Array(8);
  assert.equal(unpack(Uint8Array.of(1, 7, 8, 254, 9, 0, 1), into), 6);
  assert.deepEqual([...into], [7, 8, 9, 9, 9, 1, 0, 0]);
  assert.equal(unpack(Uint8Array.of(129, 5), into), 8);
  assert.ok(into.every(value => value === 5));
  assert.equal(unpack(Uint8Array.of(9, 1, 2), new Uint8Array(8)), 2); // cut short
  assert.equal(unpack(new Uint8Array(0), into), 0);
});

test('a frame comes with its cells as a buffer', () => {
  const { cells, ...data } = frame({});
  const parsed = parseFrame(data, [cells.buffer as ArrayBuffer]);
  assert.deepEqual(parsed, frame({}));
  assert.throws(() => parseFrame(data), /StateMap\.cells did not come/);
});

test('tasks that have not been sent yet are cells, too', () => {
  const picture = wholePicture(frame({}));
  assert.deepEqual([...picture.cells], [4, 5, 4, 4, 2, 2]);
  assert.equal(picture.counts.queued, 2);
  assert.equal(picture.forgotten, 0);
});

test('what the kernel forgot is shown as such', () => {
  const picture = wholePicture(frame({ start: 102, total: 4, cells: Uint8Array.of(1, 4, 4) }));
  assert.deepEqual([...picture.cells], [FORGOTTEN, FORGOTTEN, 4, 4]);
  assert.equal(picture.forgotten, 2);
});

test('a cell that is only half sent is not done', () => {
  const sums = frame({ span: 4, end: 106, total: 9, cells: Uint8Array.of(1, 15, 15) });
  const cells = [...wholePicture(sums).cells].map(cellOf);
  assert.deepEqual(
    cells.map(({ share, waiting }) => [share, waiting]),
    [
      [15, false],
      [7, true],
      [0, true]
    ]
  );
  const whole = wholePicture({ ...sums, end: 106, total: 6 });
  assert.deepEqual([...whole.cells], [15, 15]); // the last cell is smaller, and all done
});

test('a sum says what is among its tasks', () => {
  assert.deepEqual(cellOf(14 | 16 | 64), {
    share: 14,
    failed: true,
    running: false,
    waiting: true,
    cancelled: false
  });
});

test('a part is laid out over the range that was asked for', () => {
  const answer = part(7, { start: 102, end: 104, cells: Uint8Array.of(255, 4) });
  const picture = partPicture(answer, 100, 102, 107);
  assert.deepEqual([...picture.cells], [4, 4, 2, 2, 2]);
  assert.equal(picture.counts.queued, 3);
});

test('squares fill the width', () => {
  const few = gridOf(10, 300, 200, 14);
  assert.ok(few.side <= 14 && few.rows === 1 && Math.abs(few.columns * few.side - 300) < 1e-9);
  for (const cells of [500, 4096, 16384]) {
    const { columns, rows, side } = gridOf(cells, 300, 200, 14);
    assert.ok(columns * rows >= cells && (rows - 1) * columns < cells);
    assert.ok(Math.abs(columns * side - 300) < 1e-9 && rows * side <= 200 + side);
  }
  assert.equal(gridOf(0, 300, 200, 14).rows, 1);
});

test('zooming keeps to whole multiples and to the end', () => {
  const picture = wholePicture(frame({ total: 1000, span: 4, end: 1100, origin: 100 }));
  assert.deepEqual(zoomRange(picture, 70, 64), { start: 356, end: 612 });
  assert.deepEqual(zoomRange(picture, 249, 64), { start: 868, end: 1100 });
});

test('parts are kept by request, the newest few', () => {
  const sections = new Sections();
  for (let request = 0; request < 20; request++) {
    sections.push(part(request, {}));
  }
  sections.push(frame({}));
  assert.deepEqual([...sections.mapParts.keys()], [12, 13, 14, 15, 16, 17, 18, 19]);
  sections.reset();
  assert.equal(sections.mapParts.size, 0);
  assert.equal(sections.stateMap, null);
});
