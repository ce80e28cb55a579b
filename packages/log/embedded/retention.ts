import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { pause } from '../../process/backoff.ts';
import { DAY_MS } from '../../process/durations.ts';
import { toFleetGcError } from '../../process/errors.ts';
import type { Tables } from './database.ts';
import type { OpenedLog } from './opened-log.ts';

const EVERY_MS = 60_000;
/** As Kafka's `delete.retention.ms`: readers that were away this long may miss a deletion. */
const TOMBSTONE_MS = DAY_MS;
/** Share of the file that records may fill; indexes, page ends and offsets take the rest. */
const RECORDS_SHARE = 0.7;

const SPECS = Object.values(TOPICS);
type Step = (tables: Tables) => number;

function expireSteps({ partitions }: Tables, nowMs: number): Step[] {
  return SPECS.flatMap(({ name, retentionMs }) => {
    if (retentionMs === 'forever') return [];
    const beforeMs = nowMs - retentionMs;
    return partitions.ofTopic(name).map(
      ({ id }): Step =>
        ({ removals }) =>
          removals.removeExpired(id, beforeMs),
    );
  });
}

function compactSteps({ partitions }: Tables, nowMs: number): Step[] {
  return SPECS.filter((spec) => spec.compacted).flatMap(({ name }) =>
    partitions.ofTopic(name).map(
      ({ id }): Step =>
        ({ removals }) =>
          removals.removeOutdated(id, nowMs - TOMBSTONE_MS),
    ),
  );
}

const shrinkStep =
  (maxBytes: number): Step =>
  ({ removals }) => {
    const surplusBytes = removals.keptBytes() - Math.floor(maxBytes * RECORDS_SHARE);
    return surplusBytes > 0 ? removals.removeOldest(surplusBytes) : 0;
  };

async function repeatUntilNothing({ database }: Pick<OpenedLog, 'database'>, step: Step): Promise<number> {
  let removed = 0;
  for (;;) {
    const count = await database.write(step);
    removed += count;
    if (count === 0) return removed;
    await yieldToEventLoop();
  }
}

/** One pass: what is too old goes, compacted topics keep the latest of each key, and the oldest goes for space. */
export async function cleanOnce(
  opened: Pick<OpenedLog, 'database' | 'context'>,
  maxBytes: number,
): Promise<void> {
  const nowMs = opened.context.now();
  const steps = await opened.database.read((tables) => [
    ...expireSteps(tables, nowMs),
    ...compactSteps(tables, nowMs),
    shrinkStep(maxBytes),
  ]);
  let removed = 0;
  for (const step of steps) removed += await repeatUntilNothing(opened, step);
  if (removed > 0)
    opened.context.logger.debug({ removed }, 'records removed from the event log by retention');
}

/** Cleans at once and then every minute, until `signal` aborts. A pass that fails is tried again at the next. */
export async function cleanForever(opened: OpenedLog, maxBytes: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await cleanOnce(opened, maxBytes).catch((error) => {
      if (!signal.aborted) opened.context.logger.warn({ err: toFleetGcError(error) }, 'retention failed');
    });
    await pause(EVERY_MS, signal);
    if (!signal.aborted) opened.database.keepSpace();
  }
}
