/** The open notebooks and consoles, each with the link to its kernel, and which of them is in front. */
import type { ISessionContext } from '@jupyterlab/apputils';
import type { IDisposable } from '@lumino/disposable';
import { type ISignal } from '@lumino/signaling';
import type { Widget } from '@lumino/widgets';
import { KernelLink } from './connection';
/** A notebook or a console: a widget with a session. */
export type SessionWidget = Widget & {
    readonly sessionContext: ISessionContext;
};
/** What JupyterLab's trackers offer of what is used here. */
export interface WidgetTracker {
    readonly currentWidget: SessionWidget | null;
    readonly currentChanged: ISignal<WidgetTracker, SessionWidget | null>;
    readonly widgetAdded: ISignal<WidgetTracker, SessionWidget>;
    forEach(fn: (widget: SessionWidget) => void): void;
}
/** One open notebook or console. */
export interface Entry {
    readonly widget: SessionWidget;
    readonly link: KernelLink;
}
/** Follows the trackers; views ask it what there is to show. */
export declare class Sessions implements IDisposable {
    constructor(trackers: readonly WidgetTracker[]);
    /** Emitted when an entry came, went or changed, or when another one is in front. */
    get changed(): ISignal<this, void>;
    /** Every open notebook and console, in the order of their opening. */
    get entries(): readonly Entry[];
    /** The one in front, or the one that was there last. */
    get current(): Entry | null;
    /** Whether somebody looks at what the kernels say. */
    set watched(value: boolean);
    get isDisposed(): boolean;
    dispose(): void;
    private _add;
    private _remove;
    private _choose;
    private readonly _changed;
    private readonly _entries;
    private _current;
    private _watched;
    private _disposed;
}
