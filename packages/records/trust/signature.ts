import { sign, verify } from 'node:crypto';
import { z } from 'zod';
import type { TopicName } from '../../../schemas/events/topics.ts';
import { KeyId } from '../../../schemas/keys/key-statement.ts';
import { valueSha256 } from '../../canonical/ids.ts';
import type { Headers, LogRecord, OutgoingRecord } from '../../log/port.ts';
import { DAY_MS } from '../../process/durations.ts';
import { type SigningKey, toKeyObject } from './key-pair.ts';

/** CloudEvents attributes of a signed message, as Kafka's binary mode writes them. */
const SignatureHeaders = z.object({
  ce_fleetgckeyid: KeyId,
  /** Of Ed25519: 64 bytes in base64. */
  ce_fleetgcsignature: z.string().regex(/^[A-Za-z0-9+/]{85}[AQgw]==$/),
  /** Only of what must not be put back to an older state. Grows with each record of a key; by custom epoch milliseconds. */
  ce_fleetgcgeneration: z
    .string()
    .regex(/^(0|[1-9][0-9]{0,15})$/)
    .transform(Number)
    .refine(Number.isSafeInteger)
    .optional(),
});

export interface Signature {
  readonly keyId: KeyId;
  readonly signature: string;
  readonly generation: number | null;
}

/** What the headers of a record claim. */
export type ClaimedSignature =
  | { readonly kind: 'none' }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'claimed'; readonly signature: Signature };

const NAMES = ['ce_fleetgckeyid', 'ce_fleetgcsignature', 'ce_fleetgcgeneration'] as const;

/** Nothing is verified yet. */
export function claimedSignature(headers: Headers): ClaimedSignature {
  if (NAMES.every((name) => headers[name] === undefined)) return { kind: 'none' };
  const { success, data } = SignatureHeaders.safeParse(headers);
  if (!success) return { kind: 'malformed' };
  const { ce_fleetgckeyid: keyId, ce_fleetgcsignature: signature, ce_fleetgcgeneration } = data;
  return { kind: 'claimed', signature: { keyId, signature, generation: ce_fleetgcgeneration ?? null } };
}

/** What a signature is over: where the message lies, and its bytes. */
interface Signable {
  readonly topic: TopicName;
  readonly key: string | null;
  readonly value: Buffer | null;
}

/** A list of texts in JSON has one reading only, whatever the texts are. */
const signedBytes = (
  fleet: string,
  { topic, key, value }: Signable,
  { keyId, generation }: Pick<Signature, 'keyId' | 'generation'>,
): Buffer =>
  Buffer.from(
    JSON.stringify([
      'fleetgc-signature-v1',
      fleet,
      topic,
      key,
      keyId,
      generation === null ? null : String(generation),
      value === null ? null : valueSha256(value),
    ]),
  );

/** The record with a signature in its headers. */
export function signRecord(
  record: OutgoingRecord,
  {
    fleet,
    key,
    generation,
  }: { readonly fleet: string; readonly key: SigningKey; readonly generation: number | null },
): OutgoingRecord {
  const { keyId, privateKey } = key;
  const signature = sign(null, signedBytes(fleet, record, { keyId, generation }), privateKey);
  return {
    ...record,
    headers: {
      ...record.headers,
      ce_fleetgckeyid: keyId,
      ce_fleetgcsignature: signature.toString('base64'),
      ...(generation !== null && { ce_fleetgcgeneration: String(generation) }),
    },
  };
}

/** Whether the owner of the public key signed this record, for this fleet. */
export const isSignedBy = (
  publicKey: string,
  fleet: string,
  record: Pick<LogRecord, 'topic' | 'key' | 'value'>,
  claimed: Signature,
): boolean =>
  verify(
    null,
    signedBytes(fleet, record, claimed),
    toKeyObject(publicKey),
    Buffer.from(claimed.signature, 'base64'),
  );

/**
 * Signatures that were verified once, and what they are over: whoever reads a topic again and again need not verify it again and
 * again. Only what a key signed is remembered.
 */
export class VerifiedSignatures {
  readonly #verified = new Set<string>();

  isSignedBy(
    publicKey: string,
    fleet: string,
    record: Pick<LogRecord, 'topic' | 'key' | 'value'>,
    claimed: Signature,
  ): boolean {
    const proof = [publicKey, claimed.signature, signedBytes(fleet, record, claimed).toString('utf8')].join(
      ' ',
    );
    if (this.#verified.has(proof)) return true;
    if (!isSignedBy(publicKey, fleet, record, claimed)) return false;
    this.#verified.add(proof);
    return true;
  }
}

/** A generation is a time; one far ahead would leave no room for those that follow. */
export const isOfTheFuture = (generation: number, { timestampMs }: Pick<LogRecord, 'timestampMs'>): boolean =>
  generation > timestampMs + DAY_MS;
