/** The main-area view: a tab of JupyterLab with the dashboard of one notebook. */

import { DashboardWidget, type DashboardOptions } from './dashboardWidget';
import type { Entry } from '../connection/sessions';

/** What a main-area view needs from its owner. */
export interface MainViewOptions extends DashboardOptions {
  /** whose kernel it shows: the path of the notebook, or of the console's session */
  readonly path: string;
}

let views = 0;

/**
 * Shows one notebook's kernel whichever notebook is in front, so that several can be watched side by side.
 *
 * It follows a renamed notebook. When the notebook is closed, it is empty until that is opened again.
 */
export class MainView extends DashboardWidget {
  constructor(options: MainViewOptions) {
    super(options);
    this._path = options.path;
    this.id = `cellmill-dashboard-${views++}`;
    this.addClass('cellmill-main');
    this.title.closable = true;
    this._entry = this.sessions.withPath(this._path);
    this._label();
    this.sessions.changed.connect(this._follow, this);
    this.sessions.look();
  }

  /** The path of the notebook it belongs to. */
  get path(): string {
    return this._path;
  }

  get entry(): Entry | null {
    return this._entry;
  }

  override dispose(): void {
    this.sessions.changed.disconnect(this._follow, this);
    super.dispose();
  }

  protected override missing(): string {
    return this.trans.__('%1 is closed. Open it again to see its tasks here.', this._name);
  }

  private get _name(): string {
    return this._entry?.widget.title.label ?? this._path.slice(this._path.lastIndexOf('/') + 1);
  }

  private _follow(): void {
    const before = this._entry;
    if (before?.widget.isDisposed === true) {
      this._entry = null;
    }
    this._entry ??= this.sessions.withPath(this._path);
    if (this._entry !== before) {
      this.sessions.look();
    }
    const path = this._entry?.widget.sessionContext.path ?? '';
    if (path !== '') {
      this._path = path;
    }
    this._label();
  }

  private _label(): void {
    const label = this.trans.__('Tasks: %1', this._name);
    this.title.label = label;
    this.title.caption = this.trans.__('Cellmill tasks of %1', this._path);
    this.node.setAttribute('aria-label', label);
  }

  private _path: string;
  private _entry: Entry | null = null;
}
