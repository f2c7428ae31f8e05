/** A dashboard in a notebook's output: the live widget where there is one, else the saved still. */

import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { Panel } from '@lumino/widgets';

type Rendermime = NotebookPanel['content']['rendermime'];
type Renderer = ReturnType<Rendermime['createRenderer']>;
type MimeModel = Parameters<Renderer['renderModel']>[0];

const DASHBOARD = 'application/vnd.cellmill.dashboard+json';
const WIDGET = 'application/vnd.jupyter.widget-view+json';
const STILL = 'text/html';
/** Milliseconds between looks for the notebook's widget manager, until the widget is there. */
const FOLLOW_INTERVAL = 500;
/** Before the renderer of widgets, which shows nothing without a kernel. */
const RANK = -20;

/** Register the renderer of dashboards with every notebook. */
export function drawSavedDashboards(notebooks: INotebookTracker): void {
  const add = ({ content: { rendermime } }: NotebookPanel): void => {
    rendermime.addFactory(
      { safe: false, mimeTypes: [DASHBOARD], createRenderer: () => new SavedDashboard(rendermime) },
      RANK
    );
  };
  notebooks.forEach(add);
  notebooks.widgetAdded.connect((_, panel) => add(panel));
}

/** The widget and the still; one of them is visible. */
class SavedDashboard extends Panel {
  constructor(rendermime: Rendermime) {
    super();
    this._rendermime = rendermime;
    this._observer = new MutationObserver(() => this._choose());
    this.node.addEventListener('cellmill-ended', () => {
      this._live?.hide();
    });
  }

  /** Draw an output; resolves when its still is drawn. */
  async renderModel(model: MimeModel): Promise<void> {
    const widget = widgetOf(model);
    if (widget === undefined || widget !== this._widget) {
      this._drop();
      this._factory = undefined;
    } // else another still of it: the widget keeps its focus, and what a person is about to do
    this._widget = widget;
    this._still?.dispose();
    const still = this._rendermime.createRenderer(STILL);
    this._still = still;
    this.insertWidget(0, still);
    this._choose();
    this._follow(model);
    await still.renderModel(model);
    showPicture(still.node, model);
  }

  /**
   * Draw the widget with the notebook's factory, and again when that is replaced: outputs drawn before the notebook has
   * a widget manager get a factory without one, and only top-level outputs of cells are redrawn by the manager itself.
   */
  private _follow(model: MimeModel): void {
    window.clearTimeout(this._timer);
    const factory = this._rendermime.getFactory(WIDGET);
    if (factory !== undefined && factory !== this._factory) {
      this._drop();
      this._factory = factory;
      this._live = this._rendermime.createRenderer(WIDGET);
      this.addWidget(this._live);
      this._observer.observe(this._live.node, {
        childList: true,
        attributes: true,
        attributeFilter: ['class']
      });
      // Never resolves without a kernel; while a cell runs, resolves after the cell's end.
      this._drawn = this._live
        .renderModel(model)
        .catch((error: unknown) => console.warn(`cellmill: the live view: ${String(error)}`))
        .finally(() => this._choose());
      this._choose();
    }
    if (this._still?.isHidden !== true) {
      this._timer = window.setTimeout(() => this._follow(model), FOLLOW_INTERVAL);
    }
  }

  override dispose(): void {
    window.clearTimeout(this._timer);
    this._drop();
    super.dispose();
  }

  /**
   * Remove the widget. It is disposed only once it is drawn: a renderer of widgets that is disposed earlier fails when
   * its view arrives, and leaks that view and its comm.
   */
  private _drop(): void {
    const live = this._live;
    this._observer.disconnect();
    this._live = null;
    if (live !== null) {
      live.parent = null;
      void this._drawn.then(() => live.dispose());
    }
  }

  private _choose(): void {
    const live = this._live;
    if (this.isDisposed || live === null) {
      return;
    }
    const alive = live.node.childElementCount > 0 && !live.isHidden;
    // Not by lumino's `hide`: widgets use that flag to say that they are closed.
    live.node.style.display = alive ? '' : 'none';
    this._still?.setHidden(alive);
  }

  private readonly _rendermime: Rendermime;
  private readonly _observer: MutationObserver;
  private _factory: ReturnType<Rendermime['getFactory']>;
  private _widget: string | undefined;
  private _timer = 0;
  private _still: Renderer | null = null;
  private _live: Renderer | null = null;
  private _drawn = Promise.resolve();
}

/** HTML of a notebook that is not trusted is shown without its pictures. An SVG as an image runs nothing. */
function showPicture(node: HTMLElement, model: MimeModel): void {
  const html = model.data[STILL];
  const image = node.querySelector('.cellmill-still img');
  if (typeof html !== 'string' || image === null || image.hasAttribute('src')) {
    return;
  }
  const page = new DOMParser().parseFromString(html, 'text/html');
  const source = page.querySelector('.cellmill-still img')?.getAttribute('src') ?? '';
  if (source.startsWith('data:image/svg+xml;base64,')) {
    image.setAttribute('src', source);
  }
}

/** The model of an output's widget; undefined where it has none. */
function widgetOf(model: MimeModel): string | undefined {
  const view = model.data[WIDGET] as { model_id?: string } | undefined;
  return view?.model_id;
}
