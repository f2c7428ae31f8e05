/**
 * A comm whose messages the kernel handles while a cell runs, on a subshell of its own.
 *
 * JupyterLab's comms learn whether the kernel has subshells from a reply on the shell channel, which waits for the
 * running cell. This one asks on the control channel, which is served at once.
 */

import { KernelMessage, type Kernel } from '@jupyterlab/services';
import type { JSONObject } from '@lumino/coreutils';
import { UUID } from '@lumino/coreutils';

/**
 * Milliseconds to wait for a subshell; until it is there, messages reach the kernel between cells. JupyterLab keeps all
 * messages back for the first three seconds of a page whose kernel is busy.
 */
const SUBSHELL_WAIT = 6000;

/** The page's end of a comm. What the kernel sends on it arrives on IOPub. */
export class ControlComm {
  constructor(kernel: Kernel.IKernelConnection, target: string) {
    this._kernel = kernel;
    this._target = target;
  }

  /**
   * Open it, unless it is closed meanwhile; calls `opened` when messages can be sent, and again when a subshell that was
   * late is there: what was sent before may wait for the running cell, so the kernel is to be told all of it anew.
   */
  async open(data: JSONObject, opened: () => void): Promise<void> {
    const starting = this._startSubshell().catch(() => null);
    this._subshell = await within(SUBSHELL_WAIT, starting);
    if (this._subshell === null) {
      void starting.then(late => this._move(late, data, opened));
    }
    if (this._closed) {
      this._endSubshell();
      return;
    }
    await this._begin(data, opened);
  }

  /** Whether messages can be sent. */
  get isOpen(): boolean {
    return this._isOpen && !this._closed;
  }

  /** Send a message; resolves when the kernel has handled it, or has ended. */
  async send(data: JSONObject): Promise<void> {
    await this._post('comm_msg', { comm_id: this._id, data });
  }

  /** Close it and its subshell. */
  async close(): Promise<void> {
    if (this._closed) {
      return;
    }
    this._closed = true;
    if (this._isOpen) {
      await this._post('comm_close', { comm_id: this._id, data: {} });
      this._endSubshell();
    }
  }

  private async _begin(data: JSONObject, opened: () => void): Promise<void> {
    this._id = UUID.uuid4();
    this._isOpen = true;
    const done = this._post('comm_open', { comm_id: this._id, target_name: this._target, data });
    opened();
    await done;
  }

  /** Go on as another comm on a subshell that was late. */
  private async _move(
    subshell: string | null,
    data: JSONObject,
    opened: () => void
  ): Promise<void> {
    if (subshell === null) {
      return; // the kernel has none
    }
    const before = this.isOpen ? this._post('comm_close', { comm_id: this._id, data: {} }) : null;
    this._subshell = subshell;
    if (this._closed) {
      this._endSubshell();
    } else {
      await this._begin(data, opened);
    }
    await before;
  }

  private async _post(type: string, content: JSONObject): Promise<void> {
    try {
      await this._kernel.sendShellMessage(this._message(type, 'shell', content), false, true).done;
    } catch {
      // The kernel ended, and its end of the comm with it.
    }
  }

  private _message(
    type: string,
    channel: string,
    content: JSONObject
  ): KernelMessage.IShellMessage {
    return KernelMessage.createMessage({
      msgType: type,
      channel,
      username: this._kernel.username,
      session: this._kernel.clientId,
      subshellId: channel === 'shell' ? this._subshell : null,
      content
    } as unknown as KernelMessage.IOptions<KernelMessage.ICommOpenMsg<'shell'>>);
  }

  /** Send a request on the control channel; returns the reply's content. */
  private async _ask(type: string, content: JSONObject): Promise<JSONObject> {
    const message = this._message(type, 'control', content) as unknown;
    const reply: unknown = await this._kernel.sendControlMessage(
      message as KernelMessage.IDebugRequestMsg,
      true,
      true
    ).done;
    return (reply as { content: JSONObject }).content;
  }

  private async _startSubshell(): Promise<string | null> {
    if (!this._kernel.supportsSubshells) {
      const features = (await this._ask('kernel_info_request', {})).supported_features;
      if (!Array.isArray(features) || !features.includes('kernel subshells')) {
        return null;
      }
    }
    const id = (await this._ask('create_subshell_request', {})).subshell_id;
    return typeof id === 'string' ? id : null;
  }

  private _endSubshell(): void {
    if (this._subshell !== null) {
      void this._ask('delete_subshell_request', { subshell_id: this._subshell }).catch(
        () => undefined
      );
      this._subshell = null;
    }
  }

  private readonly _kernel: Kernel.IKernelConnection;
  private readonly _target: string;
  private _id = '';
  private _subshell: string | null = null;
  private _isOpen = false;
  private _closed = false;
}

/** The value of a promise; null when it fails or takes longer than `milliseconds`. */
async function within<T>(milliseconds: number, promise: Promise<T>): Promise<T | null> {
  let timer = 0;
  const patience = new Promise<null>(resolve => {
    timer = window.setTimeout(() => resolve(null), milliseconds);
  });
  const result = await Promise.race([promise.catch(() => null), patience]);
  window.clearTimeout(timer);
  return result;
}
