import { z } from 'zod';
import { TOPICS } from '../../../schemas/events/topics.ts';
import {
  type KeyCertificate,
  type KeyId,
  type KeyRevocation,
  KeyStatement,
} from '../../../schemas/keys/key-statement.ts';
import type { TrustRoots } from '../../../schemas/keys/trust-roots.ts';
import { valueSha256 } from '../../canonical/ids.ts';
import type { LogRecord } from '../../log/port.ts';
import { printableLine } from '../../text/printable.ts';
import { keyIdOf } from './key-pair.ts';
import { claimedSignature, isOfTheFuture, type Signature, VerifiedSignatures } from './signature.ts';
import { keyIn, nameOfSaid, revokedName, rootOfSaid, StatementGenerations } from './statement-generations.ts';

/** A key that a root vouches for. */
export interface CertifiedKey extends Omit<KeyCertificate, 'type' | 'version' | 'id' | 'nodes'> {
  /** Without any: for all nodes of its clusters. */
  readonly nodes: readonly string[];
  /** The root that says so. */
  readonly certifiedBy: KeyId;
  readonly revocation: KeyRevocation | null;
}

/** As people are told of it, on a terminal too. */
export const keyText = ({ keyId, name }: Pick<CertifiedKey, 'keyId' | 'name'>): string =>
  `${keyId} (${printableLine(name)})`;

/** What became of a record. */
type Added =
  | { readonly kind: 'changed' | 'repeated' }
  /** It says nothing; why, in a sentence. */
  | { readonly kind: 'refused'; readonly why: string };

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
  readonly #taken = new TakenStatements();
  readonly #verified: VerifiedSignatures;
  readonly #generations = new StatementGenerations();
  /** The roots whose word counts. */
  #vouched: ReadonlySet<KeyId>;

  /** `verified`: by those who read the same statements before. */
  constructor({ fleet, roots }: TrustRoots, verified = new VerifiedSignatures()) {
    this.fleet = fleet;
    this.#verified = verified;
    this.#fileRoots = new Map(roots.map(({ publicKey }) => [keyIdOf(publicKey), publicKey]));
    this.#roots = new Map(this.#fileRoots);
    this.#vouched = this.#vouchedNow();
  }

  /**
   * When the newest statement was made, by the clock of its root, but not after the log took it: it is later than that now. 0 where
   * there is none.
   */
  latestStatementMs = 0;

  /**
   * The earliest moment that any statement proves: when its root made it, or when the log took it if that is earlier. So a statement
   * that is written again later proves no later beginning. `null` where there is none.
   */
  earliestStatementMs: number | null = null;

  /** Takes a record of `gc.keys`. */
  add(record: LogRecord): Added {
    if (this.#taken.has(record)) return { kind: 'repeated' };
    const proved = this.#prove(record);
    if (typeof proved === 'string') return { kind: 'refused', why: proved };
    const { statement } = proved;
    const madeAtMs = Math.min(statement.issuedAtMs, record.timestampMs);
    this.latestStatementMs = Math.max(this.latestStatementMs, madeAtMs);
    this.earliestStatementMs = Math.min(this.earliestStatementMs ?? madeAtMs, madeAtMs);
    if (statement.type === 'fleetgc.key-revocation') this.#takeBack({ ...proved, statement }, record);
    else this.#certify({ ...proved, statement });
    this.#taken.add(record);
    this.#vouched = this.#vouchedNow();
    return { kind: 'changed' };
  }

  /** The highest generation of the certificates of each key, and by `revoked KEY` that of its revocations. */
  get generations(): ReadonlyMap<string, number> {
    return this.#generations.byName;
  }

  /** The same of each root apart: `ROOT KEY` and `ROOT revoked KEY`. */
  get said(): ReadonlyMap<string, number> {
    return this.#generations.bySaid;
  }

  /**
   * Whether what was said once, by a name of `said`, is still there. What a root said that is none here any more nobody has to say
   * again, unless another one vouches for that key: then the key may do no more than before.
   */
  stillSays(name: string, generation: number): boolean {
    if (this.isOfRoot(name)) return (this.said.get(name) ?? 0) >= generation;
    const keyId = keyIn(name);
    const isVouchedFor = this.#vouched.has(keyId) || this.find(keyId) !== undefined;
    return !isVouchedFor || (this.generations.get(nameOfSaid(name)) ?? 0) >= generation;
  }

  /** Whether a root said it, by a name of `said`, that ever was one of this fleet. */
  isOfRoot(name: string): boolean {
    return this.#roots.has(rootOfSaid(name));
  }

  /** `undefined` for a key that no root vouches for. */
  find(keyId: KeyId): CertifiedKey | undefined {
    const standing = this.#certificates
      .get(keyId)
      ?.filter(({ by }) => this.#vouched.has(by))
      .toSorted((a, b) => b.generation - a.generation)[0];
    if (standing === undefined) return undefined;
    const { type, version, id, nodes = [], ...certificate } = standing.statement;
    return {
      ...certificate,
      nodes,
      certifiedBy: standing.by,
      revocation: this.#revocations.get(keyId)?.statement ?? null,
    };
  }

  /** The public key of any key that a root ever vouched for, also where nobody does any more. */
  publicKeyOf(keyId: KeyId): string | undefined {
    return this.#certificates.get(keyId)?.[0]?.statement.publicKey;
  }

  /** Every key that a root vouches for, revoked ones included, in the order of their ids. */
  keys(): readonly CertifiedKey[] {
    return [...this.#certificates.keys()].toSorted().flatMap((keyId) => this.find(keyId) ?? []);
  }

  isRoot(keyId: KeyId): boolean {
    return this.#vouched.has(keyId);
  }

  isRevoked(keyId: KeyId): boolean {
    return this.#revocations.has(keyId);
  }

  #prove(record: LogRecord): Proved<KeyStatement> | string {
    const claimed = claimedSignature(record.headers);
    if (claimed.kind !== 'claimed')
      return `its signature is ${claimed.kind === 'none' ? 'missing' : 'malformed'}`;
    const { signature } = claimed;
    if (signature.generation === null) return 'its signature has no generation';
    return this.#objectionTo(signature, record) ?? this.#read(record, signature, signature.generation);
  }

  /** Told before and after the signature is verified, the cheap ones first. */
  #objectionTo({ keyId, generation, signature }: Signature, record: LogRecord): string | null {
    const publicKey = this.#roots.get(keyId);
    if (publicKey === undefined) return `${keyId}, which signed it, is no root`;
    if (!this.#vouched.has(keyId)) return `${keyId}, which signed it, is no root any more`;
    if (isOfTheFuture(generation ?? 0, record)) return 'its generation is more than a day ahead of its time';
    if ((record.value?.length ?? 0) > TOPICS.keys.bounds.bytes) return 'it is too large for a statement';
    return this.#verified.isSignedBy(publicKey, this.fleet, record, { keyId, generation, signature })
      ? null
      : `its signature is not that of ${keyId} for the fleet ${this.fleet}`;
  }

  #read(record: LogRecord, { keyId: by }: Signature, generation: number): Proved<KeyStatement> | string {
    const { data: statement, error } = StatementText.safeParse(record.value?.toString('utf8'));
    if (statement === undefined)
      return `it is no statement about a key (${error ? z.prettifyError(error).replaceAll('\n', ' ') : ''})`;
    if (record.key !== statement.keyId) return 'its record key is not the id of the key that it is about';
    if (statement.type === 'fleetgc.key-certificate' && keyIdOf(statement.publicKey) !== statement.keyId)
      return 'the id of the key does not follow from its public key';
    return this.#isOutOfTime(by, statement, record)
      ? `${by}, which signed it, was no root any more at that time`
      : { statement, by, generation };
  }

  /**
   * A root of the file holds until the file changes; a successor as long as its certificate says. Where the log does not say when it
   * took a statement, a successor may have ended: it certifies nobody then, and may still take back.
   */
  #isOutOfTime(root: KeyId, { type }: KeyStatement, { timestampMs, isDatedByWriter }: LogRecord): boolean {
    if (this.#fileRoots.has(root)) return false;
    if (isDatedByWriter && type === 'fleetgc.key-certificate') return true;
    const standing = newest(this.#certificates.get(root) ?? []);
    return standing?.statement.role !== 'root' || timestampMs >= standing.statement.notAfterMs;
  }

  /** What a root says of itself is no news. */
  #certify(proved: Proved<KeyCertificate>): void {
    const { keyId, role, publicKey } = proved.statement;
    if (proved.by === keyId) return;
    this.#generations.note(proved.by, keyId, proved.generation);
    this.#certificates.set(keyId, [...(this.#certificates.get(keyId) ?? []), proved]);
    if (role === 'root') this.#roots.set(keyId, publicKey);
  }

  /** The one that reaches back the farthest holds, and it counts when the log has it: the clock of a root without a network may be ahead. */
  #takeBack(proved: Proved<KeyRevocation>, { timestampMs }: LogRecord): void {
    const { keyId } = proved.statement;
    const untrustedFromMs = Math.min(proved.statement.untrustedFromMs, timestampMs);
    this.#generations.note(proved.by, revokedName(keyId), proved.generation);
    const earlier = this.#revocations.get(keyId);
    if (earlier && earlier.statement.untrustedFromMs <= untrustedFromMs) return;
    this.#revocations.set(keyId, { ...proved, statement: { ...proved.statement, untrustedFromMs } });
  }

  /**
   * Whoever was taken back vouches for nobody, and no more does whoever that one alone vouched for. A fleet whose nodes sign
   * has thousands of keys, and few roots.
   */
  #vouchedNow(): ReadonlySet<KeyId> {
    const vouched = new Set([...this.#fileRoots.keys()].filter((root) => !this.#revocations.has(root)));
    for (const root of vouched)
      for (const keyId of this.#roots.keys()) {
        const standing = newest(this.#certificates.get(keyId) ?? []);
        const isSuccessor = standing?.statement.role === 'root' && standing.by === root;
        if (isSuccessor && !this.#revocations.has(keyId)) vouched.add(keyId);
      }
    return vouched;
  }
}

/** The last one of a key holds. */
const newest = (certificates: readonly Proved<KeyCertificate>[]): Proved<KeyCertificate> | undefined =>
  certificates.toSorted((a, b) => b.generation - a.generation)[0];

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

type Statement = Pick<LogRecord, 'key' | 'value' | 'headers'>;

/** Statements that count, by their signatures: who meets one again need not verify it again. */
class TakenStatements {
  readonly #taken = new Map<string, string>();

  add(statement: Statement): void {
    this.#taken.set(signatureIn(statement), signedIn(statement));
  }

  /** The same signature over the same: anybody can copy a signature to another record. */
  has(statement: Statement): boolean {
    const taken = this.#taken.get(signatureIn(statement));
    return taken !== undefined && taken === signedIn(statement);
  }
}

const signatureIn = ({ headers }: Statement): string => headers.ce_fleetgcsignature ?? '';

const signedIn = ({ key, value, headers: { ce_fleetgckeyid, ce_fleetgcgeneration } }: Statement): string =>
  JSON.stringify([key, ce_fleetgckeyid, ce_fleetgcgeneration, value === null ? null : valueSha256(value)]);
