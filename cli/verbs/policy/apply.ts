import { z } from 'zod';
import { policyChanges, toAnyPolicyRecord } from '../../../packages/policy/policy-changes.ts';
import { readStoredPolicies } from '../../../packages/policy/stored-policies.ts';
import { unsignedStates, writePolicies } from '../../../packages/policy/write-policies.ts';
import { Switch, withMeta } from '../../../packages/process/options/options.ts';
import { warnOfDoubts } from '../../../packages/read-model/policy-doubts.ts';
import { policyKey } from '../../../schemas/policy/policy.ts';
import { objectOptions, printObjects } from '../../framework/output.ts';
import { openPolicyWriter } from '../../framework/policy-writer.ts';
import { openTaskEventLog } from '../../framework/task-event-log.ts';
import { defineVerb } from '../../framework/verb.ts';
import { eventLogOptions } from '../../options/event-log-options.ts';
import { loadAnyPolicyFiles, policyFileOptions, requireValid } from '../../options/policy-files.ts';
import { readOperatorTrust, writingOptions } from '../../options/trust-options.ts';
import { changeLines, changeValues } from '../../views/policies.ts';

export const verb = defineVerb({
  help: [
    'A policy replaces the one of the same kind and name; other policies are left alone. If any of the files has a problem, or if nothing differs, nothing is written.',
  ],
  examples: [
    'fleetgc policy apply policy.yaml --dry-run',
    'fleetgc policy apply policies/*.yaml --kafka-brokers kafka:9092 --trust off',
  ],
  options: z.object({
    ...policyFileOptions,
    dryRun: withMeta(Switch.prefault('false'), { description: 'Say what would change, and change nothing.' }),
    ...objectOptions,
    ...writingOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ files, dryRun, output, ...log }, context) => {
    const { logger, write, signal } = context;
    const written = requireValid(loadAnyPolicyFiles(files), logger, 'nothing was applied');
    const trust = await readOperatorTrust(log, signal);
    await using eventLog = await openTaskEventLog({ options: log, context });
    const writer = await openPolicyWriter(eventLog, trust, context, log);
    const { policies } = await readStoredPolicies(eventLog, signal);
    const unsigned = await unsignedStates(eventLog, writer.signer.counts, signal);
    const uncounted = new Set(unsigned.map(({ key }) => key));
    const changes = policyChanges(written.map(toAnyPolicyRecord), policies, uncounted);
    if (!dryRun) await writePolicies(writer, changes);
    await printObjects({ write }, output, {
      value: { dryRun, changes: changeValues(changes) },
      lines: changeLines(changes, dryRun),
      names: changes.map(({ record }) => policyKey(record)),
    });
    if (dryRun) logger.info('Dry run: nothing was changed.');
    const applied = changes.map(({ record }) => ({
      record,
      before: policies.get(policyKey(record)) ?? null,
    }));
    await warnOfDoubts(applied, { log: eventLog, logger }, signal);
  },
});
