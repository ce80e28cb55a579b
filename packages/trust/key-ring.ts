import { z } from 'zod';
import { TOPICS } from '../../schemas/events/topics.ts';
import {
  type KeyCertificate,
  type KeyId,
  type KeyRevocation,
  KeyStatement,
} from '../../schemas/keys/key-statement.ts';
import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import type { LogRecord } from '../event-log/port.ts';
import { keyIdOf } from './key-pair.ts';
import { claimedSignature, isSignedBy, type Signature } from './signature.ts';

/** A key that a root vouches for. */
export interface CertifiedKey extends Omit<KeyCertificate, 'type' | 'version' | 'id'> {
  /** The root that says so. */
  readonly certifiedBy: KeyId;
  readonly revocation: KeyRevocation | null;
}

/** As people are told of it. */
export const keyText = ({ keyId, name }: Pick<CertifiedKey, 'keyId' | 'name'>): string =>
  `${keyId} (${name})`;

/** A statement with whoever proved to have made it. */
interface Proved<Statement extends KeyStatement> {
  readonly statement: Statement;
  readonly by: KeyId;
  readonly generation: number;
}

/**
 * All that roots have said of keys, from the records of `gc.keys` in their order. Whatever is not signed by a root changes
 * nothing here, and costs no more than a look at its headers unless it names a root.
 */
export class KeyRing {
  readonly fleet: string;
  readonly #fileRoots: ReadonlyMap<KeyId, string>;
  /** All that ever were roots, with their public keys: what they took back stays taken back. */
  readonly #roots: Map<KeyId, string>;
  readonly #certificates = new Map<KeyId, Proved<KeyCertificate>[]>();
  readonly #revocations = new Map<KeyId, Proved<KeyRevocation>>();

  constructor({ fleet, roots }: TrustRoots) {
    this.fleet = fleet;
    this.#fileRoots = new Map(roots.map(({ publicKey }) => [keyIdOf(publicKey), publicKey]));
    this.#roots = new Map(this.#fileRoots);
  }

  /** When the newest statement was made, by the clock of its root: it is later than that now. 0 where there is none. */
  latestStatementMs = 0;

  /** Takes a record of `gc.keys`. Answers why it says nothing, in a sentence; `null` when it does. */
  add(record: LogRecord): string | null {
    const proved = this.#prove(record);
    if (typeof proved === 'string') return proved;
    const { statement } = proved;
    this.latestStatementMs = Math.max(this.latestStatementMs, statement.issuedAtMs);
    if (statement.type === 'fleetgc.key-revocation') this.#takeBack({ ...proved, statement });
    else this.#certify({ ...proved, statement });
    return null;
  }

  /** The highest generation seen for each key that statements are about. */
  get generations(): ReadonlyMap<KeyId, number> {
    const all = [...this.#certificates.values(), ...[...this.#revocations.values()].map((one) => [one])];
    const highest = new Map<KeyId, number>();
    for (const { statement, generation } of all.flat())
      highest.set(statement.keyId, Math.max(generation, highest.get(statement.keyId) ?? 0));
    return highest;
  }

  /** `undefined` for a key that no root vouches for. */
  find(keyId: KeyId): CertifiedKey | undefined {
    const standing = this.#certificates
      .get(keyId)
      ?.filter(({ by }) => this.#vouches(by))
      .toSorted((a, b) => b.generation - a.generation)[0];
    if (standing === undefined) return undefined;
    const { type, version, id, ...certificate } = standing.statement;
    return {
      ...certificate,
      certifiedBy: standing.by,
      revocation: this.#revocations.get(keyId)?.statement ?? null,
    };
  }

  /** Every key that a root vouches for, revoked ones included, in the order of their ids. */
  keys(): readonly CertifiedKey[] {
    return [...this.#certificates.keys()].toSorted().flatMap((keyId) => this.find(keyId) ?? []);
  }

  isRoot(keyId: KeyId): boolean {
    return this.#roots.has(keyId) && this.#vouches(keyId);
  }

  isRevoked(keyId: KeyId): boolean {
    return this.#revocations.has(keyId);
  }

  #prove(record: LogRecord): Proved<KeyStatement> | string {
    const claimed = claimedSignature(record.headers);
    if (claimed.kind !== 'claimed')
      return `its signature is ${claimed.kind === 'none' ? 'missing' : 'malformed'}`;
    const { signature } = claimed;
    const publicKey = this.#roots.get(signature.keyId);
    if (publicKey === undefined) return `${signature.keyId}, which signed it, is no root`;
    if (signature.generation === null) return 'its signature has no generation';
    if ((record.value?.length ?? 0) > TOPICS.keys.bounds.bytes) return 'it is too large for a statement';
    if (!isSignedBy(publicKey, this.fleet, record, signature))
      return `its signature is not that of ${signature.keyId} for the fleet ${this.fleet}`;
    return this.#read(record, signature, signature.generation);
  }

  #read(record: LogRecord, { keyId: by }: Signature, generation: number): Proved<KeyStatement> | string {
    const { data: statement, error } = StatementText.safeParse(record.value?.toString('utf8'));
    if (statement === undefined)
      return `it is no statement about a key (${error ? z.prettifyError(error) : ''})`;
    if (record.key !== statement.keyId) return 'its record key is not the id of the key that it is about';
    if (statement.type === 'fleetgc.key-certificate' && keyIdOf(statement.publicKey) !== statement.keyId)
      return 'the id of the key does not follow from its public key';
    return this.#isOutOfTime(by, record)
      ? `${by}, which signed it, was no root any more at that time`
      : { statement, by, generation };
  }

  /** A root of the file holds until the file changes; a successor as long as its certificate says. */
  #isOutOfTime(root: KeyId, { timestampMs }: LogRecord): boolean {
    if (this.#fileRoots.has(root)) return false;
    const certificates = this.#certificates.get(root) ?? [];
    return !certificates.some(
      ({ statement }) => statement.role === 'root' && timestampMs < statement.notAfterMs,
    );
  }

  #certify(proved: Proved<KeyCertificate>): void {
    const { keyId, role, publicKey } = proved.statement;
    this.#certificates.set(keyId, [...(this.#certificates.get(keyId) ?? []), proved]);
    if (role === 'root') this.#roots.set(keyId, publicKey);
  }

  /** The one that reaches back the farthest holds. */
  #takeBack(proved: Proved<KeyRevocation>): void {
    const { keyId, untrustedFromMs } = proved.statement;
    const earlier = this.#revocations.get(keyId);
    if (earlier && earlier.statement.untrustedFromMs <= untrustedFromMs) return;
    this.#revocations.set(keyId, proved);
  }

  /** Whoever was taken back vouches for nobody, and no more does whoever that one alone vouched for. */
  #vouches(root: KeyId, asked: readonly KeyId[] = []): boolean {
    if (this.#revocations.has(root) || asked.includes(root)) return false;
    if (this.#fileRoots.has(root)) return true;
    const certificates = this.#certificates.get(root) ?? [];
    return certificates.some(
      ({ statement, by }) => statement.role === 'root' && this.#vouches(by, [...asked, root]),
    );
  }
}

const StatementText = z
  .string()
  .transform((text, context) => {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      context.addIssue({ code: 'custom', message: 'not JSON' });
      return z.NEVER;
    }
  })
  .pipe(KeyStatement);
