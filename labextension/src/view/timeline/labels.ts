/** Texts about spans and the whole timeline. */

import type { Span, TimelineModel } from '../../model/timeline';
import { count, percent } from '../format';
import { partText } from '../partText';
import type { Translator } from '../translator';
import { brief } from './axis';

/** The lines of a span's tooltip; the first is its title. */
export function describe(
  span: Span,
  model: TimelineModel,
  trans: Translator,
  sampled: boolean
): string[] {
  const names = span.functions.map(part => model.name(part.number));
  const single = span.count === 1;
  const length = brief(span.end - span.start);
  const lines = [single ? (names[0] ?? '?') : names.join(', ')];
  if (single) {
    lines.push(span.running ? trans.__('running for %1', length) : length);
  } else {
    const about = sampled ? trans.__('about %1 tasks', count(span.count)) : '';
    const tasks = about || trans.__('%1 tasks', count(span.count));
    lines.push(trans.__('%1 in %2', tasks, length));
    const busy = span.functions.reduce((sum, part) => sum + part.share, span.others);
    lines.push(trans.__('%1 of that time in your code', percent(Math.min(1, busy), 1)));
  }
  if (span.failed > 0) {
    lines.push(single ? trans.__('failed') : trans.__('%1 failed', count(span.failed)));
  }
  if (span.lost > 0) {
    lines.push(single ? trans.__('lost') : trans.__('%1 lost', count(span.lost)));
  }
  const cancelled = span.cut - span.lost;
  if (cancelled > 0) {
    lines.push(single ? trans.__('cancelled') : trans.__('%1 cancelled', count(cancelled)));
  }
  lines.push(
    trans.__('worker %1, from %2', span.worker, brief(Math.max(0, span.start - model.first)))
  );
  return lines;
}

/** A summary of the picture, for screen readers. */
export function summary(model: TimelineModel, trans: Translator, last: number): string {
  const { frame } = model;
  if (frame === null || (frame.tasks === 0 && model.running.length === 0)) {
    return trans.__('No task of this piece of work has run yet.');
  }
  const failed = model.spans.reduce((sum, span) => sum + span.failed, 0);
  const lost = model.spans.reduce((sum, span) => sum + span.lost, 0);
  const cancelled = model.spans.reduce((sum, span) => sum + span.cut, 0) - lost;
  const parts = [
    trans.__(
      '%1 tasks on %2 workers in %3',
      count(frame.tasks),
      count(model.workers().length),
      brief(last - model.first)
    )
  ];
  if (failed > 0) {
    parts.push(trans.__('%1 failed', count(failed)));
  }
  if (lost > 0) {
    parts.push(trans.__('%1 lost', count(lost)));
  }
  if (cancelled > 0) {
    parts.push(trans.__('%1 cancelled', count(cancelled)));
  }
  if (model.running.length > 0) {
    parts.push(trans.__('%1 running', count(model.running.length)));
  }
  return parts.join(', ');
}

/**
 * What the picture omits or estimates; empty if it shows every task exactly. `ended` is the number of tasks that ended.
 * A recording cannot be zoomed into tasks.
 */
export function caveats(
  model: TimelineModel,
  trans: Translator,
  ended: number,
  recorded: boolean
): string {
  const { frame } = model;
  if (frame === null) {
    return '';
  }
  const parts = [];
  if (frame.threshold > 0) {
    parts.push(
      recorded
        ? trans.__('Tasks shorter than %1 were recorded together.', brief(frame.threshold))
        : trans.__('Tasks shorter than %1 are drawn together; zoom in.', brief(frame.threshold))
    );
  }
  if (frame.sampled > 0) {
    parts.push(
      trans.__(
        'There were more than could be looked at: %1 of %2 are estimated from a sample.',
        count(frame.sampled),
        count(frame.tasks)
      )
    );
  }
  if (frame.dropped > 0) {
    parts.push(partText(frame.tasks, ended, trans));
  }
  return parts.filter(part => part !== '').join(' ');
}
