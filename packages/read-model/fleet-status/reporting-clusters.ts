import pMap from 'p-map';
import type { Census } from '../../../schemas/events/census.ts';
import { SUBJECTS } from '../../../schemas/events/identity.ts';
import type { TrustRoots } from '../../../schemas/keys/trust-roots.ts';
import type { PolicySetOf } from '../../../schemas/policy/policy.ts';
import type { EventLog, LogRecord } from '../../log/port.ts';
import { HOUR_MS, MINUTE_MS } from '../../process/durations.ts';
import { leastOf } from '../../process/least-and-most.ts';
import { parseRecord } from '../../records/parse/parse-record.ts';
import { readPartition, type TimeRange } from '../../records/read-log.ts';
import { type HeldCluster, readHolds } from '../cluster-holds/read-holds.ts';
import { recordedTrust } from '../cluster-holds/recorded-trust.ts';
import { type ToldCensus, ToldCensuses } from '../cluster-holds/told-censuses.ts';

/** What the log tells of a cluster lately. */
export interface ReportingCluster {
  readonly cluster: string;
  readonly clusterInstance: string;
  /** By the log's clock. */
  readonly heardMs: number;
  readonly census: Census | null;
  readonly held: HeldCluster | null;
  readonly unanswered: { readonly commands: number; readonly sinceMs: number | null };
}

/** Agents tell each candidate, and how their cluster stands, within ten minutes. */
const TOLD_WITHIN_MS = 30 * MINUTE_MS;
/** Of those that are silent for longer, spans of the day before tell: each has a census of every agent that ran. The oldest first. */
const SPANS_BEFORE_MS = [24, 12, 6, 3].map((hours) => hours * HOUR_MS);
const PARTITIONS_AT_ONCE = 8;
const PARTITIONS = Array.from({ length: SUBJECTS.cluster.partitions }, (_, partition) => partition);

/** How what is held is judged. */
interface Judging {
  /** Epoch milliseconds. */
  readonly nowMs: number;
  readonly policies: PolicySetOf<'cluster'>;
  /** Whose signatures count; `null` where nobody checks them. */
  readonly roots: TrustRoots | null;
}

/** Clusters that were heard in the last day, by their names. */
export async function readReportingClusters(
  log: Pick<EventLog, 'read'>,
  { nowMs, policies, roots }: Judging,
  signal: AbortSignal,
): Promise<readonly ReportingCluster[]> {
  const fromMs = nowMs - TOLD_WITHIN_MS;
  const censuses = await readCensuses(log, { nowMs, roots }, signal);
  const holds = await readHolds(log, { cluster: null, fromMs, policies, roots, nowMs }, signal);
  const unanswered = await readUnanswered(log, { fromMs, nowMs }, signal);
  const heldOf = new Map(holds.map((held) => [held.cluster, held]));
  const names = [...new Set([...censuses.keys(), ...heldOf.keys()])].toSorted();
  return names.flatMap((cluster) => {
    const told = censuses.get(cluster);
    const held = heldOf.get(cluster) ?? null;
    const clusterInstance = held?.clusterInstance ?? told?.census.clusterInstance;
    if (clusterInstance === undefined) return [];
    const heardMs = Math.max(told?.heardMs ?? 0, held?.heardAtMs ?? 0);
    const census = told?.census ?? null;
    const open = unanswered.get(cluster) ?? [];
    return {
      cluster,
      clusterInstance,
      heardMs,
      census,
      held,
      unanswered: { commands: open.length, sinceMs: open.length === 0 ? null : leastOf(open) },
    };
  });
}

/** Names of the clusters that told of themselves in the last day. */
export const readClusterNames = async (
  log: Pick<EventLog, 'read'>,
  nowMs: number,
  signal: AbortSignal,
): Promise<readonly string[]> =>
  [...(await readCensuses(log, { nowMs, roots: null }, signal)).keys()].toSorted();

async function readCensuses(
  log: Pick<EventLog, 'read'>,
  { nowMs, roots }: Pick<Judging, 'nowMs' | 'roots'>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ToldCensus>> {
  const last = new ToldCensuses(await recordedTrust(roots, log, signal));
  const ranges: readonly TimeRange[] = [
    ...SPANS_BEFORE_MS.map((agoMs) => ({ fromMs: nowMs - agoMs, toMs: nowMs - agoMs + TOLD_WITHIN_MS })),
    { fromMs: nowMs - HOUR_MS, toMs: null },
  ];
  const look = async (partition: number): Promise<void> => {
    for (const range of ranges)
      for await (const { record } of readPartition(
        log,
        { topics: ['clusterCensus'], partition, range },
        signal,
      ))
        last.take(record);
  };
  await pMap(PARTITIONS, look, { concurrency: PARTITIONS_AT_ONCE });
  return last.told();
}

/** When commands were given whose time is over, and that have no result of their own, by cluster. */
async function readUnanswered(
  log: Pick<EventLog, 'read'>,
  { fromMs, nowMs }: { readonly fromMs: number; readonly nowMs: number },
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const open = new Map<string, OpenCommand>();
  const look = async (partition: number): Promise<void> => {
    const topics = ['clusterCommands', 'clusterResults'] as const;
    const range = { fromMs, toMs: null };
    for await (const { topicId, record } of readPartition(log, { topics, partition, range }, signal))
      if (topicId === 'clusterCommands') noteCommand(open, record);
      else noteAnswer(open, record);
  };
  await pMap(PARTITIONS, look, { concurrency: PARTITIONS_AT_ONCE });
  const over = [...open.values()].filter(({ untilMs }) => untilMs < nowMs);
  const byCluster = Map.groupBy(over, ({ cluster }) => cluster);
  return new Map([...byCluster].map(([cluster, all]) => [cluster, all.map(({ givenMs }) => givenMs)]));
}

interface OpenCommand {
  readonly cluster: string;
  /** Both by the log's clock. */
  readonly givenMs: number;
  readonly untilMs: number;
}

function noteCommand(open: Map<string, OpenCommand>, record: LogRecord): void {
  const parsed = parseRecord('clusterCommands', record);
  if (!parsed.ok) return;
  const { id, cluster, lifetimeMs } = parsed.event;
  const givenMs = record.timestampMs;
  open.set(id, { cluster, givenMs, untilMs: givenMs + lifetimeMs });
}

function noteAnswer(open: Map<string, OpenCommand>, record: LogRecord): void {
  const parsed = parseRecord('clusterResults', record);
  if (parsed.ok && parsed.event.type === 'fleetgc.cluster.command-result')
    open.delete(parsed.event.commandId);
}
