/** The words of the state map. */

import type { MapPicture, TaskState } from '../model/stateMap';
import type { Translator } from './translator';

/** Of a cell for several tasks only all counts tell which of both it is. */
export function someBad({ counts }: MapPicture, trans: Translator): string {
  if (counts.lost === 0) {
    return trans.__('some failed');
  }
  return counts.failed === 0 ? trans.__('some lost') : trans.__('some failed or lost');
}

/** A state, as the legend writes it. */
export function stateName(trans: Translator, state: TaskState): string {
  const names: Record<TaskState, string> = {
    unknown: trans.__('Unknown'),
    waiting: trans.__('Waiting'),
    queued: trans.__('Queued'),
    running: trans.__('Running'),
    done: trans.__('Done'),
    failed: trans.__('Failed'),
    cancelled: trans.__('Cancelled'),
    lost: trans.__('Lost')
  };
  return names[state];
}
