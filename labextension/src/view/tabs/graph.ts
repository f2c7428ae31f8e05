/** The task graph: dependencies between tasks, and the state of each. */

import { GRAPH_STATES, stateCounts, type TaskGraph } from '../../model/taskGraph';
import type { KernelState } from '../../model/kernelModel';
import { button, child, setText } from '../dom';
import { count } from '../format';
import { listen, zoomIn, zoomOut } from '../graph/gestures';
import { GraphPicture } from '../graph/picture';
import { boxText, describe, hint, stateName, summary } from '../graph/labels';
import type { Translator } from '../translator';
import type { Tab, TabKind, TabOptions } from './tab';

class GraphTab implements Tab {
  constructor({ parent, trans }: TabOptions) {
    this._trans = trans;
    this._root = child(parent, 'div', 'cellmill-graph');
    this._empty = child(this._root, 'p', 'cellmill-message');
    this._body = child(this._root, 'div', 'cellmill-graph-body');
    const bar = child(this._body, 'div', 'cellmill-graph-bar');
    this._summary = child(bar, 'span', 'cellmill-graph-summary');
    const longest = (this._longest = child(bar, 'label', 'cellmill-graph-longest'));
    const box = child(longest, 'input', '') as HTMLInputElement;
    box.type = 'checkbox';
    box.addEventListener('change', () => this._picture.showLongest(box.checked));
    longest.append(trans.__('Longest path'));
    longest.title = trans.__('The chain of tasks that took the most time to run');
    this._addButtons(bar);
    this._legend = child(this._body, 'ul', 'cellmill-graph-legend');
    const canvas = child(this._body, 'canvas', 'cellmill-graph-canvas') as HTMLCanvasElement;
    canvas.tabIndex = 0;
    canvas.setAttribute('role', 'application');
    canvas.setAttribute('aria-roledescription', trans.__('task graph'));
    this._canvas = canvas;
    this._info = child(this._body, 'p', 'cellmill-graph-info');
    this._info.setAttribute('role', 'status');
    this._picture = new GraphPicture(canvas, {
      label: (graph, node) => boxText(trans, graph, node),
      marked: () => this._drawInfo(),
      // asks the tasks tab to show this one
      open: ticket =>
        canvas.dispatchEvent(
          new CustomEvent('cellmill-task', { bubbles: true, detail: { task: String(ticket) } })
        )
    });
    listen(canvas, this._picture);
  }

  draw(state: KernelState): void {
    const graph = state.sections.graph;
    const backend = state.snapshot?.backend ?? '';
    const shown = graph !== null && graph.size > 0;
    this._empty.hidden = shown;
    this._body.hidden = !shown;
    if (!shown) {
      this._graph = null;
      this._picture.show(null);
      this._root.dataset.tasks = '0';
      this._drawEmpty(graph !== null, backend);
      return;
    }
    if (graph === this._graph) {
      return;
    }
    this._graph = graph;
    this._alone = Math.max(0, (state.snapshot?.counts.total ?? graph.own) - graph.own);
    this._drawWords(graph);
    this._picture.show(graph);
  }

  dispose(): void {
    this._picture.dispose();
    this._root.remove();
  }

  private _addButtons(bar: HTMLElement): void {
    const trans = this._trans;
    const add = (text: string, name: string, press: () => void): void => {
      const made = button(bar, 'cellmill-button', press);
      made.textContent = text;
      made.title = name;
      made.setAttribute('aria-label', name);
    };
    add('−', trans.__('Zoom out'), () => zoomOut(this._picture));
    add('+', trans.__('Zoom in'), () => zoomIn(this._picture));
    add('⤢', trans.__('Show the whole graph'), () => this._picture.showAll());
  }

  private _drawEmpty(heard: boolean, backend: string): void {
    const trans = this._trans;
    const key = heard ? backend : 'unheard';
    if (this._empty.dataset.key === key) {
      return;
    }
    this._empty.dataset.key = key;
    if (!heard) {
      this._empty.replaceChildren(trans.__('Waiting for the kernel…'));
    } else if (backend === 'inline') {
      this._empty.replaceChildren(
        trans.__('The inline backend runs each call at once: no task waits for another one.')
      );
    } else {
      this._empty.replaceChildren(
        trans.__(
          'No task takes the result of another one. Give a future as an argument, and the second task waits for the first:'
        )
      );
      child(this._empty, 'code', 'cellmill-code').textContent = 'f(g(x))';
    }
  }

  /** Write the graph as text and data attributes, for style sheets, tests and screen readers. */
  private _drawWords(graph: TaskGraph): void {
    const data = this._root.dataset;
    data.tasks = String(graph.tasks);
    data.dependencies = String(graph.dependencies);
    data.folded = String(graph.folded);
    setText(this._summary, summary(this._trans, graph, graph.own + this._alone));
    this._canvas.setAttribute('aria-label', this._summary.textContent);
    this._longest.hidden = graph.folded;
    const counts = stateCounts(graph);
    GRAPH_STATES.forEach((state, index) => {
      const item = (this._legend.children[index] ??
        child(this._legend, 'li', `cellmill-graph-key cellmill-graph-key-${state}`)) as HTMLElement;
      const number = counts[index] ?? 0;
      item.hidden = number === 0;
      setText(item, `${stateName(this._trans, state)} ${count(number)}`);
    });
  }

  /** Draw the line below the picture: about the marked node, or the whole graph. */
  private _drawInfo(): void {
    const { node, path, layout } = this._picture;
    const graph = this._graph;
    if (graph === null || layout === null) {
      return;
    }
    const trans = this._trans;
    setText(
      this._info,
      node >= 0 ? describe(trans, graph, layout, node) : hint(trans, graph, path, this._alone)
    );
    this._root.dataset.node = node >= 0 ? String(graph.tickets[node] ?? '') : '';
  }

  private readonly _trans: Translator;
  private readonly _root: HTMLElement;
  private readonly _empty: HTMLElement;
  private readonly _body: HTMLElement;
  private readonly _summary: HTMLElement;
  private readonly _longest: HTMLElement;
  private readonly _legend: HTMLElement;
  private readonly _canvas: HTMLCanvasElement;
  private readonly _info: HTMLElement;
  private readonly _picture: GraphPicture;
  private _graph: TaskGraph | null = null;
  /** tasks of this work that are not in the graph */
  private _alone = 0;
}

export const graphTab: TabKind = {
  id: 'graph',
  label: trans => trans.__('Graph'),
  sections: ['graph'],
  make: options => new GraphTab(options)
};
