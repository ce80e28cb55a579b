import { valueSha256 } from '../../../packages/canonical/ids.ts';
import { partitionOf } from '../../../packages/log/partition.ts';
import type { LogPublisher, LogReader, OutgoingRecord } from '../../../packages/log/port.ts';
import { MINUTE_MS } from '../../../packages/process/durations.ts';
import { parseRecord } from '../../../packages/records/parse/parse-record.ts';
import { DiskStats } from '../../../schemas/events/disk-stats.ts';
import { keyOfLatestFact, type LatestFact, type LocatedFact } from '../../../schemas/events/latest-fact.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { outgoing } from './log-record.ts';

/** A position, and when the log gets it. */
interface TimedPosition {
  readonly atMs: number;
  readonly latest: LatestFact;
  readonly record: OutgoingRecord;
}

export const positionRecord = (latest: LatestFact): OutgoingRecord =>
  outgoing({ topic: 'latestFacts', key: keyOfLatestFact(latest), event: latest });

/** Publishes records, and where the samples of disks among them lie, as agents do. */
export async function publishWithPositions(
  log: LogPublisher,
  records: readonly OutgoingRecord[],
): Promise<void> {
  const places = await log.publish(records);
  const positions = records.flatMap((record, index) => {
    const place = places[index];
    if (record.topic !== TOPICS.diskStats.name || record.value === null || !place?.timestampMs) return [];
    const { cluster, node, nodeInstance, id } = DiskStats.parse(JSON.parse(String(record.value)));
    const latest: LatestFact = {
      type: 'fleetgc.node.latest-fact',
      version: 1,
      id: `position-${id}`,
      cluster,
      node,
      nodeInstance,
      fact: 'diskStats',
      partition: place.partition,
      offset: String(place.offset),
      loggedAtMs: place.timestampMs,
      sha256: valueSha256(record.value),
    };
    return [positionRecord(latest)];
  });
  if (positions.length > 0) await log.publish(positions);
}

/** An agent publishes a position every five minutes: what compaction leaves of them is up to so much older than the last fact. */
const OLDER_MS = 4.5 * MINUTE_MS;

/** The positions that agents would have published last of what lies on a log, one for each subject, in the order of the log. */
export async function positionsOn(log: LogReader, fact: LocatedFact): Promise<readonly TimedPosition[]> {
  const bySubject = new Map<string, TimedPosition[]>();
  const signal = new AbortController().signal;
  for await (const event of log.read({ topic: TOPICS[fact].name, from: 'earliest', to: 'end' }, signal)) {
    if (event.kind !== 'record') continue;
    const { record } = event;
    const parsed = parseRecord(fact, record);
    if (!parsed.ok || record.value === null) continue;
    const place = {
      version: 1,
      id: `position-${parsed.event.id}`,
      partition: partitionOf(TOPICS[fact].name, record.key ?? ''),
      offset: String(record.offset),
      loggedAtMs: record.timestampMs,
      sha256: valueSha256(record.value),
    } as const;
    const { cluster } = parsed.event;
    const latest: LatestFact =
      parsed.event.type === 'fleetgc.node.disk-stats'
        ? {
            type: 'fleetgc.node.latest-fact',
            cluster,
            node: parsed.event.node,
            nodeInstance: parsed.event.nodeInstance,
            fact: 'diskStats',
            ...place,
          }
        : {
            type: 'fleetgc.cluster.latest-fact',
            cluster,
            clusterInstance: parsed.event.clusterInstance,
            fact: 'clusterCensus',
            ...place,
          };
    const timed = { atMs: record.timestampMs, latest, record: positionRecord(latest) };
    bySubject.set(record.key ?? '', [...(bySubject.get(record.key ?? '') ?? []), timed]);
  }
  const left = [...bySubject.values()].flatMap((all) => {
    const lastMs = all.at(-1)?.atMs ?? 0;
    return all.find(({ atMs }) => lastMs - atMs <= OLDER_MS) ?? [];
  });
  return left.toSorted((a, b) => a.atMs - b.atMs);
}
