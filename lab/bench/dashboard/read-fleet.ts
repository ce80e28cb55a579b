/**
 * `node lab/bench/dashboard/read-fleet.ts LOG END_MS DIRECTORY`: follows a log whose last record came at `END_MS` as if it were that
 * time now, and writes what the start took, as JSON, once all that is new is read.
 */
import { join } from 'node:path';
import pino from 'pino';
import { openEmbeddedLog } from '../../../packages/log/embedded.ts';
import { DAY_MS } from '../../../packages/process/durations.ts';
import { systemSources } from '../../../packages/process/system-sources.ts';
import { Projection } from '../../../packages/read-model/model.ts';
import { logContext } from '../context.ts';
import { LOG_MAX_BYTES } from '../month/write-month.ts';
import { peakResidentBytes, usedCpuMs } from '../process-usage.ts';

const LOOK_MS = 50;
const [path = '', end = '', directory = '.'] = process.argv.slice(2);
const startedMs = performance.now();
const now = (): number => Number(end) + Math.floor(performance.now() - startedMs);

await using log = await openEmbeddedLog({ path, maxBytes: LOG_MAX_BYTES, leavesRetention: true }, logContext);
const ending = new AbortController();
using projection = new Projection({
  from: { kind: 'embedded', path: 'bench', log, name: 'bench' },
  roots: null,
  facts: 'off',
  path: join(directory, 'projection.db'),
  historyMs: 14 * DAY_MS,
  mostBytes: 2 ** 31,
  logger: pino({ level: 'silent' }),
  sources: { ...systemSources, now },
});
const firstNodesMs = { ms: Number.NaN };
const timer = setInterval(() => {
  const { isCaughtUp, nodes } = projection.progress();
  if (nodes > 0 && Number.isNaN(firstNodesMs.ms)) firstNodesMs.ms = performance.now() - startedMs;
  if (!isCaughtUp) return;
  clearInterval(timer);
  const told = {
    readMs: Math.round(performance.now() - startedMs),
    firstNodesMs: Math.round(firstNodesMs.ms),
    nodes,
    cpuMs: usedCpuMs(process.pid),
    peakBytes: peakResidentBytes(process.pid),
  };
  process.stdout.write(`${JSON.stringify(told)}\n`);
  ending.abort();
}, LOOK_MS);
await projection.run(ending.signal);
