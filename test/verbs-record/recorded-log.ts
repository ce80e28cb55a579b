import { readFileSync, writeFileSync } from 'node:fs';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import pino from 'pino';
import { z } from 'zod';
import { openEmbeddedLog } from '../../packages/log/embedded.ts';
import { TOPICS } from '../../schemas/events/topics.ts';

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
