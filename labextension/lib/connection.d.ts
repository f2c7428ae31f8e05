/** The only file that talks to a kernel: frames in, commands out. */
import type { ISessionContext } from '@jupyterlab/apputils';
import type { IDisposable } from '@lumino/disposable';
import { type ISignal } from '@lumino/signaling';
import { KernelModel } from './model';
import type { Command } from './protocol';
/** Seconds on the page's monotonic clock. */
export declare function now(): number;
/**
 * One notebook's or console's kernel, whichever it has at the moment.
 *
 * Frames are heard passively on IOPub, where they identify themselves. So a page that was reloaded in the middle of
 * a cell, whose own messages wait for the cell to end, shows the tasks at once.
 */
export declare class KernelLink implements IDisposable {
    constructor(context: ISessionContext);
    /** What this kernel said, folded. */
    readonly model: KernelModel;
    /** Emitted when the model changed. */
    get changed(): ISignal<this, void>;
    /** Whether a view is looking; the kernel sends less while none is. */
    set watched(value: boolean);
    get isDisposed(): boolean;
    dispose(): void;
    /** Send one command over the control comm; without one it is dropped. */
    send(command: Command): void;
    private get _kernel();
    private _onMessage;
    private _take;
    private _onKernelChanged;
    private _onStatus;
    private _forget;
    /** Ask the kernel whether Cellmill is loaded; while a cell runs the answer waits for its end. */
    private _probe;
    private _openControl;
    private _closeControl;
    private readonly _context;
    private readonly _changed;
    private _control;
    private _watched;
    private _restarted;
    private _disposed;
}
