/** The query of the table of tasks: filters, order, search; and its command. */

import { VERSION, type ListTasks } from '../../protocol/messages';
import { FILTERS } from './labels';

/** Rows of a page (drawing a hundred took the browser half as long again), and the most rows before it. */
export const PAGE = 50;
export const MOST_OFFSET = 100_000;

/** Numbers begin at random, so that other pages do not take this page's answers for their own. */
let last = Math.floor(Math.random() * 2 ** 40);

/** A new request number, unique to this page. */
export function nextRequest(): number {
  return ++last;
}

/** The settings of one table. */
export class Query {
  order = 'news';
  text = '';
  /** number of rows before the page */
  offset = 0;
  /** id of the run whose tasks are listed; null for all */
  run: number | null = null;
  /** id of the group of failures that is listed; null for none */
  failure: number | null = null;
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
      run: this.run,
      failure: this.failure,
      offset: this.offset,
      count: PAGE
    };
  }
}
