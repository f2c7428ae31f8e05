/** One kernel's tasks: a bar, the counts, the rate, the controls. Draws states and computes nothing. Needs no
 * framework. */

import { lost, outstanding, raised, ran, succeeded } from '../model/counts';
import type { KernelState } from '../model/kernelModel';
import type { Command, Counts, Snapshot } from '../protocol/messages';
import { ControlsView } from './controls';
import type { CellWay } from './cellWay';
import { child, setText } from './dom';
import { FailedLine } from './failedLine';
import { count, duration, rate } from './format';
import { messageOf } from './message';
import { RunsView } from './runs';
import { ScopeView } from './scope';
import { Sparkline } from './sparkline';
import { TabStrip } from './tabStrip';
import { boundText, elapsedText, leftText } from './timeLeft';
import type { Translator } from './translator';

/** What to draw: a kernel's state, and the name of its notebook. */
export interface DashboardInput {
  readonly title: string;
  readonly state: KernelState;
}

/** The root element has the numbers as data attributes, for tests and style sheets. */
export class DashboardView {
  /** `runLine` runs a line in a new cell, `cells` leads to cells; absent where there is no notebook. */
  constructor(
    parent: HTMLElement,
    trans: Translator,
    send: (command: Command) => void,
    runLine?: (line: string) => void,
    cells?: CellWay
  ) {
    this._trans = trans;
    this._root = child(parent, 'section', 'cellmill-dashboard');
    this._title = child(this._root, 'h2', 'cellmill-title');
    this._message = child(this._root, 'p', 'cellmill-message');
    this._notice = child(this._root, 'p', 'cellmill-notice');
    this._notice.setAttribute('role', 'alert');
    this._body = child(this._root, 'div', 'cellmill-body');
    this._scope = new ScopeView(this._body, trans, run => this._choose(run), cells);
    this._failures = new FailedLine(this._body, trans, () =>
      this._tabs.open('tasks', { failures: true })
    );
    const track = child(this._body, 'div', 'cellmill-bar');
    track.setAttribute('role', 'progressbar');
    track.setAttribute('aria-valuemin', '0');
    this._bar = track;
    this._fill = child(track, 'div', 'cellmill-bar-fill');
    this._fillFailed = child(track, 'div', 'cellmill-bar-failed');
    this._fillLost = child(track, 'div', 'cellmill-bar-lost');
    this._fillCancelled = child(track, 'div', 'cellmill-bar-cancelled');
    const figures = child(this._body, 'div', 'cellmill-head-figures');
    const headline = child(figures, 'div', 'cellmill-headline');
    this._progress = child(headline, 'span', 'cellmill-progress');
    this._rate = child(headline, 'span', 'cellmill-rate');
    this._times = child(figures, 'div', 'cellmill-times');
    this._elapsed = child(this._times, 'span', 'cellmill-elapsed');
    this._left = child(this._times, 'span', 'cellmill-left');
    this._bound = child(this._times, 'span', 'cellmill-bound');
    const list = child(figures, 'dl', 'cellmill-counts');
    this._failed = term(list, trans.__('Failed'), 'cellmill-failed');
    this._lost = term(list, trans.__('Lost'), 'cellmill-lost');
    this._cancelled = term(list, trans.__('Cancelled'), 'cellmill-cancelled');
    this._running = term(list, trans.__('Running'), 'cellmill-running');
    this._queued = term(list, trans.__('Queued'), 'cellmill-queued');
    this._workers = term(list, trans.__('Workers'), 'cellmill-workers');
    this._controls = new ControlsView(this._body, trans, send);
    this._sparkline = new Sparkline(this._body);
    this._runs = new RunsView(this._body, trans, send, run => this._choose(run));
    this._tabs = new TabStrip(this._body, trans, send, runLine, cells);
    this._spoken = child(this._root, 'p', 'cellmill-spoken');
    this._spoken.setAttribute('role', 'status');
    this._root.addEventListener('cellmill-run', event =>
      this._choose((event as CustomEvent<number | null>).detail)
    );
  }

  /** Draw a state. If there is none (null), `missing` says why, for example that no notebook is open. */
  draw(input: DashboardInput | null, missing = ''): void {
    const all = input?.state.snapshot ?? null;
    this._input = input;
    if (this._wanted !== null && input?.state.runs.some(run => run.id === this._wanted) === true) {
      this._run = this._wanted;
      this._wanted = null;
      this._tabs.scope(this._run);
    }
    const state = this._shown();
    const snapshot = state?.snapshot ?? null;
    setText(this._title, input?.title ?? '');
    this._title.title = input?.title ?? '';
    this._title.hidden = input === null;
    this._drawMessage(input, missing);
    this._drawNotice(input?.state ?? null);
    this._body.hidden = input?.state.presence !== 'live';
    this._setData(state, snapshot);
    if (state !== null && snapshot !== null) {
      this._scope.draw(state.recorded ? [] : state.runs, state.run);
      this._drawSnapshot(snapshot, state);
      this._runs.draw(all?.runs ?? [], state.run);
    } else {
      setText(this._spoken, '');
    }
  }

  /** Show one of the tabs; unknown ids are ignored. */
  showTab(id: string): void {
    this._tabs.choose(id);
  }

  /** Show one run, as soon as it is among the known ones; another choice before that is kept. */
  showRun(run: number): void {
    this._wanted = run;
    this.draw(this._input);
  }

  /** Move the keyboard's focus to the first element that can have it. */
  focus(): void {
    if (this._body.hidden) {
      this._root.tabIndex = -1;
      this._root.focus();
    } else {
      this._tabs.focus();
    }
  }

  dispose(): void {
    this._tabs.dispose();
    this._sparkline.dispose();
    this._root.remove();
  }

  private _drawMessage(input: DashboardInput | null, missing: string): void {
    const trans = this._trans;
    const { text, code } =
      input === null
        ? { text: missing || trans.__('Open a notebook to see its tasks here.'), code: '' }
        : messageOf(input.state.presence, trans);
    this._message.hidden = text === '';
    if (this._message.dataset.text === text) {
      return;
    }
    this._message.dataset.text = text;
    this._message.replaceChildren(text);
    if (code !== '') {
      child(this._message, 'code', 'cellmill-code').textContent = code;
    }
  }

  /** Show a notice if the picture is out of date or incomplete. */
  private _drawNotice(state: KernelState | null): void {
    const trans = this._trans;
    let text = '';
    if (state !== null && !state.connected) {
      text = trans.__('The connection to the kernel is lost; what is shown here may be old.');
    } else if (state !== null && state.unreadable !== '') {
      text = trans.__(
        'A message of the kernel could not be read (%1). Reload the page; if that does not help, restart the kernel.',
        state.unreadable
      );
    }
    this._notice.hidden = text === '';
    setText(this._notice, text);
  }

  /** The state that is drawn: of all tasks or of the chosen run. A kernel without that run has another scope. */
  private _shown(): KernelState | null {
    const all = this._input?.state ?? null;
    const state = all === null || this._run === null ? all : all.scoped(this._run);
    if (state === null && all !== null) {
      this._run = null;
      this._tabs.scope(null);
    }
    return state ?? all;
  }

  /** Show one run, by its id; null for all tasks. */
  private _choose(run: number | null): void {
    this._wanted = null;
    const state = this._input?.state;
    if (run !== null && run !== this._run && state?.scoped(run) === null) {
      this._wanted = run; // its row comes with the counts, and its record a little later
    } else if (run !== this._run) {
      this._run = run;
      this._tabs.scope(run);
      this.draw(this._input);
    }
  }

  private _setData(state: KernelState | null, snapshot: Snapshot | null): void {
    const counts = snapshot?.counts;
    const data = this._root.dataset;
    data.presence = state?.presence ?? 'none';
    data.run = String(state?.run ?? 'all');
    data.work = String(snapshot?.work ?? 0);
    data.done = String(counts === undefined ? 0 : ran(counts));
    data.over = String(counts?.done ?? 0);
    data.cancelled = String(counts?.cancelled ?? 0);
    data.total = String(counts?.total ?? 0);
    data.failed = String(counts?.failed ?? 0);
    data.lost = String(counts?.lost ?? 0);
    data.running = String(counts?.running ?? 0);
    data.queued = String(counts?.queued ?? 0);
    data.workers = String(snapshot?.workers ?? 0);
    data.paused = String(snapshot?.paused ?? false);
    data.rate = (state?.rate ?? 0).toFixed(2);
  }

  private _drawSnapshot(snapshot: Snapshot, state: KernelState): void {
    const trans = this._trans;
    const { counts } = snapshot;
    const share = (value: number): string =>
      `${counts.total > 0 ? (100 * value) / counts.total : 0}%`;
    this._fill.style.width = share(succeeded(counts));
    this._fillFailed.style.width = share(raised(counts));
    this._fillFailed.hidden = raised(counts) === 0;
    this._fillLost.style.width = share(lost(counts));
    this._fillLost.hidden = lost(counts) === 0;
    this._fillCancelled.style.width = share(counts.cancelled);
    this._fillCancelled.hidden = counts.cancelled === 0;
    const progress = progressOf(counts, trans);
    this._bar.setAttribute('aria-valuemax', String(counts.total));
    this._bar.setAttribute('aria-valuenow', String(ran(counts)));
    this._bar.setAttribute('aria-valuetext', progress);
    this._bar.setAttribute('aria-label', trans.__('Tasks done'));
    setText(this._progress, progress);
    const perSecond = trans.__('%1 tasks/s', rate(state.rate));
    const paused = snapshot.paused && outstanding(counts);
    setText(this._rate, paused ? trans.__('Paused') : perSecond);
    this._times.hidden = counts.total === 0;
    setText(this._elapsed, elapsedText(state.elapsed, outstanding(counts), trans));
    setText(this._left, state.left === null ? '' : leftText(state.left, trans));
    const bound = whyBound(state, counts, trans);
    this._bounded = outstanding(counts) && (this._bounded || bound !== '');
    this._bound.hidden = !this._bounded; // its line stays until the work ends: what is below does not move
    setText(this._bound, bound);
    this._bound.title = bound;
    this._sparkline.draw(
      state.history,
      trans.__('Tasks per second over the last half minute, now %1', perSecond),
      state.present
    );
    this._failures.draw(counts);
    setText(this._failed, count(raised(counts)));
    this._failed.classList.toggle('cellmill-bad', raised(counts) > 0);
    setText(this._lost, count(lost(counts)));
    this._lost.classList.add('cellmill-bad');
    this._lost.parentElement?.toggleAttribute('hidden', lost(counts) === 0);
    setText(this._cancelled, count(counts.cancelled));
    this._cancelled.parentElement?.toggleAttribute('hidden', counts.cancelled === 0);
    setText(this._running, count(counts.running));
    setText(this._queued, count(counts.queued));
    setText(this._workers, `${count(snapshot.workers)} ${snapshot.backend}`);
    const run = state.runs.find(one => one.id === state.run);
    this._controls.draw(snapshot, state.refusal, run ?? null);
    this._tabs.draw(state);
    this._speak(snapshot);
  }

  /** Announce to screen readers when a piece of work begins and ends, and nothing between. */
  private _speak(snapshot: Snapshot): void {
    const trans = this._trans;
    const { counts } = snapshot;
    if (outstanding(counts)) {
      setText(
        this._spoken,
        snapshot.paused ? trans.__('Tasks are paused') : trans.__('Tasks are running')
      );
    } else if (counts.total > 0) {
      const seconds = duration(snapshot.elapsed);
      const done = trans._n(
        '%2 task done in %3',
        '%2 tasks done in %3',
        ran(counts),
        count(ran(counts)),
        seconds
      );
      const failed = raised(counts) > 0 ? trans.__(', %1 failed', count(raised(counts))) : '';
      const gone = lost(counts) > 0 ? trans.__(', %1 lost', count(lost(counts))) : '';
      const cancelled =
        counts.cancelled > 0 ? trans.__(', %1 cancelled', count(counts.cancelled)) : '';
      setText(this._spoken, done + failed + gone + cancelled);
    } else {
      setText(this._spoken, '');
    }
  }

  private readonly _trans: Translator;
  private readonly _scope: ScopeView;
  private _input: DashboardInput | null = null;
  /** the run that is shown; null for all tasks */
  private _run: number | null = null;
  /** the run that is to be shown as soon as it is known */
  private _wanted: number | null = null;
  private readonly _root: HTMLElement;
  private readonly _title: HTMLElement;
  private readonly _message: HTMLElement;
  private readonly _notice: HTMLElement;
  private readonly _body: HTMLElement;
  private readonly _failures: FailedLine;
  private readonly _bar: HTMLElement;
  private readonly _fill: HTMLElement;
  private readonly _fillFailed: HTMLElement;
  private readonly _fillLost: HTMLElement;
  private readonly _fillCancelled: HTMLElement;
  private readonly _progress: HTMLElement;
  private readonly _rate: HTMLElement;
  private readonly _times: HTMLElement;
  private readonly _elapsed: HTMLElement;
  private readonly _left: HTMLElement;
  private readonly _bound: HTMLElement;
  /** whether the time that is left was a bound at some time in this piece of work */
  private _bounded = false;
  private readonly _sparkline: Sparkline;
  private readonly _failed: HTMLElement;
  private readonly _lost: HTMLElement;
  private readonly _cancelled: HTMLElement;
  private readonly _running: HTMLElement;
  private readonly _queued: HTMLElement;
  private readonly _workers: HTMLElement;
  private readonly _controls: ControlsView;
  private readonly _runs: RunsView;
  private readonly _tabs: TabStrip;
  private readonly _spoken: HTMLElement;
}

/** Why the time that is left is no more than a bound, or not known; empty if it is. */
function whyBound({ left, run }: KernelState, counts: Counts, trans: Translator): string {
  if (left !== null) {
    return boundText(left, trans);
  }
  return run !== null && outstanding(counts) ? trans.__('time left: see all of this work') : '';
}

/** How many of how many ran to their end, and how many will not. */
function progressOf(counts: Counts, trans: Translator): string {
  const done = trans.__('%1 of %2', count(ran(counts)), count(counts.total));
  return counts.cancelled === 0
    ? done
    : trans.__('%1, %2 cancelled', done, count(counts.cancelled));
}

function term(list: HTMLElement, name: string, className: string): HTMLElement {
  const row = child(list, 'div', `cellmill-count ${className}-count`);
  child(row, 'dt', 'cellmill-count-name').textContent = name;
  return child(row, 'dd', className);
}
