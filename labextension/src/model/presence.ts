/** What to show of a kernel, from the frames that it sent and from its status. */

/** What is known from a kernel's frames and answers. */
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

/** `live` if there are tasks to show, else the reason why not. */
export type Presence =
  | Heard
  /** it has not answered for a while: a cell runs */
  | 'busy'
  /** its language is not Python */
  | 'foreign'
  | 'no-kernel'
  | 'restarting'
  | 'dead';

/** What is known of a kernel: from its frames, and from JupyterLab. */
export interface Circumstances {
  readonly heard: Heard;
  /** whether the notebook has a kernel at all; null while that is not known */
  readonly kernel: boolean | null;
  /** the kernel's status as JupyterLab names it */
  readonly status: string;
  /** the kernel's language as its specification names it, empty while it is not known */
  readonly language: string;
  /** whether it was asked more than two seconds ago */
  readonly late: boolean;
}

/** The presence that takes precedence: for example, a dead kernel is `dead` whatever it sent before. */
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
