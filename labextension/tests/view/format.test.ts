import assert from 'node:assert/strict';
import { test } from 'node:test';

import { bytes, duration, percent, rate, shortCount } from '../../src/view/format';

test('rates have about three digits', () => {
  const cases: [number, string][] = [
    [0, '0'],
    [0.421, '0.42'],
    [7.26, '7.26'],
    [42.04, '42.0'],
    [99.96, '100'],
    [9994, '9994'],
    [12_345, '12.3k'],
    [123_456, '123k']
  ];
  for (const [value, text] of cases) {
    assert.equal(rate(value), text);
  }
});

test('percents are whole and never round up', () => {
  const cases: [number, number, string][] = [
    [0, 7, '0%'],
    [29, 100, '29%'],
    [999_999, 1_000_000, '99%'],
    [7, 7, '100%']
  ];
  for (const [part, whole, text] of cases) {
    assert.equal(percent(part, whole), text);
  }
});

test('durations grow from milliseconds to hours', () => {
  const cases: [number, string][] = [
    [0, '0.0 s'],
    [0.0003, '< 1 ms'],
    [0.0284, '28 ms'],
    [0.44, '0.4 s'],
    [9.96, '10 s'],
    [59.6, '1:00'],
    [185, '3:05'],
    [3720, '1:02:00']
  ];
  for (const [value, text] of cases) {
    assert.equal(duration(value), text);
  }
});

test('bytes have about three digits', () => {
  const cases: [number, string][] = [
    [0, '0 kB'],
    [640_000, '640 kB'],
    [999_600, '1 MB'],
    [52_300_000, '52 MB'],
    [1_340_000_000, '1.3 GB'],
    [512_000_000_000, '512 GB']
  ];
  for (const [value, text] of cases) {
    assert.equal(bytes(value), text);
  }
});

test('short counts have at most four characters', () => {
  const texts: [number, string][] = [
    [0, '0'],
    [862, '862'],
    [1_250, '1.3K'],
    [99_949, '100K'],
    [262_144, '262K'],
    [1_000_000, '1M'],
    [25_400_000, '25M']
  ];
  for (const [value, text] of texts) {
    assert.equal(shortCount(value), text);
  }
});
