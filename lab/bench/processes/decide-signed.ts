import { startDecider } from '../../../services/deciders/run.ts';
/**
 * An image-gc that follows keys, signs what it orders, and verifies a signature of each inventory before it is parsed; all else
 * is as in the service.
 */

import { KafkaOptions } from '../../../packages/log/kafka/client/options.ts';
import { openKafkaLog } from '../../../packages/log/kafka.ts';
import { startPolicySource } from '../../../packages/policy/policies.ts';
import { createMetrics } from '../../../packages/process/metrics.ts';
import { systemSources } from '../../../packages/process/system-sources.ts';
import { readKeyFile } from '../../../packages/records/trust/private-key.ts';
import { startTrust } from '../../../packages/records/trust/process-trust.ts';
import { readTrustRoots } from '../../../packages/records/trust/roots-file.ts';
import { SeenGenerations } from '../../../packages/records/trust/seen-generations.ts';
import { claimedSignature, isSignedBy } from '../../../packages/records/trust/signature.ts';
import { distrustOf, type Trust } from '../../../packages/records/trust/trust.ts';
import { logContext } from '../context.ts';
import type { ScriptArguments } from './arguments.ts';

const [, , argument = ''] = process.argv;
const settings: ScriptArguments['decide-signed'] = JSON.parse(argument);
const { broker, rootsFile, deciderKeyFile, nodePublicKey } = settings;
const { logger } = logContext;
const { now, monotonicNow, random, wait, traceIds: ids } = systemSources;
const metrics = createMetrics();
const log = await openKafkaLog(
  KafkaOptions.parse({ kind: 'kafka', brokers: [broker], clientId: 'decide-signed' }),
  logContext,
);
const sources = { now: monotonicNow, random, wait };
const roots = readTrustRoots(rootsFile);
const key = readKeyFile(deciderKeyFile);
const seen = new SeenGenerations();
const started = startTrust({
  choice: {
    kind: 'required',
    roots,
    facts: 'off',
    seen,
    learnsFrom: null,
    signing: {
      key,
      role: 'decider',
      subject: null,
      read: async () => key,
      everyMs: 86_400_000,
      onReload: () => () => undefined,
    },
  },
  log,
  logger,
  metrics,
  sources,
  nowMs: now,
});

/** What the product does for orders and policies, and the same for inventories. */
const trust: Trust = {
  authenticate: (topic, record) => {
    if (topic !== 'inventory') return started.trust.authenticate(topic, record);
    const claimed = claimedSignature(record.headers);
    return claimed.kind === 'claimed' && isSignedBy(nodePublicKey, roots.fleet, record, claimed.signature)
      ? { ok: true, principal: { kind: 'unauthenticated' } }
      : { ok: false, distrust: distrustOf('changed', 'an inventory without its signature') };
  },
  objectionToHeaders: () => null,
  objectionTo: (...order) => started.trust.objectionTo(...order),
};
const policies = startPolicySource({
  trust,
  seen,
  log,
  logger,
  metrics,
  recheckMs: null,
  sources,
  startsAfter: started.keys?.caughtUp,
});
await policies.caughtUp;
await startDecider('image-gc', {
  log,
  policies: policies.current.node,
  trust,
  signer: started.signer,
  heads: null,
  logger,
  metrics,
  ids,
  now,
  monotonicNow,
});
process.once('SIGTERM', async () => {
  await log[Symbol.asyncDispose]();
  process.exit();
});
process.stdout.write('ready\n');
