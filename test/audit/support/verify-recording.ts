import { findDecider } from '../../../services/audit/deciders/deciders.ts';
import { readPolicyHistory } from '../../../services/audit/policy-history.ts';
import type { TimeRange } from '../../../services/audit/read-log.ts';
import type { Found } from '../../../services/audit/verify/collect.ts';
import { verifyLog } from '../../../services/audit/verify/verify-log.ts';
import { createVerifier } from '../../../services/audit/verify/verify-partition.ts';
import type { EventLog } from '../../../services/shared/event-log/port.ts';

const EVERYTHING: TimeRange = { fromMs: null, toMs: null };

/** Verifies a log in the thread of the test. */
export async function verify(
  log: Pick<EventLog, 'read'>,
  range: TimeRange = EVERYTHING,
  signal: AbortSignal = new AbortController().signal,
  deletes = true,
): Promise<Found> {
  const policies = await readPolicyHistory(log, signal);
  const verifier = createVerifier({ log, policies, findDecider, range, nowMs: Date.now(), deletes });
  return await verifyLog({ policies, verifiers: [verifier], onProgress: () => undefined }, signal);
}

/** What was found wrong or could not be verified, as `kind topic@offset`. */
export const named = ({ deviations, unverified }: Found): string[] =>
  [...deviations.first, ...unverified.first].map(
    ({ kind, places: [at] }) => `${kind} ${at?.topic}@${at?.offset}`,
  );
