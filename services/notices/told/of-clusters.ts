import { counted } from '../../../packages/text/counted.ts';
import type { Census } from '../../../schemas/events/census.ts';
import type { ClusterDecision } from '../../../schemas/events/cluster-decision.ts';
import { kindName } from '../../../schemas/events/cluster-objects.ts';
import type { ClusterCommandResult, ClusterObjectResults } from '../../../schemas/events/cluster-result.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { approvedName } from '../../../schemas/policy/approval.ts';
import { CANDIDATE_TOPICS, type HeldObject } from '../../cluster-holds/held-objects.ts';
import { type Hold, holdsOf } from '../../cluster-holds/holds.ts';
import { aboutCluster, type Notice, notice, type Told } from '../notice.ts';
import { DISTRUSTED } from './of-nodes.ts';

/** Of one event so many holds are told apart; "fleetgc held" has all. */
const MOST_HOLDS = 20;

export function ofClusterCommandResult(event: ClusterCommandResult, told: Told): readonly Notice[] {
  const { result, commandId } = event;
  const about = aboutCluster(event);
  if (result.outcome === 'refused') {
    if (!DISTRUSTED.has(result.reason)) return [];
    const text = `a command was refused (${result.reason}): ${result.message}`;
    return [
      notice('distrusted', told, { about, text, facts: { command: commandId, reason: result.reason } }),
    ];
  }
  const { removed = 0, accepted = 0, failed = 0 } = result.counts;
  const facts = { command: commandId, removed, accepted, failed };
  const going = accepted === 0 ? '' : `, and ${counted(accepted, 'is', 'are')} being deleted`;
  return [
    ...(removed + accepted === 0
      ? []
      : [
          notice('objects-removed', told, {
            about,
            text: `${counted(removed, 'object was', 'objects were')} removed${going}`,
            facts,
          }),
        ]),
    ...(failed === 0
      ? []
      : [
          notice('objects-failed', told, {
            about,
            text: `${counted(failed, 'removal')} failed; fleetgc audit explain tells why of an object`,
            facts,
          }),
        ]),
  ];
}

/** What the decision holds of the candidates that it is about, together by what would let them go. */
export function ofClusterDecision(event: ClusterDecision, told: Told): readonly Notice[] {
  const topic = CANDIDATE_TOPICS.find((id) => TOPICS[id].name === event.input.topic);
  if (topic === undefined || event.outcome === 'not-ours') return [];
  const held = event.verdicts.flatMap((verdict): HeldObject[] =>
    verdict.action === 'hold'
      ? [{ uid: String(verdict.position), topic, verdict, sinceMs: told.atMs, lastMs: told.atMs }]
      : [],
  );
  return ofHolds(event, held, told);
}

/** What the executor found to be held that no decision knew of. */
export function ofObjectResults(event: ClusterObjectResults, told: Told): readonly Notice[] {
  const held = event.objects.flatMap(({ object, result }): HeldObject[] =>
    result.outcome === 'refused' && result.hold !== undefined
      ? [
          {
            uid: object.uid,
            topic: 'clusterOwnership',
            verdict: result.hold,
            sinceMs: told.atMs,
            lastMs: told.atMs,
          },
        ]
      : [],
  );
  return ofHolds(event, held, told);
}

type OfCluster = Pick<ClusterDecision, 'cluster' | 'clusterInstance'>;

const ofHolds = (event: OfCluster, held: readonly HeldObject[], told: Told): readonly Notice[] =>
  holdsOf(held)
    .slice(0, MOST_HOLDS)
    .map((hold) => ofHold(event, hold, told));

function ofHold(
  { cluster, clusterInstance }: OfCluster,
  { rule, what, why, objects }: Hold,
  told: Told,
): Notice {
  const name = what === null ? null : approvedName(what);
  const key = JSON.stringify([clusterInstance, rule, what?.kind ?? null, name]);
  const by = what?.kind === 'owner' ? `${what.ownerKind} ${what.namespace}/${what.name}` : name;
  return notice('held', told, {
    about: aboutCluster({ cluster }),
    text: `${counted(objects, 'object is', 'objects are')} held by rule ${rule}${by === null ? '' : ` because of ${by}`}: ${why}. fleetgc held tells how to let them go`,
    facts: { rule, because: by, objects },
    part: key,
    onceKey: `held ${cluster} ${key}`,
  });
}

export const ofCensus = (event: Census, told: Told): readonly Notice[] =>
  event.findings.stuckFinalizers.first.map(({ object, deletionTimestamp, finalizers }) => {
    const { namespace, name, uid } = object;
    const named = namespace === '' ? name : `${namespace}/${name}`;
    return notice('stuck', told, {
      about: aboutCluster(event),
      text: `${kindName(object)} ${named} is being deleted since ${deletionTimestamp} and waits for the finalizers ${finalizers.join(', ')}`,
      facts: { kind: kindName(object), namespace, name, uid, deletionTimestamp },
      part: uid,
      onceKey: `stuck ${event.cluster} ${uid}`,
    });
  });
