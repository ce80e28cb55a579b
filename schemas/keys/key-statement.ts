import { z } from 'zod';
import { HALF_A_CHARACTER } from '../events/broken-texts.ts';
import { ClusterName, NodeName } from '../events/identity.ts';

/** The first 32 hexadecimal digits of the SHA-256 of the public key's 32 bytes: whoever has the key can tell its id. */
export const KeyId = z.string().regex(/^[0-9a-f]{32}$/, { error: 'must be 32 hexadecimal digits' });
export type KeyId = z.infer<typeof KeyId>;

/** An Ed25519 public key: its 32 bytes in base64. */
export const PublicKeyText = z.string().regex(/^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/, {
  error: 'must be the 32 bytes of an Ed25519 key in base64',
});

/** The time until which JavaScript's dates go: the year 275760. */
const LAST_TIME_MS = 8_640_000_000_000_000;
const EpochMs = z.int().nonnegative().max(LAST_TIME_MS);

/** What a key may sign. `root`: statements about keys, as a successor of the root that signed it. */
export const KeyRole = z.enum([
  'root',
  'operator',
  'pauser',
  'dashboard',
  'policy-controller',
  'decider',
  'archiver',
  'node',
  'cluster',
]);
export type KeyRole = z.infer<typeof KeyRole>;

const PlainText = z
  .string()
  .max(200)
  .refine((text) => text.isWellFormed(), { error: HALF_A_CHARACTER });

/**
 * So that a certificate stays within the bounds of its topic.
 * @limit Clusters and nodes in one certificate.
 */
const MOST_NAMES = 1_000;

/** A root says what a key may sign, for which clusters and nodes, and until when. The last one of a key holds. */
export const KeyCertificate = z
  .strictObject({
    type: z.literal('fleetgc.key-certificate'),
    version: z.literal(1),
    id: z.string().min(1),
    keyId: KeyId,
    publicKey: PublicKeyText,
    role: KeyRole,
    /** Without any: for all. */
    clusters: z.array(ClusterName),
    /** Of these clusters, for a key of nodes. Without any: for all nodes of them. */
    nodes: z.array(NodeName).min(1).optional(),
    /** For people. */
    name: PlainText.min(1),
    /** By the clock of the machine that has the root. */
    issuedAtMs: EpochMs,
    /** From then on the key signs nothing new. */
    notAfterMs: EpochMs,
  })
  .refine(({ role, clusters, nodes }) => nodes === undefined || (role === 'node' && clusters.length > 0), {
    error: 'nodes can be named for a key of role node, and only together with their clusters',
  })
  .refine(({ role, clusters }) => role !== 'policy-controller' || clusters.length === 1, {
    error: 'a key of role policy-controller is for one cluster, which has to be named',
  })
  .refine(({ clusters, nodes = [] }) => clusters.length + nodes.length <= MOST_NAMES, {
    error: `at most ${MOST_NAMES} clusters and nodes can be named`,
  });
export type KeyCertificate = z.infer<typeof KeyCertificate>;

/** A root takes a key back, for good. */
export const KeyRevocation = z.strictObject({
  type: z.literal('fleetgc.key-revocation'),
  version: z.literal(1),
  id: z.string().min(1),
  keyId: KeyId,
  reason: PlainText,
  issuedAtMs: EpochMs,
  /** What the log took from the key before, such as a policy, stays in force. Orders of the key count no more in any case. */
  untrustedFromMs: EpochMs,
});
export type KeyRevocation = z.infer<typeof KeyRevocation>;

export const KeyStatement = z.discriminatedUnion('type', [KeyCertificate, KeyRevocation]);
export type KeyStatement = z.infer<typeof KeyStatement>;
