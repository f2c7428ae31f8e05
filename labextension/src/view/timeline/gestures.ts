/** Translates pointer and key events on the timeline into actions. */

const DRAG = 4;

/** The actions. Positions are those of the pointer in the browser's window, distances CSS pixels. */
export interface TimelineActs {
  /** Scale the window's length by a factor, around the position of an event or the middle. */
  zoom(factor: number, around?: MouseEvent): void;
  pan(pixels: number): void;
  /** Move to either side by a fraction of the window. */
  step(side: 1 | -1): void;
  showAll(): void;
  follow(): void;
  /** Show the tooltip of the span at a position. */
  point(event: MouseEvent): void;
  /** Hide the tooltip. */
  leave(): void;
  /** Mark the span at a position and show its task. */
  press(event: MouseEvent): void;
  /** Mark the worker's next span, or the previous one. */
  next(by: 1 | -1): void;
  /** Mark a span of the worker below, or above. */
  otherWorker(by: 1 | -1): void;
  /** Show the task of the marked span. */
  open(): void;
}

/** Listen on a canvas, for as long as it is there. */
export function listen(canvas: HTMLCanvasElement, acts: TimelineActs): void {
  canvas.addEventListener(
    'wheel',
    event => {
      event.preventDefault();
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        acts.pan(event.deltaX || event.deltaY);
      } else {
        acts.zoom(Math.exp(event.deltaY * (event.ctrlKey ? 0.01 : 0.002)), event);
      }
    },
    { passive: false }
  );
  listenToPointer(canvas, acts);
  canvas.addEventListener('dblclick', () => acts.showAll());
  canvas.addEventListener('keydown', event => obeyKey(event, acts));
}

function listenToPointer(canvas: HTMLCanvasElement, acts: TimelineActs): void {
  /** the pointer's last position while it is pressed; `moved`: it has moved too far for a click */
  let held: { readonly x: number; readonly moved: boolean } | null = null;
  canvas.addEventListener('pointerdown', event => {
    held = { x: event.clientX, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', event => {
    if (held === null || event.buttons === 0) {
      acts.point(event);
      return;
    }
    const by = held.x - event.clientX;
    if (held.moved || Math.abs(by) > DRAG) {
      held = { x: event.clientX, moved: true };
      acts.leave();
      acts.pan(by);
    }
  });
  canvas.addEventListener('pointerup', event => {
    const click = held?.moved === false;
    held = null;
    if (click) {
      acts.press(event);
    }
  });
  canvas.addEventListener('pointerleave', () => acts.leave());
}

function obeyKey(event: KeyboardEvent, acts: TimelineActs): void {
  const keys: Record<string, () => void> = {
    '+': () => acts.zoom(0.5),
    '=': () => acts.zoom(0.5),
    '-': () => acts.zoom(2),
    0: () => acts.showAll(),
    End: () => acts.follow(),
    ArrowLeft: () => (event.shiftKey ? acts.next(-1) : acts.step(-1)),
    ArrowRight: () => (event.shiftKey ? acts.next(1) : acts.step(1)),
    ArrowUp: () => acts.otherWorker(-1),
    ArrowDown: () => acts.otherWorker(1),
    Enter: () => acts.open()
  };
  const act = keys[event.key];
  if (act !== undefined && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    act();
  }
}
