import { contentHash } from '../../packages/canonical/ids.ts';

/**
 * What `outputSha256` of a record is to be: of what its decision gave, the record first and without that field, and what follows
 * from it. As schemas/events/decision.ts says it, and not as deciders come to it.
 */
export const outputHash = ([record, ...others]: readonly object[]): string =>
  contentHash([{ ...record, outputSha256: undefined }, ...others]);
