/**
 * `node lab/bench/dashboard/read-bytes.ts LOG END_MS`: reads and parses, as JSON and no more, the records that a dashboard reads
 * before it knows all nodes.
 */
import { openEmbeddedLog } from '../../../packages/log/embedded.ts';
import { MINUTE_MS } from '../../../packages/process/durations.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { logContext } from '../context.ts';
import { LOG_MAX_BYTES } from '../month/write-month.ts';

const [path = '', end = ''] = process.argv.slice(2);
await using log = await openEmbeddedLog({ path, maxBytes: LOG_MAX_BYTES, leavesRetention: true }, logContext);
const startedMs = performance.now();
let records = 0;
for (const [id, minutes] of [
  ['diskStats', 3.5],
  ['inventory', 6],
] as const) {
  const from = { timestampMs: Number(end) - minutes * MINUTE_MS };
  for await (const event of log.read({ topic: TOPICS[id].name, from, to: 'end' })) {
    if (event.kind !== 'record') continue;
    JSON.parse(event.record.value?.toString('utf8') ?? 'null');
    records += 1;
  }
}
process.stdout.write(`${JSON.stringify({ readMs: Math.round(performance.now() - startedMs), records })}\n`);
