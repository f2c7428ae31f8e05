import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Frame } from '../../src/protocol/messages';
import type { Comm, Kernel, WidgetModel } from '../../src/widget/model';
import { Transport } from '../../src/widget/transport';

Object.assign(globalThis, { window: globalThis });

interface Message {
  view?: string;
  serial?: number;
  command?: { kind: string };
  closed?: boolean;
}

class Control implements Comm {
  onMsg: Comm['onMsg'] = () => undefined;
  onClose: Comm['onClose'] = () => undefined;
  isDisposed = false;
  opened: object | null = null;
  sent: Message[] = [];
  open(data: object): void {
    this.opened = data;
  }
  send(data: object): void {
    this.sent.push(data);
  }
  close(): void {
    this.isDisposed = true;
  }
  dispose(): void {
    this.isDisposed = true;
  }
}

class Model implements WidgetModel {
  constructor(kernel: Kernel | null) {
    this.widget_manager = { kernel };
  }
  readonly widget_manager: { kernel: Kernel | null };
  sent: Message[] = [];
  heard: (content: unknown, buffers: readonly ArrayBuffer[]) => void = () => undefined;
  get(): unknown {
    return 'the-key';
  }
  on(_: string, callback: (content: unknown, buffers: readonly ArrayBuffer[]) => void): void {
    this.heard = callback;
  }
  off(): void {
    this.heard = () => undefined;
  }
  send(content: object): void {
    this.sent.push(content);
  }
}

/** Let what was promised happen. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) {
    await Promise.resolve();
  }
}

function gather(model: Model): { transport: Transport; frames: Frame[]; waits: boolean[] } {
  const frames: Frame[] = [];
  const waits: boolean[] = [];
  const transport = new Transport(model, {
    frame: frame => frames.push(frame),
    waiting: waiting => waits.push(waiting),
    ended: () => undefined
  });
  return { transport, frames, waits };
}

const HELLO = { cellmill: 1, kind: 'hello', release: '1' };

test('commands take a comm of the page where the kernel is in reach', async () => {
  const control = new Control();
  const model = new Model({ handleComms: true, createComm: () => control });
  const { transport, frames, waits } = gather(model);
  transport.send({ cellmill: 1, kind: 'pause' }); // before the way is open
  await settled();
  assert.deepEqual(control.opened, { widget: 'the-key' });
  assert.deepEqual(
    control.sent.map(({ command }) => command?.kind),
    ['pause']
  );
  assert.equal(model.sent.length, 0);
  control.onMsg({ content: { data: { frame: HELLO } } });
  control.onMsg({ content: { data: { ack: control.sent[0]?.serial } } });
  assert.equal(frames.length, 1);
  assert.equal(waits.at(-1), false);
  transport.dispose();
  assert.equal(control.isDisposed, true);
});

test('a view that goes before the way is open leaves no comm, and one whose kernel goes takes the other way', async () => {
  const control = new Control();
  const { transport } = gather(new Model({ handleComms: true, createComm: () => control }));
  transport.dispose();
  await settled();
  assert.equal(control.opened, null);
  assert.equal(control.isDisposed, true);

  const late = new Control();
  late.open = () => {
    throw new Error('Cannot open');
  };
  const model = new Model({ handleComms: true, createComm: () => late });
  const { transport: other } = gather(model);
  other.send({ cellmill: 1, kind: 'pause' });
  await settled();
  assert.equal(late.sent.length, 0);
  assert.equal(model.sent.length, 1);
  other.dispose();
});

test('without a kernel connection commands take the comm of the widget', async () => {
  const model = new Model(null);
  const { transport, frames } = gather(model);
  await settled();
  transport.send({ cellmill: 1, kind: 'resume' });
  const [message] = model.sent;
  assert.equal(message?.command?.kind, 'resume');
  model.heard({ frame: HELLO, view: 'of another page' }, []);
  assert.equal(frames.length, 0);
  model.heard({ frame: HELLO, view: message.view }, []);
  model.heard({ frame: HELLO }, []);
  assert.equal(frames.length, 2);
  model.heard({ ack: message.serial, view: message.view }, []);
  transport.dispose();
  assert.equal(model.sent.at(-1)?.closed, true);
});

test('a frame of another kind is dropped, and the next one is taken', async () => {
  const model = new Model(null);
  const { transport, frames } = gather(model);
  await settled();
  const { warn } = console;
  console.warn = () => undefined;
  model.heard({ frame: { cellmill: 1, kind: 'unheard-of' } }, []);
  console.warn = warn;
  model.heard({ frame: HELLO }, []);
  assert.equal(frames.length, 1);
  transport.dispose();
});
