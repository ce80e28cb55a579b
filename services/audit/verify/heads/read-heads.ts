import type { EventLog, LogRecord, ReadFrom } from '../../../../packages/event-log/port.ts';
import { parseRecord } from '../../../../packages/pipeline/parse/parse-record.ts';
import type { KeyRing } from '../../../../packages/trust/key-ring.ts';
import { readKeys, type StoredKeys } from '../../../../packages/trust/read-keys.ts';
import { RequiredTrust, type Trust } from '../../../../packages/trust/trust.ts';
import { type EventOf, TOPICS } from '../../../../schemas/events/topics.ts';
import type { KeyRole } from '../../../../schemas/keys/key-statement.ts';
import type { TrustRoots } from '../../../../schemas/keys/trust-roots.ts';

export type Head = EventOf<'heads'>;

/** A head that a key of the right role signed, and the record that it came in. */
export interface BelievedHead<Event extends Head = Head> {
  readonly event: Event;
  readonly record: LogRecord;
}

/** Judges each record as of when the log took it. */
export const trustThen = (ring: KeyRing): Trust =>
  new RequiredTrust({ ring: () => ring, problem: () => null, nowMs: () => 0, judges: 'as-recorded' });

const SIGNER: Readonly<Record<Head['type'], KeyRole>> = {
  'fleetgc.archive-head': 'archiver',
  'fleetgc.decision-head': 'decider',
};

/** Why a key of this role may not say this, in a sentence. */
export const objectionToHead = (role: KeyRole, { type }: Head): string | null =>
  role === SIGNER[type] ? null : `a ${role} signed it, and only the key of a ${SIGNER[type]} may`;

/** The head in a record; `null` where nobody believes it, of which `verifySignatures` tells. */
export function believedHead(trust: Trust, record: LogRecord): BelievedHead | null {
  const authentication = trust.authenticate('heads', record);
  if (!authentication.ok || authentication.principal.kind !== 'key') return null;
  const parsed = parseRecord('heads', record);
  if (!parsed.ok || objectionToHead(authentication.principal.role, parsed.event) !== null) return null;
  return { event: parsed.event, record };
}

export interface ReadHeads extends StoredKeys {
  readonly heads: readonly BelievedHead[];
}

/** Heads of the log that count, in its order. Read before what they are about, so that all of that is there. */
export async function readHeads(
  log: Pick<EventLog, 'read'>,
  { roots, from }: { readonly roots: TrustRoots; readonly from: ReadFrom },
  signal: AbortSignal,
): Promise<ReadHeads> {
  const heads: BelievedHead[] = [];
  const records: LogRecord[] = [];
  for await (const event of log.read({ topic: TOPICS.heads.name, from, to: 'end' }, signal))
    if (event.kind === 'record') records.push(event.record);
  // After the heads: a key is certified before it signs.
  const keys = await readKeys(log, roots, signal);
  const trust = trustThen(keys.ring);
  for (const record of records) {
    const head = believedHead(trust, record);
    if (head !== null) heads.push(head);
  }
  return { ...keys, heads };
}
