/** The only file that talks to a kernel: frames in, commands out. */

import type { ISessionContext } from '@jupyterlab/apputils';
import type { Kernel, KernelMessage } from '@jupyterlab/services';
import type { JSONObject } from '@lumino/coreutils';
import type { IDisposable } from '@lumino/disposable';
import { Signal, type ISignal } from '@lumino/signaling';

import { KernelModel } from './model';
import { CONTROL_TARGET, FRAME_TARGET, ProtocolError, VERSION, parseFrame } from './protocol';
import type { Command, Frame, Shown, Watch } from './protocol';

/** Milliseconds to wait for a subshell; without one, commands reach the kernel between cells. */
const SUBSHELL_WAIT = 2000;

/** Seconds on the page's monotonic clock. */
export function now(): number {
  return performance.now() / 1000;
}

/**
 * One notebook's or console's kernel, whichever it has at the moment.
 *
 * Frames are heard passively on IOPub, where they identify themselves. So a page that was reloaded in the middle of
 * a cell, whose own messages wait for the cell to end, shows the tasks at once.
 */
export class KernelLink implements IDisposable {
  constructor(context: ISessionContext) {
    this._context = context;
    context.iopubMessage.connect(this._onMessage, this);
    context.kernelChanged.connect(this._onKernelChanged, this);
    context.statusChanged.connect(this._onStatus, this);
    void context.ready.then(() => this._probe());
  }

  /** What this kernel said, folded. */
  readonly model = new KernelModel();

  /** Emitted when the model changed. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** Emitted with the request's number when the kernel asks for the panel. */
  get asked(): ISignal<this, number> {
    return this._asked;
  }

  /** Tell the kernel that the panel is open, as soon as it can be told. */
  answerShown(request: number): void {
    const shown: Shown = { cellmill: VERSION, kind: 'shown', request };
    if (this._opened) {
      this.send(shown);
    } else {
      this._shown = shown;
    }
  }

  /** Whether a view is looking; the kernel sends less while none is. */
  set watched(value: boolean) {
    if (value === this._watched) {
      return;
    }
    this._watched = value;
    if (!value) {
      this._closeControl();
    } else if (this.model.presence === 'loaded' || this.model.presence === 'live') {
      void this._openControl();
    } else {
      void this._probe();
    }
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  dispose(): void {
    if (this._disposed) {
      return;
    }
    this._disposed = true;
    this._closeControl();
    Signal.clearData(this);
  }

  /** Send one command over the control comm; without one it is dropped, but for what is watched: that is kept. */
  send(command: Command): void {
    if (command.kind === 'watch') {
      this._watch = command;
    }
    if (this._control !== null && !this._control.isDisposed) {
      void this._control.send(message(command));
    }
  }

  private get _kernel(): Kernel.IKernelConnection | null {
    return this._context.session?.kernel ?? null;
  }

  private _onMessage(_: ISessionContext, message: KernelMessage.IMessage): void {
    if (message.header.msg_type !== 'comm_msg') {
      return;
    }
    const data = (message as KernelMessage.ICommMsgMsg<'iopub'>).content.data;
    if (data.cellmill !== VERSION) {
      return;
    }
    try {
      this._take(parseFrame(data, message.buffers));
    } catch (error) {
      if (!(error instanceof ProtocolError)) {
        throw error;
      }
      console.warn(`cellmill: a frame was dropped: ${error.message}`);
    }
  }

  private _take(frame: Frame): void {
    if (frame.kind === 'show') {
      this._asked.emit(frame.request);
      return;
    }
    this.model.push(frame, now());
    if (frame.kind === 'goodbye') {
      this._closeControl();
    } else if (this._watched && this._control === null) {
      void this._openControl();
    }
    this._changed.emit();
  }

  private _onKernelChanged(): void {
    this._forget();
    void this._probe();
  }

  private _onStatus(_: ISessionContext, status: Kernel.Status): void {
    if (status === 'restarting' || status === 'autorestarting' || status === 'dead') {
      this._forget();
      this._restarted = true;
    } else if (status === 'idle' && this._restarted) {
      this._restarted = false;
      void this._probe();
    }
  }

  private _forget(): void {
    this._closeControl();
    this.model.reset('unknown');
    this._changed.emit();
  }

  /** Ask the kernel whether Cellmill is loaded; while a cell runs the answer waits for its end. */
  private async _probe(): Promise<void> {
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
      } else if (this.model.presence === 'unknown') {
        this.model.reset('absent');
        this._changed.emit();
      }
    } catch {
      // The kernel went away; its successor is asked anew.
    }
  }

  private async _openControl(): Promise<void> {
    const kernel = this._kernel;
    if (kernel === null || this._control !== null || !this._watched || !kernel.handleComms) {
      return;
    }
    const control = kernel.createComm(CONTROL_TARGET);
    this._control = control;
    control.onClose = () => {
      if (this._control === control) {
        this._control = null;
        this._opened = false;
      }
    };
    await subshell(control);
    if (this._control === control && !control.isDisposed) {
      // The answer arrives on IOPub like every frame.
      void control.open({ cellmill: VERSION });
      if (this._watch !== null) {
        void control.send(message(this._watch));
      }
      this._opened = true;
      if (this._shown !== null) {
        void control.send(message(this._shown));
        this._shown = null;
      }
    }
  }

  private _closeControl(): void {
    const control = this._control;
    this._control = null;
    this._opened = false;
    if (control === null || control.isDisposed) {
      return;
    }
    try {
      void control.close().done.catch(() => undefined);
    } catch {
      control.dispose(); // the kernel is gone, and its end of the comm with it
    }
  }

  private readonly _context: ISessionContext;
  private readonly _changed = new Signal<this, void>(this);
  private readonly _asked = new Signal<this, number>(this);
  private _opened = false;
  private _shown: Shown | null = null;
  private _control: Kernel.IComm | null = null;
  private _watch: Watch | null = null;
  private _watched = false;
  private _restarted = false;
  private _disposed = false;
}

/** A command as the comm takes it: it is JSON, but read-only. */
function message(command: Command): JSONObject {
  return command as unknown as JSONObject;
}

/** Wait until the comm's messages go to a subshell, where the running JupyterLab and kernel have one. */
async function subshell(control: Kernel.IComm): Promise<void> {
  const started: unknown = 'subshellStarted' in control ? control.subshellStarted : undefined;
  if (!(started instanceof Promise)) {
    return;
  }
  let timer = 0;
  const patience = new Promise<void>(resolve => {
    timer = window.setTimeout(resolve, SUBSHELL_WAIT);
  });
  await Promise.race([started.catch(() => undefined), patience]);
  window.clearTimeout(timer);
}
