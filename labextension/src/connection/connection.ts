/** The only file that talks to a kernel: frames in, commands out. */

import type { ISessionContext } from '@jupyterlab/apputils';
import type { Kernel, KernelMessage } from '@jupyterlab/services';
import type { JSONObject } from '@lumino/coreutils';
import type { IDisposable } from '@lumino/disposable';
import { Signal, type ISignal } from '@lumino/signaling';

import { ControlComm } from './controlComm';
import { Heartbeat } from './heartbeat';
import { KernelModel, type KernelState } from '../model/kernelModel';
import { presenceOf, type Presence } from '../model/presence';
import { ProtocolError } from '../protocol/parse';
import { CONTROL_TARGET, FRAME_TARGET, VERSION, parseFrame } from '../protocol/messages';
import type { Command, Frame, Refresh, Shown, Watch } from '../protocol/messages';

/** The subscription of a page whose views show the counters only. */
export const NOTHING: Watch = { cellmill: VERSION, kind: 'watch', sections: [], scopes: [] };

const REFRESH: Refresh = { cellmill: VERSION, kind: 'refresh' };

/** Milliseconds without an answer after which a kernel counts as busy. */
const PATIENCE = 2000;

/** Seconds on the page's monotonic clock. */
export function now(): number {
  return performance.now() / 1000;
}

/**
 * The connection to the present kernel of one notebook or console.
 *
 * Frames are read from every message on IOPub, by the target name in their data. So a page that is reloaded while a
 * cell runs shows the tasks at once, although its own messages wait for the cell's end. To send, the page opens a
 * control comm: while a view is visible, or for one command.
 */
export class KernelLink implements IDisposable {
  constructor(context: ISessionContext) {
    this._context = context;
    context.iopubMessage.connect(this._onMessage, this);
    context.kernelChanged.connect(this._onKernelChanged, this);
    context.statusChanged.connect(this._onStatus, this);
    context.connectionStatusChanged.connect(this._onConnection, this);
    window.addEventListener('pagehide', this._onLeave);
    void context.ready.then(() => this._identifyKernel());
  }

  /** The state folded from this kernel's frames. */
  readonly model = new KernelModel();

  /** Emitted when the state or the presence has changed. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** Emitted with the request's number when the kernel asks to open the panel. */
  get asked(): ISignal<this, number> {
    return this._asked;
  }

  /** Emitted when the kernel begins to execute a request: its msg_id, and the code. */
  get executing(): ISignal<this, { readonly request: string; readonly code: string }> {
    return this._executing;
  }

  /** The id of the present kernel, which stays when it restarts. */
  get kernelId(): string | null {
    return this._kernel?.id ?? null;
  }

  /** Tell the kernel that the panel is open, once the control comm is. */
  answerShown(request: number): void {
    const shown: Shown = { cellmill: VERSION, kind: 'shown', request };
    this.send(shown);
  }

  /** Whether there are tasks to show, else the reason why not. */
  get presence(): Presence {
    const kernel = this._kernel;
    return presenceOf({
      heard: this.model.presence,
      kernel: kernel !== null ? true : this._context.hasNoKernel ? false : null,
      status: kernel?.status ?? 'unknown',
      language: this._language,
      late: this._late
    });
  }

  /** The state to draw at the moment `time`, see `now`. */
  state(time: number): KernelState {
    const kernel = this._kernel;
    return {
      ...this.model.state(time),
      presence: this.presence,
      connected: kernel?.connectionStatus !== 'disconnected'
    };
  }

  /** Whether a view of this kernel is visible; the kernel sends fewer frames while none is. */
  set watched(value: boolean) {
    if (value === this._watched) {
      return;
    }
    this._watched = value;
    if (!value) {
      if (this._pending.length === 0) {
        this._closeControl();
      }
    } else if (this._isLoaded) {
      this._speak();
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
    window.clearTimeout(this._lateness);
    window.removeEventListener('pagehide', this._onLeave);
    this._heart.dispose();
    this._closeControl();
    Signal.clearData(this);
  }

  /** Send one command. It is dropped where the kernel has no Cellmill, except for a subscription, which is kept. */
  send(command: Command): void {
    if (command.kind === 'watch') {
      this._watch = command;
      if (this._watched && this._open) {
        this._post(command);
      }
    } else if (this._isLoaded) {
      this._pending.push(command);
      this._speak();
    }
  }

  /** Whether the control comm carries messages. */
  private get _open(): boolean {
    return this._control?.isOpen ?? false;
  }

  private get _kernel(): Kernel.IKernelConnection | null {
    return this._context.session?.kernel ?? null;
  }

  /** Whether the kernel has Cellmill, in this page's version. */
  private get _isLoaded(): boolean {
    return this.model.presence === 'loaded' || this.model.presence === 'live';
  }

  private _onMessage(_: ISessionContext, message: KernelMessage.IMessage): void {
    if (message.header.msg_type === 'execute_input') {
      const { code } = (message as KernelMessage.IExecuteInputMsg).content;
      const request = (message.parent_header as Partial<KernelMessage.IHeader>).msg_id ?? '';
      this._executing.emit({ request, code });
    }
    if (message.header.msg_type !== 'comm_msg') {
      return;
    }
    const data = (message as KernelMessage.ICommMsgMsg<'iopub'>).content.data;
    if (typeof data.cellmill !== 'number') {
      return;
    }
    if (data.cellmill !== VERSION) {
      this._noteOtherVersion(data.cellmill);
      return;
    }
    try {
      this._take(parseFrame(data, message.buffers));
    } catch (error) {
      if (!(error instanceof ProtocolError)) {
        throw error;
      }
      console.warn(`cellmill: a frame was dropped: ${error.message}`);
      this.model.noteUnreadable(error.message, now());
      this._changed.emit();
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
    } else if (this._watched) {
      this._speak();
      this._heart.frame();
    }
    this._changed.emit();
  }

  /** The kernel has another version of the schema: show which side is older, and no tasks. */
  private _noteOtherVersion(version: number): void {
    const older = version > VERSION ? 'old-page' : 'old-kernel';
    if (this.model.presence !== older) {
      this._closeControl();
      this.model.reset(older);
      this._changed.emit();
    }
  }

  private _onKernelChanged(): void {
    this._forget();
    void this._identifyKernel();
  }

  private _onStatus(_: ISessionContext, status: Kernel.Status): void {
    if (status === 'restarting' || status === 'autorestarting' || status === 'dead') {
      this._forget();
      this._restarted = true;
    } else if (status === 'idle' && this._restarted) {
      this._restarted = false;
      void this._probe();
    } else if (this.model.presence === 'unknown') {
      this._changed.emit(); // the presence may be `busy` by now
    }
  }

  /** After a lost connection the kernel may have dropped this page, and frames may be missing: subscribe anew. */
  private _onConnection(_: ISessionContext, status: Kernel.ConnectionStatus): void {
    if (status !== 'connected') {
      this._lost = true;
    } else if (this._lost) {
      this._lost = false;
      if (this._watched && this._open) {
        this._post(this._watch);
        this._post(REFRESH);
      }
    }
    this._changed.emit();
  }

  private _forget(): void {
    this._closeControl();
    this.model.reset('unknown');
    this._changed.emit();
  }

  /** Find out the language of a new kernel, and whether Cellmill is loaded. */
  private async _identifyKernel(): Promise<void> {
    const kernel = this._kernel;
    this._language = '';
    this._late = false;
    window.clearTimeout(this._lateness);
    this._lateness = window.setTimeout(() => {
      this._late = true; // after a reload JupyterLab's own status does not show that a kernel is busy
      this._changed.emit();
    }, PATIENCE);
    void this._probe();
    const spec = await kernel?.spec;
    if (!this._disposed && kernel === this._kernel && spec !== undefined) {
      this._language = spec.language;
    }
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
        await this._openControl(); // the kernel answers with the state, whether a view is visible or not
      } else if (this.model.presence === 'unknown') {
        this.model.reset('absent');
        this._changed.emit();
      }
    } catch {
      // The kernel ended; the next one is asked anew.
    }
  }

  /** Send what is queued, now or once the control comm is open. */
  private _speak(): void {
    if (this._open) {
      this._flush();
    } else {
      void this._openControl();
    }
  }

  private async _openControl(): Promise<void> {
    const kernel = this._kernel;
    if (kernel === null || this._control !== null || !kernel.handleComms) {
      return;
    }
    const control = new ControlComm(kernel, CONTROL_TARGET);
    this._control = control;
    // The answer arrives on IOPub like every frame.
    await control.open({ cellmill: VERSION }, () => {
      this._sent = NOTHING;
      this._heart.restart();
      this._flush();
    });
    if (this._control === control) {
      this._closeIfUnused();
    }
  }

  /** Send what is queued, the subscription first. */
  private _flush(): void {
    if (this._watched && this._watch !== this._sent) {
      this._post(this._watch);
    }
    for (const command of this._pending.splice(0)) {
      this._post(command);
    }
  }

  /** Repeat the subscription. */
  private async _beat(): Promise<void> {
    if (this._watched && this._open) {
      await this._control?.send(message(this._watch));
    }
  }

  private _post(command: Command): void {
    if (command.kind === 'watch') {
      this._sent = command;
    }
    const control = this._control;
    void control?.send(message(command)).then(() => {
      if (this._control === control) {
        this._closeIfUnused();
      }
    });
  }

  /** Close the comm when no view is visible; messages that were sent on it arrive before its end. */
  private _closeIfUnused(): void {
    if (!this._watched && this._pending.length === 0) {
      this._closeControl();
    }
  }

  /** The page is left: tell the kernel at once. A page that comes back opens another comm at the next frame. */
  private readonly _onLeave = (): void => this._closeControl();

  private _closeControl(): void {
    void this._control?.close();
    this._control = null;
    this._sent = NOTHING;
    this._pending = [];
  }

  private readonly _context: ISessionContext;
  private readonly _changed = new Signal<this, void>(this);
  private readonly _asked = new Signal<this, number>(this);
  private readonly _executing = new Signal<
    this,
    { readonly request: string; readonly code: string }
  >(this);
  private _control: ControlComm | null = null;
  private _pending: Command[] = [];
  private _watch: Watch = NOTHING;
  /** the subscription that was sent last; a new comm begins with none */
  private _sent: Watch = NOTHING;
  private _watched = false;
  private readonly _heart = new Heartbeat(() => this._beat());
  /** whether the connection has been lost since it was last up */
  private _lost = false;
  private _restarted = false;
  private _language = '';
  private _late = false;
  private _lateness = 0;
  private _disposed = false;
}

/** A command as the comm's type asks for it: commands are JSON, but read-only. */
function message(command: Command): JSONObject {
  return command as unknown as JSONObject;
}
