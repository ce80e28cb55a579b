import type { LogRecord, OutgoingRecord } from '../event-log/port.ts';
import { FleetGcError } from '../process/errors.ts';
import { nextGeneration } from './generation.ts';
import type { SigningKey } from './key-pair.ts';
import { signRecord } from './signature.ts';
import { NOBODY_PROVED, type Principal, type Trust } from './trust.ts';

/** What an operator writes records of `gc.policies` with. */
export interface StateSigner {
  /** The record with a signature that counts, and whom it proves. Throws `KEY_UNUSABLE` where nobody would believe it. */
  sign(record: OutgoingRecord): SignedState;
  /** Whether what lies on the topic counts as it is. */
  readonly counts: (record: LogRecord) => boolean;
}

export interface SignedState {
  readonly record: OutgoingRecord;
  readonly principal: Principal;
}

/** Where nobody asks for signatures. */
export const UNSIGNED_STATE: StateSigner = {
  sign: (record) => ({ record, principal: NOBODY_PROVED }),
  counts: () => true,
};

interface Signing {
  readonly fleet: string;
  readonly key: SigningKey;
  readonly trust: Trust;
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

/** Signs what is to stay in force, so that nobody can put back what it replaces. */
export class KeySigner implements StateSigner {
  readonly #signing: Signing;
  /** The highest generations of what lies on `gc.policies`, by record key; what nobody believes does not count. */
  readonly #highest = new Map<string, number>();

  constructor(signing: Signing) {
    this.#signing = signing;
  }

  /** To be told of every record that lies there and is believed. */
  replaces(record: LogRecord, { generation: of }: Extract<Principal, { kind: 'key' }>): void {
    if (record.key === null) return;
    const generation = of ?? 0;
    this.#highest.set(record.key, Math.max(generation, this.#highest.get(record.key) ?? 0));
  }

  readonly counts = (record: LogRecord): boolean => this.#signing.trust.authenticate('policies', record).ok;

  sign(record: OutgoingRecord): SignedState {
    const { fleet, key, trust, nowMs } = this.#signing;
    const generation = nextGeneration(nowMs, this.#highest.get(record.key));
    const signed = signRecord(record, { fleet, key, generation });
    const authentication = trust.authenticate('policies', { ...signed, timestampMs: nowMs });
    if (!authentication.ok)
      throw new FleetGcError(
        'KEY_UNUSABLE',
        `nobody would believe this: ${authentication.distrust.message}. Nothing was written`,
      );
    return { record: signed, principal: authentication.principal };
  }
}
