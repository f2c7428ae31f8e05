/** The open notebooks and consoles with the links to their kernels: which is in front, and which views show them. */

import type { ISessionContext } from '@jupyterlab/apputils';
import { DisposableDelegate, type IDisposable } from '@lumino/disposable';
import { Signal, type ISignal } from '@lumino/signaling';
import type { Widget } from '@lumino/widgets';

import { KernelLink, NOTHING } from './connection';
import type { Watch } from '../protocol/messages';

/** A notebook or a console: a widget with a session. */
export type SessionWidget = Widget & { readonly sessionContext: ISessionContext };

/** The part of JupyterLab's trackers that is used here. */
export interface WidgetTracker {
  readonly currentWidget: SessionWidget | null;
  readonly currentChanged: ISignal<WidgetTracker, SessionWidget | null>;
  readonly widgetAdded: ISignal<WidgetTracker, SessionWidget>;
  forEach(fn: (widget: SessionWidget) => void): void;
}

/** One open notebook or console. */
export interface Entry {
  readonly widget: SessionWidget;
  readonly link: KernelLink;
}

/** A view of a kernel. */
export interface Viewer {
  /** whose kernel it shows, null for none */
  readonly entry: Entry | null;
  /** whether it is on the screen */
  readonly isVisible: boolean;
  /** the subscription for what it shows beside the counters */
  readonly watch: Watch;
}

/** Follows the trackers, and asks each kernel for what its visible views show. */
export class Sessions implements IDisposable {
  constructor(trackers: readonly WidgetTracker[]) {
    for (const tracker of trackers) {
      tracker.forEach(widget => this._add(widget));
      tracker.widgetAdded.connect((_, widget) => this._add(widget), this);
      tracker.currentChanged.connect((_, widget) => this._choose(widget), this);
      this._choose(tracker.currentWidget);
    }
  }

  /** Emitted when an entry is added, removed or changed, or when another one comes to the front. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** Emitted when a kernel asks to open the panel; its opener answers with `answerShown`. */
  get asked(): ISignal<this, { readonly link: KernelLink; readonly request: number }> {
    return this._asked;
  }

  /** Every open notebook and console, in the order of their opening. */
  get entries(): readonly Entry[] {
    return [...this._entries.values()];
  }

  /** The one in front, or the last one that was. */
  get current(): Entry | null {
    return (this._current && this._entries.get(this._current)) ?? null;
  }

  /** The one whose widget has this id. */
  withId(id: string): Entry | null {
    return this.entries.find(({ widget }) => widget.id === id) ?? null;
  }

  /** The one of this path: a file's, or a console session's. */
  withPath(path: string): Entry | null {
    return this.entries.find(({ widget }) => widget.sessionContext.path === path) ?? null;
  }

  /** Ask kernels for what this viewer shows, until the result is disposed. It calls `look` when that changes. */
  addViewer(viewer: Viewer): IDisposable {
    this._viewers.add(viewer);
    this.look();
    return new DisposableDelegate(() => {
      this._viewers.delete(viewer);
      this.look();
    });
  }

  /** Send each kernel the union of its viewers' subscriptions. */
  look(): void {
    for (const entry of this._entries.values()) {
      const viewers = [...this._viewers].filter(one => one.isVisible && one.entry === entry);
      const watch = together(viewers.map(viewer => viewer.watch));
      const text = JSON.stringify(watch);
      if (this._watches.get(entry) !== text) {
        this._watches.set(entry, text);
        entry.link.send(watch);
      }
      entry.link.watched = viewers.length > 0;
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
    for (const entry of this._entries.values()) {
      entry.link.dispose();
    }
    this._entries.clear();
    Signal.clearData(this);
  }

  private _add(widget: SessionWidget): void {
    if (this._entries.has(widget)) {
      return;
    }
    const link = new KernelLink(widget.sessionContext);
    this._entries.set(widget, { widget, link });
    link.changed.connect(() => this._changed.emit(), this);
    link.asked.connect((_, request) => this._asked.emit({ link, request }), this);
    widget.title.changed.connect(() => this._changed.emit(), this);
    widget.disposed.connect(() => this._remove(widget), this);
    this._changed.emit();
    this.look();
  }

  private _remove(widget: SessionWidget): void {
    this._entries.get(widget)?.link.dispose();
    this._entries.delete(widget);
    if (this._current === widget) {
      this._current = null;
    }
    this._changed.emit();
  }

  private _choose(widget: SessionWidget | null): void {
    if (widget !== null && widget !== this._current) {
      this._current = widget;
      this._changed.emit();
      this.look();
    }
  }

  private readonly _changed = new Signal<this, void>(this);
  private readonly _asked = new Signal<
    this,
    { readonly link: KernelLink; readonly request: number }
  >(this);
  private readonly _entries = new Map<SessionWidget, Entry>();
  private readonly _viewers = new Set<Viewer>();
  /** the subscription that each kernel was sent last, as JSON */
  private readonly _watches = new WeakMap<Entry, string>();
  private _current: SessionWidget | null = null;
  private _disposed = false;
}

/** The union of several subscriptions to the same kernel. */
function together(watches: readonly Watch[]): Watch {
  const sections = new Set(watches.flatMap(watch => watch.sections));
  const runs = new Map<number, Set<string>>();
  for (const scope of watches.flatMap(watch => watch.scopes)) {
    const wanted = runs.get(scope.run) ?? new Set();
    scope.sections.forEach(section => wanted.add(section));
    runs.set(scope.run, wanted);
  }
  return {
    ...NOTHING,
    sections: [...sections],
    scopes: [...runs].map(([run, wanted]) => ({ run, sections: [...wanted] }))
  };
}
