/** The latest runs of a kernel, from frames that tell what changed. */

import type { RunRecord, Runs, Snapshot } from '../protocol/messages';

/** The most runs that the kernel remembers (see run_registry.py). */
const MOST = 256;

export class RunsModel {
  /** newest first */
  get latest(): readonly RunRecord[] {
    return this._latest;
  }

  push(frame: Runs): void {
    for (const run of frame.runs) {
      this._runs.set(run.id, run);
    }
    this._latest = [...this._runs.values()].sort((a, b) => b.id - a.id).slice(0, MOST);
    this._runs = new Map(this._latest.map(run => [run.id, run]));
  }

  /** A run by its id; undefined if it is not among the latest. */
  find(id: number): RunRecord | undefined {
    return this._runs.get(id);
  }

  clear(): void {
    this._runs.clear();
    this._latest = [];
  }

  private _runs = new Map<number, RunRecord>();
  private _latest: readonly RunRecord[] = [];
}

/** Tasks of a run that are not over. */
export function outstandingIn(run: RunRecord): number {
  return Math.max(0, run.submitted - run.succeeded - run.failed - run.cancelled);
}

/** What the record of a run tells of its counters, until the kernel sends these, or if it has nothing more. */
export function snapshotOf(run: RunRecord, all: Snapshot): Snapshot {
  const queued = outstandingIn(run);
  return {
    ...all,
    run: run.id,
    work: run.id,
    began: all.time - (run.wall ?? 0),
    elapsed: run.wall ?? 0,
    left: null,
    counts: {
      total: run.submitted,
      done: run.submitted - queued,
      failed: run.failed,
      lost: run.lost,
      cancelled: run.cancelled,
      running: 0,
      queued
    },
    runs: all.runs.filter(one => one.id === run.id)
  };
}
