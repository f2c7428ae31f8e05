/** The runs of each execution of a cell, from frames that tell what changed. */

import type { CellRuns, Cells } from '../protocol/messages';
import { raised } from './counts';

/** The most executions that the kernel remembers (see views/cells.py). */
const MOST = 256;

/** How the tasks of a cell are doing, in the words of the panel. */
export type CellState = 'running' | 'done' | 'failed' | 'lost' | 'cancelled';

export class CellsModel {
  /** by the msg_id of the request that executed the cell */
  get all(): ReadonlyMap<string, CellRuns> {
    return this._all;
  }

  push(frame: Cells): void {
    for (const cell of frame.cells) {
      this._all.set(cell.request, cell);
    }
    for (const request of this._all.keys()) {
      if (this._all.size <= MOST) {
        break;
      }
      this._all.delete(request);
    }
  }

  /** The execution that began a run; undefined if none is known. */
  ofRun(run: number): CellRuns | undefined {
    for (const cell of this._all.values()) {
      if (cell.runs.includes(run)) {
        return cell;
      }
    }
    return undefined;
  }

  clear(): void {
    this._all.clear();
  }

  private readonly _all = new Map<string, CellRuns>();
}

/** The state of a cell's tasks: as long as some are outstanding, they run. */
export function cellState(cell: CellRuns): CellState {
  if (!cell.over) {
    return 'running';
  }
  if (cell.failed > 0) {
    return raised(cell) > 0 ? 'failed' : 'lost';
  }
  return cell.cancelled > 0 ? 'cancelled' : 'done';
}
