import { randomUUID } from 'node:crypto';
import type { Output } from '../../packages/decision/handler.ts';
import type { EventLog, EventLogContext } from '../../packages/log/port.ts';
import { createLogger } from '../../packages/process/logger.ts';
import { randomTraceIds } from '../../packages/process/system-sources.ts';
import { newTrace } from '../../packages/process/trace.ts';
import { toRecord } from '../../packages/records/publisher.ts';
import type { Policy } from '../../schemas/policy/policy.ts';
import { appliedPolicy } from '../../test/fixtures/applied-policy.ts';

/** What an event log needs; only warnings are shown. */
export const logContext: EventLogContext = {
  logger: createLogger(
    { service: 'bench', level: 'error' },
    { isTerminal: false, write: (line) => process.stderr.write(line) },
  ),
  now: Date.now,
  random: Math.random,
  newId: randomUUID,
};

/** An event as FleetGC's own processes publish it. */
export const recordOf = (output: Output) =>
  toRecord(output, { source: '/fleetgc/bench', nowMs: Date.now(), trace: newTrace(randomTraceIds) });

/** Puts a policy for every node on the log. */
export async function applyPolicy(log: EventLog, overrides: Partial<Policy> = {}): Promise<void> {
  const event = appliedPolicy(overrides);
  await log.publish([recordOf({ topic: 'policies', key: event.policy.name, event })]);
}

/** Tells people how far it is; the results alone go to stdout. */
export const say = (text: string): void => void process.stderr.write(`${text}\n`);
