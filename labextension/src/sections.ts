/** What a kernel said beside its counters, folded for the views that show it. One model for each section. */

import type { Frame, Workers } from './protocol';

/** The sections of one kernel; views read them, frames change them. */
export class Sections {
  /** the worker processes; null before anybody asked */
  workers: Workers | null = null;

  /** Take one frame; `now` is the page's clock in seconds. Frames of no section change nothing. */
  push(frame: Frame, _now: number): void {
    switch (frame.kind) {
      case 'workers':
        this.workers = frame;
        return;
      default:
    }
  }

  /** Forget everything, for example because the kernel restarted. */
  reset(): void {
    this.workers = null;
  }
}
