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
    ? trans.__('%1 not timed yet', first)
    : trans._n(
        '%2 and %3 other function not timed yet',
        '%2 and %3 other functions not timed yet',
        others.length,
        first,
        String(others.length)
      );
}
