import { partitionOf } from '../../packages/event-log/partition.ts';
import type { EventLog, LogRecord } from '../../packages/event-log/port.ts';
import { parseRecord } from '../../packages/pipeline/parse/parse-record.ts';
import { type RecordedEvent, readPartition } from '../../packages/pipeline/read-log.ts';
import { SUBJECTS } from '../../schemas/events/identity.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import { CANDIDATE_TOPICS, type CandidateTopic, HeldObjects } from './held-objects.ts';
import { type Hold, holdsOf } from './holds.ts';

/** What is held in one cluster. */
export interface HeldCluster {
  readonly cluster: string;
  readonly clusterInstance: string;
  /** When its agent was heard last, by the log's clock. */
  readonly heardAtMs: number;
  readonly holds: readonly Hold[];
}

interface Reading {
  /** `null`: all. */
  readonly cluster: string | null;
  /** Epoch milliseconds, by the log's clock. */
  readonly fromMs: number;
}

/** What the decisions since then hold, by clusters. */
export async function readHolds(
  log: Pick<EventLog, 'read'>,
  { cluster, fromMs }: Reading,
  signal: AbortSignal,
): Promise<readonly HeldCluster[]> {
  const clusters = new Map<string, HeldObjects>();
  for (const partition of partitionsOf(cluster)) {
    const topics = [...CANDIDATE_TOPICS, 'clusterDecisions', 'clusterResults', 'clusterCensus'] as const;
    const events = readPartition(log, { topics, partition, range: { fromMs, toMs: null } }, signal);
    for await (const event of events)
      if (cluster === null || event.record.key === cluster) take(event, clusters);
  }
  return [...clusters].flatMap(([name, objects]) => heldCluster(name, objects)).toSorted(byName);
}

const partitionsOf = (cluster: string | null): readonly number[] =>
  cluster === null
    ? Array.from({ length: SUBJECTS.cluster.partitions }, (_, partition) => partition)
    : [partitionOf(TOPICS.clusterOwnership.name, SUBJECTS.cluster.keyOf({ cluster }))];

function take({ topicId, record }: RecordedEvent, clusters: Map<string, HeldObjects>): void {
  const candidates = CANDIDATE_TOPICS.find((each) => each === topicId);
  if (candidates !== undefined) takeFact(candidates, record, clusters);
  else if (topicId === 'clusterDecisions') takeDecision(record, clusters);
  else if (topicId === 'clusterResults') takeResults(record, clusters);
  // What is held an agent tells again; that it does not is seen by what it tells of its cluster.
  else if (record.key !== null) clusters.get(record.key)?.heard(record.timestampMs);
}

function takeFact(topic: CandidateTopic, record: LogRecord, clusters: Map<string, HeldObjects>): void {
  const parsed = parseRecord(topic, record);
  if (!parsed.ok) return;
  const objects = clusters.get(parsed.event.cluster) ?? new HeldObjects();
  clusters.set(parsed.event.cluster, objects);
  objects.fact(topic, parsed.event, record.offset, record.timestampMs);
}

function takeDecision(record: LogRecord, clusters: Map<string, HeldObjects>): void {
  const parsed = parseRecord('clusterDecisions', record);
  if (parsed.ok) clusters.get(parsed.event.cluster)?.decision(parsed.event, record.timestampMs);
}

function takeResults(record: LogRecord, clusters: Map<string, HeldObjects>): void {
  const parsed = parseRecord('clusterResults', record);
  if (!parsed.ok || parsed.event.type !== 'fleetgc.cluster.object-results') return;
  clusters.get(parsed.event.cluster)?.results(parsed.event, record.timestampMs);
}

function heldCluster(cluster: string, objects: HeldObjects): readonly HeldCluster[] {
  const { instance, heardMs, held } = objects;
  if (instance === null) return [];
  return [{ cluster, clusterInstance: instance, heardAtMs: heardMs, holds: holdsOf(held) }];
}

const byName = (a: HeldCluster, b: HeldCluster): number => (a.cluster < b.cluster ? -1 : 1);
