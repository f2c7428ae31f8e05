/** The only file that talks to a kernel: frames in, commands out. */
import { Signal } from '@lumino/signaling';
import { KernelModel } from './model';
import { CONTROL_TARGET, FRAME_TARGET, ProtocolError, VERSION, parseFrame } from './protocol';
/** Milliseconds to wait for a subshell; without one, commands reach the kernel between cells. */
const SUBSHELL_WAIT = 2000;
/** Seconds on the page's monotonic clock. */
export function now() {
    return performance.now() / 1000;
}
/**
 * One notebook's or console's kernel, whichever it has at the moment.
 *
 * Frames are heard passively on IOPub, where they identify themselves. So a page that was reloaded in the middle of
 * a cell, whose own messages wait for the cell to end, shows the tasks at once.
 */
export class KernelLink {
    constructor(context) {
        this._context = context;
        context.iopubMessage.connect(this._onMessage, this);
        context.kernelChanged.connect(this._onKernelChanged, this);
        context.statusChanged.connect(this._onStatus, this);
        void context.ready.then(() => this._probe());
    }
    /** What this kernel said, folded. */
    model = new KernelModel();
    /** Emitted when the model changed. */
    get changed() {
        return this._changed;
    }
    /** Whether a view is looking; the kernel sends less while none is. */
    set watched(value) {
        if (value === this._watched) {
            return;
        }
        this._watched = value;
        if (!value) {
            this._closeControl();
        }
        else if (this.model.presence === 'loaded' || this.model.presence === 'live') {
            void this._openControl();
        }
        else {
            void this._probe();
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
        this._closeControl();
        Signal.clearData(this);
    }
    /** Send one command over the control comm; without one it is dropped. */
    send(command) {
        if (this._control !== null && !this._control.isDisposed) {
            void this._control.send({ ...command });
        }
    }
    get _kernel() {
        return this._context.session?.kernel ?? null;
    }
    _onMessage(_, message) {
        if (message.header.msg_type !== 'comm_msg') {
            return;
        }
        const data = message.content.data;
        if (data.cellmill !== VERSION) {
            return;
        }
        try {
            this._take(parseFrame(data));
        }
        catch (error) {
            if (!(error instanceof ProtocolError)) {
                throw error;
            }
            console.warn(`cellmill: a frame was dropped: ${error.message}`);
        }
    }
    _take(frame) {
        this.model.push(frame, now());
        if (frame.kind === 'goodbye') {
            this._closeControl();
        }
        else if (this._watched && this._control === null) {
            void this._openControl();
        }
        this._changed.emit();
    }
    _onKernelChanged() {
        this._forget();
        void this._probe();
    }
    _onStatus(_, status) {
        if (status === 'restarting' || status === 'autorestarting' || status === 'dead') {
            this._forget();
            this._restarted = true;
        }
        else if (status === 'idle' && this._restarted) {
            this._restarted = false;
            void this._probe();
        }
    }
    _forget() {
        this._closeControl();
        this.model.reset('unknown');
        this._changed.emit();
    }
    /** Ask the kernel whether Cellmill is loaded; while a cell runs the answer waits for its end. */
    async _probe() {
        const kernel = this._kernel;
        if (kernel === null) {
            return;
        }
        try {
            const reply = await kernel.requestCommInfo({ target_name: FRAME_TARGET });
            if (this._disposed || kernel !== this._kernel || reply.content.status !== 'ok') {
                return;
            }
            if (Object.keys(reply.content.comms).length > 0) {
                await this._openControl();
            }
            else if (this.model.presence === 'unknown') {
                this.model.reset('absent');
                this._changed.emit();
            }
        }
        catch {
            // The kernel went away; its successor is asked anew.
        }
    }
    async _openControl() {
        const kernel = this._kernel;
        if (kernel === null || this._control !== null || !this._watched || !kernel.handleComms) {
            return;
        }
        const control = kernel.createComm(CONTROL_TARGET);
        this._control = control;
        control.onClose = () => {
            if (this._control === control) {
                this._control = null;
            }
        };
        await subshell(control);
        if (this._control === control && !control.isDisposed) {
            // The answer arrives on IOPub like every frame.
            void control.open({ cellmill: VERSION });
        }
    }
    _closeControl() {
        const control = this._control;
        this._control = null;
        if (control === null || control.isDisposed) {
            return;
        }
        try {
            void control.close().done.catch(() => undefined);
        }
        catch {
            control.dispose(); // the kernel is gone, and its end of the comm with it
        }
    }
    _context;
    _changed = new Signal(this);
    _control = null;
    _watched = false;
    _restarted = false;
    _disposed = false;
}
/** Wait until the comm's messages go to a subshell, where the running JupyterLab and kernel have one. */
async function subshell(control) {
    const started = 'subshellStarted' in control ? control.subshellStarted : undefined;
    if (!(started instanceof Promise)) {
        return;
    }
    let timer = 0;
    const patience = new Promise(resolve => {
        timer = window.setTimeout(resolve, SUBSHELL_WAIT);
    });
    await Promise.race([started.catch(() => undefined), patience]);
    window.clearTimeout(timer);
}
//# sourceMappingURL=connection.js.map