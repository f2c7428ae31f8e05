/** Tells how long the outstanding tasks still take. */

import type { TimeLeft } from '../protocol/messages';
import { duration, wholeSeconds } from './format';
import type { Translator } from './translator';

/** For how long the work has run, or what it took; whole seconds while it runs. */
export function elapsedText(seconds: number, running: boolean, trans: Translator): string {
  return running
    ? trans.__('%1 so far', wholeSeconds(Math.floor(seconds)))
    : trans.__('took %1', duration(seconds));
}

/** "about 40 s left"; "at least" where some functions have not run yet, or a task runs far longer than others did. */
export function leftText({ seconds, unknown, late }: TimeLeft, trans: Translator): string {
  if (seconds === null) {
    return trans.__('time left not known');
  }
  const time = wholeSeconds(Math.max(1, seconds));
  return unknown.length === 0 && (late ?? []).length === 0
    ? trans.__('about %1 left', time)
    : trans.__('at least %1 left', time);
}

/** Why it is no more than a bound; empty if it is not. */
export function boundText({ unknown, late }: TimeLeft, trans: Translator): string {
  const [first, ...others] = unknown;
  if (first === undefined) {
    const [slow] = late ?? [];
    return slow === undefined ? '' : trans.__('%1 runs longer than before', slow);
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
