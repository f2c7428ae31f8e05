/** A translator that gives texts back as the source has them: pages have no translations for widgets. */

import type { Translator } from '../view/translator';

/** Puts arguments into a text: %1 is the first. */
function filled(text: string, args: readonly unknown[]): string {
  return text.replace(/%(\d+)/g, (_, place: string) => String(args[Number(place) - 1]));
}

export const untranslated: Translator = {
  __: (text, ...args) => filled(text, args),
  // as gettext bundles do it, %1 is the number itself
  _n: (text, plural, n, ...args) => filled(n === 1 ? text : plural, [n, ...args])
};
