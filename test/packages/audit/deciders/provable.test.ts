import { expect, test } from 'vitest';
import { findDecider } from '../../../../packages/audit/deciders/deciders.ts';
import { canonicalJson } from '../../../../packages/canonical/ids.ts';
import { policySet, rebuiltPolicySet } from '../../../../packages/decision/policy-set.ts';
import { writePolicies } from '../../../../packages/policy/write-policies.ts';
import { UNSIGNED_STATE } from '../../../../packages/records/trust/state-signer.ts';
import { Decision } from '../../../../schemas/events/decision.ts';
import { PolicyRecord } from '../../../../schemas/policy/policy.ts';
import { PolicySetRecord } from '../../../../schemas/policy/policy-set.ts';
import { appliedPolicy } from '../../../fixtures/applied-policy.ts';
import { image, inventory } from '../../../fixtures/inventory.ts';
import { EVERY_NODE, pauseRecord } from '../../../fixtures/policy.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { bodyOf, decisionLog, fact } from '../../../support/logs/decision-log.ts';
import { NOW_MS, TRACEPARENT } from '../../../support/logs/log-record.ts';
import { outputHash } from '../../../support/output-hash.ts';

const POLICIES = [appliedPolicy({ name: 'web' }), appliedPolicy({ name: 'batch', priority: -1 })];
const PAUSES = [pauseRecord({ selector: { ...EVERY_NODE, clusters: ['elsewhere'] } })];

/** The set of policies of this hash, from what a log holds for ever. */
function rebuilt(bodies: readonly unknown[], setHash: string) {
  const sets = bodies.flatMap((body) => PolicySetRecord.safeParse(body).data ?? []);
  const versions = bodies.flatMap((body) => PolicyRecord.safeParse(body).data ?? []);
  const told = sets.find(({ hash }) => hash === setHash);
  const set = told && rebuiltPolicySet('node', told, (hash) => versions.find((each) => each.hash === hash));
  if (!set) throw new Error('the set of policies cannot be put together');
  return set;
}

test('what a service decided is decided again from the log alone, byte for byte', async () => {
  const { deps, start, publish, records } = await decisionLog(() => policySet('node', POLICIES, PAUSES));
  const publication = { source: '/fleetgc/operator', nowMs: NOW_MS, trace: { traceparent: TRACEPARENT } };
  await writePolicies(
    { signer: UNSIGNED_STATE, log: deps.log, publication },
    POLICIES.map((record) => ({ kind: 'created', record })),
  );
  await start('image-gc');
  await publish(fact('inventory', inventory({ images: [image('a'), image('b')], reclaim: reclaim() })));
  const outputs = [...(await records('decisions', 1)), ...(await records('commands', 1))].map(bodyOf);

  const record = Decision.parse(outputs[0]);
  const [given] = await records('inventory', 1);
  const policies = rebuilt((await records('policyVersions', 3)).map(bodyOf), record.policySetHash);
  const decider = await findDecider(record.decider.name, record.decider.version);
  const message = JSON.parse(given?.value?.toString('utf8') ?? '');
  const again = decider?.decide(decider.read(message), record.input, policies);
  expect(again?.map(({ text }) => text)).toEqual(outputs.map((output) => canonicalJson(output)));
  expect(record.outputSha256).toBe(outputHash(outputs.map((output) => Object(output))));
});
