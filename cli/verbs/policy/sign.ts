import { z } from 'zod';
import { signAgain, type UnsignedState, unsignedStates } from '../../../packages/policy/sign-again.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { Switch, withMeta } from '../../../packages/process/options/options.ts';
import { formatResult, outputOptions, tableLines } from '../../framework/output.ts';
import { openPolicyWriter } from '../../framework/policy-writer.ts';
import { openTaskEventLog } from '../../framework/task-event-log.ts';
import { defineVerb } from '../../framework/verb.ts';
import { eventLogOptions } from '../../options/event-log-options.ts';
import { readSigningTrust, signingOptions } from '../../options/trust-options.ts';

export const verb = defineVerb({
  help: [
    'For a fleet on its way to --trust required, and after a key was stolen: everything on gc.policies whose signature does not count is written again as it is, signed with your key. Look at it first, with --dry-run and "policy show": you sign what somebody else may have written.',
    'Records that cannot be read are left alone; apply or delete them.',
  ],
  examples: [
    'fleetgc policy sign --dry-run --trust warn --trust-roots roots.yaml --signing-key-file ops.pem --kafka-brokers kafka:9092',
    'fleetgc policy sign --trust warn --trust-roots roots.yaml --signing-key-file ops.pem --kafka-brokers kafka:9092',
  ],
  options: z.object({
    dryRun: withMeta(Switch.prefault('false'), {
      commandLineOnly: true,
      description: 'Say what would be signed, and write nothing.',
    }),
    ...outputOptions,
    ...signingOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ dryRun, output, ...options }, context) => {
    const trust = readSigningTrust(options);
    if (trust.kind === 'off' || trust.signingKey === null)
      throw new FleetGcError(
        'USAGE',
        'there is nothing to sign with; give --trust, --trust-roots and --signing-key-file',
      );
    await using log = await openTaskEventLog({ options, context });
    const writer = await openPolicyWriter(log, trust, context);
    const states = await unsignedStates(log, writer, context.signal);
    if (!dryRun) await signAgain(writer, states);
    const value = { dryRun, signed: states.map(({ key, kind }) => ({ key, kind })) };
    if (output !== 'table' || states.length > 0)
      context.print(formatResult(output, { value, lines: lines(states) }));
    context.logger.info(closing(states.length, dryRun));
  },
});

const lines = (states: readonly UnsignedState[]): readonly string[] =>
  tableLines(
    ['KEY', 'KIND'],
    states.map(({ key, kind }) => [key, kind]),
  );

function closing(count: number, dryRun: boolean): string {
  if (count === 0) return 'Everything on gc.policies carries a signature that counts.';
  return dryRun ? 'Dry run: nothing was signed.' : 'Signed. What they say has not changed.';
}
