import type { Logger } from 'pino';
import { readPolicyFiles, type WrittenPolicy } from '../../policy/file.ts';
import { loadPolicyFiles, requireValid } from '../policy-files.ts';

/** What holds when nobody says what should: the kubelet's defaults, and nothing goes. */
const DEFAULT_POLICY = `# The kubelet's defaults, without removing anything.
name: default
mode: dry-run
`;

/** The policies of the files, or the defaults in dry-run. Throws `POLICY_INVALID` or `USAGE`. */
export const policiesOf = (paths: readonly string[], logger: Logger): readonly WrittenPolicy[] =>
  requireValid(
    paths.length === 0
      ? readPolicyFiles([{ file: 'default policy', text: DEFAULT_POLICY }])
      : loadPolicyFiles(paths),
    logger,
    'nothing was started',
  );
