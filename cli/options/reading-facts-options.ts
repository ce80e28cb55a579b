import { z } from 'zod';
import { withMeta } from '../../packages/process/options/options.ts';
import { configError } from '../../packages/process/options/read-options.ts';
import type { FactsTrust } from '../../packages/records/trust/process-trust.ts';
import { readingTrustOptions } from './trust-options.ts';

/** For what shows what lies on the log, and what nodes and clusters report there. */
export const readingFactsOptions = {
  ...readingTrustOptions,
  trustFacts: withMeta(z.enum(['required', 'warn', 'off']).prefault('off'), {
    description:
      'With --trust-roots: whether what nodes and clusters report is shown only with the signature of a key of role node or cluster; warn counts what would not be.',
  }),
};

/** Throws `CONFIG_INVALID`. */
export function readReadingFacts({
  trustRoots,
  trustFacts,
}: {
  readonly trustRoots?: string | undefined;
  readonly trustFacts: FactsTrust;
}): FactsTrust {
  if (trustFacts !== 'off' && trustRoots === undefined)
    throw configError(['--trust-facts needs --trust-roots, which say whose keys count']);
  return trustFacts;
}
