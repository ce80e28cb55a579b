import { z } from 'zod';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { fileText } from '../../../packages/process/options/named-file.ts';
import { FilePath, withMeta } from '../../../packages/process/options/options.ts';
import { systemSources } from '../../../packages/process/system-sources.ts';
import { openReceivers } from '../../../services/notices/main.ts';
import { readRulesFile } from '../../../services/notices/rules-file.ts';
import { outputOptions, printResult } from '../../framework/output.ts';
import { defineVerb } from '../../framework/verb.ts';
import { rulesLines, rulesValue } from '../../views/notices.ts';

export const verb = defineVerb({
  help: [
    'Checks a rule file of fleetgc notify, and the files that it names: secrets, certificates, kubeconfigs. Reports every problem of the rule file at once. Nothing is sent, and no receiver is asked. If there is a problem, the exit code is 2.',
  ],
  examples: ['fleetgc notify check notices.yaml', 'fleetgc notify check notices.yaml --output json'],
  options: z.object({
    file: withMeta(FilePath, { positional: true, placeholder: 'FILE', description: 'The rule file.' }),
    ...outputOptions,
  }),
  run: async ({ file, output }, { environment, logger, write }) => {
    const read = readRulesFile(file);
    if (!read.ok) {
      for (const problem of read.problems) logger.error(`${fileText(file)}: ${problem}`);
      throw new FleetGcError('CONFIG_INVALID', 'with this file no notice would be sent');
    }
    using _open = openReceivers(read.rules, { environment, logger, sources: systemSources });
    await printResult({ write }, output, { value: rulesValue(read.rules), lines: rulesLines(read.rules) });
  },
});
