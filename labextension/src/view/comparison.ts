/** Two runs beside each other: the choice of both, and what the kernel says of them. */

import type { KernelState } from '../model/kernelModel';
import {
  VERSION,
  type Command,
  type ComparedTable,
  type Comparison,
  type RunRecord
} from '../protocol/messages';
import { child, setOptions, setText } from './dom';
import { runText } from './scope';
import type { Translator } from './translator';

const NONE = '';

export class ComparisonView {
  constructor(parent: HTMLElement, trans: Translator, send: (command: Command) => void) {
    this._trans = trans;
    this._send = send;
    this._root = child(parent, 'section', 'cellmill-compare');
    this._root.setAttribute('aria-label', trans.__('Comparison of two runs'));
    const choice = child(this._root, 'div', 'cellmill-compare-choice');
    this._before = this._choice(choice, trans.__('Compare'), trans.__('First run'));
    this._after = this._choice(choice, trans.__('with'), trans.__('Second run'));
    this._result = child(this._root, 'div', 'cellmill-compare-result');
    this._sentence = child(this._result, 'p', 'cellmill-compare-sentence');
    this._sentence.setAttribute('role', 'status');
    this._tables = child(this._result, 'div', 'cellmill-compare-tables');
    this._notes = child(this._result, 'div', 'cellmill-compare-notes');
  }

  /** Draw the choice, and the answer if both are chosen. A recording has no kernel that could answer. */
  draw(state: KernelState): void {
    this._root.hidden = state.recorded || state.runs.length < 2;
    if (this._root.hidden) {
      return;
    }
    if (state.runs !== this._runs) {
      this._runs = state.runs;
      this._offer(this._before);
      this._offer(this._after);
    }
    this._ask();
    const answer = state.sections.comparison;
    const found = answer?.request === this._request && this._asked.length > 0 ? answer : null;
    if (found !== this._drawn) {
      this._drawn = found;
      this._drawAnswer(found);
    }
    this._result.hidden = found === null;
  }

  private _choice(parent: HTMLElement, text: string, name: string): HTMLSelectElement {
    const label = child(parent, 'label', 'cellmill-compare-label');
    child(label, 'span', '').textContent = text;
    const select = child(label, 'select', 'cellmill-compare-run') as HTMLSelectElement;
    select.setAttribute('aria-label', name);
    select.addEventListener('change', () => this._ask());
    return select;
  }

  private _offer(select: HTMLSelectElement): void {
    const chosen = select.value;
    const wanted: (readonly [string, string])[] = [[NONE, this._trans.__('Choose a run')]];
    for (const run of this._runs) {
      wanted.push([String(run.id), runText(run, this._trans)]);
    }
    setOptions(select, wanted, wanted.some(([value]) => value === chosen) ? chosen : NONE);
  }

  /** Ask the kernel where both are chosen, and again when one of them has changed. */
  private _ask(): void {
    const chosen = [this._before.value, this._after.value].map(value =>
      this._runs.find(run => String(run.id) === value)
    );
    for (const select of [this._before, this._after]) {
      select.title = select.selectedOptions[0]?.textContent ?? '';
    }
    const [before, after] = chosen;
    if (before === undefined || after === undefined || before === after) {
      this._asked = [];
      return;
    }
    if (before === this._asked[0] && after === this._asked[1]) {
      return;
    }
    this._asked = [before, after];
    this._send({
      cellmill: VERSION,
      kind: 'compare-runs',
      request: this._request,
      before: before.id,
      after: after.id
    });
  }

  private _drawAnswer(answer: Comparison | null): void {
    setText(this._sentence, answer?.sentence ?? '');
    this._tables.replaceChildren();
    this._notes.replaceChildren();
    if (answer === null) {
      return;
    }
    for (const table of answer.tables) {
      this._drawTable(table, answer);
    }
    for (const note of answer.notes) {
      setText(child(this._notes, 'p', 'cellmill-note cellmill-faint'), note);
    }
  }

  private _drawTable(of: ComparedTable, { before, after }: Comparison): void {
    const table = child(this._tables, 'table', 'cellmill-table cellmill-compare-table');
    const caption = child(table, 'caption', '');
    setText(caption, of.title === '' ? this._trans.__('Both as a whole') : of.title);
    const head = child(child(table, 'thead', ''), 'tr', '');
    child(head, 'td', '');
    for (const title of [before, after]) {
      const cell = child(head, 'th', 'cellmill-compare-figure');
      cell.setAttribute('scope', 'col');
      setText(cell, title);
    }
    child(head, 'td', '');
    const body = child(table, 'tbody', '');
    for (const row of of.rows) {
      const line = child(body, 'tr', '');
      const name = child(line, 'th', '');
      name.setAttribute('scope', 'row');
      setText(name, row.what);
      setText(child(line, 'td', 'cellmill-compare-figure'), row.before);
      setText(child(line, 'td', 'cellmill-compare-figure'), row.after);
      setText(child(line, 'td', 'cellmill-compare-change'), row.change);
    }
  }

  private readonly _trans: Translator;
  private readonly _send: (command: Command) => void;
  private readonly _root: HTMLElement;
  private readonly _before: HTMLSelectElement;
  private readonly _after: HTMLSelectElement;
  private readonly _result: HTMLElement;
  private readonly _sentence: HTMLElement;
  private readonly _tables: HTMLElement;
  private readonly _notes: HTMLElement;
  /** of this view: answers to others arrive here too */
  private readonly _request = Math.floor(Math.random() * 2 ** 31);
  private _runs: readonly RunRecord[] = [];
  /** the two that were asked about last, as they were then; empty: none */
  private _asked: readonly RunRecord[] = [];
  private _drawn: Comparison | null = null;
}
