/** Throughput, queue and running tasks over time. */

import { outstanding } from '../../model/counts';
import type { Course } from '../../model/history';
import type { KernelState } from '../../model/kernelModel';
import { button, child, setText } from '../dom';
import { count, duration, rate } from '../format';
import { Chart, type Series } from '../lineChart';
import { NearView } from '../near';
import { onThemeChange } from '../theme';
import type { Translator } from '../translator';
import type { Tab, TabKind, TabOptions } from './tab';

const STEPS = 120;
/** Seconds that are shown while tasks run, if nothing else is chosen. */
const WHILE_IT_RUNS = 30;

const SERIES: readonly Series[] = ['rate', 'queued', 'running'];

let tabs = 0;

class NowTab implements Tab {
  constructor({ parent, trans }: TabOptions) {
    this._trans = trans;
    this._root = child(parent, 'div', 'cellmill-now');
    this._near = new NearView(this._root, trans);
    const head = child(this._root, 'div', 'cellmill-now-head');
    const choices = child(head, 'div', 'cellmill-windows');
    choices.setAttribute('role', 'group');
    choices.setAttribute('aria-label', trans.__('Time shown'));
    this._buttons = windowsOf(trans).map(({ seconds, name }) => {
      const choice = button(choices, 'cellmill-window', () => {
        this._wanted = seconds;
        this._choose(seconds);
      });
      choice.textContent = name;
      return { seconds, choice };
    });
    this._when = child(head, 'span', 'cellmill-now-when');
    const charts = child(this._root, 'div', 'cellmill-charts');
    charts.tabIndex = 0;
    charts.setAttribute('role', 'group');
    charts.setAttribute(
      'aria-label',
      trans.__('Throughput, queue and running tasks over time. Arrow keys move through it.')
    );
    charts.addEventListener('keydown', event => this._pressed(event));
    charts.addEventListener('blur', () => this._move(null));
    const sync = `cellmill-now-${tabs++}`;
    this._charts = SERIES.map((series, index) => {
      const last = index === SERIES.length - 1;
      const name = seriesName(trans, series);
      return new Chart(charts, name, series, last, sync, at => this._pointed(at));
    });
    this._spoken = child(this._root, 'span', 'cellmill-spoken');
    this._spoken.setAttribute('aria-live', 'polite');
    this._resized = new ResizeObserver(() => this._charts.forEach(chart => chart.resize()));
    this._resized.observe(charts);
    this._endTheme = onThemeChange(() => this._charts.forEach(chart => chart.redraw()));
    this._choose(WHILE_IT_RUNS);
  }

  draw(state: KernelState): void {
    this._state = state;
    if (this._wanted === undefined) {
      const counts = state.snapshot?.counts;
      const seconds = counts !== undefined && outstanding(counts) ? WHILE_IT_RUNS : null;
      if (seconds !== this._seconds) {
        this._press(seconds);
      }
    }
    this._near.draw(state.sections.workers);
    const course = state.course(this._seconds, STEPS);
    const last = this._course;
    this._course = course;
    if (last !== null && equal(course, last)) {
      return;
    }
    SERIES.forEach((series, index) => {
      const values = course[series].filter(value => value !== null);
      const label = this._trans.__(
        '%1: now %2, at most %3 in the time shown',
        seriesName(this._trans, series),
        value(series, values.at(-1) ?? null),
        value(series, values.length > 0 ? Math.max(...values) : null)
      );
      this._charts[index]?.draw(course, label);
    });
    this._show();
  }

  dispose(): void {
    this._resized.disconnect();
    this._endTheme();
    this._charts.forEach(chart => chart.dispose());
    this._root.remove();
  }

  private _press(seconds: number | null): void {
    this._seconds = seconds;
    for (const entry of this._buttons) {
      entry.choice.setAttribute('aria-pressed', String(entry.seconds === seconds));
    }
  }

  private _choose(seconds: number | null): void {
    this._press(seconds);
    if (this._state !== null) {
      this.draw(this._state);
    }
  }

  /** Handle a move of the cursor to a step; null for none. */
  private _pointed(index: number | null): void {
    if (index !== this._index) {
      this._index = index;
      this._show();
    }
  }

  private _move(index: number | null): void {
    this._charts[0]?.cursor(index);
    this._charts.slice(1).forEach(chart => chart.cursor(index));
    this._pointed(index);
    setText(this._spoken, index === null ? '' : this._words(index));
  }

  private _pressed(event: KeyboardEvent): void {
    const here = this._index ?? STEPS;
    const steps: Record<string, number> = {
      ArrowLeft: here - 1,
      ArrowRight: here + 1,
      Home: 0,
      End: STEPS
    };
    const to = steps[event.key];
    if (to === undefined) {
      return;
    }
    event.preventDefault();
    this._move(Math.min(STEPS, Math.max(0, to)));
  }

  private _show(): void {
    const course = this._course;
    if (course === null) {
      return;
    }
    const at = this._index ?? course.time.length - 1;
    SERIES.forEach((series, index) => {
      this._charts[index]?.show(value(series, course[series][at] ?? null));
    });
    const time = course.time[at];
    setText(this._when, this._index === null || time === undefined ? '' : this._moment(time));
  }

  private _moment(time: number): string {
    return time < 0
      ? this._trans.__('%1 ago', duration(-time))
      : this._seconds === null
        ? this._trans.__('after %1', duration(time))
        : this._trans.__('now');
  }

  private _words(index: number): string {
    const course = this._course;
    const time = course?.time[index];
    if (course === null || time === undefined) {
      return '';
    }
    const said = SERIES.map(
      series => `${seriesName(this._trans, series)} ${value(series, course[series][index] ?? null)}`
    );
    return `${this._moment(time)}: ${said.join(', ')}`;
  }

  private readonly _trans: Translator;
  private readonly _root: HTMLElement;
  private readonly _near: NearView;
  private readonly _buttons: readonly {
    readonly seconds: number | null;
    readonly choice: HTMLButtonElement;
  }[];
  private readonly _when: HTMLElement;
  private readonly _charts: readonly Chart[];
  private readonly _spoken: HTMLElement;
  private readonly _resized: ResizeObserver;
  private readonly _endTheme: () => void;
  private _seconds: number | null = null;
  /** the window that the user has chosen; undefined: none, and a run that is over is shown as a whole */
  private _wanted: number | null | undefined = undefined;
  private _state: KernelState | null = null;
  private _course: Course | null = null;
  private _index: number | null = null;
}

/** Whether two courses have the same values. */
function equal(one: Course, other: Course): boolean {
  const same = (a: readonly (number | null)[], b: readonly (number | null)[]): boolean =>
    a.length === b.length && a.every((value, index) => value === b[index]);
  return same(one.time, other.time) && SERIES.every(series => same(one[series], other[series]));
}

function windowsOf(
  trans: Translator
): readonly { readonly seconds: number | null; readonly name: string }[] {
  return [
    { seconds: WHILE_IT_RUNS, name: trans.__('30 s') },
    { seconds: 300, name: trans.__('5 min') },
    { seconds: null, name: trans.__('Whole run') }
  ];
}

function seriesName(trans: Translator, series: Series): string {
  const names: Record<Series, string> = {
    rate: trans.__('Tasks per second'),
    queued: trans.__('Queued'),
    running: trans.__('Running')
  };
  return names[series];
}

function value(series: Series, number: number | null): string {
  return number === null ? '–' : series === 'rate' ? rate(number) : count(number);
}

export const nowTab: TabKind = {
  id: 'now',
  label: trans => trans.__('Now'),
  sections: ['workers'],
  make: options => new NowTab(options)
};
