/** The contract with anywidget: what of a widget's model is used here. */

/** A comm as front ends with a kernel connection offer it. */
export interface Comm {
  onMsg: (message: { content: { data: unknown }; buffers?: readonly Chunk[] }) => void;
  onClose: (message: unknown) => void;
  readonly isDisposed: boolean;
  open(data: object): unknown;
  send(data: object): unknown;
  close(): unknown;
  /** Let go of it without a word to the kernel. */
  dispose(): void;
}

/** Tells of another status. */
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

/** What anywidget hands to `render`. */
export interface WidgetModel {
  get(name: string): unknown;
  on(name: 'msg:custom', callback: (content: unknown, buffers: readonly Chunk[]) => void): void;
  on(name: string, callback: () => void): void;
  off(name: string, callback: unknown): void;
  send(content: object): void;
  readonly widget_manager?: unknown;
}

/** The kernel connection behind a widget, where the front end lets a widget reach it: JupyterLab and Notebook do. */
export function kernelOf(model: WidgetModel): Kernel | null {
  const manager = model.widget_manager as { readonly kernel?: unknown } | undefined;
  const kernel = manager?.kernel as Partial<Kernel> | null | undefined;
  return typeof kernel?.createComm === 'function' && kernel.handleComms === true
    ? (kernel as Kernel)
    : null;
}
