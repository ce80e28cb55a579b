import type { LogRecord, OutgoingRecord } from '../event-log/port.ts';
import { nextGeneration } from './generation.ts';
import type { SigningKey } from './key-pair.ts';
import { signRecord } from './signature.ts';
import type { Trust } from './trust.ts';

/** Signs what is to stay in force, so that nobody can put back what it replaces. */
export interface StateSigner {
  sign(record: OutgoingRecord): OutgoingRecord;
}

export const UNSIGNED_STATE: StateSigner = { sign: (record) => record };

/** The highest generations of what lies on `gc.policies`, by record key; what nobody believes does not count. */
export class Generations {
  readonly #trust: Trust;
  readonly #highest = new Map<string, number>();

  constructor(trust: Trust) {
    this.#trust = trust;
  }

  add(record: LogRecord): void {
    const authentication = this.#trust.authenticate('policies', record);
    if (!authentication.ok || authentication.principal.kind !== 'key' || record.key === null) return;
    const { generation } = authentication.principal;
    this.#highest.set(record.key, Math.max(generation ?? 0, this.of(record.key)));
  }

  of(key: string): number {
    return this.#highest.get(key) ?? 0;
  }
}

interface Signing {
  readonly fleet: string;
  readonly key: SigningKey;
  /** Of all that lies there. */
  readonly generations: Generations;
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

export const stateSigner = ({ fleet, key, generations, nowMs }: Signing): StateSigner => ({
  sign: (record) =>
    signRecord(record, { fleet, key, generation: nextGeneration(nowMs, generations.of(record.key)) }),
});
