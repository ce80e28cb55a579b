/**
 * Merely reads a log and parses what lies there, partition by partition, in as many threads as asked for: the baseline of
 * `fleetgc audit verify`. Everything is read as that does; nothing is looked at.
 */
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { z } from 'zod';
import { openEmbeddedLog } from '../../../packages/log/embedded.ts';
import { parseRecord } from '../../../packages/records/parse/parse-record.ts';
import { readPartition, SUBJECT_TOPICS, type TimeRange } from '../../../packages/records/read-log.ts';
import { NODE_PARTITIONS } from '../../../schemas/events/topics.ts';
import { logContext } from '../context.ts';

const Settings = z.object({
  path: z.string(),
  maxBytes: z.int(),
  fromMs: z.int().nullable(),
  toMs: z.int().nullable(),
  threads: z.int().positive(),
});
type Settings = z.infer<typeof Settings>;

/** Records of one partition, read and parsed. */
async function readAll({ path, maxBytes }: Settings, partitions: AsyncIterable<number>, range: TimeRange) {
  await using log = await openEmbeddedLog({ path, maxBytes, leavesRetention: true }, logContext);
  const { signal } = new AbortController();
  let records = 0;
  for await (const partition of partitions)
    for await (const { topicId, record } of readPartition(
      log,
      { topics: SUBJECT_TOPICS.node, partition, range },
      signal,
    )) {
      const parsed = parseRecord(topicId, record);
      if (!parsed.ok) throw new Error(`not an event: ${parsed.rejection.message}`);
      records += 1;
    }
  return records;
}

const ALL = Array.from({ length: NODE_PARTITIONS }, (_, partition) => partition);

/** Each thread asks for the next partition that nobody has. */
async function* asked(port: NonNullable<typeof parentPort>): AsyncGenerator<number, void> {
  for (;;) {
    const answer = Promise.withResolvers<number | null>();
    port.once('message', answer.resolve);
    port.postMessage('next');
    const partition = await answer.promise;
    if (partition === null) return;
    yield partition;
  }
}

async function inThreads(settings: Settings): Promise<void> {
  const left = ALL.values();
  const ends = Array.from({ length: settings.threads }, async () => {
    const worker = new Worker(import.meta.filename, { workerData: settings });
    worker.on('message', () => worker.postMessage(left.next().value ?? null));
    await new Promise((resolve, reject) => worker.once('exit', resolve).once('error', reject));
  });
  await Promise.all(ends);
}

if (isMainThread) {
  const [, , argument = ''] = process.argv;
  const settings = Settings.parse(JSON.parse(argument));
  const { fromMs, toMs } = settings;
  if (settings.threads > 1) await inThreads(settings);
  else
    await readAll(
      settings,
      (async function* () {
        yield* ALL;
      })(),
      { fromMs, toMs },
    );
} else if (parentPort !== null) {
  const settings = Settings.parse(workerData);
  const { fromMs, toMs } = settings;
  await readAll(settings, asked(parentPort), { fromMs, toMs });
  parentPort.close();
}
