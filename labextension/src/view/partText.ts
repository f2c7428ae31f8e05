/** Tells what part of the tasks a view shows. */

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
