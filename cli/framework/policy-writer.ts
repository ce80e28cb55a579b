import type { EventLog } from '../../packages/event-log/port.ts';
import { highestGenerations } from '../../packages/policy/version-records.ts';
import type { PolicyWriter } from '../../packages/policy/write-policies.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { ownKeyProblems } from '../../packages/trust/key-problems.ts';
import type { TrustChoice } from '../../packages/trust/process-trust.ts';
import { readKeys } from '../../packages/trust/read-keys.ts';
import { KeySigner, type StateSigner, UNSIGNED_STATE } from '../../packages/trust/state-signer.ts';
import { RequiredTrust } from '../../packages/trust/trust.ts';
import { operatorPublication } from './task-event-log.ts';
import type { VerbContext } from './verb.ts';

/** What a verb writes policies, pauses and deletions with. Throws `KEY_UNUSABLE` where nobody would believe its key. */
export async function openPolicyWriter(
  log: Pick<EventLog, 'read' | 'publish'>,
  choice: TrustChoice,
  { signal, logger }: Pick<VerbContext, 'signal' | 'logger'>,
  publication = operatorPublication(),
): Promise<PolicyWriter> {
  if (choice.kind === 'warn' && choice.signing === null) logger.warn(NOT_SIGNED);
  return { log, publication, signer: await signerFor(log, choice, signal) };
}

const NOT_SIGNED =
  'This is written without a signature, since there is no --signing-key-file and no --signing-key-command: it counts no more where signatures are required';

/** Where no keys count. */
export const unsignedWriter = (log: PolicyWriter['log']): PolicyWriter => ({
  log,
  publication: operatorPublication(),
  signer: UNSIGNED_STATE,
});

async function signerFor(
  log: Pick<EventLog, 'read'>,
  choice: TrustChoice,
  signal: AbortSignal,
): Promise<StateSigner> {
  if (choice.kind === 'off' || choice.signing === null) return UNSIGNED_STATE;
  const { roots, signing } = choice;
  const { key } = signing;
  const nowMs = Date.now();
  const stored = await readKeys(log, roots, signal);
  // A verb may be called with a key for pauses alone, too; what it says decides then.
  const role = signing.role === 'operator' ? null : signing.role;
  const problem = ownKeyProblems(stored.ring, { key, role }, nowMs)[0];
  if (problem !== undefined) throw new FleetGcError('KEY_UNUSABLE', problem);
  const trust = new RequiredTrust({ ring: () => stored.ring, problem: () => null, nowMs: () => nowMs });
  const highest = await highestGenerations(log, stored.ring, signal);
  return new KeySigner({ fleet: roots.fleet, key, trust, highest, nowMs });
}
