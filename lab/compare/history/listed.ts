import { THRESHOLD } from './draw-ended-pods.ts';
import type { History, PlayedObject, PlayedReference, Step } from './history.ts';
import { FOREIGN_FINALIZER } from './history.ts';
import { apiVersionOf, type KindId, kindOf } from './kinds.ts';

/** A difference that is meant to be there, and a history that shows it. */
export interface Listed {
  /** The rule that says so. */
  readonly rule: string;
  readonly what: string;
  readonly bursts: History['bursts'];
  readonly isOrdered?: boolean;
  /** Objects that end differently. */
  readonly ids: readonly number[];
}

const object = (id: number, kind: KindId, over: Partial<PlayedObject> = {}): PlayedObject => ({
  id,
  kind,
  place: 'home',
  finalizers: [],
  references: [],
  ...over,
});
const to = ({ id, kind }: PlayedObject, over: Partial<PlayedReference> = {}): PlayedReference => ({
  apiVersion: apiVersionOf(kindOf(kind).group, kindOf(kind).version),
  kind: kindOf(kind).kind,
  nameOf: id,
  uidOf: id,
  ...over,
});
const create = (made: PlayedObject): Step => ({ do: 'create', object: made });

const OWNER = object(0, 'configMap');
const DEPENDENT = object(1, 'secret', { references: [to(OWNER)] });

const FIRST = object(0, 'widget');
const BLOCKING = { blockOwnerDeletion: true };
const SECOND = object(1, 'widget', {
  finalizers: [FOREIGN_FINALIZER],
  references: [to(FIRST, BLOCKING), to(FIRST)],
});

/** Each is played by `npm run compare:kcm` too, and has to end so differently. */
export const LISTED: readonly Listed[] = [
  {
    rule: 'C17',
    what: 'a reference is written anew with the same uid and a name that nobody has',
    bursts: [
      [create(OWNER), create(DEPENDENT)],
      [{ do: 'refer', id: DEPENDENT.id, references: [to(OWNER, { nameOf: null })] }],
    ],
    ids: [DEPENDENT.id],
  },
  {
    rule: 'D12',
    what: 'a custom resource in a ring has a reference that does not say whether it blocks',
    bursts: [
      [create(FIRST), create(SECOND)],
      [{ do: 'refer', id: FIRST.id, references: [to(SECOND, BLOCKING)] }],
      [{ do: 'delete', id: FIRST.id, propagation: 'Foreground' }],
    ],
    ids: [SECOND.id],
  },
];

const NODE = object(0, 'node', { status: { of: 'node', ready: 'True' } });
/** Of them so many go as there are beyond the threshold, the oldest first. */
const ended = (id: number, finalizers: readonly string[] = []): PlayedObject =>
  object(id, 'pod', {
    finalizers,
    spec: { of: 'pod', nodeId: NODE.id },
    status: { of: 'pod', phase: 'Succeeded', isEvicted: false },
  });
const ENDED = Array.from({ length: THRESHOLD + 2 }, (_, index) =>
  // Names in the order in which they are made.
  ended(100 + index, index === 0 ? [FOREIGN_FINALIZER] : []),
);

/** The same where pods that ended are counted. */
export const LISTED_ENDED_PODS: readonly Listed[] = [
  {
    rule: 'J11',
    what: 'the oldest of too many pods that ended is being deleted, and finalizers alone hold it',
    bursts: [[create(NODE), ...ENDED.map(create)]],
    isOrdered: true,
    // Two are too many: the oldest stays, as it does there, and another one goes in its place.
    ids: ENDED.slice(2, 3).map(({ id }) => id),
  },
];

export function listedHistory(all: readonly Listed[], seed: number): History {
  const listed = all[seed - 1];
  if (listed === undefined)
    throw new RangeError(`there are ${all.length} listed differences, and no number ${seed}`);
  const { rule, ids, bursts, isOrdered = false } = listed;
  return { seed, isWild: false, isOrdered, bursts, listed: { rule, ids } };
}
