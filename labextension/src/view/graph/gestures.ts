/** Translates pointer and key events on the task graph into actions. */

const ZOOM_STEP = 1.25;
const MOVE_STEP = 40;
/** A press that moves fewer CSS pixels is a click. */
const CLICK_REACH = 4;

export type Direction = 'ArrowUp' | 'ArrowDown' | 'ArrowLeft' | 'ArrowRight';

/** The actions. Points and distances are CSS pixels of the canvas. */
export interface GraphActs {
  /** Zoom, around a point or the middle of the upper edge. */
  zoom(factor: number, x?: number, y?: number): void;
  move(right: number, down: number): void;
  showAll(): void;
  /** Mark the node at a point, if there is one. */
  point(x: number, y: number): void;
  /** Mark no node; returns whether one was marked. */
  leave(): boolean;
  /** Mark the node at a point and show its task. */
  press(x: number, y: number): void;
  /** Show the task of the marked node; returns whether there is one. */
  open(): boolean;
  /** Mark a neighbour of the marked node. */
  walk(direction: Direction): void;
}

/** The arrow keys walk along the graph; with Shift they move the picture. */
const MOVES: Readonly<Record<Direction, readonly [number, number]>> = {
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
  ArrowLeft: [1, 0],
  ArrowRight: [-1, 0]
};

function directionOf(key: string): Direction | null {
  return key in MOVES ? (key as Direction) : null;
}

export function zoomIn(acts: GraphActs): void {
  acts.zoom(ZOOM_STEP);
}

export function zoomOut(acts: GraphActs): void {
  acts.zoom(1 / ZOOM_STEP);
}

/** Listen on a canvas, for as long as it is there. */
export function listen(canvas: HTMLCanvasElement, acts: GraphActs): void {
  canvas.addEventListener(
    'wheel',
    event => {
      event.preventDefault();
      acts.zoom(Math.exp(-event.deltaY * 0.0015), event.offsetX, event.offsetY);
    },
    { passive: false }
  );
  listenToPointer(canvas, acts);
  canvas.addEventListener('keydown', event => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey && obeyKey(event, acts)) {
      event.preventDefault();
      event.stopPropagation();
    }
  });
}

function listenToPointer(canvas: HTMLCanvasElement, acts: GraphActs): void {
  /** the last point of a drag; `far`: it has moved too far for a click */
  let drag: { readonly x: number; readonly y: number; readonly far: boolean } | null = null;
  canvas.addEventListener('pointerdown', event => {
    canvas.setPointerCapture(event.pointerId);
    drag = { x: event.offsetX, y: event.offsetY, far: false };
  });
  canvas.addEventListener('pointermove', event => {
    if (drag === null) {
      acts.point(event.offsetX, event.offsetY);
      return;
    }
    const right = event.offsetX - drag.x;
    const down = event.offsetY - drag.y;
    if (drag.far || Math.hypot(right, down) > CLICK_REACH) {
      drag = { x: event.offsetX, y: event.offsetY, far: true };
      acts.move(right, down);
    }
  });
  canvas.addEventListener('pointerup', event => {
    const click = drag?.far === false;
    drag = null;
    if (click) {
      acts.press(event.offsetX, event.offsetY);
    }
  });
  canvas.addEventListener('pointercancel', () => {
    drag = null;
  });
  canvas.addEventListener('pointerleave', () => acts.leave());
}

/** Handle a key; returns whether it has a meaning here. */
function obeyKey(event: KeyboardEvent, acts: GraphActs): boolean {
  const direction = directionOf(event.key);
  if (direction !== null) {
    if (event.shiftKey) {
      const [right, down] = MOVES[direction];
      acts.move(right * MOVE_STEP, down * MOVE_STEP);
    } else {
      acts.walk(direction);
    }
    return true;
  }
  switch (event.key) {
    case '+':
    case '=':
      zoomIn(acts);
      return true;
    case '-':
      zoomOut(acts);
      return true;
    case '0':
    case 'Home':
      acts.showAll();
      return true;
    case 'Enter':
      return acts.open();
    case 'Escape':
      return acts.leave();
    default:
      return false;
  }
}
