import type { Candidate, ObjectState } from '../../../schemas/reports/explanation.ts';
import type { TimelineEntry } from '../../../schemas/reports/timeline.ts';
import type { PodNames } from '../../archive/inventory-objects.ts';
import { leastOf, mostOf } from '../../process/least-and-most.ts';
import { objectKey } from '../events/identity.ts';
import type { Meaning } from './meanings.ts';
import type { NodeLife } from './node-life.ts';
import type { ObjectLife } from './object-life.ts';
import type { WatchedNode } from './question.ts';
import type { Timeline } from './timeline.ts';

/** One thing that the name means, with its life. */
export interface Subject {
  readonly candidate: Candidate;
  readonly timeline: () => readonly TimelineEntry[];
}

export interface Tracked {
  readonly life: ObjectLife;
  readonly podUid: string | null;
}

/** What is known of a node, by whoever watches it. */
export interface OnNode {
  readonly where: WatchedNode;
  readonly timeline: Timeline;
  readonly lives: ReadonlyMap<string, Tracked>;
  readonly podNames: PodNames;
}

export const nodeSubject = (
  { object, firstSeenMs, lastSeenMs }: NodeLife,
  { where, timeline }: OnNode,
): Subject => ({
  candidate: { ...object, ...where, state: 'there', firstSeenMs, lastSeenMs },
  timeline: () => timeline.entries().filter(({ object: { kind } }) => kind === 'node'),
});

/** An object, or a pod with all that belongs to it; `null` where nothing of it was found. */
export function objectSubject(
  { kind, id }: Meaning,
  { lives, where, timeline, podNames }: OnNode,
): Subject | null {
  const members = [...lives]
    .filter(([key, { podUid }]) => key === objectKey({ kind, id }) || (kind === 'pod' && podUid === id))
    .map(([key, { life }]) => ({ key, life }));
  const [first] = members;
  if (first === undefined) return null;
  const keys = new Set(members.map(({ key }) => key));
  return {
    candidate: {
      kind,
      id,
      name: kind === 'pod' ? (podNames.get(id) ?? id) : first.life.object.name,
      ...where,
      state: stateOf(members.map(({ life }) => life)),
      firstSeenMs: leastOf(members.map(({ life }) => life.firstSeenMs)),
      lastSeenMs: mostOf(members.map(({ life }) => life.lastSeenMs)),
    },
    timeline: () => timeline.entries().filter(({ object }) => keys.has(objectKey(object))),
  };
}

/** A pod is there for as long as anything of it is; what it is called of is listed when nothing else is left. */
function stateOf(lives: readonly ObjectLife[]): ObjectState {
  if (lives.some(({ state }) => state === 'there')) return 'there';
  const things = lives.filter(({ object }) => object.kind !== 'pod');
  return things.some(({ state }) => state === 'removed') && things.every(({ state }) => state === 'removed')
    ? 'removed'
    : 'gone';
}
