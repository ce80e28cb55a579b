import type { ArchiveHead } from '../../schemas/events/head.ts';
import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import { deriveId } from '../canonical/ids.ts';
import type { EventLog, OutgoingRecord } from '../log/port.ts';
import { toFleetGcError } from '../process/errors.ts';
import { newTrace, type TraceIds } from '../process/trace.ts';
import { createPublisher, serviceSource } from '../records/publisher.ts';
import type { SigningKey } from '../records/trust/key-pair.ts';
import { ownKeyProblems } from '../records/trust/key-problems.ts';
import { readKeys } from '../records/trust/read-keys.ts';
import { signerOf } from '../records/trust/signer.ts';
import type { ArchiveWriter } from './archive-writer.ts';
import { objectionToFound } from './found-lines.ts';
import type { UnsignedHead } from './unsigned-head.ts';

/** What an archiver signs with. */
export interface HeadSigner {
  readonly log: Pick<EventLog, 'read' | 'publish'>;
  readonly roots: TrustRoots;
  /** The key that lies there now, asked for in each pass. Throws `KEY_UNUSABLE`. */
  readonly readKey: (signal: AbortSignal) => Promise<SigningKey>;
  /** Also what was in the archive before, and nobody can compare with the log any more. */
  readonly signsFound: boolean;
  readonly ids: TraceIds;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export type SignedPass =
  | { readonly kind: 'signed' | 'unchanged' }
  /** Why, in a sentence. What was archived is there all the same. */
  | { readonly kind: 'failed'; readonly why: string };

/**
 * Signs what the archive is now, where it is what the archiver has written: on the log first, where whoever has the archive cannot take it away, then in the archive. After a
 * failure between the two the next pass signs again, and both heads are right.
 */
export async function signPass(
  archive: ArchiveWriter,
  signer: HeadSigner,
  signal: AbortSignal,
): Promise<SignedPass> {
  const unsigned = archive.unsigned();
  if (unsigned === null) return { kind: 'unchanged' };
  const { roots, readKey, now } = signer;
  try {
    const key = await readKey(signal);
    const { ring } = await readKeys(signer.log, roots, signal);
    const [problem] = ownKeyProblems(ring, { key, role: 'archiver' }, now());
    if (problem !== undefined) return { kind: 'failed', why: problem };
    const found = archive.found();
    const objection = found && (await objectionToFound(found, signer, signal));
    if (objection !== null) return { kind: 'failed', why: objection };
    for (const record of await published(headOf(unsigned, now()), key, signer)) await archive.addHead(record);
    return { kind: 'signed' };
  } catch (error) {
    const { code, message } = toFleetGcError(error);
    if (code === 'STATE_UNWRITABLE') throw error;
    return { kind: 'failed', why: message };
  }
}

/** As it lies on the log. */
async function published(
  event: ArchiveHead,
  key: SigningKey,
  { log, roots, ids, now }: HeadSigner,
): Promise<readonly OutgoingRecord[]> {
  const publisher = createPublisher({
    log,
    source: serviceSource('audit-archive'),
    now,
    ids,
    signer: signerOf({ fleet: roots.fleet, role: 'archiver', key: () => key }),
  });
  const records = publisher.records([{ topic: 'heads', key: event.archive, event }], newTrace(ids));
  await publisher.send(records);
  return records;
}

const headOf = (unsigned: UnsignedHead, nowMs: number): ArchiveHead => ({
  type: 'fleetgc.archive-head',
  version: 1,
  id: deriveId('archive-head', unsigned.archive, String(unsigned.lines), unsigned.hash),
  signedAtMs: nowMs,
  ...unsigned,
});
