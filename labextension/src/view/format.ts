/** Formats numbers for people. */

const WHOLE = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat(undefined, { notation: 'compact' });
const PERCENT = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 0 });

/** A count, with thousands separators. */
export function count(value: number): string {
  return WHOLE.format(value);
}

/** A count in at most four characters: 862, 1.3K, 25M. */
export function shortCount(value: number): string {
  return SHORT.format(value);
}

/** A part of a whole in percent; 100% only if it is the whole. */
export function percent(part: number, whole: number): string {
  return PERCENT.format(Math.floor((100 * part) / whole) / 100);
}

/** A rate with about three digits: 0.42, 7.3, 128, 12.4k. */
export function rate(value: number): string {
  if (value >= 99_950) {
    return `${Math.round(value / 1000)}k`;
  }
  if (value >= 9_995) {
    return `${(value / 1000).toFixed(1)}k`;
  }
  if (value >= 99.95 || value === 0) {
    return value.toFixed(0);
  }
  return value.toFixed(value >= 9.995 ? 1 : 2);
}

/** A duration: 28 ms, 0.4 s, 12 s, 3:05, 1:02:00. */
export function duration(seconds: number): string {
  if (seconds > 0 && seconds < 0.0005) {
    return '< 1 ms';
  }
  if (seconds >= 0.0005 && seconds < 0.05) {
    return `${Math.round(seconds * 1000)} ms`;
  }
  if (seconds < 9.95) {
    return `${seconds.toFixed(1)} s`;
  }
  const whole = Math.round(seconds);
  if (whole < 60) {
    return `${whole} s`;
  }
  const two = (value: number): string => String(value).padStart(2, '0');
  const minutes = Math.floor(whole / 60);
  const rest = two(whole % 60);
  return minutes < 60
    ? `${minutes}:${rest}`
    : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${rest}`;
}

/** A duration without a fraction of a second: 4 s, 12 s, 3:05. */
export function wholeSeconds(seconds: number): string {
  return seconds < 9.95 ? `${Math.round(seconds)} s` : duration(seconds);
}

/** Bytes, with about three digits: 640 kB, 52 MB, 1.3 GB. */
export function bytes(value: number): string {
  if (value < 999_500) {
    return `${Math.round(value / 1000)} kB`;
  }
  if (value < 999_500_000) {
    return `${Math.round(value / 1e6)} MB`;
  }
  const giga = value / 1e9;
  return `${giga < 99.95 ? giga.toFixed(1) : Math.round(giga)} GB`;
}

/** A moment as the time of day; `seconds` since 1970. */
export function clock(seconds: number): string {
  return new Date(1000 * seconds).toLocaleTimeString([], { hourCycle: 'h23' });
}
