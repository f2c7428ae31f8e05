/** Texts about a graph and its nodes. */

import { GRAPH_STATES, type GraphState, type TaskGraph } from '../../model/taskGraph';
import { count, duration } from '../format';
import type { Translator } from '../translator';
import { neighbours, type Layout } from './layout';

/** A state's name. */
export function stateName(trans: Translator, state: GraphState): string {
  const names: Record<GraphState, string> = {
    waiting: trans.__('waiting'),
    queued: trans.__('queued'),
    running: trans.__('running'),
    done: trans.__('done'),
    failed: trans.__('failed'),
    cancelled: trans.__('cancelled'),
    skipped: trans.__('input failed'),
    lost: trans.__('lost')
  };
  return names[state];
}

/** The graph's size, and what is left out of it; `all`: tasks of what it shows, in the graph or not. */
export function summary(trans: Translator, graph: TaskGraph, all: number): string {
  const near = graph.tasks - graph.own; // of other runs
  const own = graph.partial
    ? trans.__('the newest %1 of %2 tasks', count(graph.own), count(Math.max(all, graph.own)))
    : trans._n('%2 task', '%2 tasks', graph.own, count(graph.own));
  const tasks = near === 0 ? own : trans.__('%1 and %2 of other runs', own, count(near));
  const links = trans._n(
    '%2 dependency',
    '%2 dependencies',
    graph.dependencies,
    count(graph.dependencies)
  );
  const folded = graph.folded
    ? trans.__('in %1 groups by function and depth', count(graph.size))
    : '';
  const partial = graph.partial ? trans.__('the dependencies of older ones are not kept') : '';
  return [tasks, links, folded, partial].filter(text => text !== '').join(', ');
}

/** The line below the picture while no node is marked; `alone` tasks are not in the graph. */
export function hint(
  trans: Translator,
  graph: TaskGraph,
  path: readonly number[],
  alone: number
): string {
  if (path.length > 0) {
    const seconds = path.reduce((sum, node) => sum + (graph.seconds[node] ?? 0), 0);
    const tasks = trans._n('%2 task', '%2 tasks', path.length, count(path.length));
    return trans.__('%1 of run time in %2', brief(seconds), tasks);
  }
  if (graph.partial) {
    return trans._n(
      '%2 other task is older, or depends on none.',
      '%2 other tasks are older, or depend on none.',
      alone,
      count(alone)
    );
  }
  if (alone > 0) {
    return trans._n(
      '%2 other task depends on none and is not shown.',
      '%2 other tasks depend on none and are not shown.',
      alone,
      count(alone)
    );
  }
  return '';
}

/** States that a box tells in a word beside the time that the task ran. */
const ENDED_BADLY: ReadonlySet<GraphState> = new Set(['failed', 'lost', 'cancelled']);

/** The text in a node's box. */
export interface BoxText {
  readonly name: string;
  /** beside the name, never shortened; empty for groups */
  readonly number: string;
  /** below both: how long it ran or its state, and its arguments */
  readonly more: string;
}

/** Which task a box is, how long it ran, and with what arguments; of a group, how many it has of which function. */
export function boxText(trans: Translator, graph: TaskGraph, node: number): BoxText {
  const seconds = graph.seconds[node] ?? 0;
  const name = nameOf(trans, graph, node);
  const ran = seconds > 0 ? brief(seconds) : '';
  if (graph.counts !== null) {
    return { name: `${count(members(graph, node))} × ${name}`, number: '', more: ran };
  }
  const state = GRAPH_STATES[graph.states[node] ?? 0] ?? 'waiting';
  const word = ran === '' || ENDED_BADLY.has(state) ? stateName(trans, state) : '';
  const more = [word, ran, graph.arguments[node] ?? ''];
  return {
    name,
    number: numberOf(graph, node),
    more: more.filter(text => text !== '').join(' · ')
  };
}

function numberOf(graph: TaskGraph, node: number): string {
  return `#${(graph.tickets[node] ?? 0n) >> 32n}`;
}

/** A node's details, in one line. */
export function describe(
  trans: Translator,
  graph: TaskGraph,
  layout: Layout,
  node: number
): string {
  const seconds = graph.seconds[node] ?? 0;
  const ran = seconds > 0 ? trans.__('ran %1', brief(seconds)) : '';
  if (graph.counts !== null) {
    const states = GRAPH_STATES.map((state, index) => {
      const number = graph.counts?.[index * graph.size + node] ?? 0;
      return number > 0 ? `${stateName(trans, state)} ${count(number)}` : '';
    });
    return [boxText(trans, graph, node).name, ...states, ran]
      .filter(text => text !== '')
      .join(' · ');
  }
  const given = graph.arguments[node] ?? '';
  const inputs = neighbours(layout.inputs, node).length;
  const dependents = neighbours(layout.dependents, node).length;
  return [
    `${nameOf(trans, graph, node)} ${numberOf(graph, node)}`,
    given,
    stateName(trans, GRAPH_STATES[graph.states[node] ?? 0] ?? 'waiting'),
    ran,
    trans._n('%2 input', '%2 inputs', inputs, count(inputs)),
    trans._n('%2 dependent', '%2 dependents', dependents, count(dependents))
  ]
    .filter(text => text !== '')
    .join(' · ');
}

function nameOf(trans: Translator, graph: TaskGraph, node: number): string {
  const name = graph.names[graph.functions[node] ?? 0] ?? '';
  return name !== '' ? name : graph.folded ? trans.__('several') : trans.__('task');
}

function members(graph: TaskGraph, node: number): number {
  return GRAPH_STATES.reduce(
    (sum, _, state) => sum + (graph.counts?.[state * graph.size + node] ?? 0),
    0
  );
}

/** A duration in a suitable unit. */
function brief(seconds: number): string {
  if (seconds >= 1) {
    return duration(seconds);
  }
  return seconds >= 0.001
    ? `${(1000 * seconds).toPrecision(3)} ms`
    : `${Math.max(1, Math.round(1e6 * seconds))} µs`;
}
