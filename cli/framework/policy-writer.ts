import type { Logger } from 'pino';
import type { LogPublisher, LogReader, OutgoingRecord } from '../../packages/log/port.ts';
import type { PolicySource } from '../../packages/policy/policies.ts';
import { highestGenerations } from '../../packages/policy/seen-versions.ts';
import { readPoliciesBy, readStoredPolicies } from '../../packages/policy/stored-policies.ts';
import type { PolicyWriter } from '../../packages/policy/write-policies.ts';
import type { Command } from '../../packages/process/command-output.ts';
import { FleetGcError, toFleetGcError } from '../../packages/process/errors.ts';
import { configError } from '../../packages/process/options/read-options.ts';
import { type Publication, toRecord } from '../../packages/records/publisher.ts';
import { nextGeneration } from '../../packages/records/trust/generation.ts';
import { KeyRing } from '../../packages/records/trust/key-ring.ts';
import { readKeys } from '../../packages/records/trust/key-source.ts';
import { ownKeyProblems, readPrivateKey } from '../../packages/records/trust/private-key.ts';
import type { TrustChoice } from '../../packages/records/trust/process-trust.ts';
import type { Signing } from '../../packages/records/trust/renewed-key.ts';
import { readTrustRoots } from '../../packages/records/trust/roots-file.ts';
import { signRecord } from '../../packages/records/trust/signature.ts';
import {
  KeySigner,
  type StateSigner,
  UNSIGNED_STATE,
  unsignedBeside,
} from '../../packages/records/trust/state-signer.ts';
import { requireEffect, requireRoot, signedRecordText } from '../../packages/records/trust/statement.ts';
import { revokedName } from '../../packages/records/trust/statement-generations.ts';
import { RequiredTrust } from '../../packages/records/trust/trust.ts';
import type { KeyStatement } from '../../schemas/keys/key-statement.ts';
import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import type { EventLogChoice } from '../options/event-log-options.ts';
import { privateKeySource } from '../options/trust-options.ts';
import { openTaskEventLog, operatorPublication } from './task-event-log.ts';
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
  log: LogReader & LogPublisher,
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
async function unsignedSigner(log: LogReader, instead: string, signal: AbortSignal): Promise<StateSigner> {
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
  log: LogReader & LogPublisher,
  signal: AbortSignal,
): Promise<PolicyWriter> => ({
  log,
  publication: operatorPublication(),
  signer: await unsignedSigner(log, ANOTHER_LOG, signal),
});

async function signerFor(
  log: LogReader,
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

interface Believing {
  readonly readTrust: (signal: AbortSignal) => Promise<TrustChoice>;
  readonly logger: Logger;
}

/** The policies of the log for a policy controller. The key is read anew for each change, so that another one takes its place without a restart. */
export const controllerPolicyLog = (
  log: LogReader & LogPublisher,
  followed: Pick<PolicySource, 'current'>,
  believing: Believing,
) => ({
  followed: followed.current.node,
  read: async (signal: AbortSignal) => {
    const choice = await trustNow(believing, signal);
    return await readPoliciesBy(choice.kind === 'required' ? choice.roots : null, log, signal);
  },
  openWriter: async (signal: AbortSignal) => {
    const choice = await trustNow(believing, signal);
    const { logger } = believing;
    return await openPolicyWriter(
      log,
      choice,
      { signal, logger },
      { publication: operatorPublication('policy-controller') },
    );
  },
});

/** What a command that brings the key says on stderr is for who runs it, and not for everybody who may read an object's status. */
async function trustNow({ readTrust, logger }: Believing, signal: AbortSignal): Promise<TrustChoice> {
  try {
    return await readTrust(signal);
  } catch (thrown) {
    const error = toFleetGcError(thrown);
    if (error.code !== 'KEY_UNUSABLE') throw error;
    logger.error({ err: error }, UNUSABLE);
    throw new FleetGcError(error.code, `${UNUSABLE}: its logger output says why`);
  }
}

const UNUSABLE = 'the key of the policy controller cannot be used';

interface Issuing extends EventLogChoice {
  readonly trustRoots: string;
  readonly rootKeyFile?: string | undefined;
  readonly rootKeyCommand?: Command | undefined;
  readonly offline: boolean;
}

/**
 * Signs a statement as a root, and puts it on the event log; offline it is printed instead, for `keys publish`. Answers
 * whether it is on the log.
 */
export async function issueStatement(
  statement: KeyStatement,
  { trustRoots, rootKeyFile, rootKeyCommand, offline, ...options }: Issuing,
  context: VerbContext,
): Promise<boolean> {
  const roots = readTrustRoots(trustRoots);
  const source = privateKeySource(rootKeyFile, rootKeyCommand, 'rootKeyFile');
  if (source === null) throw configError(['--root-key-file is missing; or give --root-key-command']);
  const root = await readPrivateKey(source, context.signal);
  const signed = (highestSeen: number | undefined): OutgoingRecord =>
    signRecord(toRecord({ topic: 'keys', key: statement.keyId, event: statement }, operatorPublication()), {
      fleet: roots.fleet,
      key: root,
      generation: nextGeneration(statement.issuedAtMs, highestSeen),
    });
  if (offline) {
    // A successor's certificate lies on the log, which is not at hand.
    if (!new KeyRing(roots).isRoot(root.keyId))
      context.logger.warn(`${root.keyId} is not in ${trustRoots}; it counts only as the successor of a root`);
    context.print(signedRecordText(signed(undefined)));
    return false;
  }
  await using log = await openTaskEventLog({ options, context });
  const { ring } = await readKeys(log, roots, context.signal);
  requireRoot(ring, root);
  requireEffect(ring, statement);
  const record = signed(highestOf(ring, statement));
  const added = ring.add({ ...record, partition: 0, offset: 0n, timestampMs: Date.now() });
  if (added.kind === 'refused')
    throw new FleetGcError('KEY_UNUSABLE', `no process would trust this: ${added.why}. Nothing was written`);
  await log.publish([record]);
  return true;
}

const highestOf = ({ generations }: KeyRing, { keyId }: KeyStatement): number =>
  Math.max(generations.get(keyId) ?? 0, generations.get(revokedName(keyId)) ?? 0);
