/** Where the lines of cells are at which tasks failed. */

import type { CellRuns, FailedLine } from '../../protocol/messages';

/** A line of an editor and what is said about it. */
export interface FailingLine {
  /** from 0 */
  readonly index: number;
  /** the failures here, the most frequent first */
  readonly failures: readonly FailedLine[];
}

/**
 * The failing lines of the cell with this source, which `request` executed, top to bottom.
 *
 * `shown` are the executions whose badges are shown: failures of other ones are of earlier runs. A line whose text is
 * not the one that the kernel knows is left out: a magic may have rewritten the cell.
 */
export function failingLines(
  source: string,
  request: string,
  shown: Iterable<CellRuns>
): FailingLine[] {
  const lines = source.split('\n');
  const blank = lines.findIndex(line => line.trim() !== ''); // these are cut off before execution
  const found = new Map<number, FailedLine[]>();
  for (const cell of shown) {
    for (const failure of cell.lines) {
      const index = failure.line - 1 + Math.max(0, blank);
      const text = lines[index]?.trim() ?? '';
      if (failure.request === request && text !== '' && shortened(text) === failure.text) {
        found.set(index, added(found.get(index) ?? [], failure));
      }
    }
  }
  return [...found]
    .sort(([a], [b]) => a - b)
    .map(([index, failures]) => ({
      index,
      failures: failures.sort((a, b) => b.count - a.count)
    }));
}

/** The text as the kernel tells it: its first 200 characters, of which some take two places here. */
function shortened(text: string): string {
  return Array.from(text).slice(0, 200).join('');
}

/** Failures with one more: those of the same type are summed. */
function added(failures: FailedLine[], failure: FailedLine): FailedLine[] {
  const same = failures.findIndex(one => one.error === failure.error);
  const known = failures[same];
  return known === undefined
    ? [...failures, failure]
    : failures.map(one => (one === known ? { ...known, count: known.count + failure.count } : one));
}
