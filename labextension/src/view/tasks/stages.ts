/** One attempt's stages, as a bar of seven intervals and a list of their times. */

import type { TaskAttempt } from '../../protocol/messages';
import { child } from '../dom';
import type { Translator } from '../translator';
import { intervalNames, span, stageNames } from './labels';

/** An interval, in seconds; `last` is its later stage. */
export interface Part {
  readonly interval: number;
  readonly from: number;
  readonly seconds: number;
}

/** The intervals between known stamps; the interval before an unknown stage is part of the next one. */
export function parts(stamps: readonly number[]): readonly Part[] {
  const found: Part[] = [];
  let before = stamps[0] ?? -1;
  for (let stage = 1; stage < stamps.length; stage++) {
    const stamp = stamps[stage] ?? -1;
    if (stamp >= 0 && before >= 0) {
      found.push({ interval: stage - 1, from: before, seconds: Math.max(0, stamp - before) });
      before = stamp;
    }
  }
  return found;
}

/** Fill `parent` with the bar and the list of times. */
export function drawStages(parent: HTMLElement, trans: Translator, attempt: TaskAttempt): void {
  const found = parts(attempt.stamps);
  const whole = found.reduce((sum, part) => sum + part.seconds, 0);
  const names = intervalNames(trans);
  const bar = child(parent, 'div', 'cellmill-stage-bar');
  bar.setAttribute('role', 'img');
  bar.setAttribute(
    'aria-label',
    found.map(part => `${names[part.interval] ?? ''}: ${span(part.seconds)}`).join(', ')
  );
  const list = child(parent, 'dl', 'cellmill-stages');
  const stages = stageNames(trans);
  for (const part of found) {
    const name = names[part.interval] ?? '';
    const piece = child(bar, 'div', 'cellmill-stage');
    piece.dataset.interval = String(part.interval);
    piece.style.flexGrow = String(whole > 0 ? part.seconds / whole : 0);
    piece.title = `${name}: ${span(part.seconds)}`;
    const row = child(list, 'div', 'cellmill-stage-row');
    row.dataset.interval = String(part.interval);
    row.title = trans.__(
      '%1 after %2',
      stages[part.interval + 1] ?? '',
      span(part.from + part.seconds)
    );
    child(row, 'dt', '').textContent = name;
    child(row, 'dd', '').textContent = span(part.seconds);
  }
}
