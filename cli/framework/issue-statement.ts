import type { OutgoingRecord } from '../../packages/log/port.ts';
import type { Command } from '../../packages/process/command-output.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { configError } from '../../packages/process/options/read-options.ts';
import { toRecord } from '../../packages/records/publisher.ts';
import { nextGeneration } from '../../packages/records/trust/generation.ts';
import { KeyRing } from '../../packages/records/trust/key-ring.ts';
import { readKeys } from '../../packages/records/trust/key-source.ts';
import { readPrivateKey } from '../../packages/records/trust/private-key.ts';
import { readTrustRoots } from '../../packages/records/trust/roots-file.ts';
import { signRecord } from '../../packages/records/trust/signature.ts';
import { requireEffect, requireRoot, signedRecordText } from '../../packages/records/trust/statement.ts';

import { revokedName } from '../../packages/records/trust/statement-generations.ts';
import type { KeyStatement } from '../../schemas/keys/key-statement.ts';
import type { EventLogChoice } from '../options/event-log-options.ts';
import { privateKeySource } from '../options/private-key-options.ts';
import { openTaskEventLog, operatorPublication } from './task-event-log.ts';
import type { VerbContext } from './verb.ts';

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
    throw new FleetGcError('KEY_UNUSABLE', `nobody would believe this: ${added.why}. Nothing was written`);
  await log.publish([record]);
  return true;
}

const highestOf = ({ generations }: KeyRing, { keyId }: KeyStatement): number =>
  Math.max(generations.get(keyId) ?? 0, generations.get(revokedName(keyId)) ?? 0);
