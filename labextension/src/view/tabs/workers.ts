/** The worker processes: what each one runs, and its processor time and memory. */

import type { KernelState } from '../../model/kernelModel';
import {
  VERSION,
  type ClusterDashboard,
  type Command,
  type Machine,
  type WorkerHost,
  type Workers,
  type WorkerState
} from '../../protocol/messages';
import { button, child, setName, setText } from '../dom';
import { NearView } from '../near';
import { bytes, count, duration, shortCount } from '../format';
import type { Translator } from '../translator';
import type { Tab, TabKind, TabOptions } from './tab';

/** A number with a small bar behind it. */
class Meter {
  constructor(parent: HTMLElement) {
    this._root = child(parent, 'div', 'cellmill-meter');
    this._fill = child(this._root, 'div', 'cellmill-meter-fill');
    this._text = child(this._root, 'span', 'cellmill-meter-text');
  }

  set title(text: string) {
    if (this._root.title !== text) {
      this._root.title = text;
    }
  }

  draw(text: string, share: number): void {
    setText(this._text, text);
    const width = `${Math.round(100 * Math.min(1, Math.max(0, share)))}%`;
    if (this._fill.style.width !== width) {
      this._fill.style.width = width;
    }
  }

  private readonly _root: HTMLElement;
  private readonly _fill: HTMLElement;
  private readonly _text: HTMLElement;
}

/** One process: a worker, or the kernel. */
class Row {
  constructor(body: HTMLElement, trans: Translator, replace: ((index: number) => void) | null) {
    this._trans = trans;
    this.element = child(body, 'tr', 'cellmill-worker');
    this.element.setAttribute('role', 'row'); // explicit, because a grid layout would remove the implicit role
    const head = child(this.element, 'th', 'cellmill-worker-name');
    head.setAttribute('scope', 'row');
    this._name = child(head, 'span', '');
    const now = child(this.element, 'td', 'cellmill-worker-now');
    this._doing = child(now, 'div', 'cellmill-worker-doing');
    this._address = child(now, 'div', 'cellmill-worker-address');
    this._cpu = new Meter(child(this.element, 'td', 'cellmill-worker-cpu'));
    const memory = child(this.element, 'td', 'cellmill-worker-memory');
    this._memory = new Meter(memory);
    this._limit = child(memory, 'div', 'cellmill-worker-limit');
    this._done = child(this.element, 'td', 'cellmill-worker-done');
    const last = child(this.element, 'td', 'cellmill-worker-act');
    for (const cell of this.element.children) {
      cell.setAttribute('role', cell === head ? 'rowheader' : 'cell');
    }
    if (replace !== null) {
      this._replace = button(last, 'cellmill-worker-replace', () => replace(this._index));
      this._replace.textContent = '↻';
    }
  }

  readonly element: HTMLElement;

  drawWorker(worker: WorkerState, machine: number): void {
    const trans = this._trans;
    this._index = worker.index;
    setText(this._name, String(worker.index));
    setText(this._doing, this._words(worker));
    this._doing.title = this._doing.textContent;
    this._address.hidden = worker.address === null;
    setText(this._address, worker.address ?? '');
    this._address.title = worker.address ?? '';
    if (worker.shares !== null) {
      this._draw(worker.pid, null, null);
      this._memory.draw(trans.__('with %1', worker.shares), 0);
      this._memory.title = trans.__(
        'In the process of worker %1, whose processors and memory are those of both',
        worker.shares
      );
    } else {
      this._draw(worker.pid, worker.cpu, worker.memory);
      this._drawLimit(worker, machine);
    }
    this.element.dataset.state = worker.state;
    setText(this._done, worker.done < 10_000 ? count(worker.done) : shortCount(worker.done));
    this._done.title = count(worker.done);
    if (this._replace !== null) {
      setName(
        this._replace,
        trans.__('Replace worker %1 by a new one, when it has finished its task', worker.index)
      );
      this._replace.disabled = worker.state === 'stopping' || worker.state === 'lost';
    }
  }

  drawKernel(machine: Machine): void {
    setText(this._name, this._trans.__('Kernel'));
    this._draw(machine.pid, machine.cpu, machine.used);
    this._drawOfMachine(machine.used, machine.memory);
  }

  /** Its memory against the least that limits it: its cluster, what its task declares, or the machine. */
  private _drawLimit(worker: WorkerState, machine: number): void {
    const { memory, resident, limit, declared, address } = worker;
    if (resident !== null && limit !== null) {
      this._memory.draw(bytes(resident), resident / limit);
      setText(this._limit, this._trans.__('of %1', bytes(limit)));
      this._memory.title = this._trans.__(
        '%1 of resident memory, of the %2 that the cluster allows; %3 are its own',
        bytes(resident),
        bytes(limit),
        bytes(memory ?? 0)
      );
    } else if (memory !== null && declared !== null) {
      this._memory.draw(bytes(memory), memory / declared);
      setText(this._limit, this._trans.__('of %1', bytes(declared)));
      this._memory.title = this._trans.__(
        '%1 of its own, of the %2 that its task declares',
        bytes(memory),
        bytes(declared)
      );
    } else if (memory !== null && address === null) {
      this._drawOfMachine(memory, machine);
    }
  }

  private _drawOfMachine(memory: number, machine: number): void {
    this._memory.draw(bytes(memory), memory / Math.max(1, machine));
    this._memory.title = this._trans.__(
      '%1 of its own, of the %2 that this machine has',
      bytes(memory),
      bytes(machine)
    );
  }

  private _draw(pid: number | null, cpu: number | null, memory: number | null): void {
    this._name.title = pid === null ? '' : this._trans.__('process %1', pid);
    this._cpu.draw(cpu === null ? '–' : `${Math.round(100 * cpu)}%`, cpu ?? 0);
    this._memory.draw(memory === null ? '–' : bytes(memory), 0);
    this._memory.title = '';
    setText(this._limit, '');
  }

  private _words(worker: WorkerState): string {
    const trans = this._trans;
    const states: Record<string, string> = {
      starting: trans.__('starting'),
      idle: trans.__('idle'),
      busy: trans.__('busy'),
      stopping: trans.__('stopping'),
      lost: trans.__('lost')
    };
    const state = states[worker.state] ?? worker.state;
    if (worker.function === null) {
      return state;
    }
    const since = duration(worker.seconds ?? 0);
    const text = trans.__('%1 for %2', worker.function, since);
    return worker.state === 'busy' ? text : `${text}, ${state}`;
  }

  private readonly _trans: Translator;
  private readonly _name: HTMLElement;
  private readonly _doing: HTMLElement;
  private readonly _address: HTMLElement;
  private readonly _cpu: Meter;
  private readonly _memory: Meter;
  private readonly _limit: HTMLElement;
  private readonly _done: HTMLElement;
  private readonly _replace: HTMLButtonElement | null = null;
  private _index = -1;
}

class WorkersTab implements Tab {
  constructor({ parent, trans, send }: TabOptions) {
    this._trans = trans;
    this._send = send;
    this._root = child(parent, 'div', 'cellmill-workers-tab');
    this._near = new NearView(this._root, trans);
    this._link = child(this._root, 'a', 'cellmill-workers-link') as HTMLAnchorElement;
    this._link.target = '_blank';
    this._link.rel = 'noopener noreferrer';
    this._table = child(this._root, 'table', 'cellmill-table cellmill-workers-table');
    this._table.setAttribute('role', 'table');
    const head = child(child(this._table, 'thead', ''), 'tr', 'cellmill-workers-head');
    head.setAttribute('role', 'row');
    const titles = [
      trans.__('Worker'),
      trans.__('Now'),
      trans.__('CPU'),
      trans.__('Memory'),
      trans.__('Done'),
      ''
    ];
    for (const title of titles) {
      const cell = child(head, title === '' ? 'td' : 'th', '');
      cell.setAttribute('scope', 'col');
      cell.setAttribute('role', title === '' ? 'cell' : 'columnheader');
      cell.textContent = title;
    }
    this._body = child(this._table, 'tbody', '');
    this._kernel = new Row(child(this._table, 'tfoot', ''), trans, null);
    this._machine = child(this._root, 'p', 'cellmill-workers-machine');
    this._hosts = child(this._root, 'ul', 'cellmill-workers-hosts');
    this._restarts = child(this._root, 'p', 'cellmill-workers-restarts');
    this._ends = child(this._root, 'ul', 'cellmill-workers-ends');
    this._empty = child(this._root, 'p', 'cellmill-message');
  }

  draw(state: KernelState): void {
    const trans = this._trans;
    const told = state.sections.workers;
    if (told === this._told) {
      return;
    }
    this._told = told;
    this._near.draw(told);
    const workers = told?.workers ?? [];
    this._table.hidden = workers.length === 0;
    this._empty.hidden = workers.length > 0;
    setText(
      this._empty,
      told === null
        ? trans.__('Waiting for the kernel…')
        : told.machine === null
          ? trans.__('The inline backend has no workers: tasks run in the kernel itself.')
          : trans.__('No workers have started yet.')
    );
    while (this._rows.length > workers.length) {
      this._rows.pop()?.element.remove();
    }
    const machine = told?.machine?.memory ?? 0;
    workers.forEach((worker, index) => {
      this._rows[index] ??= new Row(this._body, trans, place =>
        this._send({ cellmill: VERSION, kind: 'replace-worker', worker: place })
      );
      this._rows[index].drawWorker(worker, machine);
    });
    if (told !== null && told.machine !== null) {
      this._kernel.drawKernel(told.machine);
    }
    this._drawLink(told?.dashboard ?? null);
    this._drawMachine(told);
    this._drawEnds(told);
  }

  dispose(): void {
    this._root.remove();
  }

  /** Link to the dashboard of the cluster itself, if it has one. */
  private _drawLink(dashboard: ClusterDashboard | null): void {
    const shown = dashboard !== null && /^https?:\/\//i.test(dashboard.link);
    this._link.hidden = !shown;
    if (shown) {
      this._link.href = dashboard.link;
      this._link.title = this._trans.__('%1, in a new tab', dashboard.link);
      setText(this._link, this._trans.__('Dashboard of %1 ↗', dashboard.name));
    } else {
      this._link.removeAttribute('href');
    }
  }

  /** Draw the kernel's machine, then the others. */
  private _drawMachine(told: Workers | null): void {
    const trans = this._trans;
    const machine = told?.machine ?? null;
    const hosts = told?.hosts ?? [];
    const size = ({ cpus, memory, free }: WorkerHost): string =>
      trans.__('%1 processors; %2 of %3 of memory free', count(cpus), bytes(free), bytes(memory));
    this._machine.hidden = machine === null;
    if (machine !== null) {
      const here = size({ ...machine, name: '' });
      setText(
        this._machine,
        hosts.length === 0 ? here : trans.__('The kernel’s machine: %1', here)
      );
    }
    while (this._hosts.children.length > hosts.length) {
      this._hosts.lastElementChild?.remove();
    }
    hosts.forEach((host, index) => {
      const item = this._hosts.children[index] ?? child(this._hosts, 'li', '');
      setText(item, `${host.name}: ${size(host)}`);
    });
  }

  /** Draw how workers ended, the latest first. */
  private _drawEnds(told: Workers | null): void {
    const trans = this._trans;
    const restarts = told?.restarts ?? 0;
    this._restarts.hidden = restarts === 0;
    setText(
      this._restarts,
      trans._n('%2 worker was replaced', '%2 workers were replaced', restarts, count(restarts))
    );
    const ends = [...(told?.ends ?? [])].reverse();
    while (this._ends.children.length > ends.length) {
      this._ends.lastElementChild?.remove();
    }
    ends.forEach((end, index) => {
      const item = this._ends.children[index] ?? child(this._ends, 'li', '');
      const text = trans.__('Worker %1 %2', end.index, end.how);
      setText(
        item,
        end.memory === null
          ? text
          : trans.__('%1. It used %2 of memory at most.', text, bytes(end.memory))
      );
    });
  }

  private readonly _trans: Translator;
  private readonly _send: (command: Command) => void;
  private readonly _root: HTMLElement;
  private readonly _near: NearView;
  private readonly _link: HTMLAnchorElement;
  private readonly _table: HTMLElement;
  private readonly _body: HTMLElement;
  private readonly _kernel: Row;
  private readonly _machine: HTMLElement;
  private readonly _hosts: HTMLElement;
  private readonly _restarts: HTMLElement;
  private readonly _ends: HTMLElement;
  private readonly _empty: HTMLElement;
  private readonly _rows: Row[] = [];
  /** what is drawn; undefined before the first picture */
  private _told: Workers | null | undefined = undefined;
}

export const workersTab: TabKind = {
  id: 'workers',
  label: trans => trans.__('Workers'),
  sections: ['workers'],
  make: options => new WorkersTab(options)
};
