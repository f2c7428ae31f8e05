/** What the views need of a translation bundle, so that they also run where JupyterLab is not. */
export interface Translator {
  __(msgid: string, ...args: unknown[]): string;
  _n(msgid: string, plural: string, n: number, ...args: unknown[]): string;
}
