/** How the time of tasks divides into intervals: bars by function, figures by interval. */

import type { KernelState } from '../../model/kernelModel';
import { VERSION } from '../../protocol/messages';
import type { FunctionJourney, Journey } from '../../protocol/messages';
import { button, child, setText } from '../dom';
import { bytes, count, percent } from '../format';
import { AccountBar, movedWords } from '../journey/account';
import { Histogram } from '../journey/histogram';
import { Slowest } from '../journey/slowest';
import { ALONG, hitsText, intervalWords, mean, reading, wholeMean } from '../journey/reading';
import { brief } from '../timeline/axis';
import { partText } from '../partText';
import type { Translator } from '../translator';
import type { Tab, TabKind, TabOptions } from './tab';

const ROWS = [...ALONG, 7] as const; // the last is pickling, which is no part of the way
const LEAST_DECADES = 3;

class JourneyTab implements Tab {
  constructor({ parent, trans, send }: TabOptions) {
    this._trans = trans;
    this._parent = parent;
    this._account = new AccountBar(parent, trans, what =>
      send({ cellmill: VERSION, kind: 'apply-advice', what })
    );
    this._found = child(parent, 'p', 'cellmill-note cellmill-hits');
    this._words = child(parent, 'p', 'cellmill-note cellmill-reading');
    const bar = child(parent, 'div', 'cellmill-journey-bar');
    this._choice = document.createElement('select');
    this._choice.className = 'cellmill-select';
    this._choice.setAttribute('aria-label', trans.__('Function'));
    this._choice.addEventListener('change', () => {
      this._wanted = this._choice.value;
      this._redraw();
    });
    bar.append(this._choice);
    this._scale = button(bar, 'cellmill-button', () => {
      this._log = !this._log;
      this._redraw();
    });
    this._scale.textContent = trans.__('Log scale');
    this._bars = child(parent, 'div', 'cellmill-journeys');
    this._histogram = new Histogram(parent, trans);
    const place = child(parent, 'div', 'cellmill-figures-place');
    place.tabIndex = 0; // it scrolls in a narrow panel, by keyboard too
    place.setAttribute('role', 'group');
    place.setAttribute('aria-label', trans.__('Figures by interval'));
    this._table = child(place, 'table', 'cellmill-table cellmill-figures');
    this._caption = child(this._table, 'caption', 'cellmill-faint');
    const head = child(child(this._table, 'thead', ''), 'tr', '');
    const titles = [trans.__('Interval'), trans.__('mean'), trans.__('median'), 'p95', 'p99'];
    for (const title of titles) {
      const cell = child(head, 'th', '');
      cell.setAttribute('scope', 'col');
      cell.textContent = title;
    }
    this._body = child(this._table, 'tbody', '');
    for (const place of ROWS) {
      this._addRow(place);
    }
    this._note = child(parent, 'p', 'cellmill-note cellmill-faint');
    this._slowest = new Slowest(parent, trans);
  }

  draw(state: KernelState): void {
    if (state.sections.journey !== this._journey || state.run !== this._run) {
      this._journey = state.sections.journey;
      this._run = state.run;
      this._redraw();
    }
  }

  dispose(): void {
    this._parent.replaceChildren();
  }

  private _addRow(place: number): void {
    const row = child(this._body, 'tr', '');
    const words = intervalWords(place, this._trans);
    const head = child(row, 'th', '');
    head.setAttribute('scope', 'row');
    head.title = words.meaning;
    child(head, 'i', `cellmill-swatch cellmill-interval-${place}`);
    head.append(words.name);
    child(head, 'span', 'cellmill-spoken').textContent = `: ${words.meaning}`;
    for (let column = 0; column < 4; column++) {
      child(row, 'td', '');
    }
  }

  private _redraw(): void {
    const trans = this._trans;
    const journey = this._journey ?? null;
    const functions = journey?.functions ?? [];
    const some = functions.length > 0;
    this._bars.hidden = this._table.hidden = this._note.hidden = !some;
    this._choice.hidden = this._scale.hidden = !some;
    this._account.draw(journey?.account ?? null);
    this._slowest.draw(journey?.slowest ?? []);
    setText(this._found, hitsText(journey?.hits ?? [], trans));
    this._found.hidden = this._found.textContent === '';
    this._histogram.draw('', null);
    this._scale.setAttribute('aria-pressed', String(this._log));
    if (journey === null || !some) {
      const unknown = journey !== null && !journey.known;
      setText(
        this._words,
        unknown
          ? trans.__('This backend does not tell what its tasks went through.')
          : this._run === null
            ? trans.__('No task of this piece of work is over yet.')
            : trans.__('No task of this run is over, or the records of those are gone.')
      );
      return;
    }
    this._drawChoice(functions);
    const chosen = functions.find(one => one.name === this._wanted) ?? functions[0];
    if (chosen === undefined) {
      return;
    }
    const words = reading(chosen, trans);
    setText(this._words, words === '' ? trans.__('None of these tasks ran.') : words);
    this._drawBars(functions, chosen);
    this._histogram.draw(chosen.name, chosen.times);
    this._drawTable(chosen);
    setText(this._note, this._caveats(journey));
  }

  private _drawChoice(functions: readonly FunctionJourney[]): void {
    const names = [...new Set(functions.map(one => one.name))];
    const key = names.join('\n');
    if (this._choice.dataset.names === key) {
      return;
    }
    this._choice.dataset.names = key;
    this._choice.replaceChildren();
    for (const name of names) {
      const option = document.createElement('option');
      option.value = name;
      option.textContent = name;
      option.selected = name === this._wanted;
      this._choice.append(option);
    }
  }

  private _drawBars(functions: readonly FunctionJourney[], chosen: FunctionJourney): void {
    const longest = Math.max(...functions.map(wholeMean), 1e-9);
    while (this._bars.children.length > functions.length) {
      this._bars.lastElementChild?.remove();
    }
    functions.forEach((one, index) => {
      const row = (this._bars.children[index] as HTMLElement | undefined) ?? this._addBar();
      row.classList.toggle('cellmill-chosen', one === chosen);
      row.dataset.name = one.name;
      this._drawBar(row, one, longest);
    });
  }

  private _addBar(): HTMLElement {
    const row = button(this._bars, 'cellmill-journey', () => {
      this._wanted = row.dataset.name ?? '';
      this._choice.value = this._wanted;
      this._redraw();
    });
    child(row, 'span', 'cellmill-journey-name');
    child(row, 'span', 'cellmill-journey-time');
    const track = child(row, 'span', 'cellmill-journey-track');
    for (const place of ALONG) {
      child(track, 'i', `cellmill-interval-${place}`);
    }
    return row;
  }

  private _drawBar(row: HTMLElement, one: FunctionJourney, longest: number): void {
    const trans = this._trans;
    const [name, time, track] = Array.from(row.children) as HTMLElement[];
    const whole = wholeMean(one);
    if (name === undefined || time === undefined || track === undefined) {
      return;
    }
    setText(name, one.name);
    const tasks = trans._n('%2 task', '%2 tasks', one.tasks, count(one.tasks));
    setText(time, `${brief(whole)} · ${tasks}`);
    const parts: string[] = [];
    let before = 0;
    ALONG.forEach((place, index) => {
      const part = mean(one, place);
      const words = intervalWords(place, trans);
      const element = track.children[index] as HTMLElement;
      element.classList.toggle('cellmill-unknown', part === null);
      const after = before + (part ?? 0);
      const width = this._position(after, longest) - this._position(before, longest);
      element.style.width = part === null ? '' : `${width}%`;
      const value = part === null ? trans.__('unknown') : brief(part);
      const share = part === null || whole <= 0 ? '' : ` (${percent(part, whole)})`;
      element.title = `${words.name}: ${value}${share}. ${words.meaning}`;
      if (part === null || part > whole / 100) {
        parts.push(`${words.name} ${value}`);
      }
      before = after;
    });
    row.setAttribute('aria-label', `${one.name}: ${brief(whole)}; ${parts.join(', ')}`);
  }

  /** Seconds as a percentage of the bar's width. */
  private _position(seconds: number, longest: number): number {
    if (!this._log) {
      return (100 * seconds) / longest;
    }
    const decades = Math.max(LEAST_DECADES, Math.ceil(Math.log10(longest / 1e-7)));
    const from = longest / 10 ** decades;
    return seconds <= from ? 0 : (100 * Math.log10(seconds / from)) / decades;
  }

  private _drawTable(one: FunctionJourney): void {
    const trans = this._trans;
    const failed = one.failed > 0 ? `, ${trans.__('%1 failed', count(one.failed))}` : '';
    const lost = (one.lost ?? 0) > 0 ? `, ${trans.__('%1 lost', count(one.lost ?? 0))}` : '';
    const stopped = one.cut - (one.lost ?? 0);
    const cut = stopped > 0 ? `, ${trans.__('%1 cancelled', count(stopped))}` : '';
    const tasks = trans._n('%2 task', '%2 tasks', one.tasks, count(one.tasks));
    const memory =
      one.memory === null ? '' : `. ${trans.__('Up to %1 of memory', bytes(one.memory))}`;
    const words = movedWords(one, trans);
    const moved = words === '' ? '' : `. ${words}`;
    setText(this._caption, `${one.name}: ${tasks}${failed}${lost}${cut}${memory}${moved}`);
    this._caption.title =
      one.memory === null
        ? ''
        : trans.__(
            'The most memory of its own that a worker had while it ran one of these tasks, at the moments it was looked at.'
          );
    ROWS.forEach((place, index) => {
      const figures = one.intervals[place];
      const row = this._body.children[index] as HTMLElement | undefined;
      if (figures === undefined || row === undefined) {
        return;
      }
      row.hidden = place === 8 && figures.known === 0;
      const known = figures.known > 0;
      const values = [mean(one, place), figures.median, figures.p95, figures.p99];
      values.forEach((value, column) => {
        const cell = row.children[column + 1];
        if (cell !== undefined) {
          setText(
            cell,
            known && value !== null ? brief(value) : column ? '–' : trans.__('unknown')
          );
        }
      });
    });
  }

  private _caveats(journey: Journey): string {
    const trans = this._trans;
    const parts = [trans.__('Quantiles are within about 6 %.')];
    if (journey.sampled > 0) {
      parts.push(
        trans.__(
          '%1 of %2 tasks are estimated from a sample.',
          count(journey.sampled),
          count(journey.tasks)
        )
      );
    }
    if (journey.dropped > 0) {
      parts.push(partText(journey.tasks, journey.account?.tasks ?? 0, trans));
    }
    if (journey.hidden > 0) {
      parts.push(
        trans._n(
          '%2 function with less time is left out.',
          '%2 functions with less time are left out.',
          journey.hidden,
          count(journey.hidden)
        )
      );
    }
    if (this._log) {
      parts.push(
        trans.__('On the log scale a bar shows when each interval ended, not how long it was.')
      );
    }
    return parts.filter(part => part !== '').join(' ');
  }

  private readonly _trans: Translator;
  private readonly _parent: HTMLElement;
  private readonly _account: AccountBar;
  private readonly _histogram: Histogram;
  private readonly _slowest: Slowest;
  private readonly _words: HTMLElement;
  private readonly _found: HTMLElement;
  private readonly _choice: HTMLSelectElement;
  private readonly _scale: HTMLButtonElement;
  private readonly _bars: HTMLElement;
  private readonly _table: HTMLElement;
  private readonly _caption: HTMLElement;
  private readonly _body: HTMLElement;
  private readonly _note: HTMLElement;
  /** what is drawn; undefined before the first picture */
  private _journey: Journey | null | undefined = undefined;
  private _run: number | null = null;
  private _wanted = '';
  private _log = false;
}

export const journeyTab: TabKind = {
  id: 'journey',
  label: trans => trans.__('Journey'),
  sections: ['journey'],
  make: options => new JourneyTab(options)
};
