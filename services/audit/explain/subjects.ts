import type { Candidate, ObjectState } from '../../../schemas/reports/explanation.ts';
import type { TimelineEntry } from '../../../schemas/reports/timeline.ts';
import type { ObjectLife } from './life-state.ts';
import type { Meaning } from './meanings.ts';
import type { NodeState } from './node-state.ts';
import { objectKey } from './seen-objects.ts';

/** One thing that the name means, with its life. */
export interface Subject {
  readonly candidate: Candidate;
  readonly timeline: () => readonly TimelineEntry[];
}

/** Everything that the name means on the node. */
export function subjectsOf(state: NodeState): Subject[] {
  const { node, nodeObject, where, timeline, meanings } = state;
  const ofNode = node && {
    candidate: {
      ...nodeObject,
      ...where,
      state: 'there' as const,
      firstSeenMs: node.firstSeenMs,
      lastSeenMs: node.lastSeenMs,
    },
    timeline: () => timeline.entries().filter(({ object }) => object.kind === 'node'),
  };
  return [...(ofNode ? [ofNode] : []), ...[...meanings.values()].flatMap((one) => subjectOf(state, one))];
}

function subjectOf(state: NodeState, { kind, id }: Meaning): Subject[] {
  const { lives, where, timeline, podNames } = state;
  const members = [...lives]
    .filter(([key, { podUid }]) => key === objectKey({ kind, id }) || (kind === 'pod' && podUid === id))
    .map(([key, { life }]) => ({ key, life }));
  const [first] = members;
  if (first === undefined) return [];
  const keys = new Set(members.map(({ key }) => key));
  return [
    {
      candidate: {
        kind,
        id,
        name: kind === 'pod' ? (podNames.get(id) ?? id) : first.life.object.name,
        ...where,
        state: stateOf(members.map(({ life }) => life)),
        firstSeenMs: Math.min(...members.map(({ life }) => life.firstSeenMs)),
        lastSeenMs: Math.max(...members.map(({ life }) => life.lastSeenMs)),
      },
      timeline: () => timeline.entries().filter(({ object }) => keys.has(objectKey(object))),
    },
  ];
}

/** A pod is there for as long as anything of it is; what it is called of is listed when nothing else is left. */
function stateOf(lives: readonly ObjectLife[]): ObjectState {
  if (lives.some(({ state }) => state === 'there')) return 'there';
  const things = lives.filter(({ object }) => object.kind !== 'pod');
  return things.some(({ state }) => state === 'removed') && things.every(({ state }) => state === 'removed')
    ? 'removed'
    : 'gone';
}
