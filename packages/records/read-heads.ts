import { type EventOf, TOPICS } from '../../schemas/events/topics.ts';
import type { KeyRole } from '../../schemas/keys/key-statement.ts';
import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import { sha256Hex } from '../canonical/ids.ts';
import type { LogReader, LogRecord, ReadFrom } from '../log/port.ts';
import { parseRecord } from './parse/parse-record.ts';
import type { KeyRing } from './trust/key-ring.ts';
import { readKeys, type StoredKeys } from './trust/key-source.ts';
import { isOfTheFuture } from './trust/signature.ts';
import { RequiredTrust, type Trust } from './trust/trust.ts';

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
export function objectionToHead(role: KeyRole, event: Head, record: LogRecord): string | null {
  const signer = SIGNER[event.type];
  if (role !== signer) return `a ${role} signed it, and only the key of a ${signer} may`;
  if (event.type !== 'fleetgc.decision-head') return null;
  // Nobody takes such a statement, so nobody can have read it.
  const isAhead = Object.values(event.statements).some((generation) => isOfTheFuture(generation, record));
  return isAhead ? 'it names a statement of a generation that is a day ahead of its time' : null;
}

/** The head in a record; `null` where nobody believes it, of which `verifySignatures` tells. */
export function believedHead(trust: Trust, record: LogRecord): BelievedHead | null {
  const authentication = trust.authenticate('heads', record);
  if (!authentication.ok || authentication.principal.kind !== 'key') return null;
  const parsed = parseRecord('heads', record);
  if (!parsed.ok || objectionToHead(authentication.principal.role, parsed.event, record) !== null)
    return null;
  return { event: parsed.event, record };
}

export interface HeadsReading {
  readonly log: LogReader;
  /** What roots say of keys by now. */
  readonly readKeys: (signal: AbortSignal) => Promise<StoredKeys>;
}

export const headsOf = (log: LogReader, roots: TrustRoots): BelievedHeads =>
  new BelievedHeads({ log, readKeys: (signal) => readKeys(log, roots, signal) });

/**
 * The heads of a log that count, in its order. There may be more of them than there is memory for, and they may be read several
 * times: what was verified once is remembered, and each reading may bring something else. Keys are read when it is settled where the first reading ends: so whoever
 * signed what it reads, and what is said in it of keys, is known.
 */
export class BelievedHeads {
  readonly #reading: HeadsReading;
  /** By all that the signature and its time are about. */
  readonly #believed = new Map<string, boolean>();
  #known: { readonly keys: StoredKeys; readonly trust: Trust } | null = null;

  constructor(reading: HeadsReading) {
    this.#reading = reading;
  }

  async *read(from: ReadFrom, signal: AbortSignal): AsyncGenerator<BelievedHead, void> {
    const { log } = this.#reading;
    for await (const event of log.read({ topic: TOPICS.heads.name, from, to: 'end' }, signal)) {
      const { trust } = await this.known(signal);
      const head = event.kind === 'record' ? this.#headIn(event.record, trust) : null;
      if (head !== null) yield head;
    }
  }

  /** What was read of keys, or is read now. */
  async known(signal: AbortSignal): Promise<{ readonly keys: StoredKeys; readonly trust: Trust }> {
    if (this.#known === null) {
      const keys = await this.#reading.readKeys(signal);
      this.#known = { keys, trust: trustThen(keys.ring) };
    }
    return this.#known;
  }

  #headIn(record: LogRecord, trust: Trust): BelievedHead | null {
    const signed = signedIn(record);
    const known = this.#believed.get(signed);
    if (known === false) return null;
    if (known === undefined) {
      const head = believedHead(trust, record);
      this.#believed.set(signed, head !== null);
      return head;
    }
    const parsed = parseRecord('heads', record);
    return parsed.ok ? { event: parsed.event, record } : null;
  }
}

const signedIn = ({ timestampMs, isDatedByWriter, key, value, headers }: LogRecord): string => {
  const { ce_fleetgckeyid, ce_fleetgcsignature, ce_fleetgcgeneration } = headers;
  const signature = [ce_fleetgckeyid, ce_fleetgcsignature, ce_fleetgcgeneration];
  return sha256Hex(
    JSON.stringify([
      timestampMs,
      isDatedByWriter ?? false,
      key,
      ...signature,
      value === null ? null : sha256Hex(value),
    ]),
  );
};
