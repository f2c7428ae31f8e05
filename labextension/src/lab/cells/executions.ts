/** Which request executed which cell last, with what source; kept over a reload of the page. */

/** The last execution of a cell. */
export interface Execution {
  /** msg_id of the execute_request */
  readonly request: string;
  /** of the source that was executed, see `digest` */
  readonly digest: string;
}

/** The part of the browser's storage that is used here. */
export type Store = Pick<Storage, 'getItem' | 'setItem'>;

/** The most cells of one kernel that are kept. */
const MOST = 1000;
/** Kernels beside each other in one page have a key of their own. */
const PREFIX = 'cellmill:executions:';

/** The executions of one kernel, in this page or, where `store` has them, before it was reloaded. */
export class Executions {
  constructor(store: Store, kernel: string) {
    this._store = store;
    this._key = PREFIX + kernel;
    this._read();
  }

  /** A request executes a cell: what was known of the cell is over. */
  note(cell: string, request: string, source: string): void {
    this._cells.delete(cell);
    this._cells.set(cell, { request, digest: digest(source) });
    for (const oldest of this._cells.keys()) {
      if (this._cells.size <= MOST) {
        break;
      }
      this._cells.delete(oldest);
    }
    try {
      this._store.setItem(this._key, JSON.stringify([...this._cells]));
    } catch {
      // The storage is full or switched off: after a reload the cells have no badges.
    }
  }

  /** The last execution of a cell; undefined if this page saw none. */
  of(cell: string): Execution | undefined {
    return this._cells.get(cell);
  }

  /** The cell whose last execution this request was; null if there is none. */
  cellOf(request: string): string | null {
    for (const [cell, execution] of this._cells) {
      if (execution.request === request) {
        return cell;
      }
    }
    return null;
  }

  private _read(): void {
    try {
      const kept: unknown = JSON.parse(this._store.getItem(this._key) ?? '[]');
      for (const entry of Array.isArray(kept) ? kept : []) {
        const [cell, execution] = entry as [unknown, Partial<Execution> | undefined];
        if (
          typeof cell === 'string' &&
          typeof execution?.request === 'string' &&
          typeof execution.digest === 'string'
        ) {
          this._cells.set(cell, { request: execution.request, digest: execution.digest });
        }
      }
    } catch {
      this._cells.clear(); // not what this page writes
    }
  }

  private readonly _store: Store;
  private readonly _key: string;
  private readonly _cells = new Map<string, Execution>();
}

/** A short name for a source: equal for equal sources, and as good as never for others (53 bits, and the length). */
export function digest(source: string): string {
  let one = 0xdeadbeef;
  let two = 0x41c6ce57;
  for (let at = 0; at < source.length; at++) {
    const code = source.charCodeAt(at);
    one = Math.imul(one ^ code, 2654435761);
    two = Math.imul(two ^ code, 1597334677);
  }
  one = Math.imul(one ^ (one >>> 16), 2246822507) ^ Math.imul(two ^ (two >>> 13), 3266489909);
  two = Math.imul(two ^ (two >>> 16), 2246822507) ^ Math.imul(one ^ (one >>> 13), 3266489909);
  const hash = 4294967296 * (2097151 & two) + (one >>> 0);
  return `${source.length}:${hash.toString(36)}`;
}
