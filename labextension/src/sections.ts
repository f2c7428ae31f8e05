/** What a kernel said beside its counters, folded for the views that show it. One model for each section. */

import { readGraph, withStates, type TaskGraph } from './graphModel';
import type { Frame, Journey, Workers } from './protocol';
import { TimelineModel } from './timeline';

/** The sections of one kernel; views read them, frames change them. */
export class Sections {
  /** the worker processes; null before anybody asked */
  workers: Workers | null = null;
  /** what hangs on what */
  graph: TaskGraph | null = null;
  /** where the time of the tasks went; null before anybody asked */
  journey: Journey | null = null;
  /** what the workers did when */
  timeline = new TimelineModel();

  /** Take one frame; `now` is the page's clock in seconds. Frames of no section change nothing. */
  push(frame: Frame, now: number): void {
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
      case 'journey':
        this.journey = frame;
        return;
      case 'timeline':
        this.timeline.push(frame, now);
        return;
      case 'timeline-detail':
        this.timeline.pushDetail(frame);
        return;
      default:
    }
  }

  /** Forget everything, for example because the kernel restarted. */
  reset(): void {
    this.workers = null;
    this.graph = null;
    this.journey = null;
    this.timeline = new TimelineModel();
  }
}
