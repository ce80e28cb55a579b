import { type Handler, nodeOutput } from '../../../packages/decision/handler.ts';
import type { LogRecord } from '../../../packages/log/port.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { createLogger } from '../../../packages/process/logger.ts';
import { createMetrics } from '../../../packages/process/metrics.ts';
import { type ConsumerSettings, startConsumer } from '../../../packages/records/consume.ts';
import { NO_MARKS } from '../../../packages/records/dead-letters/crash-marks.ts';
import { createDeadLetters } from '../../../packages/records/dead-letters/dead-letters.ts';
import { createPublisher } from '../../../packages/records/publisher.ts';
import { UNSIGNED } from '../../../packages/records/trust/signer.ts';
import { TRUST_OFF } from '../../../packages/records/trust/trust.ts';
import type { DiskStats } from '../../../schemas/events/disk-stats.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { observe } from '../../fixtures/observe.ts';
import { decision } from '../../fixtures/outputs.ts';
import { logLines } from '../../support/log-lines.ts';
import { countedIds, NOW_MS, recordOf } from '../../support/logs/log-record.ts';
import { ScriptedLog } from '../../support/logs/scripted-log.ts';

/** A decision and an order, in this sequence. */
export const decide: Handler<DiskStats> = ({ event }) => [
  [nodeOutput('decisions', decision({ id: `decision-of-${event.id}` }))],
  [nodeOutput('observe', observe({ id: `observe-of-${event.id}` }))],
];

/** A consumer of disk statistics on a scripted log, and what it did. */
export async function consumer(over: Partial<ConsumerSettings> = {}, handle: Handler<DiskStats> = decide) {
  const log = new ScriptedLog();
  const metrics = createMetrics();
  const out = logLines();
  const clock = { nowMs: NOW_MS };
  const now = () => clock.nowMs;
  const logger = createLogger({ service: 'test', level: 'info' }, out);
  const publisher = createPublisher({
    signer: UNSIGNED,
    log,
    source: '/fleetgc/test',
    now,
    ids: countedIds(),
  });
  const deadLetters = createDeadLetters({ publisher, group: 'g', metrics, logger, now });
  const running = await startConsumer({
    trust: TRUST_OFF,
    name: 'test',
    log,
    group: 'g',
    start: 'earliest',
    assignment: { kind: 'shared' },
    handlers: { diskStats: handle },
    publisher,
    deadLetters,
    marks: NO_MARKS,
    logger,
    metrics,
    now,
    monotonicNow: now,
    ...over,
  });
  /** Ids of what was published, one list a publish. */
  const published = () => log.published.map((records) => records.map(({ headers }) => headers.ce_id));
  const deadCauses = () =>
    log.published
      .flat()
      .filter(({ topic }) => topic === 'gc.dead-letters')
      .map(({ value }) => JSON.parse(String(value)).cause);
  return { log, metrics, out, clock, running, published, deadCauses };
}

/** Disk statistics as they lie on the log. */
export const message = (
  id: string,
  over: Partial<DiskStats> = {},
  record: Partial<LogRecord> = {},
): LogRecord => recordOf(nodeOutput('diskStats', diskStats({}, { id, ...over })), record);

/** A record of that key that nobody can read. */
export const garbage = (key: string, over: Partial<LogRecord> = {}): LogRecord => ({
  ...message('x'),
  key,
  value: Buffer.from('garbage'),
  ...over,
});

/** What a log throws that does not answer. */
export const unreachable = () => new FleetGcError('LOG_UNREACHABLE', 'no broker answers');
