/** Says which running tasks are near the memory that they declare. */

import type { Workers, WorkerState } from '../protocol/messages';
import { child, setText } from './dom';
import { bytes } from './format';
import type { Translator } from './translator';

/** The part of the declared memory from which a task is near it. */
export const NEAR = 0.9;

/** The workers whose memory is near what their tasks declare. */
export function nearOnes(workers: readonly WorkerState[]): WorkerState[] {
  return workers.filter(
    ({ memory, declared, task }) =>
      task !== null && memory !== null && declared !== null && memory >= NEAR * declared
  );
}

/** A line for each such task, as long as it runs; a screen reader says it once. */
export class NearView {
  constructor(
    parent: HTMLElement,
    private readonly _trans: Translator
  ) {
    this._root = child(parent, 'ul', 'cellmill-near');
    this._root.setAttribute('aria-label', _trans.__('Tasks near the memory that they declare'));
    this._root.hidden = true;
    this._spoken = child(parent, 'p', 'cellmill-spoken');
    this._spoken.setAttribute('role', 'status');
  }

  draw(told: Workers | null): void {
    const trans = this._trans;
    const near = nearOnes(told?.workers ?? []);
    this._root.hidden = near.length === 0;
    while (this._root.children.length > near.length) {
      this._root.lastElementChild?.remove();
    }
    near.forEach((worker, index) => {
      const { task, function: name, memory, declared } = worker;
      const item = this._root.children[index] ?? child(this._root, 'li', '');
      const number = `#${BigInt(task ?? '0') >> 32n}`;
      const text = trans.__(
        '%1 %2: worker %3 has %4 of memory, and the task declares %5',
        name ?? '?',
        number,
        worker.index,
        bytes(memory ?? 0),
        bytes(declared ?? 0)
      );
      setText(item, text);
      if (!this._said.has(task ?? '')) {
        this._said.add(task ?? '');
        setText(this._spoken, text);
      }
    });
    for (const task of this._said) {
      if (!near.some(worker => worker.task === task)) {
        this._said.delete(task);
      }
    }
  }

  private readonly _root: HTMLElement;
  private readonly _spoken: HTMLElement;
  private readonly _said = new Set<string>();
}
