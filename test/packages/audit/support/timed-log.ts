import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import pino from 'pino';
import { onTestFinished } from 'vitest';
import { openEmbeddedLog } from '../../../../packages/log/embedded.ts';
import type { EventLog, OutgoingRecord } from '../../../../packages/log/port.ts';
import { publishWithPositions } from '../../../support/logs/positions.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const MAX_BYTES = 64 * 1024 * 1024;

export interface TimedLog {
  readonly log: EventLog;
  readonly path: string;
  /** Appends records at a time of the log's clock. */
  readonly publishAt: (timeMs: number, ...records: readonly OutgoingRecord[]) => Promise<void>;
  /** The same, and where the samples of disks among them lie. */
  readonly hearAt: (timeMs: number, ...records: readonly OutgoingRecord[]) => Promise<void>;
}

/** An embedded log of this test's own, whose clock the test sets. */
export async function timedLog(): Promise<TimedLog> {
  let nowMs = 0;
  const path = join(temporaryDirectory(), 'log.db');
  const log = await openEmbeddedLog(
    { path, maxBytes: MAX_BYTES },
    { logger: pino({ level: 'silent' }), now: () => nowMs, random: () => 0, newId: randomUUID },
  );
  onTestFinished(() => log[Symbol.asyncDispose]());
  await log.createTopics();
  return {
    log,
    path,
    publishAt: async (timeMs, ...records) => {
      nowMs = timeMs;
      await log.publish(records);
    },
    hearAt: async (timeMs, ...records) => {
      nowMs = timeMs;
      await publishWithPositions(log, records);
    },
  };
}
