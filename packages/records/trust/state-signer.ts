import type { LogRecord, OutgoingRecord } from '../../log/port.ts';
import { FleetGcError } from '../../process/errors.ts';
import { nextGeneration } from './generation.ts';
import type { SigningKey } from './key-pair.ts';
import { signRecord } from './signature.ts';
import { NOBODY_PROVED, type Principal, type Trust } from './trust.ts';

/** The same event on two topics: on `gc.policies` it holds, on `gc.policy-versions` it stays for ever. */
export interface WrittenState {
  readonly state: OutgoingRecord;
  readonly version: OutgoingRecord;
}

export interface SignedState extends WrittenState {
  /** Whom the signature proves. */
  readonly principal: Principal;
}

/** What an operator writes policies, pauses and deletions with. */
export interface StateSigner {
  /** Both records with a signature that counts and one generation. Throws `KEY_UNUSABLE` where nobody would believe them. */
  sign(written: WrittenState): SignedState;
  /** Whether what lies on `gc.policies` counts as it is. */
  readonly counts: (record: LogRecord) => boolean;
}

/** Where nobody asks for signatures. */
export const UNSIGNED_STATE: StateSigner = {
  sign: (written) => ({ ...written, principal: NOBODY_PROVED }),
  counts: () => true,
};

interface WithoutKey {
  /** Record keys of `gc.policies` whose last record claims a signature. */
  readonly signed: readonly string[];
  /** What the reader can do instead, in a sentence. */
  readonly instead: string;
}

/**
 * Writes without a signature where nothing on `gc.policies` has one. Beside signed records it throws `KEY_UNUSABLE`: parts with
 * `--trust required` do not trust an unsigned record, wherever it stands, and remove nothing on any node while it is there.
 */
export const unsignedBeside = ({ signed, instead }: WithoutKey): StateSigner =>
  signed.length === 0
    ? UNSIGNED_STATE
    : {
        ...UNSIGNED_STATE,
        sign: ({ state }) => {
          throw new FleetGcError(
            'KEY_UNUSABLE',
            `cannot write ${JSON.stringify(state.key)} without a signature: ${besideText(signed, state.key)}, and every node and service with --trust required would remove nothing at all while an unsigned record is there. Nothing was written. ${instead}`,
          );
        },
      };

const besideText = (signed: readonly string[], key: string | null): string =>
  key !== null && signed.includes(key)
    ? 'what it replaces on gc.policies is signed'
    : `this fleet signs its policies and pauses (${signed
        .slice(0, 3)
        .map((each) => JSON.stringify(each))
        .join(', ')}${signed.length > 3 ? ', …' : ''})`;

interface Signing {
  readonly fleet: string;
  readonly key: SigningKey;
  readonly trust: Trust;
  /** The highest generation that a key of the fleet ever gave to each record key of `gc.policies`. */
  readonly highest: ReadonlyMap<string, number>;
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

/** Signs what is to stay in force, so that nobody can put back what it replaces. */
export class KeySigner implements StateSigner {
  readonly #signing: Signing;

  constructor(signing: Signing) {
    this.#signing = signing;
  }

  readonly counts = (record: LogRecord): boolean => {
    const { trust, highest } = this.#signing;
    const authentication = trust.authenticate('policies', record);
    if (!authentication.ok || authentication.principal.kind !== 'key') return false;
    return (authentication.principal.generation ?? 0) >= (highest.get(record.key ?? '') ?? 0);
  };

  sign({ state, version }: WrittenState): SignedState {
    const { fleet, key, nowMs, highest } = this.#signing;
    const generation = nextGeneration(nowMs, highest.get(state.key));
    const signed = signRecord(state, { fleet, key, generation });
    return {
      state: signed,
      version: signRecord(version, { fleet, key, generation }),
      principal: this.#believed(signed),
    };
  }

  #believed(signed: OutgoingRecord): Principal {
    const { trust, nowMs } = this.#signing;
    const authentication = trust.authenticate('policies', { ...signed, timestampMs: nowMs });
    if (authentication.ok) return authentication.principal;
    throw unbelievable(authentication.distrust.message);
  }
}

/** For what is not written because of this reason. */
export const unbelievable = (why: string): FleetGcError =>
  new FleetGcError('KEY_UNUSABLE', `${why}, so no process would trust this. Nothing was written`);
