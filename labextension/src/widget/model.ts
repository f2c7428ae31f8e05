/** The part of anywidget's model that is used here. */

/** A comm as front ends with a kernel connection offer it. */
export interface Comm {
  onMsg: (message: { content: { data: unknown }; buffers?: readonly Chunk[] }) => void;
  onClose: (message: unknown) => void;
  readonly isDisposed: boolean;
  open(data: object): unknown;
  send(data: object): unknown;
  close(): unknown;
  /** Release it without telling the kernel. */
  dispose(): void;
}

/** Emits a new status. */
interface StatusSignal {
  connect(slot: (sender: unknown, status: string) => void): void;
  disconnect(slot: (sender: unknown, status: string) => void): void;
}

/** What a kernel connection offers, where the page has one. */
export interface Kernel {
  readonly handleComms: boolean;
  createComm(target: string): Comm;
  readonly statusChanged?: StatusSignal;
  readonly connectionStatusChanged?: StatusSignal;
}

/** One binary part of a message. */
export type Chunk = ArrayBuffer | ArrayBufferView;

/** The model that anywidget passes to `render`. */
export interface WidgetModel {
  get(name: string): unknown;
  on(name: 'msg:custom', callback: (content: unknown, buffers: readonly Chunk[]) => void): void;
  on(name: string, callback: () => void): void;
  off(name: string, callback: unknown): void;
  send(content: object): void;
  readonly widget_manager?: unknown;
}

/** The kernel connection of a widget's manager; null where the front end has none. JupyterLab and Notebook have one. */
export function kernelOf(model: WidgetModel): Kernel | null {
  const manager = model.widget_manager as { readonly kernel?: unknown } | undefined;
  const kernel = manager?.kernel as Partial<Kernel> | null | undefined;
  return typeof kernel?.createComm === 'function' && kernel.handleComms === true
    ? (kernel as Kernel)
    : null;
}
