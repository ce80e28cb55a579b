import { findDecider } from '../../../../packages/audit/deciders/deciders.ts';
import { readPoliciesInForce } from '../../../../packages/audit/policies/policies-in-force.ts';
import { readPolicyHistory } from '../../../../packages/audit/policies/policy-history.ts';
import { openDecisionHeads } from '../../../../packages/audit/verify/decision-heads.ts';
import type { Found } from '../../../../packages/audit/verify/findings.ts';
import { verifyLog } from '../../../../packages/audit/verify/log.ts';
import { createVerifier } from '../../../../packages/audit/verify/partition.ts';
import type { LogReader } from '../../../../packages/log/port.ts';
import type { TimeRange } from '../../../../packages/records/read-log.ts';
import type { TrustRoots } from '../../../../schemas/keys/trust-roots.ts';
import { HOUR } from '../../../fixtures/time.ts';

const EVERYTHING: TimeRange = { fromMs: null, toMs: null };

/** The moments of a recording are spread over this time from when it was made, at the most. */
const SPREAD_MS = 3 * HOUR;

/** Verifies a log in the thread of the test. */
export async function verify(
  log: LogReader,
  range: TimeRange = EVERYTHING,
  signal: AbortSignal = new AbortController().signal,
  deletes = true,
  roots: TrustRoots | null = null,
): Promise<Found> {
  const nowMs = Date.now() + SPREAD_MS;
  const asked = roots && { roots, keepsAsDeclared: true, areRequired: false, range, nowMs };
  const headed = asked && openDecisionHeads(log, asked);
  const policies = await readPolicyHistory(log, signal);
  const reading = { nowMs, deletes };
  const inForce = await readPoliciesInForce(log, { ...reading, written: policies }, signal);
  const verifier = createVerifier({ log, policies, inForce, findDecider, range, ...reading, headed });
  return await verifyLog({ policies, verifiers: [verifier], onProgress: () => undefined }, signal);
}

/** What was found wrong or could not be verified, as `kind topic@offset`. */
export const named = ({ deviations, unverified }: Found): string[] =>
  [...deviations.first, ...unverified.first].map(
    ({ kind, places: [at] }) => `${kind} ${at?.topic}@${at?.offset}`,
  );
