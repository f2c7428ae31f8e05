/** What a kernel said beside its counters, folded for the views that show it. One model for each section. */

import { readGraph, withStates, type TaskGraph } from './graphModel';
import type { Frame, Workers } from './protocol';

/** The sections of one kernel; views read them, frames change them. */
export class Sections {
  /** the worker processes; null before anybody asked */
  workers: Workers | null = null;
  /** what hangs on what */
  graph: TaskGraph | null = null;

  /** Take one frame; `now` is the page's clock in seconds. Frames of no section change nothing. */
  push(frame: Frame, _now: number): void {
    switch (frame.kind) {
      case 'workers':
        this.workers = frame;
        return;
      case 'graph':
        this.graph = readGraph(frame);
        return;
      case 'graph-states':
        this.graph = this.graph && (withStates(this.graph, frame) ?? this.graph);
        return;
      default:
    }
  }

  /** Forget everything, for example because the kernel restarted. */
  reset(): void {
    this.workers = null;
    this.graph = null;
  }
}
