/** Formats durations, and places the marks of a time axis. */

const UNITS: readonly [number, string][] = [
  [1, 's'],
  [1e-3, 'ms'],
  [1e-6, 'µs'],
  [1e-9, 'ns']
];

/** A duration with three digits: 14.2 µs, 350 ms, 2.05 s, 3:05 min. */
export function brief(seconds: number): string {
  if (!(seconds > 0)) {
    return '0 s';
  }
  if (seconds >= 99.95) {
    const whole = Math.round(seconds);
    const minutes = Math.floor(whole / 60);
    return `${minutes}:${String(whole % 60).padStart(2, '0')} min`;
  }
  const [unit, name] = UNITS.find(([least]) => seconds >= least * 0.9995) ?? [1e-9, 'ns'];
  const value = seconds / unit;
  return `${value.toFixed(value >= 99.95 || unit === 1e-9 ? 0 : value >= 9.995 ? 1 : 2)} ${name}`;
}

export interface Axis {
  /** the time that the marks' labels count from; empty if they are absolute */
  readonly base: string;
  readonly marks: readonly { readonly at: number; readonly label: string }[];
}

/** Round marks between two times in seconds, at least 75 pixels apart. */
export function axis(from: number, to: number, width: number): Axis {
  const span = to - from;
  if (!(span > 0) || !(width > 0)) {
    return { base: '', marks: [] };
  }
  const step = roundStep((span * 75) / width);
  const [unit, name] = UNITS.find(([least]) => step >= least * 0.9999) ?? [1e-9, 'ns'];
  // A mark "1234567 µs" is hard to read: far from zero, small steps count from a round second or millisecond.
  const coarse = unit * 1000;
  const base = unit < 1 && from >= coarse ? Math.floor(from / coarse + 1e-9) * coarse : 0;
  const digits = Math.max(0, -Math.floor(Math.log10((step / unit) * 1.0001)));
  const marks = [];
  for (let n = Math.ceil(from / step - 1e-6); n * step <= to + step * 1e-6; n++) {
    const value = (n * step - base) / unit;
    const sign = base > 0 ? '+' : '';
    marks.push({ at: n * step, label: `${sign}${value.toFixed(digits)} ${name}` });
    if (marks.length > 200) {
      break;
    }
  }
  return { base: base > 0 ? `${trimmed(base)} s` : '', marks };
}

/** The smallest 1, 2 or 5 times a power of ten that is at least `least`. */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5].find(factor => factor * power >= least * 0.9999) ?? 10);
}

function trimmed(seconds: number): string {
  return seconds.toFixed(6).replace(/\.?0+$/, '');
}
