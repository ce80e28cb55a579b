import { expect, test } from 'vitest';
import { approvalKey } from '../../../../schemas/policy/approval.ts';
import { type PolicyTopicRecord, pauseKey, policyKey } from '../../../../schemas/policy/policy.ts';
import { selectPolicy } from '../../../../schemas/policy/policy-selection.ts';
import { appliedPolicy } from '../../../fixtures/applied-policy.ts';
import { approval as approvalOf, approvedOwner } from '../../../fixtures/approval.ts';
import { clusterPolicyRecord } from '../../../fixtures/cluster.ts';
import { deletionRecord, EVERY_NODE, pauseRecord } from '../../../fixtures/policy.ts';
import { newKey } from '../../../fixtures/trust.ts';
import { ControlledCluster } from './support/controlled-cluster.ts';
import { GuardedLog } from './support/guarded-log.ts';

const within = (...clusters: string[]) => ({ ...EVERY_NODE, clusters });
/** As the attacker would have it: everything goes. */
const greedy = (name: string, clusters: string[], priority = -1_000) =>
  appliedPolicy({
    name,
    priority,
    selector: within(...clusters),
    imageGCHighThresholdPercent: 1,
    imageGCLowThresholdPercent: 0,
  });
const NODE_OF = (cluster: string) => ({ cluster, node: 'web-1', nodeLabels: {} });

/** A fleet with a careful policy for all, one that an operator of cluster b applied, and one that lies in cluster b. */
async function fleet() {
  const guarded = await GuardedLog.open();
  const b = await ControlledCluster.begin('b', guarded);
  b.write('web', { mode: 'dry-run' });
  await b.pass();
  await guarded.apply({ name: 'default', mode: 'dry-run' });
  await guarded.apply({ name: 'a.web', mode: 'dry-run', priority: -5, selector: within('a') });
  return { guarded, stolen: await guarded.controllerKey('a') };
}

const pauseOfAll = pauseRecord();
const approval = approvalOf(approvedOwner('u', 1));
const FORGED: Readonly<Record<string, { readonly key?: string; readonly event: PolicyTopicRecord }>> = {
  'a policy for another cluster': { event: greedy('b..web', ['b']) },
  'a policy of its own name for another cluster': { event: greedy('a..web', ['b']) },
  'a policy of its own name for two clusters': { event: greedy('a..web', ['a', 'b']) },
  'a policy of its own name for all': { event: greedy('a..web', []) },
  'a policy for all': { event: greedy('z', []) },
  'a policy in place of that of the fleet': { event: greedy('default', []) },
  'the same, for its own cluster': { event: greedy('default', ['a']) },
  'a policy in place of that of the operator of its cluster': { event: greedy('a.web', ['a']) },
  'a policy that comes before those of the fleet': { event: greedy('a..web', ['a'], -999) },
  'one with the highest priority': { event: greedy('a..web', ['a'], Number.MAX_SAFE_INTEGER) },
  'its own policy under another key': { key: 'default', event: greedy('a..web', ['a']) },
  'a policy of a longer name': { event: greedy('a..b..web', ['a']) },
  'the end of the policy of the fleet': { event: deletionRecord('default') },
  'the end of the policy of the operator of its cluster': { event: deletionRecord('a.web') },
  'the end of a policy of another cluster': { event: deletionRecord('b..web') },
  'the end of a policy under the key of its own': { key: 'a..web', event: deletionRecord('b..web') },
  'the end of a pause': { event: deletionRecord(pauseKey(EVERY_NODE)) },
  'a pause of all': { key: pauseKey(EVERY_NODE), event: pauseOfAll },
  'a pause of its own cluster': {
    key: pauseKey(within('a')),
    event: pauseRecord({ selector: within('a') }),
  },
  'an approval': { key: approvalKey(approval), event: approval },
  'the end of an approval': { event: deletionRecord(approvalKey(approval)) },
  'a policy for clusters': { event: clusterPolicyRecord({ name: 'a..web', selector: { clusters: ['a'] } }) },
};

const keyOfForged = ({ key, event }: (typeof FORGED)[string]): string => {
  if (key !== undefined) return key;
  if (event.type === 'fleetgc.policy-deletion') return event.key;
  return event.type === 'fleetgc.policy' || event.type === 'fleetgc.cluster-policy' ? policyKey(event) : '';
};

test.each(Object.entries(FORGED))(
  'the key of one cluster is not believed when it says %s',
  async (_what, forged) => {
    const { guarded, stolen } = await fleet();
    const before = await guarded.stored();
    await guarded.forge(stolen, keyOfForged(forged), forged.event);
    const after = await guarded.stored();
    const told = [...after.unreadable, ...after.unreadableApprovals].map(({ message }) => message);
    expect(told).toHaveLength(1);
    // Whatever counts now counted before: what the forgery took the place of holds everything until somebody writes it again.
    for (const [key, policy] of after.policies) expect(policy).toEqual(before.policies.get(key));
    expect(after.pauses.size).toBe(0);
    expect(after.approvals.size).toBe(0);
  },
);

test.each(['a', 'b'])(
  'nobody in cluster %s follows what was forged, and the operators write theirs again',
  async (cluster) => {
    const { guarded, stolen } = await fleet();
    for (const forged of Object.values(FORGED))
      await guarded.forge(stolen, keyOfForged(forged), forged.event);
    const { sets } = await guarded.stored();
    const holding = selectPolicy(sets.node, NODE_OF(cluster));
    if (holding.kind === 'policy') expect(holding.record.policy.mode).toBe('dry-run');
    await guarded.apply({ name: 'default', mode: 'dry-run', priority: 7 });
    const again = selectPolicy((await guarded.stored()).sets.node, NODE_OF(cluster));
    expect(again).toMatchObject({ kind: 'policy', record: { policy: { name: 'default', priority: 7 } } });
  },
);

test('what it may say it can say: a policy of its cluster, which gives way, and the end of it', async () => {
  const { guarded, stolen } = await fleet();
  await guarded.forge(stolen, 'a..web', greedy('a..web', ['a']));
  const { policies, unreadable, sets } = await guarded.stored();
  expect([policies.has('a..web'), unreadable]).toEqual([true, []]);
  expect(selectPolicy(sets.node, NODE_OF('a'))).toMatchObject({ record: { policy: { name: 'default' } } });
  await guarded.forge(stolen, 'a..web', deletionRecord('a..web'));
  expect((await guarded.stored()).policies.has('a..web')).toBe(false);
});

test('a certificate for no cluster, or for two, is none', async () => {
  const guarded = await GuardedLog.open();
  for (const clusters of [[], ['a', 'b']]) {
    const key = newKey();
    await guarded.certify(key, 'policy-controller', clusters);
    await guarded.forge(key, 'a..web', greedy('a..web', ['a']));
    expect((await guarded.stored()).policies.size).toBe(0);
  }
});
