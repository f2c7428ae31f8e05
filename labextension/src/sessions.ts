/** The open notebooks and consoles, each with the link to its kernel, and which of them is in front. */

import type { ISessionContext } from '@jupyterlab/apputils';
import type { IDisposable } from '@lumino/disposable';
import { Signal, type ISignal } from '@lumino/signaling';
import type { Widget } from '@lumino/widgets';

import { KernelLink } from './connection';
import { VERSION, type Watch } from './protocol';

const NOTHING: Watch = { cellmill: VERSION, kind: 'watch', sections: [] };

/** A notebook or a console: a widget with a session. */
export type SessionWidget = Widget & { readonly sessionContext: ISessionContext };

/** What JupyterLab's trackers offer of what is used here. */
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

/** Follows the trackers; views ask it what there is to show. */
export class Sessions implements IDisposable {
  constructor(trackers: readonly WidgetTracker[]) {
    for (const tracker of trackers) {
      tracker.forEach(widget => this._add(widget));
      tracker.widgetAdded.connect((_, widget) => this._add(widget), this);
      tracker.currentChanged.connect((_, widget) => this._choose(widget), this);
      this._choose(tracker.currentWidget);
    }
  }

  /** Emitted when an entry came, went or changed, or when another one is in front. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** Emitted when a kernel asks for the panel; whoever opens it answers. */
  get asked(): ISignal<this, { readonly link: KernelLink; readonly request: number }> {
    return this._asked;
  }

  /** Every open notebook and console, in the order of their opening. */
  get entries(): readonly Entry[] {
    return [...this._entries.values()];
  }

  /** The one in front, or the one that was there last. */
  get current(): Entry | null {
    return (this._current && this._entries.get(this._current)) ?? null;
  }

  /** Whether somebody looks at what the kernels say. */
  set watched(value: boolean) {
    this._watched = value;
    for (const entry of this._entries.values()) {
      entry.link.watched = value;
    }
  }

  /** What the views show of the kernel in front; the others are asked for nothing beside their counters. */
  set watch(command: Watch) {
    this._watch = command;
    this._tellWatch();
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

  private _tellWatch(): void {
    for (const [widget, { link }] of this._entries) {
      link.send(widget === this._current ? this._watch : NOTHING);
    }
  }

  private _add(widget: SessionWidget): void {
    if (this._entries.has(widget)) {
      return;
    }
    const link = new KernelLink(widget.sessionContext);
    link.watched = this._watched;
    link.send(widget === this._current ? this._watch : NOTHING);
    this._entries.set(widget, { widget, link });
    link.changed.connect(() => this._changed.emit(), this);
    link.asked.connect((_, request) => this._asked.emit({ link, request }), this);
    widget.title.changed.connect(() => this._changed.emit(), this);
    widget.disposed.connect(() => this._remove(widget), this);
    this._changed.emit();
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
      this._tellWatch();
      this._changed.emit();
    }
  }

  private readonly _changed = new Signal<this, void>(this);
  private readonly _asked = new Signal<
    this,
    { readonly link: KernelLink; readonly request: number }
  >(this);
  private readonly _entries = new Map<SessionWidget, Entry>();
  private _current: SessionWidget | null = null;
  private _watch: Watch = NOTHING;
  private _watched = false;
  private _disposed = false;
}
