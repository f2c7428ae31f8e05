/** Texts for states, stages and durations of single tasks. */

import type { Translator } from '../translator';

/** States that a row can have, in the order of the filters. */
export const STATES = [
  'running',
  'stopping',
  'sent',
  'queued',
  'delayed',
  'waiting',
  'done',
  'failed',
  'lost',
  'not-run',
  'cancelled',
  'retried'
] as const;

/** One chip of the filter: states that belong together. */
export interface Filter {
  readonly id: string;
  readonly states: readonly string[];
  readonly label: (trans: Translator) => string;
}

export const FILTERS: readonly Filter[] = [
  { id: 'running', states: ['running', 'stopping'], label: trans => trans.__('Running') },
  {
    id: 'waiting',
    states: ['sent', 'queued', 'delayed', 'waiting'],
    label: trans => trans.__('Waiting')
  },
  {
    id: 'failed',
    states: ['failed', 'lost', 'not-run'],
    label: trans => trans.__('Failed')
  },
  { id: 'done', states: ['done'], label: trans => trans.__('Done') },
  { id: 'cancelled', states: ['cancelled'], label: trans => trans.__('Cancelled') },
  // Attempts that failed, and were followed by another: their tasks are counted by how they ended.
  { id: 'retried', states: ['retried'], label: trans => trans.__('Tried again') }
];

/** A state's name. */
export function stateName(state: string, trans: Translator): string {
  switch (state) {
    case 'waiting':
      return trans.__('waits for inputs');
    case 'delayed':
      return trans.__('kept back');
    case 'queued':
      return trans.__('queued');
    case 'sent':
      return trans.__('at a worker');
    case 'running':
      return trans.__('running');
    case 'stopping':
      return trans.__('stopping');
    case 'done':
      return trans.__('done');
    case 'failed':
      return trans.__('failed');
    case 'lost':
      return trans.__('lost');
    case 'cancelled':
      return trans.__('cancelled');
    case 'not-run':
      return trans.__('not run');
    case 'retried':
      return trans.__('tried again');
    default:
      return trans.__('unknown');
  }
}

/** The colour that a state has in bars, map and graph, by its name in states.css; attempts that were tried again have
 * none. */
export function tone(state: string): string {
  switch (state) {
    case 'stopping':
      return 'running';
    case 'sent':
    case 'delayed':
      return 'queued';
    case 'not-run':
      return 'skipped';
    default:
      return state;
  }
}

/** Names of the seven intervals between the stages. */
export function intervalNames(trans: Translator): readonly string[] {
  return [
    trans.__('Wait for inputs'),
    trans.__('Queue'),
    trans.__('Deliver'),
    trans.__('Unpack'),
    trans.__('Run'),
    trans.__('Pack'),
    trans.__('Collect')
  ];
}

/** Names of the eight stages. */
export function stageNames(trans: Translator): readonly string[] {
  return [
    trans.__('submitted'),
    trans.__('ready'),
    trans.__('dispatched'),
    trans.__('received'),
    trans.__('started'),
    trans.__('finished'),
    trans.__('returned'),
    trans.__('resolved')
  ];
}

/** A duration with about three digits: 840 ns, 12.3 µs, 4.5 ms, 1.25 s, 3:05. */
export function span(seconds: number): string {
  if (seconds >= 60) {
    const whole = Math.round(seconds);
    const two = (value: number): string => String(value).padStart(2, '0');
    const minutes = Math.floor(whole / 60);
    return minutes < 60
      ? `${minutes}:${two(whole % 60)}`
      : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole % 60)}`;
  }
  for (const [unit, size] of [
    ['s', 1],
    ['ms', 1e-3],
    ['µs', 1e-6]
  ] as const) {
    if (seconds >= 0.9995 * size) {
      return `${digits(seconds / size)} ${unit}`;
    }
  }
  return seconds <= 0 ? '0' : `${Math.round(seconds * 1e9)} ns`;
}

function digits(value: number): string {
  return value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

/** A task's name: its serial number, with the element's index in its chunk. */
export function taskName(number: number, element: number | null, count: number): string {
  const place = element !== null && element > 0 ? `.${element}` : '';
  return count > 1 ? `#${number} ×${count}` : `#${number}${place}`;
}

/** The line that makes a failed call again in the kernel, under the debugger. */
export function debugLine(number: number, element: number | null): string {
  return `%cellmill debug ${number}${element !== null && element > 0 ? ` ${element}` : ''}`;
}
