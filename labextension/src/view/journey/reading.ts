/** Explains a journey's figures in sentences, which say only what follows from the figures. */

import type { FunctionJourney, Hits } from '../../protocol/messages';
import { count } from '../format';
import { brief } from '../timeline/axis';
import type { Translator } from '../translator';

/** Indices in FunctionJourney.intervals. */
export const PLACE = {
  inputs: 0,
  queue: 1,
  deliver: 2,
  unpack: 3,
  run: 4,
  pack: 5,
  collect: 6,
  pickle: 7,
  beside: 8
} as const;

/** The intervals from the call to the result, in order. */
export const ALONG = [0, 1, 2, 3, 4, 8, 5, 6] as const;

/** An interval's name and what happens in it. */
export function intervalWords(place: number, trans: Translator): { name: string; meaning: string } {
  const words = [
    [trans.__('wait for inputs'), trans.__('From the call until the results it takes were there.')],
    [trans.__('queue'), trans.__('Ready, but not sent to a worker yet.')],
    [trans.__('deliver'), trans.__("In a worker's ring, behind the tasks sent to it before.")],
    [trans.__('unpack'), trans.__('The worker loads the arguments.')],
    [trans.__('run'), trans.__('Your code.')],
    [trans.__('pack'), trans.__('The worker pickles the result and puts it into its ring.')],
    [trans.__('collect'), trans.__('The result waits until the kernel takes it.')],
    [
      trans.__('pickle'),
      trans.__(
        'The kernel pickles the arguments; the call returns after that. Beside the journey, not in it.'
      )
    ],
    [
      trans.__('beside its chunk'),
      trans.__(
        'Waiting for others of the same chunk of a map: those before it run first, and results travel together.'
      )
    ]
  ];
  const [name, meaning] = words[place] ?? ['?', ''];
  return { name: name ?? '?', meaning: meaning ?? '' };
}

/** Mean seconds that a task spent in an interval; null if unknown. */
export function mean(journey: FunctionJourney, place: number): number | null {
  const interval = journey.intervals[place];
  if (interval === undefined) {
    return null;
  }
  if (place === PLACE.beside && interval.known === 0) {
    return 0; // no task was part of a chunk
  }
  // The total is divided among the tasks that ran: some intervals occur once for a chunk, or not for cancelled tasks.
  const ran = journey.intervals[PLACE.run]?.known ?? 0;
  const shared = place === PLACE.unpack || place === PLACE.pack || place === PLACE.pickle;
  const among = shared || place === PLACE.beside ? Math.max(ran, interval.known) : interval.known;
  return among === 0 || interval.known === 0 ? null : interval.total / among;
}

/** Mean seconds from call to result, of the intervals that are known. */
export function wholeMean(journey: FunctionJourney): number {
  return ALONG.reduce<number>((sum, place) => sum + (mean(journey, place) ?? 0), 0);
}

/** Seconds of run time below which sending a task costs more than running it. */
const SHORT = 50e-6;

/** One to three sentences; empty before a task has run. */
export function reading(journey: FunctionJourney, trans: Translator): string {
  const whole = wholeMean(journey);
  const run = mean(journey, PLACE.run);
  if (run === null || whole <= 0) {
    return '';
  }
  const others: readonly number[] = ALONG.filter(place => place !== PLACE.run);
  const largest = others.reduce<number>(
    (best, place) => ((mean(journey, place) ?? 0) > (mean(journey, best) ?? 0) ? place : best),
    PLACE.inputs
  );
  const most = mean(journey, largest) ?? 0;
  const { name } = intervalWords(largest, trans);
  const first =
    run >= whole / 2
      ? trans.__(
          'From call to result a task takes %1 on average, %2 of it in your code.',
          brief(whole),
          brief(run)
        )
      : trans.__(
          'From call to result a task takes %1 on average: %2 in your code, %3 in %4.',
          brief(whole),
          brief(run),
          brief(most),
          name
        );
  const advice = advise(journey, trans, run, whole, largest);
  return advice === '' ? first : `${first} ${advice}`;
}

function advise(
  journey: FunctionJourney,
  trans: Translator,
  run: number,
  whole: number,
  largest: number
): string {
  const once = (place: number): number => mean(journey, place) ?? 0;
  const handling = once(PLACE.pickle) + once(PLACE.unpack) + once(PLACE.pack);
  const alone = (journey.intervals[PLACE.beside]?.known ?? 0) === 0;
  if (alone && journey.tasks >= 100 && run < SHORT && run < 4 * (handling + 2e-6)) {
    return trans.__(
      'Each runs for only %1: f.map sends many at once, and batch=True hands them to your code as a list.',
      brief(run)
    );
  }
  if (run >= whole / 2) {
    return '';
  }
  switch (largest) {
    case PLACE.inputs:
      return trans.__('Most of that time they wait for the results of other tasks.');
    case PLACE.queue:
    case PLACE.deliver:
      return run > 10 * handling
        ? trans.__(
            'There are more tasks than workers, or tasks were paused: the wait comes from that.'
          )
        : '';
    case PLACE.unpack:
      return run < once(PLACE.unpack)
        ? trans.__('To load the arguments takes longer than to run: send less with each task.')
        : '';
    case PLACE.pack:
      return run < once(PLACE.pack)
        ? trans.__('To pickle the results takes longer than to run: return less from each task.')
        : '';
    case PLACE.collect:
      return trans.__('Results lay ready that long before the kernel took them.');
    case PLACE.beside:
      return trans.__('Tasks of a map travel in chunks; a smaller chunksize shortens that wait.');
    default:
      return '';
  }
}

/** Which results came from the cache, by function; '' where none did. */
export function hitsText(hits: readonly Hits[], trans: Translator): string {
  const each = hits.map(one => `${one.name} ${count(one.count)}`).join(', ');
  return each === '' ? '' : trans.__('From the cache, without a task: %1.', each);
}
