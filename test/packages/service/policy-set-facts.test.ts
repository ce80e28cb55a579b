import { expect, test } from 'vitest';
import type { Output } from '../../../packages/decision/handler.ts';
import { policySet, rebuiltPolicySet } from '../../../packages/decision/policy-set.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { createPolicySetFacts } from '../../../packages/service/decision-writing.ts';
import type { PolicyRecord, PolicySet } from '../../../schemas/policy/policy.ts';
import { PolicySetRecord } from '../../../schemas/policy/policy-set.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { pauseRecord } from '../../fixtures/policy.ts';

const web = appliedPolicy({ name: 'web' });
const batch = appliedPolicy({ name: 'batch' });
const first = policySet('node', [web, batch], []);
const second = policySet('node', [web], [pauseRecord()]);

/** A log that notes what it takes and, while `refuses`, takes nothing. */
function reporting() {
  const reported: Output[] = [];
  const state = { set: first, refuses: false };
  const facts = createPolicySetFacts(() => state.set, {
    publish: async (outputs) => {
      if (state.refuses) throw new FleetGcError('LOG_UNREACHABLE', 'no broker');
      reported.push(...outputs);
    },
  });
  return { reported, state, facts };
}

const hashesOf = (reported: readonly Output[]): readonly string[] => reported.map(({ key }) => key);

async function reportedOf(set: PolicySet): Promise<PolicySetRecord> {
  const { reported, state, facts } = reporting();
  state.set = set;
  facts.policies();
  await facts.publish();
  expect(reported).toMatchObject([{ topic: 'policyVersions', key: set.hash }]);
  return PolicySetRecord.parse(reported[0]?.event);
}

const finding =
  (...records: readonly PolicyRecord[]) =>
  (hash: string) =>
    records.find((record) => record.hash === hash);

test('a set is told with all that it takes to put it together again', async () => {
  expect(rebuiltPolicySet('node', await reportedOf(first), finding(web, batch))).toEqual(first);
  expect(rebuiltPolicySet('node', await reportedOf(second), finding(web, batch))).toEqual(second);
});

test('a content that was applied twice has the version that was in force', async () => {
  const again = policySet('node', [{ ...web, policyVersion: 3 }], []);
  expect(rebuiltPolicySet('node', await reportedOf(again), finding(web))).toEqual(again);
});

test('a set with a policy that is not found, or that is not what its hash says, is none', async () => {
  const record = await reportedOf(first);
  expect(rebuiltPolicySet('node', record, finding(web))).toBeNull();
  expect(rebuiltPolicySet('node', { ...record, pauses: [pauseRecord()] }, finding(web, batch))).toBeNull();
  expect(rebuiltPolicySet('node', { ...record, hash: second.hash }, finding(web, batch))).toBeNull();
});

test('each set once, also when it comes back, and none under which nothing was decided', async () => {
  const { reported, state, facts } = reporting();
  await facts.publish();
  expect(reported).toEqual([]);
  for (const set of [first, first, second, first]) {
    state.set = set;
    facts.policies();
    await facts.publish();
  }
  expect(hashesOf(reported)).toEqual([first.hash, second.hash]);
});

test('two decisions at once tell one set once, and both wait for it', async () => {
  const { reported, facts } = reporting();
  facts.policies();
  await Promise.all([facts.publish(), facts.publish()]);
  expect(hashesOf(reported)).toEqual([first.hash]);
});

test('of sets that wait for a log that takes none the newest are kept', async () => {
  const { reported, state, facts } = reporting();
  const sets = Array.from({ length: 40 }, (_, index) =>
    policySet('node', [appliedPolicy({ name: `policy-${index}` })], []),
  );
  for (const set of [...sets, first]) {
    state.set = set;
    facts.policies();
    state.set = first;
    facts.policies();
  }
  await facts.publish();
  const told = hashesOf(reported);
  expect(told).toHaveLength(16);
  expect(told).toContain(first.hash);
  expect(told).toContain(sets.at(-1)?.hash);
  expect(told).not.toContain(sets[0]?.hash);
});

test('where nothing is published nobody keeps what nobody is told', async () => {
  const policies = () => first;
  const facts = createPolicySetFacts(policies, null);
  expect(facts.policies).toBe(policies);
  await facts.publish();
});

test('what the log did not take is told again', async () => {
  const { reported, state, facts } = reporting();
  facts.policies();
  state.refuses = true;
  await expect(facts.publish()).rejects.toMatchObject({ code: 'LOG_UNREACHABLE' });
  state.refuses = false;
  await facts.publish();
  expect(hashesOf(reported)).toEqual([first.hash]);
});
