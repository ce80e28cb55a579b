import { z } from 'zod';
import { formatResult, outputOptions } from '../../framework/output.ts';
import { defineVerb } from '../../framework/verb.ts';
import { loadAnyPolicyFiles, policyFileOptions, requireValid } from '../../options/policy-files.ts';
import { writtenPolicyLines } from '../../views/policy/policy-list.ts';

export const verb = defineVerb({
  help: [
    'Reports every problem in every file at once, with line and column. If there is one, the exit code is 2.',
  ],
  examples: ['fleetgc policy validate policies/*.yaml', 'fleetgc policy validate policy.yaml --output json'],
  options: z.object({ ...policyFileOptions, ...outputOptions }),
  run: async ({ files: paths, output }, { logger, print }) => {
    const files = loadAnyPolicyFiles(paths);
    if (output !== 'table') print(formatResult(output, { value: files, lines: [] }));
    const written = requireValid(files, logger, 'nothing in these files can be applied');
    if (output === 'table') for (const line of writtenPolicyLines(written)) print(line);
  },
});
