import { expect, test } from 'vitest';
import { effectivePolicy, settingOrigins } from '../../../packages/policy/effective.ts';
import { readPolicyFiles } from '../../../packages/policy/file/read-policy-file.ts';
import { toPolicyRecord } from '../../../packages/policy/policy-changes.ts';
import type { PolicyRecord, PolicySet } from '../../../schemas/policy/policy.ts';
import { selectPolicy } from '../../../schemas/policy/policy-selection.ts';
import { EVERY_NODE, pauseRecord } from '../../fixtures/policy.ts';

const APPLIED = { isApplied: true };
const NODE = { cluster: 'prod', node: 'web-1', nodeLabels: {} };

function recordsOf(text: string): readonly PolicyRecord[] {
  const files = readPolicyFiles([{ file: 'p.yaml', text }]);
  if (!files.valid) throw new Error(files.problems.map(({ message }) => message).join('; '));
  return files.policies.map(toPolicyRecord);
}
const recordOf = (...lines: readonly string[]): PolicyRecord => {
  const [record] = recordsOf(['name: web', 'mode: enforce', ...lines, ''].join('\n'));
  if (!record) throw new Error('no policy');
  return record;
};
const set = (policies: readonly PolicyRecord[], pauses: PolicySet['pauses'] = []): PolicySet => ({
  subject: 'node',
  policies,
  pauses,
  approvals: [],
  hash: '',
});
const originOf = (record: PolicyRecord, setting: string) =>
  settingOrigins(record).find((one) => one.setting === setting);

test.each<{ setting: string; lines: string[]; value: unknown; origin: object }>([
  { setting: 'mode', lines: [], value: 'enforce', origin: { kind: 'written', line: 2 } },
  { setting: 'profile', lines: [], value: 'fleetgc', origin: { kind: 'profile' } },
  { setting: 'imageGCHighThresholdPercent', lines: [], value: 85, origin: { kind: 'kubelet-configuration' } },
  {
    setting: 'imageGCHighThresholdPercent',
    lines: ['priority: 1', 'imageGCHighThresholdPercent: 85'],
    value: 85,
    origin: { kind: 'written', line: 4 },
  },
  { setting: 'maximumDeadContainers', lines: [], value: -1, origin: { kind: 'kubelet-flag' } },
  { setting: 'commandLifetime', lines: [], value: '1m', origin: { kind: 'profile' } },
  { setting: 'maximumDeadContainerAge', lines: [], value: null, origin: { kind: 'profile' } },
  { setting: 'keep.unpullable', lines: ['profile: kubelet'], value: false, origin: { kind: 'profile' } },
  {
    setting: 'keep.images',
    lines: ['keep:', '  labels: {a: b}', '  images: [x/**]'],
    value: ['x/**'],
    origin: { kind: 'written', line: 5 },
  },
  { setting: 'keep.digests', lines: ['keep:', '  labels: {a: b}'], value: [], origin: { kind: 'profile' } },
  {
    setting: 'imageMinimumGCAge',
    lines: ['imageMinimumGCAge: 0s'],
    value: '2m',
    origin: { kind: 'kubelet-configuration' },
  },
  {
    setting: 'evictionHard.nodefs.available',
    lines: [],
    value: '10%',
    origin: { kind: 'kubelet-configuration' },
  },
  {
    setting: 'evictionHard.nodefs.available',
    lines: ['evictionHard: {imagefs.available: 20%}'],
    value: null,
    origin: { kind: 'written', line: 3 },
  },
  {
    setting: 'evictionHard.nodefs.available',
    lines: ['evictionHard: {imagefs.available: 20%}', 'mergeDefaultEvictionSettings: true'],
    value: '10%',
    origin: { kind: 'kubelet-configuration', mergedByLine: 4 },
  },
  {
    setting: 'evictionHard.imagefs.available',
    lines: ['evictionHard: {imagefs.available: 20%}', 'mergeDefaultEvictionSettings: true'],
    value: '20%',
    origin: { kind: 'written', line: 3 },
  },
  {
    setting: 'evictionHard.nodefs.available',
    lines: ['mergeDefaultEvictionSettings: true'],
    value: '10%',
    origin: { kind: 'kubelet-configuration' },
  },
  {
    setting: 'imageGCHighThresholdPercent',
    lines: ['evictionHard: {imagefs.available: 20%}', 'mergeDefaultEvictionSettings: true'],
    value: 85,
    origin: { kind: 'kubelet-configuration' },
  },
  {
    setting: 'evictionHard.imagefs.available',
    lines: ['evictionHard:', '  imagefs.available: 20%'],
    value: '20%',
    origin: { kind: 'written', line: 4 },
  },
  {
    setting: 'evictionSoftGracePeriod.nodefs.available',
    lines: ['evictionSoft: {nodefs.available: 20%}', 'evictionSoftGracePeriod: {nodefs.available: 90s}'],
    value: '1m30s',
    origin: { kind: 'written', line: 4 },
  },
  { setting: 'evictionSoft', lines: [], value: null, origin: { kind: 'kubelet-configuration' } },
])('[B3, B14] $setting with $lines is $value, from $origin', ({ setting, lines, value, origin }) => {
  expect(originOf(recordOf(...lines), setting)).toEqual({ setting, value, origin });
});

test('a default that this release does not have any more came from the release that applied it', () => {
  const record = recordOf();
  const older = { ...record, policy: { ...record.policy, imageGCHighThresholdPercent: 90 } };

  expect(originOf(older, 'imageGCHighThresholdPercent')).toMatchObject({
    value: 90,
    origin: { kind: 'when-applied' },
  });
  expect(originOf(older, 'imageGCLowThresholdPercent')).toMatchObject({
    origin: { kind: 'kubelet-configuration' },
  });
});

test.each([{ source: '' }, { source: '"' }])('without the text %j no origin is made up', ({ source }) => {
  const origins = settingOrigins({ ...recordOf(), source }).map(({ origin }) => origin.kind);
  expect(new Set(origins)).toEqual(new Set(['unknown']));
});

const SEVERAL = `name: web
mode: enforce
priority: 10
selector: {clusters: [prod]}
---
name: all
mode: dry-run
---
name: zz
mode: dry-run
priority: 10
---
name: db
mode: dry-run
priority: 99
selector: {nodeNames: ["db-*"]}
`;

test('of the policies that do not hold each has its reason', () => {
  const { record, otherPolicies } = effectivePolicy(set(recordsOf(SEVERAL)), NODE, APPLIED);

  expect(record?.policy.name).toBe('web');
  expect(otherPolicies.map(({ record: { policy }, reason }) => [policy.name, reason])).toEqual([
    ['all', { kind: 'lower-priority', than: 'web' }],
    ['zz', { kind: 'later-by-name', than: 'web' }],
    [
      'db',
      {
        kind: 'does-not-select',
        unmet: [{ setting: 'selector.nodeNames', wants: 'db-*', has: 'web-1' }],
      },
    ],
  ]);
});

test('a pause is told beside the policy that would hold, and one of other nodes with what speaks against it', () => {
  const here = pauseRecord({ selector: { ...EVERY_NODE, clusters: ['prod'] } });
  const there = pauseRecord({ selector: { ...EVERY_NODE, pools: ['gpu'] } });
  const policies = set(recordsOf(SEVERAL), [there, here]);
  const { pausedBy, record, otherPauses } = effectivePolicy(policies, NODE, APPLIED);

  expect(selectPolicy(policies, NODE).kind).toBe('paused');
  expect(pausedBy).toEqual([here]);
  expect(record?.policy.name).toBe('web');
  expect(otherPauses).toEqual([
    { pause: there, unmet: [{ setting: 'selector.pools', wants: 'gpu', has: null }] },
  ]);
});

test('where no policy selects, there is nothing to set', () => {
  const { record, settings } = effectivePolicy(
    set([recordOf('selector: {clusters: [test]}')]),
    NODE,
    APPLIED,
  );
  expect([record, settings]).toEqual([null, []]);
});
