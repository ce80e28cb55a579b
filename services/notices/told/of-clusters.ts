import {
  type CandidatesFact,
  decidedAgain,
  type HeldObject,
  heldOf,
} from '../../../packages/read-model/cluster-holds/held-objects.ts';
import { type Hold, holdsOf } from '../../../packages/read-model/cluster-holds/holds.ts';
import { counted } from '../../../packages/text/counted.ts';
import type { Census } from '../../../schemas/events/census.ts';
import { kindName } from '../../../schemas/events/cluster-objects.ts';
import type { ClusterCommandResult, ClusterObjectResults } from '../../../schemas/events/cluster-result.ts';
import type { ClusterDeciderName } from '../../../schemas/events/deciders.ts';
import type { ClusterIdentity } from '../../../schemas/events/identity.ts';
import { approvedName } from '../../../schemas/policy/approval.ts';
import { aboutCluster, type Known, NOT_PROVED, type Notice, notice, type Told } from '../notice.ts';
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

/** What the active policies hold of the candidates of a fact, together by what would let them go. Decisions tell nobody: no key signs them. */
export function ofCandidates(
  event: CandidatesFact,
  told: Told,
  { policies, isSigned }: Known,
): readonly Notice[] {
  if (policies === null) return [];
  const conclusion = decidedAgain(event, policies, told.atMs);
  if (conclusion?.outcome === 'too-costly') return [ofTooCostly(event, { told, isSigned })];
  return ofHolds(event, heldOf(event, conclusion, told.atMs), { told, isSigned });
}

const DECIDES = {
  'fleetgc.cluster.ownership': 'graph-gc',
  'fleetgc.cluster.pods': 'pod-gc',
  'fleetgc.cluster.expiry': 'expiry-gc',
} as const satisfies Readonly<Record<CandidatesFact['type'], ClusterDeciderName>>;

function ofTooCostly({ type, cluster }: CandidatesFact, { told, isSigned }: Telling): Notice {
  const decider = DECIDES[type];
  return notice('too-costly', told, {
    about: aboutCluster({ cluster }),
    text: `${decider} decides nothing: the decision would take too many steps, so everything is kept. fleetgc status tells on which clusters${isSigned ? '' : NOT_PROVED}`,
    facts: { decider },
    onceKey: `too-costly ${cluster} ${decider}`,
  });
}

/** What the executor found to be held that no decision knew of. */
export function ofObjectResults(
  event: ClusterObjectResults,
  told: Told,
  { isSigned }: Pick<Known, 'isSigned'>,
): readonly Notice[] {
  const held = event.objects.flatMap(({ object, result }): HeldObject[] =>
    result.outcome === 'refused' && result.hold !== undefined
      ? [
          {
            object,
            topic: 'clusterOwnership',
            verdict: result.hold,
            sinceMs: told.atMs,
            lastMs: told.atMs,
          },
        ]
      : [],
  );
  return ofHolds(event, held, { told, isSigned });
}

interface Telling {
  readonly told: Told;
  readonly isSigned: boolean;
}

const ofHolds = (event: ClusterIdentity, held: readonly HeldObject[], telling: Telling): readonly Notice[] =>
  holdsOf(held)
    .slice(0, MOST_HOLDS)
    .map((hold) => ofHold(event, hold, telling));

function ofHold(
  { cluster, clusterInstance }: ClusterIdentity,
  { rule, what, why, objects }: Hold,
  { told, isSigned }: Telling,
): Notice {
  const name = what === null ? null : approvedName(what);
  const key = JSON.stringify([clusterInstance, rule, what?.kind ?? null, name]);
  const by = what?.kind === 'owner' ? `${what.ownerKind} ${what.namespace}/${what.name}` : name;
  return notice('held', told, {
    about: aboutCluster({ cluster }),
    text: `${counted(objects, 'object is', 'objects are')} held by rule ${rule}${by === null ? '' : ` because of ${by}`}: ${why}. fleetgc held tells how to let them go${isSigned ? '' : NOT_PROVED}`,
    facts: { rule, because: by, objects },
    part: key,
    onceKey: `held ${cluster} ${key}`,
  });
}

export const ofCensus = (
  event: Census,
  told: Told,
  { isSigned }: Pick<Known, 'isSigned'>,
): readonly Notice[] =>
  event.findings.stuckFinalizers.first.map(({ object, deletionTimestamp, finalizers }) => {
    const { namespace, name, uid } = object;
    const named = namespace === '' ? name : `${namespace}/${name}`;
    return notice('stuck', told, {
      about: aboutCluster(event),
      text: `${kindName(object)} ${named} is being deleted since ${deletionTimestamp} and waits for the finalizers ${finalizers.join(', ')}${isSigned ? '' : NOT_PROVED}`,
      facts: { kind: kindName(object), namespace, name, uid, deletionTimestamp },
      part: uid,
      onceKey: `stuck ${event.cluster} ${uid}`,
    });
  });
