/** The side panel: draws the kernel of the notebook in front, and the list of all that Cellmill runs in. */
import { Widget } from '@lumino/widgets';
import { now } from './connection';
import { millIcon } from './icon';
import { DashboardView } from './view/dashboard';
import { KernelListView } from './view/kernelList';
/** Milliseconds between pictures while tasks run; frames do not come faster. */
const DRAW_INTERVAL = 100;
/** Milliseconds between pictures which only time changes. */
const CLOCK_INTERVAL = 500;
/** Draws at most ten times a second, and only while it is visible. */
export class CellmillPanel extends Widget {
    constructor(options) {
        super();
        const { trans } = options;
        this._sessions = options.sessions;
        this.id = 'cellmill-panel';
        this.addClass('cellmill-panel');
        this.title.icon = millIcon;
        this.title.caption = trans.__('Cellmill tasks');
        this.node.setAttribute('role', 'region');
        this.node.setAttribute('aria-label', trans.__('Cellmill tasks'));
        this._dashboard = new DashboardView(this.node, trans);
        this._list = new KernelListView(this.node, trans, id => {
            const entry = this._sessions.entries.find(({ widget }) => widget.id === id);
            if (entry !== undefined) {
                options.activate(entry.widget);
            }
        });
        this._sessions.changed.connect(this._schedule, this);
    }
    dispose() {
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
    onAfterShow(_) {
        this._setWatched();
    }
    onAfterHide(_) {
        this._setWatched();
    }
    onAfterAttach(_) {
        this._setWatched();
    }
    onBeforeDetach(_) {
        this._sessions.watched = false;
    }
    onResize(_) {
        this._schedule();
    }
    _setWatched() {
        this._sessions.watched = this.isVisible;
        this._draw();
    }
    _schedule() {
        if (this.isVisible && this._timer === 0) {
            this._timer = window.setTimeout(() => this._draw(), DRAW_INTERVAL - (performance.now() % DRAW_INTERVAL));
        }
    }
    _draw() {
        window.clearTimeout(this._timer);
        this._timer = 0;
        if (!this.isVisible) {
            return;
        }
        const current = this._sessions.current;
        const moment = now();
        this._dashboard.draw(current && { title: current.widget.title.label, state: current.link.model.state(moment) });
        this._list.draw(this._sessions.entries.map(({ widget, link }) => ({
            id: widget.id,
            title: widget.title.label,
            current: widget === current?.widget,
            presence: link.model.presence,
            counts: link.model.state(moment).snapshot?.counts ?? null
        })));
        if (current?.link.model.busy === true || this._movedRecently(moment)) {
            this._timer = window.setTimeout(() => this._draw(), CLOCK_INTERVAL);
        }
    }
    /** Whether the rate's history still moves although the tasks are done. */
    _movedRecently(moment) {
        return this._sessions.current?.link.model.state(moment).history.some(rate => rate > 0) ?? false;
    }
    _sessions;
    _dashboard;
    _list;
    _timer = 0;
}
//# sourceMappingURL=panel.js.map