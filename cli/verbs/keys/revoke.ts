import { z } from 'zod';
import { withMeta } from '../../../packages/process/options/options.ts';
import { revocation } from '../../../packages/records/trust/statement.ts';
import { timeText } from '../../../packages/text/time-text.ts';
import { KeyId, KeyRevocation } from '../../../schemas/keys/key-statement.ts';
import { issueStatement } from '../../framework/policy-writer.ts';
import { defineVerb } from '../../framework/verb.ts';
import { eventLogOptions } from '../../options/event-log-options.ts';
import { rootOptions } from '../../options/key-options.ts';
import { LongDuration } from '../../options/time-options.ts';

export const verb = defineVerb({
  help: [
    'This is for good: the key can never be certified again. Orders that it signed count no more, from the moment at which nodes read this. Policies and pauses that it signed stay in force, unless the event log took them later than --stolen-for ago.',
    'Revoking a root also takes back every key that this root alone certified. Certify them with its successor first.',
  ],
  examples: [
    'fleetgc keys revoke 4f0c… --reason "laptop lost" --trust-roots roots.yaml --root-key-file root.pem --kafka-brokers kafka:9092',
    'fleetgc keys revoke 4f0c… --reason "seen in a paste" --stolen-for 7d --trust-roots roots.yaml --root-key-file root.pem --kafka-brokers kafka:9092',
  ],
  options: z.object({
    keyId: withMeta(KeyId, {
      positional: true,
      placeholder: 'ID',
      description: 'Id of the key, as "keys list" shows it.',
    }),
    reason: withMeta(KeyRevocation.shape.reason.min(1), {
      commandLineOnly: true,
      placeholder: 'TEXT',
      description: 'Why, for whoever reads it years later.',
    }),
    stolenFor: withMeta(LongDuration.optional(), {
      commandLineOnly: true,
      description:
        'For how long somebody else may have had the key: what it signed since then counts no more. Default: from now on.',
    }),
    ...rootOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ keyId, reason, stolenFor = 0, ...issuing }, context) => {
    const issuedAtMs = Date.now();
    const statement = revocation({ keyId, reason, issuedAtMs, untrustedFromMs: issuedAtMs - stolenFor });
    if (!(await issueStatement(statement, issuing, context))) return;
    context.print(
      `revoked: ${keyId}; what it signed since ${timeText(statement.untrustedFromMs)} counts no more`,
    );
  },
});
