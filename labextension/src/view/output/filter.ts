/** Which lines of output are shown. */

import type { OutputLine } from '../../model/output';

export interface OutputFilter {
  /** part of a line's text, or of its task's name */
  text: string;
  /** streams that are shown; empty for all */
  readonly streams: Set<number>;
  worker: number | null;
  /** key of the task that is shown; empty for all */
  task: string;
}

/** The newest lines that fit, oldest first, and how many fit. */
export function matching(
  lines: readonly OutputLine[],
  filter: OutputFilter,
  most: number
): { readonly shown: readonly OutputLine[]; readonly matched: number } {
  const wanted = filter.text.trim().toLowerCase();
  const found = lines.filter(
    line =>
      (filter.streams.size === 0 || filter.streams.has(line.stream)) &&
      (filter.worker === null || line.speaker.worker === filter.worker) &&
      (filter.task === '' || line.key === filter.task) &&
      (wanted === '' ||
        line.text.toLowerCase().includes(wanted) ||
        line.speaker.name.toLowerCase().includes(wanted))
  );
  return { shown: found.slice(-most), matched: found.length };
}

/** The tasks that have lines, the newest first, at most so many: their keys and names. */
export function speakers(
  lines: readonly OutputLine[],
  most: number
): readonly (readonly [string, string])[] {
  const found = new Map<string, string>();
  for (let index = lines.length - 1; index >= 0 && found.size < most; index--) {
    const line = lines[index];
    if (line !== undefined && !found.has(line.key)) {
      found.set(line.key, line.speaker.name);
    }
  }
  return [...found];
}

/** The workers that have lines, in order. */
export function workersOf(lines: readonly OutputLine[]): readonly number[] {
  const found = new Set<number>();
  for (const { speaker } of lines) {
    if (speaker.worker !== null) {
      found.add(speaker.worker);
    }
  }
  return [...found].sort((one, other) => one - other);
}
