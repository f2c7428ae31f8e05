/** Places the bars of a flame graph: callers above what they call, the largest first. */

import type { Profile } from '../../protocol/messages';

/** One bar; places are parts of the width, 0 to 1. */
export interface Bar {
  /** index of its node in the profile */
  readonly node: number;
  readonly depth: number;
  readonly left: number;
  readonly width: number;
}

/** Indices of the nodes that each node calls; the last entry has those of no caller. */
export function callsOf(profile: Profile): readonly (readonly number[])[] {
  const calls: number[][] = Array.from({ length: profile.parent.length + 1 }, () => []);
  profile.parent.forEach((parent, node) => calls.at(parent)?.push(node));
  return calls;
}

/** The bars of a node, its callers and what it calls that are at least `least` wide; -1: of everything. */
export function bars(profile: Profile, focus: number, least: number): Bar[] {
  const above = callers(profile, focus);
  const placed: Bar[] = above.map((node, depth) => ({ node, depth, left: 0, width: 1 }));
  const calls = callsOf(profile);
  const whole = focus < 0 ? profile.seconds : (profile.total[focus] ?? 0);
  const below = (nodes: readonly number[], from: number, depth: number): void => {
    let left = from;
    for (const node of nodes) {
      const width = whole > 0 ? (profile.total[node] ?? 0) / whole : 0;
      if (width >= least) {
        placed.push({ node, depth, left, width });
        below(calls[node] ?? [], left, depth + 1);
      }
      left += width;
    }
  };
  below(focus < 0 ? (calls.at(-1) ?? []) : [focus], 0, above.length);
  return placed;
}

/** The callers of a node, the outermost first. */
function callers(profile: Profile, node: number): number[] {
  const found: number[] = [];
  for (let at = profile.parent[node] ?? -1; at >= 0; at = profile.parent[at] ?? -1) {
    found.unshift(at);
  }
  return found;
}

/** A node by what stays the same from frame to frame: the functions on the way to it. */
export function pathOf(profile: Profile, node: number): string {
  const nodes = node < 0 ? [] : [...callers(profile, node), node];
  return nodes
    .map(at => {
      const label = profile.labels[profile.label[at] ?? -1];
      return `${label?.name ?? ''}\t${label?.place ?? ''}`;
    })
    .join('\n');
}

export interface FunctionTime {
  readonly name: string;
  readonly place: string;
  readonly own: number;
  /** with what it calls; where it calls itself, counted once */
  readonly total: number;
}

/** The functions with the most time of their own. */
export function functionTimes(profile: Profile, most: number): FunctionTime[] {
  const own = profile.labels.map(() => 0);
  const total = profile.labels.map(() => 0);
  profile.label.forEach((label, node) => {
    own[label] = (own[label] ?? 0) + (profile.own[node] ?? 0);
    if (!callers(profile, node).some(caller => profile.label[caller] === label)) {
      total[label] = (total[label] ?? 0) + (profile.total[node] ?? 0);
    }
  });
  return profile.labels
    .map((label, at) => ({ ...label, own: own[at] ?? 0, total: total[at] ?? 0 }))
    .filter(one => one.own > 0)
    .sort((one, other) => other.own - one.own)
    .slice(0, most);
}

/** A hue of 360 that belongs to a function's name. */
export function hueOf(name: string): number {
  let hash = 2166136261;
  for (let at = 0; at < name.length; at++) {
    hash = Math.imul(hash ^ name.charCodeAt(at), 16777619);
  }
  return ((hash >>> 8) % 24) * 15;
}
