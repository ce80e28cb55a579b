import { z } from 'zod';
import { PublicKeyText } from './key-statement.ts';

/** Names a fleet in every signature, so that what was signed for one fleet counts in no other. */
export const FleetId = z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, {
  error: 'must be 1 to 63 small letters, digits and dashes, starting and ending with a letter or digit',
});

/** The file that says whom a process believes: it lies on each node and beside each service, and hardly ever changes. */
export const TrustRoots = z.strictObject({
  fleet: FleetId,
  roots: z
    .array(z.strictObject({ name: z.string().min(1).max(200), publicKey: PublicKeyText }))
    .min(1)
    .max(16),
});
export type TrustRoots = z.infer<typeof TrustRoots>;
