/** The side panel: draws the kernel of the notebook in front, and the list of all that Cellmill runs in. */

import type { TranslationBundle } from '@jupyterlab/translation';
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';

import { now } from './connection';
import { millIcon } from './icon';
import type { Command, Snapshot } from './protocol';
import type { Sessions, SessionWidget } from './sessions';
import { DashboardView } from './view/dashboard';
import { KernelListView } from './view/kernelList';

/** Milliseconds between pictures while tasks run; frames do not come faster. */
const DRAW_INTERVAL = 100;
/** Milliseconds between pictures which only time changes. */
const CLOCK_INTERVAL = 500;

/** What the panel needs from its surroundings. */
export interface PanelOptions {
  readonly sessions: Sessions;
  readonly trans: TranslationBundle;
  /** Bring a notebook or a console to the front. */
  readonly activate: (widget: SessionWidget) => void;
}

/** Draws at most ten times a second, and only while it is visible. */
export class CellmillPanel extends Widget {
  constructor(options: PanelOptions) {
    super();
    const { trans } = options;
    this._sessions = options.sessions;
    this.id = 'cellmill-panel';
    this.addClass('cellmill-panel');
    this.title.icon = millIcon;
    this.title.caption = trans.__('Cellmill tasks');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', trans.__('Cellmill tasks'));
    this._dashboard = new DashboardView(this.node, trans, command => this._command(command));
    this._list = new KernelListView(this.node, trans, id => {
      const entry = this._sessions.entries.find(({ widget }) => widget.id === id);
      if (entry !== undefined) {
        options.activate(entry.widget);
      }
    });
    this._sessions.changed.connect(this._schedule, this);
  }

  /** Ask the kernel of the notebook in front for something. */
  send(command: Command): void {
    this._sessions.current?.link.send(command);
  }

  /** What is watched stays so when another notebook comes to the front; all else is for the kernel of this one. */
  private _command(command: Command): void {
    if (command.kind === 'watch') {
      this._sessions.watch = command;
    } else {
      this.send(command);
    }
  }

  /** The newest state of the kernel of the notebook in front, if there is one. */
  get snapshot(): Snapshot | null {
    return this._sessions.current?.link.model.state(now()).snapshot ?? null;
  }

  /** Whether that kernel has tasks outstanding. */
  get busy(): boolean {
    return this._sessions.current?.link.model.busy ?? false;
  }

  override dispose(): void {
    if (this.isDisposed) {
      return;
    }
    window.clearTimeout(this._timer);
    this._sessions.changed.disconnect(this._schedule, this);
    this._sessions.dispose();
    this._dashboard.dispose();
    this._list.dispose();
    super.dispose();
  }

  protected override onAfterShow(_: Message): void {
    this._setWatched();
  }

  protected override onAfterHide(_: Message): void {
    this._setWatched();
  }

  protected override onAfterAttach(_: Message): void {
    this._setWatched();
  }

  protected override onBeforeDetach(_: Message): void {
    this._sessions.watched = false;
  }

  protected override onResize(_: Message): void {
    this._schedule();
  }

  private _setWatched(): void {
    this._sessions.watched = this.isVisible;
    this._draw();
  }

  private _schedule(): void {
    if (this.isVisible && this._timer === 0) {
      this._timer = window.setTimeout(
        () => this._draw(),
        DRAW_INTERVAL - (performance.now() % DRAW_INTERVAL)
      );
    }
  }

  private _draw(): void {
    window.clearTimeout(this._timer);
    this._timer = 0;
    if (!this.isVisible) {
      return;
    }
    const current = this._sessions.current;
    const moment = now();
    this._dashboard.draw(
      current && { title: current.widget.title.label, state: current.link.model.state(moment) }
    );
    this._list.draw(
      this._sessions.entries.map(({ widget, link }) => ({
        id: widget.id,
        title: widget.title.label,
        current: widget === current?.widget,
        presence: link.model.presence,
        counts: link.model.state(moment).snapshot?.counts ?? null
      }))
    );
    if (current?.link.model.busy === true || this._movedRecently(moment)) {
      this._timer = window.setTimeout(() => this._draw(), CLOCK_INTERVAL);
    }
  }

  /** Whether the rate's history still moves although the tasks are done. */
  private _movedRecently(moment: number): boolean {
    return this._sessions.current?.link.model.state(moment).history.some(rate => rate > 0) ?? false;
  }

  private readonly _sessions: Sessions;
  private readonly _dashboard: DashboardView;
  private readonly _list: KernelListView;
  private _timer = 0;
}
