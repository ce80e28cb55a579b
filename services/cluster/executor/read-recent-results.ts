import type { ApiConnection } from '../../../packages/kube-api/connection.ts';
import { partitionOf } from '../../../packages/log/partition.ts';
import type { EventLog } from '../../../packages/log/port.ts';
import { HOUR_MS } from '../../../packages/process/durations.ts';
import type { Sources } from '../../../packages/process/system-sources.ts';
import { parseBelieved } from '../../../packages/records/parse/parse-believed.ts';
import { readPartition } from '../../../packages/records/read-log.ts';
import type { Trust } from '../../../packages/records/trust/trust.ts';
import { type ClusterIdentity, SUBJECTS } from '../../../schemas/events/identity.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { type OpenIntent, OpenIntents } from './intents/open-intents.ts';
import type { ResultEvent } from './results/outbox.ts';
import { type RecentResults, recentResults } from './results/recent-results.ts';

interface ReadingResults {
  readonly identity: ClusterIdentity;
  readonly log: Pick<EventLog, 'read'>;
  readonly trust: Trust;
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

/**
 * Epoch milliseconds that are not too late: a machine whose clock is ahead would not find what was told just now. The log's clock is
 * near that of the API server.
 */
export const earliestNow = (
  { clock }: Pick<ApiConnection, 'clock'>,
  { now, monotonicNow }: Pick<Sources, 'now' | 'monotonicNow'>,
): number => Math.min(now(), clock.at(monotonicNow())?.earliestMs ?? Number.POSITIVE_INFINITY);

/**
 * What this cluster's executor told in the past hour: its journal. What is forged there makes it do less, never more: commands count
 * as answered, and removals as made.
 */
export async function readRecentResults(
  { identity, log, trust, nowMs }: ReadingResults,
  signal: AbortSignal,
): Promise<RecentResults> {
  const events: ResultEvent[] = [];
  for await (const event of resultsFrom({ identity, log, trust, fromMs: nowMs - HOUR_MS }, signal))
    events.push(event);
  return recentResults(events);
}

/** What was announced at any time that the log remembers, and of which no result tells. Reads all that the log has of its results. */
export async function readOpenIntents(
  reading: Omit<ReadingResults, 'nowMs'>,
  signal: AbortSignal,
): Promise<readonly OpenIntent[]> {
  const intents = new OpenIntents();
  for await (const event of resultsFrom({ ...reading, fromMs: null }, signal)) intents.take(event);
  return intents.open();
}

type Reading = Omit<ReadingResults, 'nowMs'> & { readonly fromMs: number | null };

async function* resultsFrom(
  { identity, log, trust, fromMs }: Reading,
  signal: AbortSignal,
): AsyncGenerator<ResultEvent, void> {
  const key = SUBJECTS.cluster.keyOf(identity);
  const partition = partitionOf(TOPICS.clusterResults.name, key);
  const parse = parseBelieved(trust);
  const range = { fromMs, toMs: null };
  for await (const { record } of readPartition(
    log,
    { topics: ['clusterResults'], partition, range },
    signal,
  )) {
    if (record.key !== key) continue;
    const parsed = parse('clusterResults', record);
    if (parsed.ok && parsed.event.clusterInstance === identity.clusterInstance) yield parsed.event;
  }
}
