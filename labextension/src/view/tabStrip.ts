/** The strip of tabs below the counters, and the selected tab. */

import type { KernelState } from '../model/kernelModel';
import { VERSION, type Command } from '../protocol/messages';
import type { CellWay } from './cellWay';
import { button, child } from './dom';
import { TABS } from './tabs';
import type { Tab, TabKind } from './tabs/tab';
import type { Translator } from './translator';

let strips = 0;

/** Sections that the kernel can send of one run; the others are about all tasks whatever is chosen. */
const SCOPED: ReadonlySet<string> = new Set([
  'state-map',
  'journey',
  'timeline',
  'usage',
  'graph',
  'output'
]);
/** The section with the counters of one run, and that with the list of runs. */
const COUNTERS = 'counters';
const RUNS = 'runs';

/** Makes a tab when it is first selected, keeps it, and subscribes to its sections. */
export class TabStrip {
  constructor(
    parent: HTMLElement,
    trans: Translator,
    send: (command: Command) => void,
    runLine?: (line: string) => void,
    private readonly _cells?: CellWay
  ) {
    this._trans = trans;
    this._send = send;
    this._runLine = runLine;
    this._prefix = `cellmill-tab-${strips++}`;
    this._list = child(parent, 'div', 'cellmill-tabs');
    this._list.setAttribute('role', 'tablist');
    this._list.setAttribute('aria-label', trans.__('Views of the tasks'));
    this._list.addEventListener('keydown', event => this._move(event));
    this._shared = child(parent, 'p', 'cellmill-note cellmill-faint cellmill-shared');
    this._shared.textContent = trans.__(
      'What this tab shows is of all tasks: runs share the workers.'
    );
    this._shared.hidden = true;
    this._pages = child(parent, 'div', 'cellmill-pages');
    this._buttons = TABS.map(kind => this._addButton(kind));
    // A task that is chosen in any tab is shown in the tasks tab.
    this._pages.addEventListener('cellmill-task', event =>
      this.open('tasks', (event as CustomEvent<unknown>).detail)
    );
    const first = TABS[0];
    if (first !== undefined) {
      this.choose(first.id);
    }
  }

  /** The id of the selected tab. */
  get chosen(): string {
    return this._chosen;
  }

  /** Select a tab. */
  choose(id: string): void {
    const kind = TABS.find(one => one.id === id);
    if (kind === undefined || id === this._chosen) {
      return;
    }
    this._chosen = id;
    this._list.dataset.chosen = id;
    TABS.forEach((one, index) => {
      const shown = one.id === id;
      const head = this._buttons[index];
      head?.setAttribute('aria-selected', String(shown));
      head?.setAttribute('tabindex', shown ? '0' : '-1');
      const page = this._made.get(one.id)?.page;
      if (page !== undefined) {
        page.hidden = !shown;
      }
    });
    this._make(kind);
    this._watch();
    if (this._state !== null) {
      this.draw(this._state);
    }
  }

  /** Select a tab and show there what is named. */
  open(id: string, named: unknown): void {
    this.choose(id);
    this._made.get(id)?.tab.open?.(named);
  }

  /** Show one run, by its id; null for all tasks. */
  scope(run: number | null): void {
    this._run = run;
    this._watch();
  }

  /** Move the keyboard's focus to the head of the selected tab. */
  focus(): void {
    this._buttons.find(head => head.dataset.tab === this._chosen)?.focus();
  }

  /** Draw the selected tab. */
  draw(state: KernelState): void {
    this._state = state;
    this._made.get(this._chosen)?.tab.draw(state);
  }

  dispose(): void {
    for (const { tab } of this._made.values()) {
      tab.dispose();
    }
    this._made.clear();
  }

  /** Subscribe to what the selected tab shows. */
  private _watch(): void {
    const run = this._run;
    const wanted = TABS.find(one => one.id === this._chosen)?.sections ?? [];
    const shared = run === null ? wanted : wanted.filter(section => !SCOPED.has(section));
    this._shared.hidden = run === null || shared.length === 0;
    const own = [COUNTERS, ...wanted.filter(section => SCOPED.has(section))];
    this._send({
      cellmill: VERSION,
      kind: 'watch',
      sections: [RUNS, ...shared],
      scopes: run === null ? [] : [{ run, sections: own }]
    });
  }

  private _addButton(kind: TabKind): HTMLButtonElement {
    const head = button(this._list, 'cellmill-tab', () => this.choose(kind.id));
    // With the press, as in JupyterLab: what comes above may move the head away before the button is let go.
    head.addEventListener('pointerdown', event => {
      if (event.pointerType === 'mouse' && event.button === 0) {
        this.choose(kind.id);
      }
    });
    head.id = `${this._prefix}-${kind.id}`;
    head.dataset.tab = kind.id;
    head.setAttribute('role', 'tab');
    head.setAttribute('tabindex', '-1');
    head.textContent = kind.label(this._trans);
    return head;
  }

  private _make(kind: TabKind): void {
    if (this._made.has(kind.id)) {
      return;
    }
    const page = child(this._pages, 'div', `cellmill-page cellmill-page-${kind.id}`);
    page.id = `${this._prefix}-${kind.id}-page`;
    page.setAttribute('role', 'tabpanel');
    page.setAttribute('aria-labelledby', `${this._prefix}-${kind.id}`);
    const tab = kind.make({
      parent: page,
      trans: this._trans,
      send: this._send,
      runLine: this._runLine,
      cells: this._cells
    });
    this._made.set(kind.id, { page, tab });
    this._buttons[TABS.indexOf(kind)]?.setAttribute('aria-controls', page.id);
  }

  /** Handle arrow keys, Home and End, as in the ARIA pattern for tabs. */
  private _move(event: KeyboardEvent): void {
    const here = TABS.findIndex(kind => kind.id === this._chosen);
    const steps: Record<string, number> = {
      ArrowRight: here + 1,
      ArrowLeft: here - 1,
      Home: 0,
      End: TABS.length - 1
    };
    const to = steps[event.key];
    if (to === undefined) {
      return;
    }
    const index = (to + TABS.length) % TABS.length;
    event.preventDefault();
    this.choose(TABS[index]?.id ?? '');
    this._buttons[index]?.focus();
  }

  private readonly _trans: Translator;
  private readonly _send: (command: Command) => void;
  private readonly _runLine: ((line: string) => void) | undefined;
  private readonly _prefix: string;
  private readonly _list: HTMLElement;
  /** says that the selected tab is about all tasks although a run is chosen */
  private readonly _shared: HTMLElement;
  private readonly _pages: HTMLElement;
  private readonly _buttons: readonly HTMLButtonElement[];
  private readonly _made = new Map<string, { readonly page: HTMLElement; readonly tab: Tab }>();
  private _chosen = '';
  private _run: number | null = null;
  private _state: KernelState | null = null;
}
