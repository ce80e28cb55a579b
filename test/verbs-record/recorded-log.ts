import { readFileSync, writeFileSync } from 'node:fs';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import pino from 'pino';
import { z } from 'zod';
import { valueSha256 } from '../../packages/canonical/ids.ts';
import { openEmbeddedLog } from '../../packages/log/embedded.ts';
import { partitionOf } from '../../packages/log/partition.ts';
import { topicIdOf } from '../../packages/records/parse/parse-record.ts';
import type { LatestFact, LocatedFact } from '../../schemas/events/latest-fact.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import { positionRecord } from '../support/logs/positions.ts';

const FILE = new URL('./recorded-log.json.zst', import.meta.url);

/** A log of a fleet as it was recorded: `make-recorded-log.ts` wrote it, and nothing changes it. */
const RecordedLog = z.strictObject({
  /** When it is asked. */
  askedAtMs: z.int(),
  /** In the order in which the log took them. */
  records: z.array(
    z.strictObject({
      topic: z.enum(Object.values(TOPICS).map(({ name }) => name)),
      key: z.string(),
      /** In base64, since some are no text; `null` for a tombstone. */
      value: z.base64().nullable(),
      headers: z.record(z.string(), z.string()),
      timestampMs: z.int(),
    }),
  ),
});
export type RecordedLog = z.infer<typeof RecordedLog>;

export const readRecordedLog = (): RecordedLog =>
  RecordedLog.parse(JSON.parse(zstdDecompressSync(readFileSync(FILE)).toString('utf8')));

export const writeRecordedLog = (log: RecordedLog): void =>
  writeFileSync(FILE, zstdCompressSync(`${JSON.stringify(RecordedLog.parse(log))}\n`));

/** Makes an embedded log of it, in which every record lies where it lay, and has its time. */
export async function replayInto(path: string, { records }: RecordedLog): Promise<void> {
  let nowMs = 0;
  await using log = await openEmbeddedLog(
    { path, maxBytes: 64 * 1024 * 1024, leavesRetention: true },
    { logger: pino({ level: 'silent' }), now: () => nowMs, random: () => 0, newId: () => 'replayed' },
  );
  await log.createTopics();
  for (const { value, timestampMs, ...record } of records) {
    nowMs = timestampMs;
    await log.publish([{ ...record, value: value === null ? null : Buffer.from(value, 'base64') }]);
  }
}

/** The same log, on which the agents of the simulated nodes and clusters published where their last facts lie, if they did not yet. */
export function withPositions({ askedAtMs, records }: RecordedLog): RecordedLog {
  const offsets = new Map<string, number>();
  const last = new Map<string, RecordedLog['records'][number]>();
  const theirs = new Set(
    records.filter(({ topic }) => topic === TOPICS.latestFacts.name).map(({ key }) => key),
  );
  for (const { topic, key, value, timestampMs } of records) {
    const fact = topicIdOf(topic);
    if (fact !== 'diskStats' && fact !== 'clusterCensus') continue;
    const partition = partitionOf(topic, key);
    const offset = offsets.get(`${topic} ${partition}`) ?? 0;
    offsets.set(`${topic} ${partition}`, offset + 1);
    const bytes = Buffer.from(value ?? '', 'base64');
    const latest = latestFact(fact, JSON.parse(bytes.toString('utf8')), {
      partition,
      offset: String(offset),
      loggedAtMs: timestampMs,
      sha256: valueSha256(bytes),
    });
    const position = positionRecord(latest);
    if (!theirs.has(position.key))
      last.set(position.key, {
        topic: position.topic,
        key: position.key,
        value: position.value?.toString('base64') ?? null,
        headers: { ...position.headers },
        timestampMs,
      });
  }
  const all = [...records, ...last.values()].toSorted((a, b) => a.timestampMs - b.timestampMs);
  return { askedAtMs, records: all };
}

const Identity = z.object({
  id: z.string(),
  cluster: z.string(),
  node: z.string().default(''),
  nodeInstance: z.string().default(''),
  clusterInstance: z.string().default(''),
});

function latestFact(
  fact: LocatedFact,
  value: unknown,
  place: Pick<LatestFact, 'partition' | 'offset' | 'loggedAtMs' | 'sha256'>,
): LatestFact {
  const { id, cluster, node, nodeInstance, clusterInstance } = Identity.parse(value);
  const header = { version: 1, id: `position-${id}`, cluster, ...place } as const;
  return fact === 'diskStats'
    ? { type: 'fleetgc.node.latest-fact', fact, node, nodeInstance, ...header }
    : { type: 'fleetgc.cluster.latest-fact', fact, clusterInstance, ...header };
}
