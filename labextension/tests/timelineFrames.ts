import type { Timeline } from '../src/protocol/messages';

export interface Given {
  start: number;
  end: number;
  ticket?: bigint;
  count?: number;
  failed?: number;
  cut?: number;
  lost?: number;
  worker?: number;
  running?: boolean;
  functions?: number[];
  shares?: number[];
  place?: number;
}

/** Spans as the kernel packs them; times are nanoseconds. */
export function packed(...spans: Given[]): Uint8Array {
  const bytes = new Uint8Array(64 * spans.length);
  const view = new DataView(bytes.buffer);
  spans.forEach((span, index) => {
    const at = 64 * index;
    view.setBigUint64(at, BigInt(span.start), true);
    view.setBigUint64(at + 8, BigInt(span.end), true);
    view.setBigUint64(at + 16, span.ticket ?? BigInt(index + 1), true);
    view.setUint32(at + 24, span.count ?? 1, true);
    view.setUint32(at + 28, span.failed ?? 0, true);
    view.setUint32(at + 32, span.cut ?? 0, true);
    view.setUint32(at + 60, span.lost ?? 0, true);
    view.setUint16(at + 36, span.worker ?? 0, true);
    view.setUint16(at + 38, span.running === true ? 1 : 0, true);
    for (let i = 0; i < 3; i++) {
      view.setUint32(at + 40 + 4 * i, span.functions?.[i] ?? (i === 0 ? 1 : 0xffff_ffff), true);
      view.setUint8(at + 52 + i, span.shares?.[i] ?? (i === 0 ? 255 : 0));
    }
    view.setUint32(at + 56, span.place ?? index, true);
  });
  return bytes;
}

export function frame(
  number: number,
  follows: number,
  spans: Uint8Array,
  more: Partial<Timeline> = {}
): Timeline {
  return {
    cellmill: 1,
    kind: 'timeline',
    run: null,
    known: true,
    work: 1,
    number,
    follows,
    now: 100,
    tasks: 2,
    sampled: 0,
    dropped: 0,
    threshold: 0,
    workers: [0, 1],
    names: number === 1 ? [{ number: 1, name: 'fold', colour: 0 }] : [],
    spans,
    running: new Uint8Array(),
    ...more
  };
}
