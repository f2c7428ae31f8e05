/** What the table of tasks asks for: filters, order, search; and the command that says so. */

import { VERSION, type ListTasks } from '../../protocol';
import { FILTERS } from './words';

/** The most rows that the kernel gives at once, and by how many "more" adds. */
export const MOST_ROWS = 500;
export const STEP = 100;

/** One page's numbers begin anywhere, so that no other page takes its answers for its own. */
let last = Math.floor(Math.random() * 2 ** 40);

/** A request's number, of this page alone. */
export function nextRequest(): number {
  return ++last;
}

/** The choices of one table. */
export class Query {
  order = 'news';
  text = '';
  rows = STEP;
  readonly filters = new Set<string>();

  /** Turn a filter on or off. */
  toggle(id: string): void {
    if (!this.filters.delete(id)) {
      this.filters.add(id);
    }
    this.rows = STEP;
  }

  /** Whether more rows could be had. */
  more(matched: number): boolean {
    return this.rows < MOST_ROWS && matched > this.rows;
  }

  command(request: number): ListTasks {
    const states = FILTERS.filter(filter => this.filters.has(filter.id)).flatMap(
      filter => filter.states
    );
    return {
      cellmill: VERSION,
      kind: 'list-tasks',
      request,
      states,
      order: this.order,
      text: this.text,
      run: null,
      count: Math.min(this.rows, MOST_ROWS)
    };
  }
}
