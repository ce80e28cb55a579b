import type { Census } from '../../schemas/events/census.ts';
import { kindName } from '../../schemas/events/cluster-objects.ts';
import type { ClusterObjectResults } from '../../schemas/events/cluster-result.ts';
import type { DeadLetter, DeadLetterRedrive } from '../../schemas/events/dead-letter.ts';
import type { Decision, DecisionOutcome } from '../../schemas/events/decision.ts';
import type { DiskStats } from '../../schemas/events/disk-stats.ts';
import { FilesystemName, type FilesystemReadings } from '../../schemas/events/filesystem.ts';
import { nodeKey } from '../../schemas/events/identity.ts';
import {
  type CompleteInventory,
  type InventoryContainer,
  MAX_INVENTORY_OBJECTS,
} from '../../schemas/events/inventory.ts';
import type { OwnershipCandidate, OwnershipReference } from '../../schemas/events/ownership.ts';
import type { CommandResult, ObjectResult, PressureUnrelieved } from '../../schemas/events/result.ts';
import type { EventOf, TopicId } from '../../schemas/events/topics.ts';
import type { ActivityKind } from '../../schemas/reports/dashboard.ts';
import { freedSpace, knownBytes } from '../decision/freed-space.ts';
import { splitUnread } from '../decision/left-out-kinds.ts';
import { believeUsage, type FilesystemUsage } from '../decision/thresholds/filesystem-usage.ts';
import type { LogRecord } from '../log/port.ts';
import { counted } from '../text/counted.ts';
import { onceHeld } from './project-images.ts';
import {
  type ActivityRow,
  boundedText,
  type CensusPointRow,
  type ClusterOutcomeRow,
  type ClusterOwnerRow,
  type ClusterRow,
  COARSE_STEP_MS,
  type ContainerName,
  type DiskRow,
  FINE_STEP_MS,
  type FoundCounts,
  isBoundedText,
  type LetterRow,
  MOST_OWNERS_KEPT,
  type NameRow,
  type RedriveRow,
  type Row,
  SEEN_MS,
  SPAN_MS,
} from './rows.ts';

/** What is projected. */
export const PROJECTED_TOPICS = [
  'results',
  'decisions',
  'inventory',
  'diskStats',
  'clusterCensus',
  'clusterOwnership',
  'clusterResults',
  'deadLetters',
] as const satisfies TopicId[];
export type ProjectedTopic = (typeof PROJECTED_TOPICS)[number];

type Place = Pick<LogRecord, 'timestampMs' | 'offset'>;
/** Inventories and dead letters are looked up where they lie. */
type PlaceOf<Id extends ProjectedTopic> = Id extends 'inventory' | 'deadLetters'
  ? Place & Pick<LogRecord, 'partition'>
  : Place;
type Project<Id extends ProjectedTopic> = (event: EventOf<Id>, place: PlaceOf<Id>) => readonly Row[];

/**
 * What an event says, as rows. It knows nothing of other events: that of several rows of one key the newest, or the widest, stays is
 * what the tables do, in whatever order and however often the rows come.
 */
export const PROJECT: { readonly [Id in ProjectedTopic]: Project<Id> } = {
  diskStats: (stats, { timestampMs: atMs, offset }) => {
    const node = nodeKey(stats);
    return [{ table: 'nodes', node, atMs, offset, stats }, ...diskRows(node, stats, atMs)];
  },
  inventory: (inventory, place) => {
    const { timestampMs: atMs, offset, partition } = place;
    const node = nodeKey(inventory);
    const readings = readingRows(node, inventory.filesystems, atMs);
    if (inventory.status !== 'complete') return readings;
    return [
      ...readings,
      {
        table: 'inventories',
        node,
        atMs,
        offset,
        partition,
        containers: () => containerNames(inventory),
      },
      {
        table: 'held',
        node,
        atMs,
        offset,
        takenMs: inventory.takenAt.wallTimeMs,
        held: onceHeld(inventory),
      },
      ...namesIn(inventory).names.map(
        (named): NameRow => ({ table: 'names', ...named, seen: Math.floor(atMs / SEEN_MS), node }),
      ),
    ];
  },
  deadLetters: (event, place) => [letterRow(event, place)],
  decisions: (event, place) =>
    event.type === 'fleetgc.node.decision' ? decisionRows(event, place) : [unrelievedRow(event, place)],
  results: (event, place) => {
    switch (event.type) {
      case 'fleetgc.node.object-result':
        return objectRows(event, place);
      case 'fleetgc.node.command-result':
        return commandRows(event, place);
      case 'fleetgc.node.pressure-unrelieved':
        return [unrelievedRow(event, place)];
      case 'fleetgc.node.pass-failed':
        return [activityOf(event, place, { what: 'pass-failed', text: event.message })];
      case 'fleetgc.node.removal-intent':
      case 'fleetgc.node.reclaim-continues':
        return [];
    }
  },
  clusterCensus: (census, place) => [
    {
      table: 'censuses',
      cluster: census.cluster,
      atMs: place.timestampMs,
      offset: place.offset,
      census,
      found: foundIn(census),
    },
    ...[FINE_STEP_MS, COARSE_STEP_MS].map((stepMs) => pointOf(census, place, stepMs)),
  ],
  clusterOwnership: (fact, { timestampMs: atMs, offset }) => {
    const told = { cluster: fact.cluster, atMs, offset };
    return [
      ...fact.settled.map(({ uid, how }) => ({ table: 'cluster_settled', ...told, uid, how }) as const),
      ...fact.candidates.flatMap((candidate) => candidateRows(candidate, told)),
    ];
  },
  clusterResults: (event, place) =>
    event.type === 'fleetgc.cluster.object-results'
      ? [...outcomeRows(event, place), ...event.objects.map((told) => deedRow(event, told, place))]
      : [],
};

type Said = Pick<ActivityRow, 'what' | 'text'> & Partial<Pick<ActivityRow, 'rule' | 'kind' | 'object'>>;

const activityOf = (
  event: { readonly id: string; readonly cluster: string; readonly node: string },
  { timestampMs: atMs }: Place,
  { text, ...said }: Said,
): ActivityRow => ({
  table: 'activity',
  id: event.id,
  atMs,
  node: nodeKey(event),
  rule: null,
  kind: null,
  object: null,
  text: boundedText(text),
  ...said,
});

/** Decisions that change nothing come by the minute and say nothing new. */
const TOLD_OUTCOMES: Partial<Record<DecisionOutcome, ActivityKind>> = {
  commanded: 'commanded',
  ordered: 'ordered',
  'dry-run': 'dry-run',
};

function decisionRows(decision: Decision, place: Place): readonly Row[] {
  const { decider, outcome, reason, verdicts } = decision;
  const what = TOLD_OUTCOMES[outcome];
  if (what === undefined) return [];
  const going = verdicts.filter(({ action }) => action === 'remove').length;
  const count = what === 'ordered' ? '' : ` ${counted(going, 'object')}.`;
  return [activityOf(decision, place, { what, text: `${decider.name}:${count} ${reason}`.trim() })];
}

const SIGNED_64_BITS = 2n ** 63n;

/** More than a table can hold is on no disk: whoever says so did not measure. */
const storable = (bytes: bigint | null): bigint | null =>
  bytes === null || bytes >= SIGNED_64_BITS ? null : bytes;

function objectRows(event: ObjectResult, place: Place): readonly Row[] {
  const { object, rule, result, id } = event;
  const named = { rule, kind: object.kind, object: object.id };
  switch (result.outcome) {
    case 'removed': {
      const freed = freedSpace(result.measured, result.estimatedBytes);
      const isMeasured = freed.how === 'measured';
      const removal: Row = {
        table: 'removals',
        id,
        atMs: place.timestampMs,
        node: nodeKey(event),
        ...named,
        freedBytes: isMeasured ? storable(freed.bytes) : null,
        estimatedBytes: isMeasured ? null : storable(knownBytes(freed)),
        nodeMs: event.at.wallTimeMs,
      };
      return [removal, activityOf(event, place, { what: 'removed', text: '', ...named })];
    }
    case 'refused':
    case 'failed':
      return [
        activityOf(event, place, {
          what: result.outcome,
          text: `${result.reason}: ${result.message}`,
          ...named,
        }),
      ];
    case 'not-found':
    case 'not-needed':
    case 'not-done':
      return [];
  }
}

/** What was done of a command its objects tell. */
function commandRows(event: CommandResult, place: Place): readonly Row[] {
  const { result } = event;
  if (result.outcome !== 'refused') return [];
  return [activityOf(event, place, { what: 'command-refused', text: `${result.reason}: ${result.message}` })];
}

const unrelievedRow = (event: PressureUnrelieved, place: Place): ActivityRow =>
  activityOf(event, place, {
    what: 'unrelieved',
    text: event.holders.map(({ reason, objects, bytes }) => `${reason}: ${objects} (${bytes} B)`).join(', '),
  });

const foundIn = ({ totals, findings }: Census): FoundCounts => ({
  ...totals,
  stuckFinalizers: findings.stuckFinalizers.count,
  waitingOwners: findings.waitingOwners.count,
  badReferences: findings.badReferences.count,
  missingOwners: findings.missingOwners.count,
  unreadKinds: unreadKindsIn(findings),
});

/** Kinds that the agent may not or cannot read, though it was to. */
export const unreadKindsIn = ({ unsyncedKinds, failedGroups }: Census['findings']): number =>
  splitUnread(unsyncedKinds).expected.length + failedGroups.length;

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

/** The record key as text; null where the message had none. */
export const originalKey = ({ key }: { readonly key: string | null }): string | null =>
  key === null ? null : Buffer.from(key, 'base64').toString('utf8');

export const originalValue = ({ value }: DeadLetter): Buffer | null =>
  value === null ? null : Buffer.from(value, 'base64');

/** Size of the value of its message, kept or not. */
export const valueBytesOf = (letter: DeadLetter): number =>
  originalValue(letter)?.length ?? letter.omittedBytes;

type LetterPlace = Pick<LogRecord, 'timestampMs' | 'offset' | 'partition'>;

/** What a record of `gc.dead-letters` says. */
function letterRow(
  event: DeadLetter | DeadLetterRedrive,
  { timestampMs: atMs, offset, partition }: LetterPlace,
): LetterRow | RedriveRow {
  const place = { atMs, offset, partition };
  if (event.type === 'fleetgc.dead-letter-redrive') {
    const { deadLetterId, by = null, reason = '' } = event;
    const said = { by: by === null ? null : boundedText(by), reason: boundedText(reason) };
    return { table: 'redrives', ...place, letter: deadLetterId, ...said };
  }
  const { id, cause, message, group, topic, suppressedBefore } = event;
  const named = originalKey(event);
  return {
    table: 'letters',
    ...place,
    id,
    cause,
    message: boundedText(message),
    group: boundedText(group),
    topic: boundedText(topic),
    key: named === null ? null : boundedText(named),
    valueBytes: valueBytesOf(event),
    suppressedBefore,
  };
}

/** No agent lists more objects, and few images have several names. */
const MOST_NAMES = 2 * MAX_INVENTORY_OBJECTS;

type Named = Pick<NameRow, 'kind' | 'id' | 'name'>;

/** By which names what a node lists can be found, and how many names are too many, or too long to be one. */
export function namesIn(inventory: CompleteInventory): {
  readonly names: readonly Named[];
  readonly leftOut: number;
} {
  const all = [...imageNames(inventory), ...podNames(inventory)];
  const names = all.filter(({ id, name }) => isBoundedText(id) && isBoundedText(name)).slice(0, MOST_NAMES);
  return { names, leftOut: all.length - names.length };
}

const imageNames = ({ images }: CompleteInventory): readonly Named[] =>
  images.flatMap(({ id, repoTags, repoDigests }) => {
    const names = repoTags.length > 0 ? repoTags : repoDigests;
    return (names.length > 0 ? names : [id]).map((name): Named => ({ kind: 'image', id, name }));
  });

const podNames = ({ sandboxes }: CompleteInventory): readonly Named[] =>
  sandboxes.flatMap(({ pod }): readonly Named[] =>
    pod === null ? [] : [{ kind: 'pod', id: pod.uid, name: `${pod.namespace}/${pod.name}` }],
  );

/** As many characters of ids and names are kept of one node; a node with 110 pods has a third of it. */
const MOST_CHARACTERS = 65_536;

const containerNameOf = ({ pod, name }: InventoryContainer): string =>
  pod === null ? name : `${pod.namespace}/${pod.name}/${name}`;

/** By what its containers can be found. */
function containerNames({ containers }: CompleteInventory): readonly ContainerName[] {
  const names: ContainerName[] = [];
  let left = MOST_CHARACTERS;
  for (const container of containers) {
    const [id, name] = [container.id.toWellFormed(), containerNameOf(container).toWellFormed()];
    left -= id.length + name.length;
    if (left < 0) break;
    names.push([id, name]);
  }
  return names;
}

/** Three hours: statistics carry two. What a node says of other times is no curve: nobody would let go of points of the future. */
const CARRIED_SPANS = 18;

/** Where all are one disk, it is told as that of the images. */
const ORDER: readonly FilesystemName[] = ['imagefs', ...FilesystemName.exclude(['imagefs']).options];

/** The filesystems of a node, each disk once, under the first of its names. */
export function disksOf(filesystems: FilesystemReadings): readonly FilesystemName[] {
  const devices = new Map<string, FilesystemName>();
  for (const name of ORDER) {
    const device = filesystems[name]?.device;
    if (device !== undefined && !devices.has(device)) devices.set(device, name);
  }
  return [...devices.values()];
}

/** The curve of two hours that disk statistics carry, by the log's clock. */
export function diskRows(node: string, stats: DiskStats, atMs: number): readonly DiskRow[] {
  const { filesystems, history, takenAt } = stats;
  return disksOf(filesystems).flatMap((filesystem) => {
    const usage = usageOf(filesystems, filesystem);
    if (usage === null) return [];
    const spans = new Map<number, DiskRow>();
    for (const [startMs, leastFree, mostFree] of history[filesystem].availableBytes)
      widen(spans, {
        table: 'disks',
        node,
        filesystem,
        span: Math.floor((atMs - takenAt.sinceBootMs + startMs) / SPAN_MS),
        least: usedThousandths(usage, BigInt(mostFree)),
        most: usedThousandths(usage, BigInt(leastFree)),
      });
    widen(spans, readingRow(node, filesystem, usage, atMs));
    const newest = Math.floor(atMs / SPAN_MS);
    return [...spans.values()].filter(({ span }) => span > newest - CARRIED_SPANS && span <= newest);
  });
}

/** One reading of each disk. */
export const readingRows = (
  node: string,
  filesystems: FilesystemReadings,
  atMs: number,
): readonly DiskRow[] =>
  disksOf(filesystems).flatMap((filesystem) => {
    const usage = usageOf(filesystems, filesystem);
    return usage === null ? [] : [readingRow(node, filesystem, usage, atMs)];
  });

function readingRow(node: string, filesystem: FilesystemName, usage: FilesystemUsage, atMs: number): DiskRow {
  const used = usedThousandths(usage, usage.availableBytes);
  return { table: 'disks', node, filesystem, span: Math.floor(atMs / SPAN_MS), least: used, most: used };
}

function usageOf(filesystems: FilesystemReadings, name: FilesystemName): FilesystemUsage | null {
  const believed = believeUsage(name, filesystems[name]);
  return believed.kind === 'usage' ? believed.usage : null;
}

function widen(spans: Map<number, DiskRow>, row: DiskRow): void {
  const known = spans.get(row.span) ?? row;
  spans.set(row.span, {
    ...row,
    least: Math.min(known.least, row.least),
    most: Math.max(known.most, row.most),
  });
}

/** A disk that grew holds less now than it did: what was free before may be more than it is large. */
function usedThousandths({ capacityBytes }: FilesystemUsage, availableBytes: bigint): number {
  const used = 1000n - (availableBytes * 1000n) / capacityBytes;
  return Number(used < 0n ? 0n : used > 1000n ? 1000n : used);
}
