import type { EventLog } from '../../packages/log/port.ts';
import { highestGenerations } from '../../packages/policy/seen-versions.ts';
import { readStoredPolicies } from '../../packages/policy/stored-policies.ts';
import type { PolicyWriter } from '../../packages/policy/write-policies.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import type { Publication } from '../../packages/records/publisher.ts';
import { readKeys } from '../../packages/records/trust/key-source.ts';
import { ownKeyProblems } from '../../packages/records/trust/private-key.ts';
import type { TrustChoice } from '../../packages/records/trust/process-trust.ts';
import type { Signing } from '../../packages/records/trust/renewed-key.ts';
import {
  KeySigner,
  type StateSigner,
  UNSIGNED_STATE,
  unsignedBeside,
} from '../../packages/records/trust/state-signer.ts';
import { RequiredTrust } from '../../packages/records/trust/trust.ts';
import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import { operatorPublication } from './task-event-log.ts';
import type { VerbContext } from './verb.ts';

interface Writing {
  /** Whether the person asked by name for a record without a signature beside signed ones. */
  readonly allowUnsigned?: boolean;
  readonly publication?: Publication;
}

/** A service, which writes when others ask it to, has nothing to say of it at its end. */
type Writer = Pick<VerbContext, 'signal' | 'logger'> & Partial<Pick<VerbContext, 'written'>>;

/** What a verb writes policies, pauses and deletions with. Throws `KEY_UNUSABLE` where nobody would believe its key. */
export async function openPolicyWriter(
  log: Pick<EventLog, 'read' | 'publish'>,
  choice: TrustChoice,
  { signal, logger, written }: Writer,
  { allowUnsigned = false, publication = operatorPublication() }: Writing = {},
): Promise<PolicyWriter> {
  written?.expect();
  if (choice.kind !== 'off' && choice.signing !== null)
    return { log, publication, signer: await signerFor(log, choice.roots, choice.signing, signal) };
  if (choice.kind === 'warn') logger.warn(NOT_SIGNED);
  const signer = allowUnsigned ? UNSIGNED_STATE : await unsignedSigner(log, SIGN_OR_FORCE, signal);
  return { log, publication, signer };
}

/** Throws `KEY_UNUSABLE` when it writes, where anything on `gc.policies` is signed. */
async function unsignedSigner(
  log: Pick<EventLog, 'read'>,
  instead: string,
  signal: AbortSignal,
): Promise<StateSigner> {
  const { signatures } = await readStoredPolicies(log, signal);
  return unsignedBeside({ signed: signatures.kind === 'unjudged' ? signatures.signed : [], instead });
}

const SIGN_OR_FORCE =
  'Write it with --trust required, --trust-roots and --signing-key-file; or, where no part of the fleet asks for signatures any more, with --allow-unsigned';
const ANOTHER_LOG =
  'Change the policies of this event log with "fleetgc policy apply" and a key, or take another --log-path';

const NOT_SIGNED =
  'This is written without a signature, since there is no --signing-key-file and no --signing-key-command: it counts no more where signatures are required';

/** For a process that has no keys. Throws `KEY_UNUSABLE` when it writes, where anything on `gc.policies` is signed. */
export const openUnsignedWriter = async (
  log: Pick<EventLog, 'read' | 'publish'>,
  signal: AbortSignal,
): Promise<PolicyWriter> => ({
  log,
  publication: operatorPublication(),
  signer: await unsignedSigner(log, ANOTHER_LOG, signal),
});

async function signerFor(
  log: Pick<EventLog, 'read'>,
  roots: TrustRoots,
  signing: Signing,
  signal: AbortSignal,
): Promise<StateSigner> {
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
