import type { Census } from '../../../schemas/events/census.ts';
import { kindName } from '../../../schemas/events/cluster-objects.ts';
import type { ClusterObjectResults } from '../../../schemas/events/cluster-result.ts';
import type { Ownership, OwnershipCandidate, OwnershipReference } from '../../../schemas/events/ownership.ts';
import type { EventOf } from '../../../schemas/events/topics.ts';
import { splitUnread } from '../../decision/left-out-kinds.ts';
import type { LogRecord } from '../../log/port.ts';
import {
  type CensusPointRow,
  type ClusterOutcomeRow,
  type ClusterOwnerRow,
  type ClusterRow,
  COARSE_STEP_MS,
  FINE_STEP_MS,
  type FoundCounts,
  MOST_OWNERS_KEPT,
} from './cluster-rows.ts';

type Place = Pick<LogRecord, 'timestampMs' | 'offset'>;

/** What events about clusters say, as rows. */
export const PROJECT_CLUSTERS = {
  clusterCensus: (census: Census, place: Place): readonly ClusterRow[] => {
    const { cluster } = census;
    const { timestampMs: atMs, offset } = place;
    return [
      { table: 'censuses', cluster, atMs, offset, census, found: foundIn(census) },
      ...[FINE_STEP_MS, COARSE_STEP_MS].map((stepMs) => pointOf(census, place, stepMs)),
    ];
  },
  clusterOwnership: (fact: Ownership, { timestampMs: atMs, offset }: Place): readonly ClusterRow[] => {
    const told = { cluster: fact.cluster, atMs, offset };
    return [
      ...fact.settled.map(({ uid, how }) => ({ table: 'cluster_settled', ...told, uid, how }) as const),
      ...fact.candidates.flatMap((candidate) => candidateRows(candidate, told)),
    ];
  },
  clusterResults: (event: EventOf<'clusterResults'>, place: Place): readonly ClusterRow[] =>
    event.type === 'fleetgc.cluster.object-results'
      ? [...outcomeRows(event, place), ...event.objects.map((told) => deedRow(event, told, place))]
      : [],
} as const;

const foundIn = ({ totals, findings }: Census): FoundCounts => ({
  ...totals,
  stuckFinalizers: findings.stuckFinalizers.count,
  waitingOwners: findings.waitingOwners.count,
  badReferences: findings.badReferences.count,
  missingOwners: findings.missingOwners.count,
  unreadKinds: splitUnread(findings.unsyncedKinds).expected.length + findings.failedGroups.length,
});

/** A census that lacks a kind says that there are few of it, and one without kinds nothing. */
const pointOf = (
  { cluster, session, totals, kinds }: Census,
  { timestampMs: atMs, offset }: Place,
  stepMs: number,
): CensusPointRow => ({
  table: 'census_points',
  cluster,
  atMs,
  offset,
  stepMs,
  slot: Math.floor(atMs / stepMs),
  session,
  objects: totals.objects,
  kinds: kinds?.map((kind) => [kindName(kind), kind.objects] as const) ?? null,
});

type Told = Pick<ClusterOwnerRow, 'cluster' | 'atMs' | 'offset'>;

function candidateRows({ object, references }: OwnershipCandidate, told: Told): readonly ClusterRow[] {
  const { uid, namespace, name, finalizers, deletionTimestamp } = object;
  const isBeingDeleted = deletionTimestamp !== null;
  const kind = kindName(object);
  return [
    { table: 'cluster_objects', ...told, uid, kind, namespace, name, isBeingDeleted, finalizers },
    ...references.slice(0, MOST_OWNERS_KEPT).map((reference) => ownerRow(uid, reference, told)),
  ];
}

const ownerRow = (uid: string, reference: OwnershipReference, told: Told): ClusterOwnerRow => ({
  table: 'cluster_owners',
  ...told,
  uid,
  ownerUid: reference.uid,
  ownerKind: kindName(reference.resolved ?? { group: groupOf(reference.apiVersion), kind: reference.kind }),
  ownerName: reference.name,
  state: reference.state,
});

const groupOf = (apiVersion: string): string => apiVersion.split('/').slice(0, -1).join('/');

type ToldResult = ClusterObjectResults['objects'][number];

function outcomeRows(
  { id, cluster, objects }: ClusterObjectResults,
  { timestampMs: atMs }: Place,
): readonly ClusterOutcomeRow[] {
  const same = Map.groupBy(objects.map(outcomeOf), (outcome) => JSON.stringify(outcome));
  return [...same.values()].flatMap(([first, ...others], position) =>
    first === undefined
      ? []
      : [
          {
            table: 'cluster_outcomes',
            id,
            position,
            atMs,
            cluster,
            ...first,
            objects: 1 + others.length,
          } as const,
        ],
  );
}

const outcomeOf = ({ object, action, rule, ownRule, result }: ToldResult) => ({
  kind: kindName(object),
  action,
  rule,
  ownRule: ownRule ?? null,
  outcome: result.outcome,
  reason: 'reason' in result ? result.reason : null,
});

function deedRow(
  { cluster }: ClusterObjectResults,
  { object, action, rule, result }: ToldResult,
  { timestampMs: atMs, offset }: Place,
): ClusterRow {
  const { uid, namespace, name } = object;
  const message = 'reason' in result ? `${result.reason}: ${result.message}` : '';
  return {
    table: 'cluster_deeds',
    cluster,
    atMs,
    offset,
    uid,
    kind: kindName(object),
    namespace,
    name,
    action,
    rule,
    outcome: result.outcome,
    message,
  };
}
