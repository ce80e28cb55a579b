import { describe, expect, test } from 'vitest';
import { policySet, policySetRecord, rebuiltPolicySet } from '../../../packages/decision/policy-set.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { pauseRecord } from '../../fixtures/policy.ts';

const a = appliedPolicy({ name: 'a' });
const b = appliedPolicy({ name: 'b' });
const here = pauseRecord({ selector: { clusters: ['prod'], nodeNames: [], pools: [], nodeLabels: {} } });
const everywhere = pauseRecord();

test('the order of arrival changes nothing', () => {
  expect(policySet('node', [b, a], [here, everywhere])).toEqual(
    policySet('node', [a, b], [everywhere, here]),
  );
  expect(policySet('node', [b, a], []).policies).toEqual([a, b]);
});

test.each([
  ['another policy', policySet('node', [a, b], [])],
  ['another content', policySet('node', [appliedPolicy({ name: 'a', priority: 1 })], [])],
  ['another version of the same content', policySet('node', [{ ...a, policyVersion: 3 }], [])],
  ['another name', policySet('node', [{ ...a, policy: { ...a.policy, name: 'c' } }], [])],
  ['a pause', policySet('node', [a], [everywhere])],
  ['no policy', policySet('node', [], [])],
])('%s is another hash', (_name, other) => {
  expect(other.hash).toMatch(/^[0-9a-f]{64}$/);
  expect(other.hash).not.toBe(policySet('node', [a], []).hash);
});

test('how a policy was written does not count, only what it means', () => {
  expect(policySet('node', [{ ...a, id: 'other', source: '# other' }], []).hash).toBe(
    policySet('node', [a], []).hash,
  );
});

describe('a set that is put together from the fact that tells of it', () => {
  const set = policySet('node', [b, { ...a, policyVersion: 4 }], [here, everywhere]);
  const told = policySetRecord(set);
  const find = (hash: string) => [a, b].find((each) => each.hash === hash);

  test('is the set, with the versions that were in force', () => {
    expect(rebuiltPolicySet('node', told, find)).toEqual(set);
    expect(told).toMatchObject({
      type: 'fleetgc.policy-set',
      version: 1,
      hash: set.hash,
      policies: [
        { name: 'a', policyVersion: 4, hash: a.hash },
        { name: 'b', policyVersion: 1, hash: b.hash },
      ],
      pauses: set.pauses,
    });
  });

  test('the fact has one id for each set', () => {
    expect(policySetRecord(policySet('node', [{ ...a, policyVersion: 4 }, b], [everywhere, here])).id).toBe(
      told.id,
    );
    expect(policySetRecord(policySet('node', [a], [])).id).not.toBe(told.id);
  });

  test.each([
    { name: 'one of its policies is not found', fact: told, known: [a] },
    { name: 'it has another hash', fact: { ...told, hash: 'f'.repeat(64) }, known: [a, b] },
    {
      name: 'it tells of fewer policies',
      fact: { ...told, policies: told.policies.slice(1) },
      known: [a, b],
    },
    { name: 'it tells of fewer pauses', fact: { ...told, pauses: [] }, known: [a, b] },
  ])('is none where $name', ({ fact, known }) => {
    expect(rebuiltPolicySet('node', fact, (hash) => known.find((each) => each.hash === hash))).toBeNull();
  });
});

test('two pauses of the same nodes have an order of their own too', () => {
  const twice = [pauseRecord({ id: 'pause-2' }), pauseRecord({ id: 'pause-1' })];
  const set = policySet('node', [], twice);
  expect(set.pauses.map(({ id }) => id)).toEqual(['pause-1', 'pause-2']);
  expect(policySet('node', [], twice.toReversed())).toEqual(set);
});
