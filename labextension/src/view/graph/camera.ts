/** Which part of a graph is visible: fitting, zooming, moving, hit testing. Pure functions. */

import type { Camera } from './canvas';
import { READABLE, type Layout } from './layout';

const MARGIN = 12;
const MOST = 4;
const LEAST = 0.02;
/** The smallest scale for fitting: of a longer graph the beginning is shown, and the rest by dragging. */
const LEAST_FIT = 0.12;

/** A camera that shows the whole graph, or the beginning of a very long one. */
export function fitted(layout: Layout, width: number, height: number): Camera {
  const across = (width - 2 * MARGIN) / Math.max(1, layout.width);
  const along = (height - 2 * MARGIN) / Math.max(1, layout.height);
  const boxes = layout.form.width > layout.form.height;
  const whole = Math.min(across, along, boxes ? 1 : 2);
  // Boxes that do not fit with text in them fill the width: one looks further by dragging.
  const least = boxes ? Math.max(READABLE, Math.min(1, across)) : LEAST_FIT;
  const scale = whole < (boxes ? READABLE : LEAST_FIT) ? least : whole;
  const left = (width - layout.width * scale) / 2;
  const top = Math.max(MARGIN, (height - layout.height * scale) / 2);
  return { scale, left: Math.round(left), top: Math.round(top) };
}

/** Zoom by a factor; the point (x, y) of the canvas stays in place. */
export function zoomed(camera: Camera, factor: number, x: number, y: number): Camera {
  const scale = Math.min(MOST, Math.max(LEAST, camera.scale * factor));
  const change = scale / camera.scale;
  return {
    scale,
    left: x - (x - camera.left) * change,
    top: y - (y - camera.top) * change
  };
}

/** Move so that a node is visible. */
export function showing(
  camera: Camera,
  layout: Layout,
  node: number,
  width: number,
  height: number
): Camera {
  const x = (layout.x[node] ?? 0) * camera.scale + camera.left;
  const y = (layout.y[node] ?? 0) * camera.scale + camera.top;
  const edge = 24;
  const back = (at: number, end: number): number =>
    at < edge ? edge - at : at > end - edge ? end - edge - at : 0;
  return { ...camera, left: camera.left + back(x, width), top: camera.top + back(y, height) };
}

/** The node at or close to a point of the canvas; -1 if there is none. */
export function nodeAt(camera: Camera, layout: Layout, x: number, y: number): number {
  const atX = (x - camera.left) / camera.scale;
  const atY = (y - camera.top) / camera.scale;
  const reach = 3 / camera.scale;
  let best = -1;
  let least = Infinity;
  for (let node = 0; node < layout.x.length; node++) {
    const dx = Math.abs((layout.x[node] ?? 0) - atX);
    const dy = Math.abs((layout.y[node] ?? 0) - atY);
    const inside =
      dx <= layout.form.width / 2 + reach &&
      dy <= layout.form.height / 2 + reach &&
      dx + dy < least;
    if (inside) {
      best = node;
      least = dx + dy;
    }
  }
  return best;
}
