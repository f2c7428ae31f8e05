/** The task graph: what hangs on what, and how each task stands. */

import { GRAPH_STATES, stateCounts, type GraphState, type TaskGraph } from '../../graphModel';
import type { KernelState } from '../../model';
import { button, child, setText } from '../dom';
import { count, duration } from '../format';
import { fitted, nodeAt, showing, zoomed } from '../graph/camera';
import { drawGraph, type Camera } from '../graph/canvas';
import { boxesIn, layOut, longestPath, neighbours, type Layout } from '../graph/layout';
import type { Translator } from '../translator';
import type { Tab, TabKind, TabOptions } from './tab';

const ZOOM_STEP = 1.25;
const MOVE_STEP = 40;
/** A press that moved less is a click. */
const CLICK_REACH = 4;

function stateName(trans: Translator, state: GraphState): string {
  const names: Record<GraphState, string> = {
    waiting: trans.__('waiting'),
    queued: trans.__('queued'),
    running: trans.__('running'),
    done: trans.__('done'),
    failed: trans.__('failed'),
    cancelled: trans.__('cancelled'),
    skipped: trans.__('input failed')
  };
  return names[state];
}

class GraphTab implements Tab {
  constructor({ parent, trans }: TabOptions) {
    this._trans = trans;
    this._root = child(parent, 'div', 'cellmill-graph');
    this._empty = child(this._root, 'p', 'cellmill-message');
    this._body = child(this._root, 'div', 'cellmill-graph-body');
    const bar = child(this._body, 'div', 'cellmill-graph-bar');
    this._summary = child(bar, 'span', 'cellmill-graph-summary');
    const longest = child(bar, 'label', 'cellmill-graph-longest') as HTMLLabelElement;
    this._longest = child(longest, 'input', '') as HTMLInputElement;
    this._longest.type = 'checkbox';
    this._longest.addEventListener('change', () => this._drawMarks());
    longest.append(trans.__('Longest path'));
    longest.title = trans.__('The chain of tasks that took the most time to run');
    this._longestLabel = longest;
    this._addButtons(bar);
    this._legend = child(this._body, 'ul', 'cellmill-graph-legend');
    this._canvas = child(this._body, 'canvas', 'cellmill-graph-canvas') as HTMLCanvasElement;
    this._canvas.tabIndex = 0;
    this._canvas.setAttribute('role', 'application');
    this._canvas.setAttribute('aria-roledescription', trans.__('task graph'));
    this._info = child(this._body, 'p', 'cellmill-graph-info');
    this._info.setAttribute('role', 'status');
    this._listen();
    this._resized = new ResizeObserver(() => this._onResize());
    this._resized.observe(this._canvas);
    this._themed = new MutationObserver(() => this._paint());
    this._themed.observe(document.body, { attributes: true });
  }

  draw(state: KernelState): void {
    const graph = state.sections.graph;
    const backend = state.snapshot?.backend ?? '';
    const shown = graph !== null && graph.size > 0;
    this._empty.hidden = shown;
    this._body.hidden = !shown;
    if (!shown) {
      this._graph = null;
      this._layout = null;
      this._root.dataset.tasks = '0';
      this._drawEmpty(graph !== null, backend);
      return;
    }
    if (graph === this._graph) {
      return;
    }
    const anew = this._layout === null || this._graph?.structure !== graph.structure;
    const folding = this._graph?.folded !== graph.folded;
    this._graph = graph;
    if (anew || folding) {
      this._arrange(graph);
      this._node = -1;
      if (!this._moved || folding) {
        this._fit();
      }
    }
    this._drawWords(graph, state.snapshot?.counts.total ?? graph.tasks);
    this._drawMarks();
  }

  dispose(): void {
    this._resized.disconnect();
    this._themed.disconnect();
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
    add('−', trans.__('Zoom out'), () => this._zoom(1 / ZOOM_STEP));
    add('+', trans.__('Zoom in'), () => this._zoom(ZOOM_STEP));
    add('⤢', trans.__('Show the whole graph'), () => this._showAll());
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

  /** What a style sheet, a test and a screen reader can read. */
  private _drawWords(graph: TaskGraph, all: number): void {
    const trans = this._trans;
    const data = this._root.dataset;
    data.tasks = String(graph.tasks);
    data.dependencies = String(graph.dependencies);
    data.folded = String(graph.folded);
    const tasks = trans._n('%2 task', '%2 tasks', graph.tasks, count(graph.tasks));
    const links = trans._n(
      '%2 dependency',
      '%2 dependencies',
      graph.dependencies,
      count(graph.dependencies)
    );
    const folded = graph.folded
      ? trans.__('in %1 groups by function and depth', count(graph.size))
      : '';
    const partial = graph.partial ? trans.__('the oldest are left out') : '';
    setText(this._summary, [tasks, links, folded, partial].filter(text => text !== '').join(', '));
    this._canvas.setAttribute('aria-label', this._summary.textContent);
    this._longestLabel.hidden = graph.folded;
    const counts = stateCounts(graph);
    GRAPH_STATES.forEach((state, index) => {
      const item = (this._legend.children[index] ??
        child(this._legend, 'li', `cellmill-graph-key cellmill-graph-key-${state}`)) as HTMLElement;
      const number = counts[index] ?? 0;
      item.hidden = number === 0;
      setText(item, `${stateName(trans, state)} ${count(number)}`);
    });
    this._alone = Math.max(0, all - graph.tasks);
  }

  private _drawMarks(): void {
    const { _graph: graph, _layout: layout } = this;
    if (graph === null || layout === null) {
      return;
    }
    this._path = this._longest.checked && !graph.folded ? longestPath(graph, layout) : [];
    setText(this._info, this._node >= 0 ? this._describe(graph, layout) : this._hint(graph));
    this._root.dataset.node = this._node >= 0 ? String(graph.tickets[this._node] ?? '') : '';
    this._paint();
  }

  private _hint(graph: TaskGraph): string {
    const trans = this._trans;
    if (this._path.length > 0) {
      const seconds = this._path.reduce((sum, node) => sum + (graph.seconds[node] ?? 0), 0);
      return trans.__('%1 of run time in %2 tasks', brief(seconds), count(this._path.length));
    }
    if (this._alone > 0) {
      return trans._n(
        '%2 other task depends on none and is not shown.',
        '%2 other tasks depend on none and are not shown.',
        this._alone,
        count(this._alone)
      );
    }
    return '';
  }

  private _name(graph: TaskGraph, node: number): string {
    const name = graph.names[graph.functions[node] ?? 0] ?? '';
    return name !== '' ? name : graph.folded ? this._trans.__('several') : this._trans.__('task');
  }

  private _label(graph: TaskGraph, node: number): string {
    const name = this._name(graph, node);
    return graph.counts === null ? name : `${count(this._members(graph, node))} × ${name}`;
  }

  private _members(graph: TaskGraph, node: number): number {
    return GRAPH_STATES.reduce(
      (sum, _, state) => sum + (graph.counts?.[state * graph.size + node] ?? 0),
      0
    );
  }

  private _describe(graph: TaskGraph, layout: Layout): string {
    const trans = this._trans;
    const node = this._node;
    const seconds = graph.seconds[node] ?? 0;
    const ran = seconds > 0 ? trans.__('ran %1', brief(seconds)) : '';
    if (graph.counts !== null) {
      const states = GRAPH_STATES.map((state, index) => {
        const number = graph.counts?.[index * graph.size + node] ?? 0;
        return number > 0 ? `${stateName(trans, state)} ${count(number)}` : '';
      });
      return [this._label(graph, node), ...states, ran].filter(text => text !== '').join(' · ');
    }
    const serial = String((graph.tickets[node] ?? 0n) >> 32n);
    const inputs = neighbours(layout.inputs, node).length;
    const dependents = neighbours(layout.dependents, node).length;
    return [
      trans.__('%1, task %2', this._name(graph, node), serial),
      stateName(trans, GRAPH_STATES[graph.states[node] ?? 0] ?? 'waiting'),
      ran,
      trans._n('%2 input', '%2 inputs', inputs, count(inputs)),
      trans._n('%2 dependent', '%2 dependents', dependents, count(dependents))
    ]
      .filter(text => text !== '')
      .join(' · ');
  }

  private _paint(): void {
    const { _graph: graph, _layout: layout } = this;
    if (graph !== null && layout !== null) {
      drawGraph(
        this._canvas,
        graph,
        layout,
        this._camera,
        { node: this._node, path: this._path },
        node => this._label(graph, node)
      );
    }
  }

  private _fit(): void {
    if (this._layout !== null) {
      this._camera = fitted(this._layout, this._canvas.clientWidth, this._canvas.clientHeight);
    }
  }

  private _showAll(): void {
    this._moved = false;
    this._fit();
    this._paint();
  }

  private _arrange(graph: TaskGraph): void {
    this._boxes = boxesIn(this._canvas.clientWidth);
    this._layout = layOut(graph, this._boxes);
  }

  private _onResize(): void {
    const hidden = this._canvas.clientWidth === 0;
    if (this._graph !== null && !hidden && boxesIn(this._canvas.clientWidth) !== this._boxes) {
      this._arrange(this._graph);
    }
    if (!this._moved) {
      this._fit();
    }
    this._paint();
  }

  private _zoom(factor: number, x = this._canvas.clientWidth / 2, y = 0): void {
    this._moved = true;
    this._camera = zoomed(this._camera, factor, x, y);
    this._paint();
  }

  private _mark(node: number): void {
    if (node !== this._node) {
      this._node = node;
      this._drawMarks();
    }
  }

  /** Ask whoever shows single tasks to show this one. */
  private _open(node: number): void {
    const ticket = this._graph?.tickets[node];
    if (ticket !== undefined) {
      this._canvas.dispatchEvent(
        new CustomEvent('cellmill-task', { bubbles: true, detail: { task: String(ticket) } })
      );
    }
  }

  private _listen(): void {
    const canvas = this._canvas;
    canvas.addEventListener(
      'wheel',
      event => {
        event.preventDefault();
        this._zoom(Math.exp(-event.deltaY * 0.0015), event.offsetX, event.offsetY);
      },
      { passive: false }
    );
    canvas.addEventListener('pointerdown', event => {
      canvas.setPointerCapture(event.pointerId);
      this._drag = { x: event.offsetX, y: event.offsetY, camera: this._camera, far: false };
    });
    canvas.addEventListener('pointermove', event => this._onMove(event));
    canvas.addEventListener('pointerup', event => {
      const click = this._drag?.far === false;
      this._drag = null;
      const node = this._nodeAt(event);
      if (click && node >= 0) {
        this._mark(node);
        this._open(node);
      }
    });
    canvas.addEventListener('pointercancel', () => {
      this._drag = null;
    });
    canvas.addEventListener('pointerleave', () => this._mark(-1));
    canvas.addEventListener('keydown', event => this._onKey(event));
  }

  private _nodeAt(event: PointerEvent): number {
    return this._layout === null
      ? -1
      : nodeAt(this._camera, this._layout, event.offsetX, event.offsetY);
  }

  private _onMove(event: PointerEvent): void {
    const drag = this._drag;
    if (drag === null) {
      this._mark(this._nodeAt(event));
      return;
    }
    const right = event.offsetX - drag.x;
    const down = event.offsetY - drag.y;
    drag.far ||= Math.hypot(right, down) > CLICK_REACH;
    if (drag.far) {
      this._moved = true;
      const { camera } = drag;
      this._camera = { ...camera, left: camera.left + right, top: camera.top + down };
      this._paint();
    }
  }

  /** Arrows go along the graph, with Shift they move the picture. */
  private _onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const moves: Record<string, readonly [number, number]> = {
      ArrowUp: [0, 1],
      ArrowDown: [0, -1],
      ArrowLeft: [1, 0],
      ArrowRight: [-1, 0]
    };
    const move = moves[event.key];
    if (move !== undefined && event.shiftKey) {
      this._moved = true;
      this._camera = {
        ...this._camera,
        left: this._camera.left + move[0] * MOVE_STEP,
        top: this._camera.top + move[1] * MOVE_STEP
      };
      this._paint();
    } else if (move !== undefined) {
      this._walk(event.key);
    } else if (event.key === '+' || event.key === '=') {
      this._zoom(ZOOM_STEP);
    } else if (event.key === '-') {
      this._zoom(1 / ZOOM_STEP);
    } else if (event.key === '0' || event.key === 'Home') {
      this._showAll();
    } else if (event.key === 'Enter' && this._node >= 0) {
      this._open(this._node);
    } else if (event.key === 'Escape' && this._node >= 0) {
      this._mark(-1);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  private _walk(key: string): void {
    const layout = this._layout;
    if (layout === null) {
      return;
    }
    const layer = layout.layers[layout.layerOf[this._node] ?? 0];
    const beside = (step: number): number =>
      layer?.[(layout.placeOf[this._node] ?? 0) + step] ?? this._node;
    const next: Record<string, () => number | undefined> = {
      ArrowUp: () => neighbours(layout.inputs, this._node)[0],
      ArrowDown: () => neighbours(layout.dependents, this._node)[0],
      ArrowLeft: () => beside(-1),
      ArrowRight: () => beside(1)
    };
    const node = this._node < 0 ? layout.layers[0]?.[0] : next[key]?.();
    if (node !== undefined) {
      const { clientWidth, clientHeight } = this._canvas;
      this._camera = showing(this._camera, layout, node, clientWidth, clientHeight);
      this._node = node;
      this._drawMarks();
    }
  }

  private readonly _trans: Translator;
  private readonly _root: HTMLElement;
  private readonly _empty: HTMLElement;
  private readonly _body: HTMLElement;
  private readonly _summary: HTMLElement;
  private readonly _longest: HTMLInputElement;
  private readonly _longestLabel: HTMLElement;
  private readonly _legend: HTMLElement;
  private readonly _canvas: HTMLCanvasElement;
  private readonly _info: HTMLElement;
  private readonly _resized: ResizeObserver;
  private readonly _themed: MutationObserver;
  private _graph: TaskGraph | null = null;
  private _layout: Layout | null = null;
  private _camera: Camera = { scale: 1, left: 0, top: 0 };
  private _boxes = 0;
  private _node = -1;
  private _path: readonly number[] = [];
  private _alone = 0;
  private _moved = false;
  private _drag: { x: number; y: number; camera: Camera; far: boolean } | null = null;
}

/** Seconds in the unit that suits them. */
function brief(seconds: number): string {
  if (seconds >= 1) {
    return duration(seconds);
  }
  return seconds >= 0.001
    ? `${(1000 * seconds).toPrecision(3)} ms`
    : `${Math.max(1, Math.round(1e6 * seconds))} µs`;
}

export const graphTab: TabKind = {
  id: 'graph',
  label: trans => trans.__('Graph'),
  sections: ['graph'],
  make: options => new GraphTab(options)
};
