import { z } from 'zod';
import { DAY_MS } from '../../../packages/process/durations.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { withMeta } from '../../../packages/process/options/options.ts';
import { readKeys } from '../../../packages/records/trust/key-source.ts';
import { keyProblems, readPrivateKey } from '../../../packages/records/trust/private-key.ts';
import { readTrustRoots } from '../../../packages/records/trust/roots-file.ts';
import { counted } from '../../../packages/text/counted.ts';
import { printableLine } from '../../../packages/text/printable.ts';
import { KeyRole } from '../../../schemas/keys/key-statement.ts';
import { outputOptions, printResult } from '../../framework/output.ts';
import { openTaskEventLog } from '../../framework/task-event-log.ts';
import { defineVerb } from '../../framework/verb.ts';
import { eventLogOptions } from '../../options/event-log-options.ts';
import { trustRootsOption } from '../../options/key-options.ts';
import { LongDuration } from '../../options/time-options.ts';
import { checkedKeyOptions, privateKeySource } from '../../options/trust-options.ts';

const SOON_MS = 14 * DAY_MS;

export const verb = defineVerb({
  help: [
    'Checks the file of roots, a private key if one is named, and what gc.keys says: keys that have ended or end soon, records that no root made, no key left for a role.',
    'Exit codes: 0 nothing found, 1 something found, 2 wrong options or files.',
  ],
  examples: [
    'fleetgc keys check --trust-roots roots.yaml --kafka-brokers kafka:9092',
    'fleetgc keys check --key-file decider.pem --role decider --trust-roots roots.yaml --kafka-brokers kafka:9092',
  ],
  options: z.object({
    ...checkedKeyOptions,
    role: withMeta(KeyRole.optional(), {
      commandLineOnly: true,
      description: 'What that key is to sign.',
    }),
    within: withMeta(LongDuration.optional(), {
      commandLineOnly: true,
      description: 'A key that ends within this time is a problem. Default: 14d.',
    }),
    ...trustRootsOption,
    ...outputOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ keyFile, keyCommand, role, within = SOON_MS, trustRoots, output, ...options }, context) => {
    const roots = readTrustRoots(trustRoots);
    const source = privateKeySource(keyFile, keyCommand, 'keyFile');
    const own = source && { key: await readPrivateKey(source, context.signal), role: role ?? null };
    await using log = await openTaskEventLog({ options, context });
    const stored = await readKeys(log, roots, context.signal);
    const problems = keyProblems(stored, { own, nowMs: Date.now(), soonMs: within });
    const lines = problems.length === 0 ? ['no problem found'] : problems.map(printableLine);
    await printResult(context, output, { value: { problems }, lines });
    if (problems.length > 0)
      throw new FleetGcError('KEY_PROBLEM', `${counted(problems.length, 'problem')} found`);
  },
});
