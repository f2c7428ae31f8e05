import type { Snapshot } from '../src/protocol/messages';

/** A snapshot `time` seconds after the kernel's clock began, with the fields that a test cares about. */
export function snapshot(
  time: number,
  done: number,
  total: number,
  more: Partial<Omit<Snapshot, 'counts'>> = {}
): Snapshot {
  return {
    cellmill: 1,
    kind: 'snapshot',
    run: null,
    time,
    work: 1,
    began: 0,
    elapsed: time,
    backend: 'local',
    workers: 2,
    wanted: 2,
    paused: false,
    left: null,
    counts: {
      total,
      done,
      failed: 0,
      lost: 0,
      cancelled: 0,
      running: Math.min(2, total - done),
      queued: 0
    },
    runs: [],
    ...more
  };
}
