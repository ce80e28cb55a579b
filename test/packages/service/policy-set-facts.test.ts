import { expect, test } from 'vitest';
import type { Output } from '../../../packages/decision/handler.ts';
import { policySet, rebuiltPolicySet } from '../../../packages/decision/policy-set.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { createPolicySetFacts } from '../../../packages/service/decision-service.ts';
import type { PolicyRecord, PolicySet } from '../../../schemas/policy/policy.ts';
import { PolicySetRecord } from '../../../schemas/policy/policy-set.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { pauseRecord } from '../../fixtures/policy.ts';

const web = appliedPolicy({ name: 'web' });
const batch = appliedPolicy({ name: 'batch' });
const first = policySet('node', [web, batch], []);
const second = policySet('node', [web], [pauseRecord()]);

/** A log that notes what it takes and, while `refuses`, takes nothing. */
function telling() {
  const told: Output[] = [];
  const state = { set: first, refuses: false };
  const facts = createPolicySetFacts(() => state.set, {
    publish: async (outputs) => {
      if (state.refuses) throw new FleetGcError('LOG_UNREACHABLE', 'no broker');
      told.push(...outputs);
    },
  });
  return { told, state, facts };
}

const hashesOf = (told: readonly Output[]): readonly string[] => told.map(({ key }) => key);

async function toldOf(set: PolicySet): Promise<PolicySetRecord> {
  const { told, state, facts } = telling();
  state.set = set;
  facts.policies();
  await facts.tell();
  expect(told).toMatchObject([{ topic: 'policyVersions', key: set.hash }]);
  return PolicySetRecord.parse(told[0]?.event);
}

const finding =
  (...records: readonly PolicyRecord[]) =>
  (hash: string) =>
    records.find((record) => record.hash === hash);

test('a set is told with all that it takes to put it together again', async () => {
  expect(rebuiltPolicySet('node', await toldOf(first), finding(web, batch))).toEqual(first);
  expect(rebuiltPolicySet('node', await toldOf(second), finding(web, batch))).toEqual(second);
});

test('a content that was applied twice has the version that was in force', async () => {
  const again = policySet('node', [{ ...web, policyVersion: 3 }], []);
  expect(rebuiltPolicySet('node', await toldOf(again), finding(web))).toEqual(again);
});

test('a set with a policy that is not found, or that is not what its hash says, is none', async () => {
  const record = await toldOf(first);
  expect(rebuiltPolicySet('node', record, finding(web))).toBeNull();
  expect(rebuiltPolicySet('node', { ...record, pauses: [pauseRecord()] }, finding(web, batch))).toBeNull();
  expect(rebuiltPolicySet('node', { ...record, hash: second.hash }, finding(web, batch))).toBeNull();
});

test('each set once, also when it comes back, and none under which nothing was decided', async () => {
  const { told, state, facts } = telling();
  await facts.tell();
  expect(told).toEqual([]);
  for (const set of [first, first, second, first]) {
    state.set = set;
    facts.policies();
    await facts.tell();
  }
  expect(hashesOf(told)).toEqual([first.hash, second.hash]);
});

test('two decisions at once tell one set once, and both wait for it', async () => {
  const { told, facts } = telling();
  facts.policies();
  await Promise.all([facts.tell(), facts.tell()]);
  expect(hashesOf(told)).toEqual([first.hash]);
});

test('what the log did not take is told again', async () => {
  const { told, state, facts } = telling();
  facts.policies();
  state.refuses = true;
  await expect(facts.tell()).rejects.toMatchObject({ code: 'LOG_UNREACHABLE' });
  state.refuses = false;
  await facts.tell();
  expect(hashesOf(told)).toEqual([first.hash]);
});
