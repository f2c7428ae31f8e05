/** What the table of tasks asks for: filters, order, search; and the command that says so. */

import { VERSION, type ListTasks } from '../../protocol/messages';
import { FILTERS } from './labels';

/** Rows of a page: a picture of a hundred took the browser half as long again. And rows that may stand before it. */
export const PAGE = 50;
export const MOST_OFFSET = 100_000;

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
  /** rows before those that are shown */
  offset = 0;
  readonly filters = new Set<string>();

  /** Turn a filter on or off. */
  toggle(id: string): void {
    if (!this.filters.delete(id)) {
      this.filters.add(id);
    }
    this.offset = 0;
  }

  /** Whether there is a page after this one. */
  more(matched: number): boolean {
    return matched > this.offset + PAGE && this.offset + PAGE <= MOST_OFFSET;
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
      offset: this.offset,
      count: PAGE
    };
  }
}
