import { settingsOf } from '../../../../packages/deciders/graph-gc/rules/settings.ts';
import { CREATED_FORM, type Created, type ObjectMetadata } from '../../../../packages/kube-api/metadata.ts';

import type { GraphObject } from '../../../../packages/owner-graph/graph-object.ts';
import type { OwnershipAction } from '../../../../schemas/events/cluster-command.ts';
import type { ClusterObject, ServedKind } from '../../../../schemas/events/cluster-objects.ts';
import type { ClusterIndex } from '../ports.ts';
import { kindKey, ownerKey } from './count-keys.ts';
import { type Asked, type Judgement, unreadable } from './judgement.ts';
import { leavingOwners, liveFacts } from './live-facts.ts';
import type { Look } from './look.ts';
import { ownJudgement } from './own-judgement.ts';
import { later, type Stop, settled } from './stop.ts';

/** Judges what is said to follow from the owners of an object. */
export async function judgeOwnership(asked: Asked, act: OwnershipAction): Promise<Judgement | Stop> {
  const { kind, reads, isFresh } = asked;
  const index = asked.index === null ? null : (asked.index.current() ?? 'not-ready');
  if (index === 'not-ready') return later('api-server-error', 'the owner graph is not read yet');
  const object = await objectOf(asked, isFresh ? null : index);
  if ('kind' in object) return object;
  const { orphaned, record } = asked;
  const { profile } = record.policy;
  const createdAtMs = createdAt(asked, object);
  const look = { kind, object, reads, index, orphaned, profile, createdAtMs, removed: removedBefore(asked) };
  return conclusionOf(look, asked, act);
}

async function conclusionOf(
  look: Look,
  { order, record, approvals }: Asked,
  act: OwnershipAction,
): Promise<Judgement | Stop> {
  const { kind, object, index } = look;
  const facts = await liveFacts(look);
  if ('kind' in facts) return facts;
  order.owners = facts.owners;
  const { rule } = order.item;
  const action = ownJudgement(
    { act, rule },
    {
      facts,
      settings: settingsOf(record.policy, approvals),
      isAlone: index === null,
      wentBack: index?.wentBack ?? false,
      isUnchanged: object.resourceVersion === order.item.object.resourceVersion,
    },
  );
  if ('kind' in action) return action;
  const countsFor = leavingOwners(facts.candidates[0]?.references ?? []).flatMap((owner) => [
    ownerKey(owner.uid),
    kindKey(owner.kind),
  ]);
  return { kind, object, action, record, approvals, countsFor, within: null };
}

/** From the graph where there is one: if it is behind, the API server refuses the deed, and the object is read. */
async function objectOf(asked: Asked, index: ClusterIndex | null): Promise<ObjectMetadata | Created | Stop> {
  const { order, kind, clock, nowMs } = asked;
  const { object: ordered } = order.item;
  const known = clock.at(nowMs()) === null ? undefined : index?.object(ordered.uid);
  if (known !== undefined && isWhere(known, ordered, kind)) return metadataOf(known);
  return liveObject(asked);
}

async function liveObject({ order, kind, reads }: Asked): Promise<Created | Stop> {
  const { object: ordered } = order.item;
  const live = await reads.whole({ kind, named: ordered }, CREATED_FORM);
  switch (live.kind) {
    case 'found':
      return live.object.uid === ordered.uid ? live.object : settled({ outcome: 'not-found' });
    case 'absent':
      return settled({ outcome: 'not-found' });
    case 'unknown':
      return unreadable(live.answer.status, live.message);
  }
}

/** The graph does not know it: an object that comes from there is read for it, once. */
function createdAt(asked: Asked, object: ObjectMetadata | Created): Look['createdAtMs'] {
  if ('createdAtMs' in object) return async () => object.createdAtMs;
  let reading: Promise<Created | Stop> | null = null;
  return async () => {
    reading ??= liveObject(asked);
    const live = await reading;
    return 'kind' in live ? live : live.createdAtMs;
  };
}

const removedBefore = ({ removals, order, nowMs }: Asked): Look['removed'] => ({
  forOwner: (uid) => removals.beside(ownerKey(uid), order.uid, nowMs()),
  forKind: (kind) => removals.beside(kindKey(kind), order.uid, nowMs()),
});

/** As it was read by the agent. The graph changes its objects in place. */
const metadataOf = ({ kind: _, references, ...object }: GraphObject): ObjectMetadata => ({
  ...object,
  ownerReferences: references,
});

const isWhere = (
  known: Pick<ClusterObject, 'namespace' | 'name'>,
  ordered: ClusterObject,
  { namespaced }: ServedKind,
): boolean => known.name === ordered.name && (!namespaced || known.namespace === ordered.namespace);
