import type { Logger } from 'pino';
import { z } from 'zod';
import type { StateDirectory } from '../../packages/machine/state-directory.ts';
import { toFleetGcError } from '../../packages/process/errors.ts';
import { FilePath, withMeta } from '../../packages/process/options/options.ts';
import { configError } from '../../packages/process/options/read-options.ts';
import { readKeyFile } from '../../packages/trust/key-file.ts';
import type { TrustChoice } from '../../packages/trust/process-trust.ts';
import { readTrustRoots } from '../../packages/trust/roots-file.ts';
import { SEEN_GENERATIONS_FILE, SeenFile, SeenGenerations } from '../../packages/trust/seen-generations.ts';
import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';

/** For what acts on messages: whose messages count. */
export const trustOptions = {
  trust: withMeta(z.enum(['required', 'warn', 'off']).optional(), {
    description:
      'Whether orders and policies count only with the signature of a key that a root vouches for; warn tells of those that would not. Needed on Kafka; off without it.',
  }),
  trustRoots: withMeta(FilePath.optional(), {
    description: 'File of the roots, for --trust required or warn; "fleetgc keys roots" writes it.',
  }),
};

/** For what only shows what lies on the log. */
export const readingTrustOptions = {
  trustRoots: withMeta(FilePath.optional(), {
    description:
      'File of the roots. With it, what no key signed that may do so, and what was put back, is shown as not counting.',
  }),
};

/** `null` where signatures are not looked at. Throws `CONFIG_INVALID`. */
export const readReadingRoots = ({
  trustRoots,
}: {
  readonly trustRoots?: string | undefined;
}): TrustRoots | null => (trustRoots === undefined ? null : readTrustRoots(trustRoots));

/** For what also sends orders. */
export const signingOptions = {
  ...trustOptions,
  signingKeyFile: withMeta(FilePath.optional(), {
    description: 'Private key that signs what is sent, PKCS #8 PEM, which others cannot read.',
  }),
};

const TrustOptions = z.object(trustOptions);
interface Given extends z.infer<typeof TrustOptions> {
  readonly log: 'kafka' | 'embedded';
}

/** Of who sends no orders. Throws `CONFIG_INVALID`. */
export const readTrust = (given: Given, seen: SeenGenerations): TrustChoice =>
  trustChoice(given, { signs: false, keyFile: undefined, seen, learnsFrom: null });

/** Of who sends orders. Throws `CONFIG_INVALID` and `KEY_UNUSABLE`. */
export const readSigningTrust = (
  given: Given & { readonly signingKeyFile?: string | undefined },
): TrustChoice =>
  trustChoice(given, {
    signs: true,
    keyFile: given.signingKeyFile,
    seen: new SeenGenerations(),
    learnsFrom: 'policy-versions',
  });

interface Signing extends Pick<Exclude<TrustChoice, { kind: 'off' }>, 'seen' | 'learnsFrom'> {
  readonly signs: boolean;
  readonly keyFile: string | undefined;
}

function trustChoice(given: Given, signing: Signing): TrustChoice {
  const kind = given.trust ?? (given.log === 'embedded' ? 'off' : undefined);
  switch (kind) {
    case undefined:
      throw configError([NOT_CHOSEN]);
    case 'off':
      if (given.trustRoots === undefined && signing.keyFile === undefined) return { kind };
      throw configError([WITHOUT_EFFECT]);
    case 'required':
    case 'warn':
      return withRoots(kind, given.trustRoots, signing);
  }
}

function withRoots(
  kind: 'required' | 'warn',
  trustRoots: string | undefined,
  { signs, keyFile, seen, learnsFrom }: Signing,
): TrustChoice {
  if (trustRoots === undefined) throw configError([`--trust ${kind} needs --trust-roots`]);
  if (signs && kind === 'required' && keyFile === undefined) throw configError([NEEDS_KEY]);
  const signingKey = keyFile === undefined ? null : readKeyFile(keyFile);
  return { kind, roots: readTrustRoots(trustRoots), signingKey, seen, learnsFrom };
}

const WITHOUT_EFFECT =
  '--trust-roots and --signing-key-file have no effect with --trust off; leave them out, or say --trust warn';
const NEEDS_KEY =
  '--trust required needs --signing-key-file here: nobody would believe what is sent without a signature';
const NOT_CHOSEN =
  '--trust is missing. required: only what keys sign that a root vouches for counts. off: Kafka’s access rules alone say who may order what. warn: off, but it tells of what would not count. docs/operating/keys.md says how to get from off to required';

/** What a node has seen over all its processes. Throws `STATE_UNREADABLE` and `STATE_UNWRITABLE`. */
export function keptGenerations(
  { trust, log }: Given,
  state: Pick<StateDirectory, 'open'>,
  logger: Logger,
): SeenGenerations {
  if (trust === 'off' || (trust === undefined && log === 'embedded')) return new SeenGenerations();
  const { name, bytes } = SEEN_GENERATIONS_FILE;
  return new SeenGenerations(state.open(name, bytes, SeenFile), (error) =>
    logger.error(
      { err: toFleetGcError(error) },
      'which policies and keys were seen is known until this process ends, and not after it',
    ),
  );
}
