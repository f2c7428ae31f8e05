/** Where the time of the workers went: a sentence, a bar of the whole, and what would have made it shorter. */

import type { Account } from '../../protocol/messages';
import { button, child, setName, setText } from '../dom';
import { bytes, count } from '../format';
import { brief } from '../timeline/axis';
import type { Translator } from '../translator';

/** A smaller share of idle time is not told, as in the sentence. */
const LEAST = 0.005;

/** The parts of the workers' time, in the order of the bar: worker-seconds. */
export function parts(
  account: Account,
  trans: Translator
): { name: string; kind: string; seconds: number }[] {
  return [
    { name: trans.__('your code'), kind: 'busy', seconds: account.busy },
    { name: trans.__('arguments and results'), kind: 'overhead', seconds: account.overhead },
    ...idleParts(account, trans)
  ];
}

/** Idle time by reason; one part where the reasons are not known. */
function idleParts(
  { idle, reasons }: Account,
  trans: Translator
): { name: string; kind: string; seconds: number }[] {
  if (reasons === null) {
    const name = idle > 0 ? trans.__('idle (reasons not known)') : trans.__('idle');
    return [{ name, kind: 'idle', seconds: idle }];
  }
  return reasons.map(({ reason, what, seconds }) => ({
    name: what,
    kind: `idle-${reason}`,
    seconds
  }));
}

/** What tasks moved, in words; empty where that is not known. */
export function movedWords(
  { sent, received }: { readonly sent: number | null; readonly received: number | null },
  trans: Translator
): string {
  const size = (value: number): string =>
    value < 1000 ? trans._n('%2 byte', '%2 bytes', value, count(value)) : bytes(value);
  return sent === null || received === null
    ? ''
    : trans.__('Arguments %1, results %2', size(sent), size(received));
}

/** What is counted in `movedWords`. */
export function movedMeaning(trans: Translator): string {
  return trans.__(
    'Packed arguments and results of tasks that ended by themselves. Functions, shared objects and results that other tasks take are not counted again.'
  );
}

export class AccountBar {
  /** `apply` is called with the sentence of an advice whose button is pressed. */
  constructor(parent: HTMLElement, trans: Translator, apply: (what: string) => void) {
    this._trans = trans;
    this._apply = apply;
    this._element = child(parent, 'div', 'cellmill-account');
    this._sentence = child(this._element, 'p', 'cellmill-note cellmill-reading');
    this._track = child(this._element, 'div', 'cellmill-account-track');
    this._track.setAttribute('role', 'img');
    this._legend = child(this._element, 'div', 'cellmill-account-legend');
    this._moved = child(this._element, 'p', 'cellmill-note cellmill-faint cellmill-moved');
    this._moved.title = movedMeaning(trans);
    this._advice = child(this._element, 'ul', 'cellmill-advice');
    this._advice.setAttribute('aria-label', trans.__('What would have made it shorter'));
    this._nothing = child(this._element, 'p', 'cellmill-note cellmill-faint');
  }

  /** Null: there is nothing to tell. */
  draw(account: Account | null): void {
    this._element.hidden = account === null;
    if (account === null) {
      return;
    }
    setText(this._sentence, account.sentence);
    const shown = parts(account, this._trans);
    const whole = shown.reduce((sum, part) => sum + part.seconds, 0);
    const words: string[] = [];
    const kinds = shown.map(part => part.kind).join(' ');
    if (this._track.dataset.kinds !== kinds) {
      this._track.dataset.kinds = kinds;
      this._track.replaceChildren();
      this._legend.replaceChildren();
    }
    shown.forEach((part, index) => {
      const piece =
        (this._track.children[index] as HTMLElement | undefined) ??
        child(this._track, 'i', `cellmill-account-${part.kind}`);
      const entry =
        (this._legend.children[index] as HTMLElement | undefined) ?? this._addEntry(part.kind);
      const share = whole > 0 ? `${Math.round((100 * part.seconds) / whole)}%` : '–';
      piece.style.width = whole > 0 ? `${(100 * part.seconds) / whole}%` : '0';
      piece.title = `${part.name}: ${brief(part.seconds)} (${share})`;
      setText(entry.lastElementChild as HTMLElement, `${part.name} ${share}`);
      const told = !part.kind.startsWith('idle-') || part.seconds >= LEAST * whole;
      piece.hidden = entry.hidden = !told;
      if (told) {
        words.push(`${part.name} ${share}`);
      }
    });
    const text = this._trans.__("The workers' time: %1", words.join(', '));
    this._track.setAttribute('aria-label', text);
    setText(this._moved, movedWords(account, this._trans));
    this._moved.hidden = this._moved.textContent === '';
    this._drawAdvice(account);
  }

  private _drawAdvice(account: Account): void {
    const nothing = account.nothing ?? '';
    const advice = account.advice ?? [];
    setText(this._nothing, nothing);
    this._nothing.hidden = nothing === '';
    this._advice.hidden = advice.length === 0;
    const key = JSON.stringify(advice);
    if (this._advice.dataset.shown === key) {
      return; // a button that was pressed stays pressed
    }
    this._advice.dataset.shown = key;
    this._advice.replaceChildren();
    for (const { what, applies } of advice) {
      const entry = child(this._advice, 'li', '');
      child(entry, 'span', '').textContent = what;
      if (applies) {
        this._addButton(entry, what);
      }
    }
  }

  private _addButton(entry: HTMLElement, what: string): void {
    const press = button(entry, 'cellmill-button', () => {
      press.disabled = true;
      this._apply(what);
    });
    press.textContent = this._trans.__('Do it');
    setName(press, this._trans.__('Do it: %1', what));
  }

  private _addEntry(kind: string): HTMLElement {
    const entry = child(this._legend, 'span', 'cellmill-account-entry');
    child(entry, 'i', `cellmill-swatch cellmill-account-${kind}`);
    child(entry, 'span', '');
    return entry;
  }

  private readonly _trans: Translator;
  private readonly _apply: (what: string) => void;
  private readonly _element: HTMLElement;
  private readonly _sentence: HTMLElement;
  private readonly _track: HTMLElement;
  private readonly _legend: HTMLElement;
  private readonly _moved: HTMLElement;
  private readonly _advice: HTMLElement;
  private readonly _nothing: HTMLElement;
}
