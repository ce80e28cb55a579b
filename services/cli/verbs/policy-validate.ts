import { z } from 'zod';
import { policyTable } from '../../policy/policy-table.ts';
import { formatResult, outputOptions } from '../../shared/output.ts';
import { defineVerb } from '../../shared/verb.ts';
import { loadPolicyFiles, policyFileOptions, requireValid } from '../policy-files.ts';
import { about } from '../verb-list.ts';

export const policyValidate = defineVerb({
  ...about('policy validate'),
  options: z.object({ ...policyFileOptions, ...outputOptions }),
  run: async ({ files: paths, output }, { logger, print }) => {
    const files = loadPolicyFiles(paths);
    if (output !== 'table') print(formatResult(output, { value: files, lines: [] }));
    const written = requireValid(files, logger, 'nothing in these files can be applied');
    if (output === 'table') for (const line of policyTable(written.map(({ policy }) => policy))) print(line);
  },
});
