/** The widget's connection to its kernel: frames arrive on its comm, commands take the fastest available one. */

import { Heartbeat } from '../connection/heartbeat';
import { VERSION, parseFrame, type Command, type Frame } from '../protocol/messages';
import { kernelOf, type Chunk, type Comm, type Kernel, type WidgetModel } from './model';

/** The comm target of the kernel's side of the widgets. */
const TARGET = 'cellmill.widget';
/** Milliseconds to wait for a subshell; without one, commands reach the kernel between cells. */
const SUBSHELL_WAIT = 2000;
/** Milliseconds after which an unacknowledged command counts as waiting. */
const PATIENCE = 1000;

interface Handlers {
  readonly frame: (frame: Frame) => void;
  /** Whether commands wait for the running cell's end. */
  readonly waiting: (waiting: boolean) => void;
  /** The kernel has ended, and the widget with it. */
  readonly ended: () => void;
}

/**
 * Commands take a comm that the page opens: with subshells, the kernel handles its messages while a cell runs. Without
 * a kernel connection or subshells, commands take the widget's comm and wait for the cell's end, and the view says so.
 */
export class Transport {
  constructor(model: WidgetModel, handlers: Handlers) {
    this._model = model;
    this._handlers = handlers;
    this._onCustom = (content, buffers) => this._take(content, buffers);
    model.on('msg:custom', this._onCustom);
    this._kernel = kernelOf(model);
    this._kernel?.statusChanged?.connect(this._onStatus);
    this._kernel?.connectionStatusChanged?.connect(this._onConnection);
    void this._open();
  }

  /** Send a command; those before the comm is open are queued. */
  send(command: Command): void {
    if (command.kind === 'watch') {
      this._watch = command;
    }
    const serial = ++this._serial;
    this._unanswered.set(serial, performance.now());
    const message = { view: this._view, serial, command };
    if (this._ready) {
      this._post(message);
    } else {
      this._queue.push(message);
    }
    this._check();
  }

  dispose(): void {
    this._disposed = true;
    window.clearTimeout(this._timer);
    this._heart.dispose();
    this._model.off('msg:custom', this._onCustom);
    this._kernel?.statusChanged?.disconnect(this._onStatus);
    this._kernel?.connectionStatusChanged?.disconnect(this._onConnection);
    if (this._control === null) {
      this._model.send({ view: this._view, closed: true });
    } else if (!this._control.isDisposed) {
      try {
        this._control.close();
      } catch {
        // the kernel has ended, and its end of the comm with it
      }
    }
    this._control = null;
  }

  private async _open(): Promise<void> {
    const control = this._kernel?.createComm(TARGET) ?? null;
    if (control !== null) {
      control.onMsg = ({ content, buffers }) => this._take(content.data, buffers ?? []);
      control.onClose = () => {
        this._control = null;
      };
      await subshell(control);
      if (this._disposed) {
        control.dispose(); // with its subshell
        return;
      }
      try {
        control.open({ widget: this._model.get('key') });
        this._control = control;
      } catch {
        // the kernel has ended meanwhile
      }
    }
    this._ready = true;
    for (const message of this._queue.splice(0)) {
      this._post(message);
    }
  }

  private _post(message: object): void {
    if (this._control !== null && !this._control.isDisposed) {
      this._control.send(message);
    } else {
      this._model.send(message);
    }
  }

  private _take(content: unknown, buffers: readonly Chunk[]): void {
    const { frame, view, ack } = content as { frame?: unknown; view?: string; ack?: number };
    if (view !== undefined && view !== this._view) {
      return; // the answer to another view of this widget
    }
    if (ack !== undefined) {
      this._unanswered.delete(ack);
      this._beaten.get(ack)?.();
      this._beaten.delete(ack);
      this._check();
    }
    if (frame === undefined) {
      return;
    }
    try {
      this._handlers.frame(parseFrame(frame, buffers));
      this._heart.frame();
    } catch (error) {
      console.warn(`cellmill: a frame was dropped: ${String(error)}`);
    }
  }

  /** Repeat the subscription. The user did not ask for that, so no notice says that it waits. */
  private _beat(): Promise<void> {
    return new Promise(heard => {
      if (this._ready && this._watch !== null) {
        const serial = ++this._serial;
        this._beaten.clear();
        this._beaten.set(serial, heard);
        this._post({ view: this._view, serial, command: this._watch });
      } else {
        heard();
      }
    });
  }

  /** Report whether the oldest command is waiting, now and when `PATIENCE` has passed. */
  private _check(): void {
    window.clearTimeout(this._timer);
    const [oldest] = this._unanswered.values();
    const left = oldest === undefined ? 0 : oldest + PATIENCE - performance.now();
    this._handlers.waiting(oldest !== undefined && left <= 0);
    if (left > 0) {
      this._timer = window.setTimeout(() => this._check(), left);
    }
  }

  private readonly _onStatus = (_: unknown, status: string): void => {
    if (status === 'restarting' || status === 'autorestarting' || status === 'dead') {
      this._handlers.ended();
    }
  };

  /** After a lost connection the kernel may have dropped this view, and frames may be missing: subscribe anew. */
  private readonly _onConnection = (_: unknown, status: string): void => {
    if (status !== 'connected') {
      this._lost = true;
    } else if (this._lost && this._watch !== null) {
      this._lost = false;
      this.send(this._watch);
      this.send({ cellmill: VERSION, kind: 'refresh' });
    }
  };

  private readonly _model: WidgetModel;
  private readonly _kernel: Kernel | null;
  private readonly _handlers: Handlers;
  private readonly _onCustom: (content: unknown, buffers: readonly Chunk[]) => void;
  private readonly _view = `${VERSION}-${Math.random().toString(36).slice(2)}`;
  private readonly _queue: object[] = [];
  private readonly _unanswered = new Map<number, number>();
  private readonly _heart = new Heartbeat(() => this._beat());
  /** resolvers of signs of life that are not acknowledged yet, by serial number */
  private readonly _beaten = new Map<number, () => void>();
  private _watch: Command | null = null;
  private _lost = false;
  private _control: Comm | null = null;
  private _serial = 0;
  private _ready = false;
  private _disposed = false;
  private _timer = 0;
}

/** Wait until the comm's messages go to a subshell, if front end and kernel have subshells. */
async function subshell(control: object): Promise<void> {
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
