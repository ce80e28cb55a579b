import type { EventLog } from '../../../packages/log/port.ts';
import { parseRecord } from '../../../packages/records/parse/parse-record.ts';
import { firstRecord } from '../../../packages/records/read-log.ts';
import { printableLine } from '../../../packages/text/printable.ts';
import type { ClusterDecision } from '../../../schemas/events/cluster-decision.ts';
import { type EventOf, TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import { jsonLine } from '../../framework/printable-documents.ts';
import { eventsOf } from '../follow.ts';
import { newsOfCensus } from './census-news.ts';
import { commandLine, decisionLines, type Judged, resultLines } from './cluster-lines.ts';

export interface FollowingCluster {
  readonly log: Pick<EventLog, 'read'>;
  readonly print: (line: string) => void;
  /** Begins with what came at this time, by the log's clock. */
  readonly fromMs: number;
}

/** A line for each thing that is decided and done about clusters on this log, until the signal aborts. */
export async function followCluster(
  { log, print, fromMs }: FollowingCluster,
  signal: AbortSignal,
): Promise<void> {
  const printAll = (lines: readonly string[]): void => {
    for (const line of lines) print(printableLine(line));
  };
  const decisions = async (): Promise<void> => {
    let last = '';
    for await (const decision of eventsOf(log, { topic: 'clusterDecisions', fromMs }, signal)) {
      const lines = decisionLines(decision, await candidatesOf(decision, log, signal));
      // What was said last is not said again.
      if (lines.join('\n') !== last) printAll(lines);
      last = lines.join('\n');
    }
  };
  const results = async (): Promise<void> => {
    for await (const result of eventsOf(log, { topic: 'clusterResults', fromMs }, signal))
      printAll(linesOfResult(result));
  };
  const censuses = async (): Promise<void> => {
    let last = '';
    for await (const census of eventsOf(log, { topic: 'clusterCensus', fromMs }, signal)) {
      const lines = newsOfCensus(census);
      if (lines.join('\n') !== last) printAll(lines);
      last = lines.join('\n');
    }
  };
  await Promise.all([decisions(), results(), censuses()]);
}

/** The decisions and results themselves, one JSON document a line. */
export async function followClusterAsJson(
  { log, print, fromMs }: FollowingCluster,
  signal: AbortSignal,
): Promise<void> {
  const topics = ['clusterDecisions', 'clusterResults'] as const;
  const follow = async (topic: (typeof topics)[number]): Promise<void> => {
    for await (const event of eventsOf(log, { topic, fromMs }, signal)) print(jsonLine(event));
  };
  await Promise.all(topics.map(follow));
}

/** Topics of facts that are decided on. */
const FACTS = ['clusterOwnership', 'clusterExpiry', 'clusterPods'] as const satisfies readonly TopicId[];

/** Of the fact that was decided on, which lies where the decision says; `null` where it does not. */
export async function candidatesOf(
  { input: { topic: name, partition, offset } }: ClusterDecision,
  log: FollowingCluster['log'],
  signal: AbortSignal,
): Promise<readonly Judged[] | null> {
  const id = FACTS.find((each) => TOPICS[each].name === name);
  if (id === undefined) return null;
  const topic = TOPICS[id].name;
  try {
    const record = await firstRecord(log, { topic, partition, from: { offset: BigInt(offset) } }, signal);
    const parsed = record && parseRecord(id, record);
    return parsed?.ok ? parsed.event.candidates : null;
  } catch (error) {
    if (signal.aborted) return null;
    throw error;
  }
}

function linesOfResult(result: EventOf<'clusterResults'>): readonly string[] {
  if (result.type === 'fleetgc.cluster.command-intent') return [];
  if (result.type === 'fleetgc.cluster.object-results') return resultLines(result);
  const line = commandLine(result);
  return line === null ? [] : [line];
}
