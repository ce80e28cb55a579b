import pMap from 'p-map';
import type { AnyDeciderName, DeciderNameFor } from '../../../schemas/events/deciders.ts';
import type { SubjectKind } from '../../../schemas/events/identity.ts';
import type { TopicName } from '../../../schemas/events/topics.ts';
import type { EventLog, GroupProgress, WaitingRecord } from '../../log/port.ts';
import { firstRecord } from '../../records/read-log.ts';

/** The services that share their work in groups, by whom they decide about. */
export const SERVICES_FOR: { readonly [Kind in SubjectKind]: readonly DeciderNameFor<Kind>[] } = {
  node: ['pressure', 'container-gc', 'image-gc'],
  cluster: ['graph-gc', 'pod-gc', 'expiry-gc'],
};
export const groupOf = (service: AnyDeciderName): string => `fleetgc-${service}`;

/** How far a group is. */
export interface DatedProgress extends GroupProgress {
  /** Epoch milliseconds. */
  readonly waitingSinceMs: number | null;
}

/** How far the group of each service is. Rejects where the rights on groups are missing. */
export async function readGroups(
  log: EventLog,
  {
    services,
    unreadable,
  }: { readonly services: readonly AnyDeciderName[]; readonly unreadable: ReadonlySet<TopicName> },
  signal: AbortSignal,
): Promise<readonly DatedProgress[]> {
  const dated: DatedProgress[] = [];
  for (const group of await log.groups(services.map(groupOf)))
    dated.push({ ...group, waitingSinceMs: await waitingSince(log, group, unreadable, signal) });
  return dated;
}

/** Of each topic; where a service stands still as a whole, every partition tells it. */
const MOST_LOOKED_AT = 4;

/**
 * When the oldest message came that the group is not done with, of the partitions that are furthest behind; `null` when
 * nothing is left, or what is left cannot be read.
 */
async function waitingSince(
  log: Pick<EventLog, 'read'>,
  { waiting }: Pick<GroupProgress, 'waiting'>,
  unreadable: ReadonlySet<TopicName>,
  signal: AbortSignal,
): Promise<number | null> {
  const readable = waiting.filter(({ topic }) => !unreadable.has(topic));
  const looked = [...Map.groupBy(readable, ({ topic }) => topic).values()].flatMap(furthestBehind);
  const times = await pMap(looked, ({ topic, partition, offset }) =>
    firstRecord(log, { topic, partition, from: { offset } }, signal),
  );
  const known = times.flatMap((record) => record?.timestampMs ?? []);
  return known.length === 0 ? null : Math.min(...known);
}

const furthestBehind = (records: readonly WaitingRecord[]): readonly WaitingRecord[] =>
  records.toSorted((a, b) => b.left - a.left).slice(0, MOST_LOOKED_AT);
