/** What tasks spend their time in: a switch, a flame graph, and the functions with the most time of their own. */

import type { KernelState } from '../../model/kernelModel';
import { VERSION, type Command, type Profile } from '../../protocol/messages';
import { button, child, setText } from '../dom';
import { count, percent } from '../format';
import { FlameGraph } from '../profile/flame';
import { functionTimes } from '../profile/layout';
import { brief } from '../timeline/axis';
import type { Translator } from '../translator';
import type { Tab, TabKind, TabOptions } from './tab';

const MOST_FUNCTIONS = 12;

class ProfileTab implements Tab {
  constructor({ parent, trans, send }: TabOptions) {
    this._trans = trans;
    this._send = send;
    this._parent = parent;
    const bar = child(parent, 'div', 'cellmill-profile-bar');
    this._switch = button(bar, 'cellmill-button cellmill-profile-switch', () => this._press());
    this._all = button(bar, 'cellmill-button', () => this._flame.showAll());
    this._all.textContent = trans.__('Show all');
    this._words = child(parent, 'p', 'cellmill-note');
    this._flame = new FlameGraph(parent, trans);
    this._flame.onZoom(() => (this._all.hidden = !this._flame.zoomed));
    this._table = child(parent, 'table', 'cellmill-table cellmill-profile-table');
    child(this._table, 'caption', 'cellmill-faint').textContent = trans.__(
      'Functions with the most time of their own'
    );
    const head = child(child(this._table, 'thead', ''), 'tr', '');
    for (const title of [trans.__('Function'), trans.__('own'), trans.__('with calls')]) {
      const cell = child(head, 'th', '');
      cell.setAttribute('scope', 'col');
      cell.textContent = title;
    }
    this._body = child(this._table, 'tbody', '');
  }

  draw(state: KernelState): void {
    const profile = state.sections.profile;
    if (profile !== this._drawn || profile === null) {
      this._drawn = profile;
      this._redraw(profile);
    }
  }

  dispose(): void {
    this._flame.dispose();
    this._parent.replaceChildren();
  }

  private _press(): void {
    const on = !(this._drawn?.on ?? false);
    this._send({ cellmill: VERSION, kind: 'set-profile', on });
  }

  private _redraw(profile: Profile | null): void {
    const trans = this._trans;
    const some = profile !== null && profile.label.length > 0;
    this._switch.hidden = !profile?.known;
    this._switch.setAttribute('aria-pressed', String(profile?.on ?? false));
    setText(this._switch, profile?.on === true ? trans.__('Stop') : trans.__('Start profile'));
    this._table.hidden = !some;
    setText(this._words, this._text(profile));
    if (profile !== null) {
      this._flame.draw(profile);
      this._drawTable(profile);
    }
    this._all.hidden = !some || !this._flame.zoomed;
  }

  private _text(profile: Profile | null): string {
    const trans = this._trans;
    if (profile === null) {
      return trans.__('Waiting for the kernel.');
    }
    if (!profile.known) {
      return trans.__(
        'The inline backend has no workers to sample: tasks run in the kernel itself.'
      );
    }
    if (profile.samples > 0) {
      const samples = trans._n('%2 sample', '%2 samples', profile.samples, count(profile.samples));
      const words = trans.__(
        '%1 in your code, by %2. Each function is above those that it calls.',
        brief(profile.seconds),
        samples
      );
      return profile.note === '' ? words : `${words} ${profile.note}`;
    }
    return profile.on
      ? trans.__('The workers are sampled. No sample has come from your code yet.')
      : trans.__(
          'Start samples what tasks execute, twenty times a second in each worker, those that run already too. It costs below 2 % of throughput.'
        );
  }

  private _drawTable(profile: Profile): void {
    const functions = functionTimes(profile, MOST_FUNCTIONS);
    while (this._body.children.length > functions.length) {
      this._body.lastElementChild?.remove();
    }
    functions.forEach((one, index) => {
      const row = (this._body.children[index] as HTMLElement | undefined) ?? this._addRow();
      const [head, own, total] = Array.from(row.children) as HTMLElement[];
      if (head !== undefined && own !== undefined && total !== undefined) {
        setText(head.children[0] as HTMLElement, one.name);
        setText(head.children[1] as HTMLElement, one.place);
        setText(own, percent(one.own, profile.seconds));
        own.title = brief(one.own);
        setText(total, percent(one.total, profile.seconds));
        total.title = brief(one.total);
      }
    });
  }

  private _addRow(): HTMLElement {
    const row = child(this._body, 'tr', '');
    const head = child(row, 'th', '');
    head.setAttribute('scope', 'row');
    child(head, 'span', 'cellmill-profile-name');
    child(head, 'span', 'cellmill-profile-place cellmill-faint');
    child(row, 'td', '');
    child(row, 'td', '');
    return row;
  }

  private readonly _trans: Translator;
  private readonly _send: (command: Command) => void;
  private readonly _parent: HTMLElement;
  private readonly _switch: HTMLButtonElement;
  private readonly _all: HTMLButtonElement;
  private readonly _words: HTMLElement;
  private readonly _flame: FlameGraph;
  private readonly _table: HTMLElement;
  private readonly _body: HTMLElement;
  private _drawn: Profile | null | undefined = undefined;
}

export const profileTab: TabKind = {
  id: 'profile',
  label: trans => trans.__('Profile'),
  sections: ['profile'],
  make: options => new ProfileTab(options)
};
