import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Policy } from '../../schemas/policy.ts';
import { readPolicyFiles } from '../../services/policy/file.ts';
import { durationText, writtenYaml } from '../../services/policy/written-form.ts';
import { policy } from '../fixtures/policy.ts';

const name = fc.stringMatching(/^[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?$/);
const clusterName = fc.stringMatching(/^[A-Za-z0-9]([A-Za-z0-9._-]{0,20}[A-Za-z0-9])?$/);
const pattern = fc.string({ minLength: 1, maxLength: 20 }).filter((text) => !text.startsWith('!'));
const labelName = fc.string({ minLength: 1, maxLength: 10 }).filter((text) => text !== '__proto__');
const labels = fc.dictionary(labelName, fc.string({ maxLength: 10 }), {
  maxKeys: 3,
  noNullPrototype: true,
});
const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const thresholds = fc
  .uniqueArray(fc.integer({ min: 0, max: 100 }), { minLength: 2, maxLength: 2 })
  .map((pair) => pair.toSorted((a, b) => a - b));
const upTo = (max: number) => fc.integer({ min: 0, max });

const anyPolicy: fc.Arbitrary<Policy> = fc
  .record({
    name,
    priority: fc.integer(),
    clusters: fc.array(clusterName, { maxLength: 3 }),
    nodeNames: fc.array(pattern, { maxLength: 3 }),
    nodeLabels: labels,
    mode: fc.constantFrom('dry-run', 'enforce'),
    thresholds,
    imageMinimumGCAgeMs: fc.integer({ min: -1e12, max: 1e12 }).filter((ms) => ms !== 0),
    minimumContainerTTLMs: upTo(1e12),
    minimumCreatedContainerAgeMs: upTo(1e12),
    maximumDeadContainersPerContainer: int32,
    maximumDeadContainers: int32,
    patterns: fc.array(pattern, { maxLength: 3 }),
    digests: fc.array(fc.stringMatching(/^sha256:[0-9a-f]{64}$/), { maxLength: 2 }),
    keepLabels: labels,
    commandLifetimeMs: fc.integer({ min: 1_000, max: 600_000 }),
  })
  .map(
    ({
      clusters,
      nodeNames,
      nodeLabels,
      thresholds: [low = 0, high = 1],
      patterns,
      digests,
      keepLabels,
      ...same
    }) => ({
      ...same,
      profile: 'fleetgc' as const,
      selector: { clusters, nodeNames, nodeLabels },
      imageGCHighThresholdPercent: high,
      imageGCLowThresholdPercent: low,
      keep: { patterns, digests, labels: keepLabels },
    }),
  );

test('a policy that is written out and read again is the same', () => {
  fc.assert(
    fc.property(anyPolicy, (written) => {
      const files = readPolicyFiles([{ file: 'p.yaml', text: writtenYaml(written) }]);
      expect(files).toMatchObject({ valid: true, policies: [{ policy: written }] });
    }),
  );
});

test('a policy for every node has no selector', () => {
  expect(writtenYaml(policy())).not.toContain('selector');
});

test.each([
  { ms: 0, text: '0s' },
  { ms: 1, text: '1ms' },
  { ms: 1_000, text: '1s' },
  { ms: 90_000, text: '1m30s' },
  { ms: 3_600_000, text: '1h' },
  { ms: 3_661_001, text: '1h1m1s1ms' },
  { ms: -90_000, text: '-1m30s' },
])('$ms ms is written as $text', ({ ms, text }) => {
  expect(durationText(ms)).toBe(text);
});
