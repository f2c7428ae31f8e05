/** What all tasks print, log and display, as it comes, with filters. */

import type { KernelState } from '../../model/kernelModel';
import type { OutputModel } from '../../model/output';
import { button, child, setNote, setOptions, setText } from '../dom';
import { count } from '../format';
import { earlierText } from '../partText';
import { matching, speakers, workersOf, type OutputFilter } from '../output/filter';
import { OutputLines } from '../output/lines';
import type { Translator } from '../translator';
import type { Tab, TabKind, TabOptions } from './tab';

/** Lines that are drawn at first, in place of a list that scrolls inside the panel. */
const FIRST = 30;
/** Those that each press on the button for more adds. */
const PAGE = 300;
/** Tasks in the choice of one. */
const MOST_TASKS = 200;
const ALL = '';

class OutputTab implements Tab {
  constructor({ parent, trans }: TabOptions) {
    this._parent = parent;
    this._trans = trans;
    this._earlier = child(parent, 'p', 'cellmill-note cellmill-faint');
    const bar = child(parent, 'div', 'cellmill-task-bar');
    this._addChips(bar);
    this._worker = this._addChoice(bar, trans.__('Worker'), value => {
      this._filter.worker = value === ALL ? null : Number(value);
    });
    this._task = this._addChoice(bar, trans.__('Task'), value => {
      this._filter.task = value;
    });
    const field = document.createElement('input');
    field.type = 'search';
    field.className = 'cellmill-search';
    field.placeholder = trans.__('Text or function');
    field.setAttribute('aria-label', trans.__('Search output'));
    field.addEventListener('input', () => this._change(() => (this._filter.text = field.value)));
    bar.append(field);
    const head = child(parent, 'div', 'cellmill-task-foot');
    this._count = child(head, 'span', 'cellmill-output-count');
    this._more = button(head, 'cellmill-button', () =>
      this._change(() => (this._most += PAGE), false)
    );
    setText(this._more, trans.__('Show more'));
    this._empty = child(parent, 'p', 'cellmill-message');
    this._lines = new OutputLines(parent, trans, {
      open: ({ speaker: { task, element } }) =>
        parent.dispatchEvent(
          new CustomEvent('cellmill-task', { bubbles: true, detail: { task, element } })
        ),
      worker: worker => this._change(() => (this._filter.worker = worker))
    });
  }

  draw(state: KernelState): void {
    const { output } = state.sections;
    if (output !== this._output) {
      this._output = output; // of another kernel, or of a run
      this._version = -1;
      this._filter.worker = null;
      this._filter.task = ALL;
    }
    setNote(this._earlier, earlierText(state, this._trans));
    if (output.version !== this._version) {
      this._version = output.version;
      this._draw(output);
    }
  }

  dispose(): void {
    this._parent.replaceChildren();
  }

  private _draw(output: OutputModel): void {
    const { lines } = output;
    const { worker, task } = this._filter;
    const trans = this._trans;
    const workers = workersOf(lines).map(
      index => [String(index), trans.__('Worker %1', index)] as const
    );
    options(this._worker, trans.__('All workers'), workers, worker === null ? ALL : String(worker));
    options(this._task, trans.__('All tasks'), speakers(lines, MOST_TASKS), task);
    const { shown, matched } = matching(lines, this._filter, this._most);
    this._lines.draw(shown);
    this._empty.hidden = shown.length > 0;
    setText(this._empty, emptyText(output, trans));
    setText(this._count, countText(shown.length, matched, output, trans));
    this._count.hidden = lines.length === 0;
    this._more.hidden = matched <= shown.length;
  }

  private _change(what: () => void, first = true): void {
    what();
    if (first) {
      this._most = FIRST;
    }
    for (const [stream, chip] of this._chips) {
      chip.setAttribute('aria-pressed', String(this._filter.streams.has(stream)));
    }
    if (this._output !== null) {
      this._draw(this._output);
    }
  }

  private _addChips(bar: HTMLElement): void {
    const group = child(bar, 'div', 'cellmill-chips');
    group.setAttribute('role', 'group');
    group.setAttribute('aria-label', this._trans.__('Show only'));
    streamNames(this._trans).forEach((name, index) => {
      const stream = index + 1;
      const { streams } = this._filter;
      const chip = button(group, 'cellmill-chip', () =>
        this._change(() => {
          if (!streams.delete(stream)) {
            streams.add(stream);
          }
        })
      );
      chip.dataset.stream = String(stream);
      chip.setAttribute('aria-pressed', 'false');
      chip.textContent = name;
      this._chips.set(stream, chip);
    });
  }

  private _addChoice(
    bar: HTMLElement,
    name: string,
    choose: (value: string) => void
  ): HTMLSelectElement {
    const select = child(bar, 'select', 'cellmill-output-choice') as HTMLSelectElement;
    select.setAttribute('aria-label', name);
    select.addEventListener('change', () => this._change(() => choose(select.value)));
    return select;
  }

  private readonly _parent: HTMLElement;
  private readonly _trans: Translator;
  private readonly _earlier: HTMLElement;
  private readonly _chips = new Map<number, HTMLButtonElement>();
  private readonly _worker: HTMLSelectElement;
  private readonly _task: HTMLSelectElement;
  private readonly _empty: HTMLElement;
  private readonly _lines: OutputLines;
  private readonly _count: HTMLElement;
  private readonly _more: HTMLButtonElement;
  private readonly _filter: OutputFilter = {
    text: '',
    streams: new Set(),
    worker: null,
    task: ALL
  };
  private _output: OutputModel | null = null;
  private _version = -1;
  private _most = FIRST;
}

/** Set the options of a choice; the chosen one stays in it even if nothing else is known of it any more. */
function options(
  select: HTMLSelectElement,
  all: string,
  values: readonly (readonly [string, string])[],
  chosen: string
): void {
  const wanted: (readonly [string, string])[] = [[ALL, all], ...values];
  if (!wanted.some(([value]) => value === chosen)) {
    const name = Array.from(select.options).find(option => option.value === chosen)?.textContent;
    wanted.push([chosen, name ?? chosen]);
  }
  setOptions(select, wanted, chosen);
}

function streamNames(trans: Translator): readonly string[] {
  return [trans.__('stdout'), trans.__('stderr'), trans.__('log'), trans.__('display')];
}

function emptyText({ known, lines }: OutputModel, trans: Translator): string {
  if (known === false) {
    return trans.__(
      'This backend runs tasks in the cell itself: what they print is there, not here.'
    );
  }
  return lines.length > 0 ? trans.__('No line fits.') : trans.__('Nothing printed so far.');
}

/** How many lines are shown, of how many, and how many are gone. */
export function countText(
  shown: number,
  matched: number,
  { dropped }: { readonly dropped: number },
  trans: Translator
): string {
  const lines =
    shown < matched
      ? trans.__('The newest %1 of %2 lines', count(shown), count(matched))
      : trans._n('%2 line', '%2 lines', matched, count(matched));
  return dropped > 0 ? trans.__('%1; %2 earlier ones are not kept', lines, count(dropped)) : lines;
}

export const outputTab: TabKind = {
  id: 'output',
  label: trans => trans.__('Output'),
  sections: ['output'],
  make: options => new OutputTab(options)
};
