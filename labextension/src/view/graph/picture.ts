/** A graph with its canvas: layout, visible part and marked node. */

import type { TaskGraph } from '../../model/taskGraph';
import { fitted, nodeAt, showing, zoomed } from './camera';
import { drawGraph, type Camera } from './canvas';
import type { Direction, GraphActs } from './gestures';
import type { BoxText } from './labels';
import { boxesIn, layOut, longestPath, neighbours, type Layout } from './layout';

export interface GraphPictureOptions {
  /** the text in a node's box */
  readonly label: (graph: TaskGraph, node: number) => BoxText;
  /** called when other nodes are marked */
  readonly marked: () => void;
  /** called to show a task's details */
  readonly open: (ticket: bigint) => void;
}

export class GraphPicture implements GraphActs {
  constructor(
    private readonly _canvas: HTMLCanvasElement,
    private readonly _options: GraphPictureOptions
  ) {
    this._resized = new ResizeObserver(() => this._onResize());
    this._resized.observe(_canvas);
    this._themed = new MutationObserver(() => this._paint());
    this._themed.observe(document.body, { attributes: true });
  }

  /** The marked node; -1 if there is none. */
  get node(): number {
    return this._node;
  }

  /** The nodes of the longest path; empty while it is not shown. */
  get path(): readonly number[] {
    return this._path;
  }

  get layout(): Layout | null {
    return this._layout;
  }

  /** Show a graph; null to show none. */
  show(graph: TaskGraph | null): void {
    const before = this._graph;
    this._graph = graph;
    if (graph === null) {
      this._layout = null;
      return;
    }
    const folding = before?.folded !== graph.folded;
    if (this._layout === null || before?.structure !== graph.structure || folding) {
      this._arrange(graph);
      this._node = -1;
      if (!this._moved || folding) {
        this._fit();
      }
    }
    this._drawMarks();
  }

  /** Switch the highlighting of the longest path. */
  showLongest(shows: boolean): void {
    this._showsLongest = shows;
    this._drawMarks();
  }

  dispose(): void {
    this._resized.disconnect();
    this._themed.disconnect();
  }

  zoom(factor: number, x = this._canvas.clientWidth / 2, y = 0): void {
    this._moved = true;
    this._camera = zoomed(this._camera, factor, x, y);
    this._paint();
  }

  move(right: number, down: number): void {
    this._moved = true;
    const { left, top } = this._camera;
    this._camera = { ...this._camera, left: left + right, top: top + down };
    this._paint();
  }

  showAll(): void {
    this._moved = false;
    this._fit();
    this._paint();
  }

  point(x: number, y: number): void {
    this._mark(this._nodeAt(x, y));
  }

  leave(): boolean {
    const marked = this._node >= 0;
    this._mark(-1);
    return marked;
  }

  press(x: number, y: number): void {
    const node = this._nodeAt(x, y);
    if (node >= 0) {
      this._mark(node);
      this.open();
    }
  }

  open(): boolean {
    const ticket = this._graph?.tickets[this._node];
    if (ticket !== undefined) {
      this._options.open(ticket);
    }
    return this._node >= 0;
  }

  walk(direction: Direction): void {
    const layout = this._layout;
    if (layout === null) {
      return;
    }
    const layer = layout.layers[layout.layerOf[this._node] ?? 0];
    const beside = (step: number): number =>
      layer?.[(layout.placeOf[this._node] ?? 0) + step] ?? this._node;
    const next: Record<Direction, () => number | undefined> = {
      ArrowUp: () => neighbours(layout.inputs, this._node)[0],
      ArrowDown: () => neighbours(layout.dependents, this._node)[0],
      ArrowLeft: () => beside(-1),
      ArrowRight: () => beside(1)
    };
    const node = this._node < 0 ? layout.layers[0]?.[0] : next[direction]();
    if (node !== undefined) {
      const { clientWidth, clientHeight } = this._canvas;
      this._camera = showing(this._camera, layout, node, clientWidth, clientHeight);
      this._node = node;
      this._drawMarks();
    }
  }

  private _nodeAt(x: number, y: number): number {
    return this._layout === null ? -1 : nodeAt(this._camera, this._layout, x, y);
  }

  private _mark(node: number): void {
    if (node !== this._node) {
      this._node = node;
      this._drawMarks();
    }
  }

  private _drawMarks(): void {
    const { _graph: graph, _layout: layout } = this;
    if (graph === null || layout === null) {
      return;
    }
    this._path = this._showsLongest && !graph.folded ? longestPath(graph, layout) : [];
    this._options.marked();
    this._paint();
  }

  private _arrange(graph: TaskGraph): void {
    this._boxes = boxesIn(this._canvas.clientWidth);
    this._layout = layOut(graph, this._boxes);
  }

  private _fit(): void {
    if (this._layout !== null) {
      this._camera = fitted(this._layout, this._canvas.clientWidth, this._canvas.clientHeight);
    }
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

  private _paint(): void {
    const { _graph: graph, _layout: layout } = this;
    if (graph !== null && layout !== null) {
      drawGraph(
        this._canvas,
        graph,
        layout,
        this._camera,
        { node: this._node, path: this._path },
        node => this._options.label(graph, node)
      );
    }
  }

  private readonly _resized: ResizeObserver;
  private readonly _themed: MutationObserver;
  private _graph: TaskGraph | null = null;
  private _layout: Layout | null = null;
  private _camera: Camera = { scale: 1, left: 0, top: 0 };
  private _boxes = 0;
  private _node = -1;
  private _path: readonly number[] = [];
  private _showsLongest = false;
  /** whether the user has moved or zoomed the picture */
  private _moved = false;
}
