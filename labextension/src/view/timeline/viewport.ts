/** The spans that a window of the timeline shows, and which spans are neighbours. */

import type { Span, TimelineModel } from '../../model/timeline';

/** The spans in a window: single tasks where they are known, else slices. */
export function visibleSpans(model: TimelineModel, from: number, to: number): readonly Span[] {
  const { detail } = model;
  const spans = model.spans.filter(span => span.end >= from && span.start <= to);
  if (detail === null || !detail.complete || detail.spans.length === 0) {
    return spans;
  }
  // Rows before the earliest one may have been overwritten: slices are kept there.
  const earliest = detail.spans.reduce((least, span) => Math.min(least, span.start), Infinity);
  const start = Math.max(detail.start, earliest);
  const [singles, slices] = [
    spans.filter(span => span.count === 1),
    spans.filter(span => span.count > 1 && (span.start < start || span.end > detail.end))
  ];
  const known = new Set(singles.map(span => span.ticket));
  const within = detail.spans.filter(
    span =>
      span.end >= from &&
      span.start <= to &&
      !known.has(span.ticket) &&
      !slices.some(slice => covers(slice, span))
  );
  return [...slices, ...singles, ...within];
}

function covers(slice: Span, span: Span): boolean {
  return slice.worker === span.worker && slice.start <= span.start && slice.end >= span.end;
}

/** Merge the narrow spans in each pixel column into one; `pixel` is a pixel's length in seconds. */
export function mergeNarrow(spans: readonly Span[], pixel: number): readonly Span[] {
  const wide: Span[] = [];
  const columns = new Map<string, Span[]>();
  for (const span of spans) {
    if (span.running || span.end - span.start >= 2 * pixel) {
      wide.push(span);
      continue;
    }
    const key = `${span.worker} ${Math.floor(span.start / pixel)}`;
    const column = columns.get(key);
    if (column === undefined) {
      columns.set(key, [span]);
    } else {
      column.push(span);
    }
  }
  const narrow = [...columns.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : [together(first, others, pixel)]
  );
  return [...wide, ...narrow];
}

/** Merge spans of one worker into one, at least a pixel long. */
function together(first: Span, others: readonly Span[], pixel: number): Span {
  if (others.length === 0) {
    return first;
  }
  const spans = [first, ...others];
  const start = Math.min(...spans.map(span => span.start));
  const end = Math.max(start + pixel, ...spans.map(span => span.end));
  const shares = new Map<number, number>();
  const sum = (part: (span: Span) => number): number =>
    spans.reduce((all, span) => all + part(span), 0);
  for (const span of spans) {
    for (const { number, share } of span.functions) {
      const time = (share * (span.end - span.start)) / (end - start);
      shares.set(number, (shares.get(number) ?? 0) + time);
    }
  }
  return {
    ...first,
    start,
    end,
    count: sum(span => span.count),
    failed: sum(span => span.failed),
    cut: sum(span => span.cut),
    lost: sum(span => span.lost),
    functions: [...shares].map(([number, share]) => ({ number, share })),
    others: sum(span => (span.others * (span.end - span.start)) / (end - start))
  };
}

/** The span `by` positions after the chosen one in its row; the row's first if none is chosen. */
export function neighbour(
  spans: readonly Span[],
  chosen: Span | null,
  otherwise: number | undefined,
  by: number
): Span | null {
  const worker = chosen?.worker ?? otherwise;
  const row = spans.filter(span => span.worker === worker);
  row.sort((a, b) => a.start - b.start);
  const here = row.findIndex(span => span.ticket === chosen?.ticket && span.start === chosen.start);
  return row[here < 0 ? 0 : Math.max(0, Math.min(row.length - 1, here + by))] ?? null;
}

/** The span of a worker whose start is nearest to a time. */
export function nearest(
  spans: readonly Span[],
  worker: number | undefined,
  time: number
): Span | null {
  let best: Span | null = null;
  for (const span of spans) {
    const nearer = best === null || Math.abs(span.start - time) < Math.abs(best.start - time);
    if (span.worker === worker && nearer) {
      best = span;
    }
  }
  return best;
}
