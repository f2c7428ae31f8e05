/** The open notebooks and consoles, each with the link to its kernel, and which of them is in front. */
import { Signal } from '@lumino/signaling';
import { KernelLink } from './connection';
/** Follows the trackers; views ask it what there is to show. */
export class Sessions {
    constructor(trackers) {
        for (const tracker of trackers) {
            tracker.forEach(widget => this._add(widget));
            tracker.widgetAdded.connect((_, widget) => this._add(widget), this);
            tracker.currentChanged.connect((_, widget) => this._choose(widget), this);
            this._choose(tracker.currentWidget);
        }
    }
    /** Emitted when an entry came, went or changed, or when another one is in front. */
    get changed() {
        return this._changed;
    }
    /** Every open notebook and console, in the order of their opening. */
    get entries() {
        return [...this._entries.values()];
    }
    /** The one in front, or the one that was there last. */
    get current() {
        return (this._current && this._entries.get(this._current)) ?? null;
    }
    /** Whether somebody looks at what the kernels say. */
    set watched(value) {
        this._watched = value;
        for (const entry of this._entries.values()) {
            entry.link.watched = value;
        }
    }
    get isDisposed() {
        return this._disposed;
    }
    dispose() {
        if (this._disposed) {
            return;
        }
        this._disposed = true;
        for (const entry of this._entries.values()) {
            entry.link.dispose();
        }
        this._entries.clear();
        Signal.clearData(this);
    }
    _add(widget) {
        if (this._entries.has(widget)) {
            return;
        }
        const link = new KernelLink(widget.sessionContext);
        link.watched = this._watched;
        this._entries.set(widget, { widget, link });
        link.changed.connect(() => this._changed.emit(), this);
        widget.title.changed.connect(() => this._changed.emit(), this);
        widget.disposed.connect(() => this._remove(widget), this);
        this._changed.emit();
    }
    _remove(widget) {
        this._entries.get(widget)?.link.dispose();
        this._entries.delete(widget);
        if (this._current === widget) {
            this._current = null;
        }
        this._changed.emit();
    }
    _choose(widget) {
        if (widget !== null && widget !== this._current) {
            this._current = widget;
            this._changed.emit();
        }
    }
    _changed = new Signal(this);
    _entries = new Map();
    _current = null;
    _watched = false;
    _disposed = false;
}
//# sourceMappingURL=sessions.js.map