import { z } from 'zod';
import { TOPICS } from '../../../schemas/events/topics.ts';
import type {
  KeyCertificate,
  KeyId,
  KeyRevocation,
  KeyRole,
  KeyStatement,
} from '../../../schemas/keys/key-statement.ts';
import { deriveId } from '../../canonical/ids.ts';
import type { OutgoingRecord } from '../../log/port.ts';
import { FleetGcError } from '../../process/errors.ts';
import { keyIdOf, type SigningKey } from './key-pair.ts';
import { type KeyRing, keyText } from './key-ring.ts';

/** What a root says of a key when it certifies it. */
interface Certifying {
  readonly publicKey: string;
  readonly role: KeyRole;
  readonly clusters: readonly string[];
  /** Of these clusters; when not given, all of them. */
  readonly nodes?: readonly string[];
  readonly name: string;
  readonly issuedAtMs: number;
  readonly notAfterMs: number;
}

export function certificate({ publicKey, clusters, nodes, ...said }: Certifying): KeyCertificate {
  const keyId = keyIdOf(publicKey);
  const named = nodes === undefined ? {} : { nodes: [...nodes] };
  return {
    type: 'fleetgc.key-certificate',
    version: 1,
    id: deriveId('key-certificate', keyId, JSON.stringify([{ ...said, ...named }, clusters])),
    keyId,
    publicKey,
    clusters: [...clusters],
    ...named,
    ...said,
  };
}

interface Revoking {
  readonly keyId: KeyId;
  readonly reason: string;
  readonly issuedAtMs: number;
  readonly untrustedFromMs: number;
}

export const revocation = (said: Revoking): KeyRevocation => ({
  type: 'fleetgc.key-revocation',
  version: 1,
  id: deriveId('key-revocation', said.keyId, JSON.stringify(said)),
  ...said,
});

/** Throws `KEY_UNUSABLE` where nobody would believe what this key says of others. */
export function requireRoot(ring: KeyRing, root: SigningKey): void {
  if (ring.isRoot(root.keyId)) return;
  throw new FleetGcError(
    'KEY_UNUSABLE',
    `${root.keyId} is no root of the fleet ${ring.fleet}: it is not in the file of roots, no root has made it a successor, or it was revoked`,
  );
}

/** Throws `KEY_UNUSABLE` for what would change nothing. */
export function requireEffect(ring: KeyRing, statement: KeyStatement): void {
  const key = ring.find(statement.keyId);
  if (statement.type === 'fleetgc.key-certificate') {
    if (ring.isRevoked(statement.keyId))
      throw new FleetGcError(
        'KEY_UNUSABLE',
        `${statement.keyId} was revoked, which is for good; create another key and certify that`,
      );
  } else if (key === undefined && !ring.isRoot(statement.keyId)) {
    const known = ring.keys().map(keyText).join(', ') || 'none';
    throw new FleetGcError('NOT_FOUND', `no root vouches for ${statement.keyId}; known keys: ${known}`);
  }
}

/** A statement on its way from a machine without a network: one line of JSON. */
const SignedStatement = z.strictObject({
  topic: z.literal(TOPICS.keys.name),
  key: z.string(),
  headers: z.record(z.string(), z.string()),
  /** The signed bytes. */
  valueBase64: z.base64(),
});

const MAX_LINE_LENGTH = 2 * TOPICS.keys.bounds.bytes;

export const signedRecordText = ({ topic, key, headers, value }: OutgoingRecord): string =>
  JSON.stringify({ topic, key, headers, valueBase64: value?.toString('base64') ?? '' });

/** What `signedRecordText` wrote. Throws `KEY_UNUSABLE`; `where` says which file and line the text is from. */
export function readSignedRecord(line: string, where: string): OutgoingRecord {
  const { data } = SignedStatement.safeParse(line.length > MAX_LINE_LENGTH ? null : jsonIn(line));
  if (data === undefined)
    throw new FleetGcError(
      'KEY_UNUSABLE',
      `${where} is no signed statement; "keys certify --offline" and "keys revoke --offline" write such lines`,
    );
  const { valueBase64, ...record } = data;
  return { ...record, value: Buffer.from(valueBase64, 'base64') };
}

function jsonIn(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
