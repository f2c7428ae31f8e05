/** The side panel: the kernel of the notebook in front, and the list of all kernels with Cellmill. */

import { DashboardWidget, type DashboardOptions } from './dashboardWidget';
import type { Entry, SessionWidget } from '../connection/sessions';
import { KernelListView } from '../view/kernelList';

/** What the panel needs from its owner. */
export interface PanelOptions extends DashboardOptions {
  /** Bring a notebook or a console to the front. */
  readonly activate: (widget: SessionWidget) => void;
}

/** Follows the notebook in front. */
export class CellmillPanel extends DashboardWidget {
  constructor(options: PanelOptions) {
    super(options);
    const { sessions, trans } = options;
    this.id = 'cellmill-panel';
    this.title.caption = trans.__('Cellmill tasks');
    this.node.setAttribute('aria-label', trans.__('Cellmill tasks'));
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
    this._list.draw(
      this.sessions.entries.map(({ widget, link }) => ({
        id: widget.id,
        title: widget.title.label,
        current: widget === current?.widget,
        presence: link.presence,
        counts: link.model.snapshot?.counts ?? null,
        left: link.state(now).left
      }))
    );
  }

  private readonly _list: KernelListView;
}
