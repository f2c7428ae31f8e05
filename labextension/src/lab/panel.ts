/** The side panel: the kernel of the notebook in front, and the list of all kernels with Cellmill. */

import { DashboardWidget, type DashboardOptions } from './dashboardWidget';
import type { Entry, SessionWidget } from '../connection/sessions';
import { button, setName } from '../view/dom';
import { KernelListView } from '../view/kernelList';

/** What the panel needs from its owner. */
export interface PanelOptions extends DashboardOptions {
  /** Bring a notebook or a console to the front. */
  readonly activate: (widget: SessionWidget) => void;
  /** Show the dashboard of the notebook in front in a tab of its own; null where there are none. */
  readonly openWide: ((path: string) => void) | null;
}

/** Follows the notebook in front. */
export class CellmillPanel extends DashboardWidget {
  constructor(options: PanelOptions) {
    super(options);
    const { sessions, trans } = options;
    this.id = 'cellmill-panel';
    this.title.caption = trans.__('Cellmill tasks');
    this.node.setAttribute('aria-label', trans.__('Cellmill tasks'));
    const { openWide } = options;
    if (openWide !== null) {
      this._wide = button(this.node, 'cellmill-button cellmill-wide', () => {
        const path = this.entry?.widget.sessionContext.path;
        if (path !== undefined) {
          openWide(path);
        }
      });
      this._wide.textContent = '⤢';
      setName(this._wide, trans.__('Open wide, in a tab of its own'));
      this.node.prepend(this._wide);
    }
    this._list = new KernelListView(this.node, trans, id => {
      const entry = sessions.withId(id);
      if (entry !== null) {
        options.activate(entry.widget);
      }
    });
  }

  get entry(): Entry | null {
    return this.sessions.current;
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this._list.dispose();
    }
    super.dispose();
  }

  protected override drawMore(now: number): void {
    const current = this.entry;
    if (this._wide !== null) {
      this._wide.hidden = current === null;
    }
    this._list.draw(
      this.sessions.entries.map(({ widget, link }) => {
        const { left, elapsed } = link.state(now);
        return {
          id: widget.id,
          title: widget.title.label,
          current: widget === current?.widget,
          presence: link.presence,
          counts: link.model.snapshot?.counts ?? null,
          left,
          elapsed
        };
      })
    );
  }

  private readonly _list: KernelListView;
  private readonly _wide: HTMLButtonElement | null = null;
}
