import type { Decision, DecisionOutcome } from '../../../schemas/events/decision.ts';
import { nodeKey } from '../../../schemas/events/identity.ts';
import type { CommandResult, ObjectResult, PressureUnrelieved } from '../../../schemas/events/result.ts';
import type { EventOf, TopicId } from '../../../schemas/events/topics.ts';
import type { ActivityKind } from '../../../schemas/reports/dashboard.ts';
import { freedSpace, knownBytes } from '../../decision/freed-space.ts';
import type { LogRecord } from '../../log/port.ts';
import { counted } from '../../text/counted.ts';
import { boundedText } from './bounded-text.ts';
import { diskRows, readingRows } from './disk-rows.ts';
import { onceHeld } from './held-rows.ts';
import { letterRow } from './letter-rows.ts';
import { containerNames, namesIn } from './name-rows.ts';
import { PROJECT_CLUSTERS } from './project-clusters.ts';
import { type ActivityRow, type NameRow, type Row, SEEN_MS } from './rows.ts';

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
type Projector<Id extends ProjectedTopic> = (event: EventOf<Id>, place: PlaceOf<Id>) => readonly Row[];

/**
 * What an event says, as rows. It knows nothing of other events: that of several rows of one key the newest, or the widest, stays is
 * what the tables do, in whatever order and however often the rows come.
 */
export const PROJECT: { readonly [Id in ProjectedTopic]: Projector<Id> } = {
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
  ...PROJECT_CLUSTERS,
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
