/** The part of JupyterLab's translation bundles that views use, so that they run without JupyterLab too. */
export interface Translator {
  __(msgid: string, ...args: unknown[]): string;
  _n(msgid: string, plural: string, n: number, ...args: unknown[]): string;
}

/** Returns texts as the source has them, for pages without translations. */
export const untranslated: Translator = {
  __: (text, ...args) => filled(text, args),
  // as in gettext bundles, %1 is the number itself
  _n: (text, plural, n, ...args) => filled(n === 1 ? text : plural, [n, ...args])
};

/** Puts arguments into a text: %1 is the first. */
function filled(text: string, args: readonly unknown[]): string {
  return text.replace(/%(\d+)/g, (_, place: string) => String(args[Number(place) - 1]));
}
