/** Tells what part of the tasks a view shows. */

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
