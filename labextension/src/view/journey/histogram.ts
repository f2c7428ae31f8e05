/** How many tasks of a function ran for how long: bars over a scale on which each is about as wide as its time is long. */

import type { RunTimes } from '../../protocol/messages';
import { child, setText } from '../dom';
import { count } from '../format';
import { brief } from '../timeline/axis';
import type { Translator } from '../translator';

/** Bars between two labels of the scale, at least. */
const LABEL_EVERY = 5;

export class Histogram {
  constructor(parent: HTMLElement, trans: Translator) {
    this._trans = trans;
    this._element = child(parent, 'figure', 'cellmill-histogram');
    this._title = child(this._element, 'figcaption', 'cellmill-faint');
    this._bars = child(this._element, 'div', 'cellmill-histogram-bars');
    this._bars.setAttribute('role', 'img');
    this._scale = child(this._element, 'div', 'cellmill-histogram-scale cellmill-faint');
    this._scale.setAttribute('aria-hidden', 'true');
  }

  /** `name` is the function's; null: there is nothing to show. */
  draw(name: string, times: RunTimes | null): void {
    const bars = times?.counts.length ?? 0;
    this._element.hidden = bars === 0;
    if (times === null || bars === 0) {
      return;
    }
    const trans = this._trans;
    const largest = Math.max(...times.counts);
    setText(
      this._title,
      trans.__('Run times of %1; the highest bar is %2', name, this._tasks(largest))
    );
    const words: string[] = [];
    fit(this._bars, bars, () => child(child(this._bars, 'span', ''), 'i', 'cellmill-interval-4'));
    times.counts.forEach((tasks, at) => {
      const place = this._bars.children[at] as HTMLElement;
      const range = trans.__(
        '%1 to %2',
        brief(times.edges[at] ?? 0),
        brief(times.edges[at + 1] ?? 0)
      );
      place.title = `${range}: ${this._tasks(tasks)}`;
      const bar = place.firstElementChild as HTMLElement;
      // what is there is seen, however little
      bar.style.height = tasks === 0 ? '0' : `max(2px, ${(100 * tasks) / largest}%)`;
      if (tasks > 0) {
        words.push(place.title);
      }
    });
    this._bars.setAttribute('aria-label', trans.__('Run times of %1: %2', name, words.join('; ')));
    this._drawScale(times);
  }

  private _drawScale(times: RunTimes): void {
    const last = times.edges.length - 1;
    const steps = Math.max(1, Math.floor(last / LABEL_EVERY));
    fit(this._scale, steps + 1, () => child(this._scale, 'span', ''));
    for (let step = 0; step <= steps; step++) {
      const at = Math.round((step * last) / steps);
      const label = this._scale.children[step] as HTMLElement;
      setText(label, brief(times.edges[at] ?? 0));
      label.style.left = `${(100 * at) / last}%`;
      label.dataset.end = step === 0 ? 'first' : step === steps ? 'last' : '';
    }
  }

  private _tasks(tasks: number): string {
    return this._trans._n('%2 task', '%2 tasks', tasks, count(tasks));
  }

  private readonly _trans: Translator;
  private readonly _element: HTMLElement;
  private readonly _title: HTMLElement;
  private readonly _bars: HTMLElement;
  private readonly _scale: HTMLElement;
}

/** Give an element so many children. */
function fit(element: HTMLElement, wanted: number, add: () => void): void {
  while (element.children.length > wanted) {
    element.lastElementChild?.remove();
  }
  while (element.children.length < wanted) {
    add();
  }
}
