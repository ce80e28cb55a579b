import { setImmediate as breathe } from 'node:timers/promises';
import { TOPICS, type TopicName } from '../../../schemas/events/topics.ts';
import { pause } from '../../process/back-off.ts';
import { toFleetGcError } from '../../process/errors.ts';
import type { EmbeddedCore } from './membership.ts';
import type { Statements } from './statements.ts';

const EVERY_MS = 60_000;
/** As Kafka's `delete.retention.ms`: readers that were away this long may miss a deletion. */
const TOMBSTONE_MS = 24 * 60 * 60 * 1000;
/** Share of the file that records may fill; indexes, page ends and offsets take the rest. */
const RECORDS_SHARE = 0.7;

const SPECS = Object.values(TOPICS);
const FOREVER: readonly TopicName[] = SPECS.filter((spec) => spec.retentionMs === 'forever').map(
  (spec) => spec.name,
);

type Step = (statements: Statements) => number;

function expireSteps(statements: Statements, nowMs: number): Step[] {
  return SPECS.flatMap(({ name, retentionMs }) => {
    if (retentionMs === 'forever') return [];
    const beforeMs = nowMs - retentionMs;
    return statements.partitions(name).map(
      ({ id }): Step =>
        (tx) =>
          tx.removeExpired(id, beforeMs),
    );
  });
}

function compactSteps(statements: Statements, nowMs: number): Step[] {
  return SPECS.filter((spec) => spec.compacted).flatMap(({ name }) =>
    statements.partitions(name).map(
      ({ id }): Step =>
        (tx) =>
          tx.removeOutdated(id, nowMs - TOMBSTONE_MS),
    ),
  );
}

const shrinkStep =
  (maxBytes: number): Step =>
  (tx) => {
    const surplusBytes = tx.keptBytes() - Math.floor(maxBytes * RECORDS_SHARE);
    return surplusBytes > 0 ? tx.removeOldest(FOREVER, surplusBytes) : 0;
  };

/** Of what may go; says how many records went. */
export const removeOldest = (statements: Statements, bytes: number): number =>
  statements.removeOldest(FOREVER, bytes);

async function repeatUntilNothing({ database }: Pick<EmbeddedCore, 'database'>, step: Step): Promise<number> {
  let removed = 0;
  for (;;) {
    const count = await database.write(step);
    removed += count;
    if (count === 0) return removed;
    await breathe();
  }
}

/** One pass: what is too old goes, compacted topics keep the latest of each key, and the oldest goes for space. */
export async function cleanOnce(
  core: Pick<EmbeddedCore, 'database' | 'context'>,
  maxBytes: number,
): Promise<void> {
  const nowMs = core.context.now();
  const steps = await core.database.read((statements) => [
    ...expireSteps(statements, nowMs),
    ...compactSteps(statements, nowMs),
    shrinkStep(maxBytes),
  ]);
  let removed = 0;
  for (const step of steps) removed += await repeatUntilNothing(core, step);
  if (removed > 0) core.context.logger.debug({ removed }, 'records removed from the event log by retention');
}

/** Cleans at once and then every minute, until `signal` aborts. A pass that fails is tried again at the next. */
export async function cleanForever(core: EmbeddedCore, maxBytes: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await cleanOnce(core, maxBytes).catch((error) => {
      if (!signal.aborted) core.context.logger.warn({ err: toFleetGcError(error) }, 'retention failed');
    });
    await pause(EVERY_MS, signal);
    if (!signal.aborted) core.database.keepSpace();
  }
}
