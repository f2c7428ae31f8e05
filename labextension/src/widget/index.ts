/** The dashboard inside a notebook: the panel's view as an anywidget. */

import { KernelModel } from '../model/kernelModel';
import { DashboardView } from '../view/dashboard';
import { child } from '../view/dom';
import { Drawing } from '../view/drawing';
import { untranslated } from '../view/translator';
import type { WidgetModel } from './model';
import { Transport } from './transport';

/** Milliseconds between pictures; frames do not arrive faster. */
const DRAW_INTERVAL = 100;

/** One view of a widget; a widget that is shown twice has two. */
class InlineView {
  constructor(model: WidgetModel, parent: HTMLElement) {
    const title = model.get('title');
    this._title = typeof title === 'string' ? title : '';
    this._root = child(parent, 'div', 'cellmill-panel cellmill-inline');
    this._root.setAttribute('role', 'region');
    this._root.setAttribute('aria-label', untranslated.__('Cellmill tasks'));
    this._notice = child(this._root, 'p', 'cellmill-message cellmill-waiting');
    this._notice.setAttribute('role', 'status');
    this._notice.textContent = untranslated.__(
      'The kernel is busy and hears this page when the cell ends. The button Stop of the notebook works at once.'
    );
    this._notice.hidden = true;
    this._transport = new Transport(model, {
      frame: frame => {
        this._state.push(frame, performance.now() / 1000);
        this._drawing.ask();
      },
      waiting: waiting => {
        this._notice.hidden = !waiting;
      },
      ended: () => {
        this._notice.textContent = untranslated.__(
          'The kernel has ended. This was the last state.'
        );
        this._notice.hidden = false;
        this._root.dispatchEvent(new CustomEvent('cellmill-ended', { bubbles: true }));
      }
    });
    this._view = new DashboardView(this._root, untranslated, command =>
      this._transport.send(command)
    );
    this._resize = new ResizeObserver(() => this._drawing.ask());
    this._resize.observe(this._root);
    this._drawing.now();
  }

  dispose(): void {
    if (this._disposed) {
      return;
    }
    this._disposed = true;
    this._drawing.stop();
    this._resize.disconnect();
    this._transport.dispose();
    this._view.dispose();
    this._root.remove();
  }

  /** Draw; returns whether the picture changes with time alone. */
  private _draw(): boolean {
    if (this._disposed) {
      return false; // a frame arrived after it was disposed
    }
    if (this._shown && !this._root.isConnected) {
      this.dispose(); // the page removed the output without calling the clean-up
      return false;
    }
    this._shown = this._root.isConnected;
    const state = this._state.state(performance.now() / 1000);
    this._view.draw({ title: this._title, state });
    return this._state.busy || state.history.some(rate => rate > 0);
  }

  private readonly _state = new KernelModel();
  private readonly _title: string;
  private readonly _root: HTMLElement;
  private readonly _notice: HTMLElement;
  private readonly _transport: Transport;
  private readonly _view: DashboardView;
  private readonly _resize: ResizeObserver;
  private readonly _drawing = new Drawing(
    () => this._draw(),
    () => DRAW_INTERVAL
  );
  private _shown = false;
  private _disposed = false;
}

export default {
  render({ model, el }: { model: WidgetModel; el: HTMLElement }): () => void {
    const view = new InlineView(model, el);
    return () => view.dispose();
  }
};
