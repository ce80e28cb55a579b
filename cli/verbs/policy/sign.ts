import { z } from 'zod';
import {
  digestOf,
  signAgain,
  type UnsignedState,
  unsignedStates,
} from '../../../packages/policy/write-policies.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { Switch, withMeta } from '../../../packages/process/options/options.ts';
import { shortHash } from '../../../packages/text/short-hash.ts';
import { outputOptions, printResult, tableLines } from '../../framework/output.ts';
import { openPolicyWriter } from '../../framework/policy-writer.ts';
import { openTaskEventLog } from '../../framework/task-event-log.ts';
import { defineVerb } from '../../framework/verb.ts';
import { eventLogOptions } from '../../options/event-log-options.ts';
import { readOperatorTrust, signingOptions } from '../../options/trust-options.ts';

const Digest = z.string().regex(/^[0-9a-f]{64}$/, { error: 'must be 64 hexadecimal digits' });

export const verb = defineVerb({
  help: [
    'For a fleet on its way to --trust required, and after a key was stolen: everything on gc.policies whose signature does not count is written again as it is, signed with your key. You sign what somebody else may have written: so look at it with --dry-run and "policy show" first, and give the digest that --dry-run printed. If anything has changed since, nothing is signed.',
    'Records that cannot be read are left alone; apply or delete them.',
  ],
  examples: [
    'fleetgc policy sign --dry-run --trust warn --trust-roots roots.yaml --signing-key-file ops.pem --kafka-brokers kafka:9092',
    'fleetgc policy sign --expect "$DIGEST" --trust warn --trust-roots roots.yaml --signing-key-file ops.pem --kafka-brokers kafka:9092',
  ],
  options: z.object({
    dryRun: withMeta(Switch.prefault('false'), {
      commandLineOnly: true,
      description: 'Say what would be signed, and write nothing.',
    }),
    expect: withMeta(Digest.optional(), {
      commandLineOnly: true,
      placeholder: 'SHA256',
      description: 'What --dry-run printed: exactly that is signed.',
    }),
    all: withMeta(Switch.prefault('false'), {
      commandLineOnly: true,
      description: 'Also what carries a signature that counts, for example after an old record was put back.',
    }),
    ...outputOptions,
    ...signingOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ dryRun, expect, all, output, ...options }, context) => {
    if (!dryRun && expect === undefined) throw new FleetGcError('USAGE', LOOK_FIRST);
    const trust = await readOperatorTrust(options, context.signal);
    if (trust.kind === 'off' || trust.signing === null) throw new FleetGcError('USAGE', NO_KEY);
    await using log = await openTaskEventLog({ options, context });
    const writer = await openPolicyWriter(log, trust, context);
    const counts = all ? () => false : writer.signer.counts;
    const states = await unsignedStates(log, counts, context.signal);
    const digest = digestOf(states);
    if (!dryRun) {
      if (digest !== expect) throw new FleetGcError('USAGE', CHANGED);
      await signAgain(writer, states);
    }
    const signed = states.map(({ key, kind, sha256 }) => ({ key, kind, sha256 }));
    if (output !== 'table' || states.length > 0)
      await printResult(context, output, { value: { dryRun, digest, signed }, lines: lines(states, digest) });
    context.logger.info(closing(states.length, dryRun));
  },
});

const LOOK_FIRST =
  'look with --dry-run first, and give the digest that it prints: --expect SHA256. You sign what somebody else may have written';
const NO_KEY = 'there is nothing to sign with; give --trust, --trust-roots and --signing-key-file';
const CHANGED =
  'gc.policies holds something else now than what --expect stands for. Nothing was signed; look again with --dry-run';

const lines = (states: readonly UnsignedState[], digest: string): readonly string[] => [
  ...tableLines(
    ['KEY', 'KIND', 'SHA256'],
    states.map(({ key, kind, sha256 }) => [key, kind, shortHash(sha256)]),
  ),
  `digest: ${digest}`,
];

function closing(count: number, dryRun: boolean): string {
  if (count === 0) return 'Everything on gc.policies carries a signature that counts.';
  return dryRun ? 'Dry run: nothing was signed.' : 'Signed. What they say has not changed.';
}
