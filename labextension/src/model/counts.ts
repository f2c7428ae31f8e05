/** What follows from the counts of a snapshot, whose `done` has every task that is over, however it ended. */

import type { Counts } from '../protocol/messages';

/** Tasks that ran to their end, with a value or an error: cancelled ones are over, and not done. */
export function ran(counts: Counts): number {
  return Math.max(0, counts.done - counts.cancelled);
}

/** Tasks that gave a value. */
export function succeeded(counts: Counts): number {
  return Math.max(0, counts.done - counts.cancelled - counts.failed);
}

/** The part of a record that tells how tasks failed; records of earlier releases have no number of lost ones. */
interface Failures {
  readonly failed: number;
  readonly lost: number | null;
}

/** Tasks that failed because their worker ended. */
export function lost(counts: Failures): number {
  return counts.lost ?? 0;
}

/** Tasks that failed with an error of their own. */
export function raised(counts: Failures): number {
  return Math.max(0, counts.failed - lost(counts));
}

/** Whether tasks are outstanding. */
export function outstanding(counts: Counts): boolean {
  return counts.done < counts.total;
}

/** Results that came from the cache, beside the tasks; records of earlier releases have no number of them. */
export function hits(run: { readonly hits: number | null }): number {
  return run.hits ?? 0;
}
