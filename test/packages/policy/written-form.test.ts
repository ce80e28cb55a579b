import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readPolicyFiles } from '../../../packages/policy/file/read-policy-file.ts';
import { writtenYaml } from '../../../packages/policy/file/written-form.ts';
import { EvictionSignal, type EvictionThreshold } from '../../../schemas/policy/eviction.ts';
import { clusterOfKubernetesPolicy } from '../../../schemas/policy/kubernetes-policies.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { durationText, quantityText } from '../../../schemas/policy/value-text.ts';
import { policy } from '../../fixtures/policy.ts';

const name = fc.stringMatching(/^[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?$/);
const clusterName = fc.stringMatching(/^[A-Za-z0-9]([A-Za-z0-9._-]{0,20}[A-Za-z0-9])?$/);
/** Without what has no meaning in a pattern. */
const plain = fc.string({ maxLength: 20 }).filter((text) => !/[()[\]{}|\\]/.test(text));
const wildcard = fc.constantFrom('', '*', '**', '?');
const pattern = fc
  .tuple(plain, wildcard, plain)
  .map((parts) => parts.join(''))
  .filter((text) => text !== '' && !text.startsWith('!'));
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

const uint = fc.bigInt({ min: 1n, max: 2n ** 63n - 1n });
const quantity = uint.map((value) => ({ quantity: String(value) }));
const percentage = fc.double({ min: 1e-3, max: 100, noNaN: true }).map((percent) => ({ percent }));
const anyThresholds: fc.Arbitrary<EvictionThreshold[]> = fc
  .uniqueArray(
    fc.record({
      signal: fc.constantFrom(...EvictionSignal.options),
      kind: fc.constantFrom('hard', 'soft'),
      value: fc.oneof(quantity, percentage, fc.constantFrom({ percent: 0 }, { percent: 100 })),
      gracePeriodMs: upTo(7_080_000),
    }),
    { selector: ({ signal, kind }) => `${kind} ${signal}` },
  )
  .chain((thresholds) =>
    fc.dictionary(fc.constantFrom(...EvictionSignal.options), fc.oneof(quantity, percentage)).map((reclaim) =>
      (['hard', 'soft'] as const).flatMap((kind) =>
        EvictionSignal.options.flatMap((signal) =>
          thresholds
            .filter((threshold) => threshold.kind === kind && threshold.signal === signal)
            .map((threshold) => ({
              ...threshold,
              gracePeriodMs: kind === 'hard' ? 0 : threshold.gracePeriodMs,
              minimumReclaim: reclaim[signal] ?? null,
            })),
        ),
      ),
    ),
  );
const inOrder = fc.tuple(uint, uint).filter(([a, b]) => a < b);
const ofProfile = fc.oneof(
  fc.record({
    profile: fc.constant('kubelet' as const),
    imageGCAvailable: fc.constant(null),
    imageGCInodes: fc.constant(null),
    minimumCreatedContainerAgeMs: fc.constant(300_000),
    maximumDeadContainerAgeMs: fc.constant(null),
    imageMaximumGCAgeMs: fc.constant(0),
  }),
  fc.record({
    profile: fc.constant('fleetgc' as const),
    imageGCAvailable: fc.option(
      inOrder.map(([start, until]) => ({ startBelowBytes: String(start), untilBytes: String(until) })),
    ),
    imageGCInodes: fc.option(
      thresholds.map(([low = 0, high = 1]) => ({ highThresholdPercent: high, lowThresholdPercent: low })),
    ),
    minimumCreatedContainerAgeMs: upTo(1e12),
    maximumDeadContainerAgeMs: fc.option(fc.integer({ min: 1, max: 1e12 })),
    imageMaximumGCAgeMs: upTo(1e12),
  }),
);

const anyPolicy: fc.Arbitrary<Policy> = fc
  .record({
    // What lies in Kubernetes comes from no file.
    name: name.filter((each) => clusterOfKubernetesPolicy(each) === null),
    priority: fc.integer(),
    clusters: fc.array(clusterName, { maxLength: 3 }),
    nodeNames: fc.array(pattern, { maxLength: 3 }),
    pools: fc.array(fc.string({ minLength: 1, maxLength: 9 }), { maxLength: 3 }),
    nodeLabels: labels,
    ofProfile,
    evictionThresholds: anyThresholds,
    forcedGC: fc.boolean(),
    namespaces: fc.array(fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,9}[a-z0-9])?$/), { maxLength: 2 }),
    unpullable: fc.boolean(),
    lastVersions: upTo(9),
    mode: fc.constantFrom('dry-run', 'enforce'),
    thresholds,
    imageMinimumGCAgeMs: fc.integer({ min: -1e12, max: 1e12 }).filter((ms) => ms !== 0),
    minimumContainerTTLMs: upTo(1e12),
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
      pools,
      nodeLabels,
      ofProfile: settings,
      namespaces,
      unpullable,
      lastVersions,
      thresholds: [low = 0, high = 1],
      patterns,
      digests,
      keepLabels,
      ...same
    }) => ({
      ...same,
      ...settings,
      selector: { clusters, nodeNames, pools, nodeLabels },
      imageGCHighThresholdPercent: high,
      imageGCLowThresholdPercent: low,
      keep: { patterns, digests, labels: keepLabels, namespaces, unpullable, lastVersions },
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

test.each([
  { digits: '0', text: '0' },
  { digits: '1023', text: '1023' },
  { digits: '1024', text: '1Ki' },
  { digits: '53687091200', text: '50Gi' },
  { digits: '9007199254740993', text: '9007199254740993' },
])('$digits is written as $text', ({ digits, text }) => {
  expect(quantityText(digits)).toBe(text);
});
