import { z } from 'zod';
import type { AnyWrittenPolicy } from '../../../packages/policy/file/read-policy-file.ts';
import { keyOfPolicyNamed } from '../../../schemas/policy/policy.ts';
import { objectOptions, printObjects } from '../../framework/output.ts';
import { defineVerb } from '../../framework/verb.ts';
import { loadAnyPolicyFiles, policyFileOptions, requireValid } from '../../options/policy-files.ts';
import { writtenPolicyLines } from '../../views/policies.ts';

const keepsImages = (written: AnyWrittenPolicy): boolean => {
  if (written.subject !== 'node') return false;
  const { patterns, digests, labels } = written.policy.keep;
  return patterns.length + digests.length + Object.keys(labels).length > 0;
};

const KEEPS_FROM_FLEETGC =
  'keep.images, keep.digests and keep.labels keep images from FleetGC alone: the kubelet on the same node still removes them by its own thresholds and ages.';

export const verb = defineVerb({
  help: [
    'Reports every problem in every file at once, with line and column. If there is one, the exit code is 2.',
  ],
  examples: ['fleetgc policy validate policies/*.yaml', 'fleetgc policy validate policy.yaml --output json'],
  options: z.object({ ...policyFileOptions, ...objectOptions }),
  run: async ({ files: paths, output }, { logger, write }) => {
    const files = loadAnyPolicyFiles(paths);
    const isDocument = output === 'json' || output === 'yaml';
    if (isDocument) await printObjects({ write }, output, { value: files, lines: [], names: [] });
    const written = requireValid(files, logger, 'nothing in these files can be applied');
    if (isDocument) return;
    const names = written.map(({ subject, policy }) => keyOfPolicyNamed(subject, policy.name));
    await printObjects({ write }, output, { value: files, lines: writtenPolicyLines(written), names });
    if (written.some(keepsImages)) logger.info(KEEPS_FROM_FLEETGC);
  },
});
