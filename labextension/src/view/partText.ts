/** Tells what part of the tasks a view shows. */

import { outstanding } from '../model/counts';
import type { KernelState } from '../model/kernelModel';
import { count } from './format';
import type { Translator } from './translator';

/** For a view that came when records had been overwritten; `all` is the number of tasks that ended in this work. */
export function partText(shown: number, all: number, trans: Translator): string {
  return all > shown
    ? trans.__(
        'These are %1 of %2 tasks; the records of the others are gone.',
        count(shown),
        count(all)
      )
    : '';
}

/** What a list has left out: of a known number, or of all tasks once nothing goes on. Records may be gone, and tasks that
 * were cancelled with their run have none. */
export function listText(
  listed: number,
  all: KernelState['snapshot'] | number,
  trans: Translator
): string {
  if (typeof all === 'number') {
    return partText(listed, all, trans);
  }
  const counts = all?.counts;
  if (counts === undefined || outstanding(counts) || listed >= counts.total) {
    return '';
  }
  const text = partText(listed, counts.total - counts.cancelled, trans);
  return text !== ''
    ? text
    : trans._n(
        '%2 task that was cancelled together with others is not listed.',
        '%2 tasks that were cancelled together are not listed.',
        counts.total - listed,
        count(counts.total - listed)
      );
}

/** For a view of all that is kept, while the counters above it are of the present work; empty where both are the same. */
export function earlierText(
  state: Pick<KernelState, 'run' | 'runs' | 'snapshot'>,
  trans: Translator
): string {
  const kept = state.runs.reduce((sum, run) => sum + (run.kept ? run.submitted : 0), 0);
  return state.run === null && kept > (state.snapshot?.counts.total ?? Infinity)
    ? trans.__('Earlier work is listed here, too. Choose a run above to see it only.')
    : '';
}
