/** Tells how long the outstanding tasks still take. */

import type { TimeLeft } from '../protocol/messages';
import { wholeSeconds } from './format';
import type { Translator } from './translator';

/** "about 40 s left"; "at least" where some functions have not run yet. */
export function leftText({ seconds, unknown }: TimeLeft, trans: Translator): string {
  const time = wholeSeconds(Math.max(1, seconds));
  return unknown.length === 0
    ? trans.__('about %1 left', time)
    : trans.__('at least %1 left', time);
}

/** Why it is no more than a bound; empty if it is not. */
export function unknownText({ unknown }: TimeLeft, trans: Translator): string {
  const [first, ...others] = unknown;
  if (first === undefined) {
    return '';
  }
  return others.length === 0
    ? trans.__('no %1 has ended yet', first)
    : trans._n(
        'neither %2 nor %3 other function has ended yet',
        'neither %2 nor %3 other functions have ended yet',
        others.length,
        first,
        String(others.length)
      );
}
