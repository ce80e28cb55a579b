import type { Logger } from 'pino';
import {
  type PolicyOverride,
  readPolicyFiles,
  type WrittenPolicy,
} from '../../packages/policy/file/read-policy-file.ts';
import { loadPolicyFiles, requireValid } from '../options/policy-files.ts';

/** What holds when nobody says what should: the kubelet's defaults, and nothing goes. */
const DEFAULT_POLICY = `# The kubelet's defaults, without removing anything.
name: default
mode: dry-run
`;

export interface PolicyAsking {
  readonly logger: Logger;
  /** What follows from a policy that is wrong, for its error. */
  readonly consequence: string;
  readonly override?: PolicyOverride;
}

/** The policies of the files, or the defaults in dry-run. Throws `POLICY_INVALID` or `USAGE`. */
export const policiesOf = (
  paths: readonly string[],
  { logger, consequence, override = {} }: PolicyAsking,
): readonly WrittenPolicy[] =>
  requireValid(
    paths.length === 0
      ? readPolicyFiles([{ file: 'default policy', text: DEFAULT_POLICY }], override)
      : loadPolicyFiles(paths, override),
    logger,
    consequence,
  );
