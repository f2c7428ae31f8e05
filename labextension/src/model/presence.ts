/** What there is to show of a kernel, decided from what it said and from how it is. Knows neither. */

/** What the frames and the answers of a kernel told. */
export type Heard =
  /** nothing yet */
  | 'unknown'
  /** Cellmill is not loaded */
  | 'absent'
  /** loaded, and no tasks yet */
  | 'loaded'
  /** tasks to show */
  | 'live'
  /** frames of a later version than this page's */
  | 'old-page'
  /** frames of an earlier version */
  | 'old-kernel';

/** What a view shows of a kernel, and what it tells when there is nothing to show. */
export type Presence =
  | Heard
  /** it was asked a while ago and has not answered: a cell runs */
  | 'busy'
  /** its language has no Cellmill */
  | 'foreign'
  | 'no-kernel'
  | 'restarting'
  | 'dead';

/** How a kernel is, beside what it said. */
export interface Circumstances {
  readonly heard: Heard;
  /** whether the notebook has a kernel at all; null while that is being found out */
  readonly kernel: boolean | null;
  /** JupyterLab's word for what the kernel does */
  readonly status: string;
  /** the kernel's language as its specification names it, empty while it is not known */
  readonly language: string;
  /** whether it was asked a while ago */
  readonly late: boolean;
}

/** The one thing to tell: a dead kernel before all that it said while it lived. */
export function presenceOf({ heard, kernel, status, language, late }: Circumstances): Presence {
  if (kernel === false) {
    return 'no-kernel';
  }
  if (kernel === true) {
    if (status === 'dead') {
      return 'dead';
    }
    if (status === 'restarting' || status === 'autorestarting') {
      return 'restarting';
    }
  }
  if (heard !== 'unknown' && heard !== 'absent') {
    return heard;
  }
  if (language !== '' && language.toLowerCase() !== 'python') {
    return 'foreign';
  }
  const silent = status === 'busy' || (late && status !== 'starting');
  return heard === 'unknown' && kernel === true && silent ? 'busy' : heard;
}
