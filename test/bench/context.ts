import { randomUUID } from 'node:crypto';
import type { Policy } from '../../schemas/policy.ts';
import { toRecord } from '../../services/shared/envelope.ts';
import type { EventLogContext } from '../../services/shared/event-log/context.ts';
import type { EventLog } from '../../services/shared/event-log/port.ts';
import type { Output } from '../../services/shared/handler.ts';
import { createLogger } from '../../services/shared/logger.ts';
import { newTrace } from '../../services/shared/trace.ts';
import { randomTraceIds } from '../../services/shared/trace-ids.ts';
import { appliedPolicy } from '../fixtures/applied-policy.ts';

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
