/** A dashboard as a widget of JupyterLab: when to draw, and of which kernel. The panel and the main view extend it. */

import type { TranslationBundle } from '@jupyterlab/translation';
import type { IDisposable } from '@lumino/disposable';
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';

import { NOTHING, now } from '../connection/connection';
import { millIcon } from './icon';
import type { Command, Watch } from '../protocol/messages';
import { runLine } from './runLine';
import type { Entry, Sessions, Viewer } from '../connection/sessions';
import type { Settings } from './settings';
import { DashboardView } from '../view/dashboard';
import { Drawing } from '../view/drawing';

/** What a dashboard needs from its owner. */
export interface DashboardOptions {
  readonly sessions: Sessions;
  readonly settings: Settings;
  readonly trans: TranslationBundle;
  readonly cells: CellWays;
}

/** The way from runs to the cells that began them. */
export interface CellWays {
  readonly hasCell: (entry: Entry, run: number) => boolean;
  readonly showCell: (entry: Entry, run: number) => void;
}

/** Draws as often as the settings say, and only while it is visible. */
export abstract class DashboardWidget extends Widget implements Viewer {
  constructor(options: DashboardOptions) {
    super();
    this.sessions = options.sessions;
    this.trans = options.trans;
    this._settings = options.settings;
    this.addClass('cellmill-panel');
    this.title.icon = millIcon;
    this.node.setAttribute('role', 'region');
    this._tab = this._settings.values.tab;
    this._view = new DashboardView(
      this.node,
      this.trans,
      command => this._command(command),
      line => runLine(this.entry?.widget ?? null, line),
      {
        has: run => this.entry !== null && options.cells.hasCell(this.entry, run),
        show: run => {
          if (this.entry !== null) {
            options.cells.showCell(this.entry, run);
          }
        }
      }
    );
    this._view.showTab(this._tab);
    this.sessions.changed.connect(this._onChanged, this);
    this._settings.changed.connect(this._onSettings, this);
    this._viewing = this.sessions.addViewer(this);
  }

  /** The notebook or console whose kernel is shown. */
  abstract get entry(): Entry | null;

  /** The subscription for what it shows beside the counters. */
  get watch(): Watch {
    return this._watch;
  }

  /** Send a command to the kernel that is shown. */
  send(command: Command): void {
    this.entry?.link.send(command);
  }

  /** Show one of the tabs. */
  showTab(id: string): void {
    this._view.showTab(id);
  }

  /** Show one run, as soon as the kernel has told of it; null changes nothing. */
  showRun(run: number | null): void {
    if (run !== null) {
      this._view.showRun(run);
    }
  }

  /** Move the keyboard's focus to the tab that shows, or to the widget while there are no tabs. */
  focus(): void {
    this._view.focus();
  }

  override dispose(): void {
    if (this.isDisposed) {
      return;
    }
    this._drawing.stop();
    this.sessions.changed.disconnect(this._onChanged, this);
    this._settings.changed.disconnect(this._onSettings, this);
    this._viewing.dispose();
    this._view.dispose();
    super.dispose();
  }

  /** Draw what a subclass has beside the dashboard, at `time` in seconds; called with each picture. */
  protected drawMore(_time: number): void {
    // a subclass may have more to draw
  }

  /** The message while there is no kernel to show; empty for the default one. */
  protected missing(): string {
    return '';
  }

  protected override onAfterShow(_: Message): void {
    this._look();
  }

  protected override onAfterHide(_: Message): void {
    this._look();
  }

  protected override onAfterAttach(_: Message): void {
    this._look();
  }

  protected override onAfterDetach(_: Message): void {
    this._look();
  }

  protected override onResize(_: Message): void {
    this._drawing.ask();
  }

  /** Keep a subscription, which holds for the next kernel that is shown too; send other commands to the present one. */
  private _command(command: Command): void {
    if (command.kind === 'watch') {
      this._watch = command;
      this.sessions.look();
    } else {
      this.send(command);
    }
  }

  private _look(): void {
    this.sessions.look();
    this._drawing.now();
  }

  private _onChanged(): void {
    if (this._shown !== this.entry) {
      this.sessions.look();
    }
    this._drawing.ask();
  }

  private _onSettings(): void {
    if (this._settings.values.tab !== this._tab) {
      this._tab = this._settings.values.tab;
      this._view.showTab(this._tab);
    }
    this._drawing.ask();
  }

  /** Draw; returns whether the picture changes with time alone. */
  private _draw(): boolean {
    if (!this.isVisible) {
      return false;
    }
    const entry = this.entry;
    this._shown = entry;
    const time = now();
    const state = entry?.link.state(time) ?? null;
    this._view.draw(entry && state && { title: entry.widget.title.label, state }, this.missing());
    this.drawMore(time);
    const moves = state?.history.some(rate => rate > 0) ?? false;
    const told = state !== null && (state.refusal !== '' || state.unreadable !== '');
    return entry?.link.model.busy === true || moves || told;
  }

  protected readonly sessions: Sessions;
  protected readonly trans: TranslationBundle;
  private readonly _settings: Settings;
  private readonly _view: DashboardView;
  private readonly _viewing: IDisposable;
  private _watch: Watch = NOTHING;
  private _tab: string;
  private _shown: Entry | null = null;
  private readonly _drawing = new Drawing(
    () => this._draw(),
    () => 1000 / this._settings.values.pictures
  );
}
