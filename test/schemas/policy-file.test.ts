import { expect, test } from 'vitest';
import type { EvictionSignal, EvictionThreshold } from '../../schemas/policy/eviction.ts';
import { Policy } from '../../schemas/policy/policy.ts';
import { POLICY_DEFAULTS } from '../../schemas/policy/policy-defaults.ts';
import { POLICY_SETTINGS, PolicyFile } from '../../schemas/policy/policy-file.ts';

const MINIMAL = { name: 'web', mode: 'enforce' };
const given = (settings: object) => PolicyFile.safeParse({ ...MINIMAL, ...settings });
const problems = (settings: object) =>
  (given(settings).error?.issues ?? []).map(({ path, message }) => `${path.join('.')} ${message}`);
const accepted = (settings: object) => {
  const { data, error } = given(settings);
  if (!data) throw new Error(`refused: ${error}`);
  return data;
};

const hard = (signal: EvictionSignal, percent: number): EvictionThreshold => ({
  signal,
  kind: 'hard',
  value: { percent },
  gracePeriodMs: 0,
  minimumReclaim: null,
});
const DEFAULT_THRESHOLDS = [
  hard('nodefs.available', 10),
  hard('nodefs.inodesFree', 5),
  hard('imagefs.available', 15),
  hard('imagefs.inodesFree', 5),
];

test('[B14] the defaults are those of the kubelet', () => {
  expect(PolicyFile.parse(MINIMAL)).toEqual({
    name: 'web',
    mode: 'enforce',
    priority: 0,
    profile: 'fleetgc',
    selector: { clusters: [], nodeNames: [], pools: [], nodeLabels: {} },
    imageGCHighThresholdPercent: 85,
    imageGCLowThresholdPercent: 80,
    imageGCAvailable: null,
    imageGCInodes: null,
    imageMinimumGCAgeMs: 120_000,
    imageMaximumGCAgeMs: 0,
    evictionThresholds: DEFAULT_THRESHOLDS,
    forcedGC: true,
    minimumContainerTTLMs: 0,
    minimumCreatedContainerAgeMs: 300_000,
    maximumDeadContainersPerContainer: 1,
    maximumDeadContainers: -1,
    maximumDeadContainerAgeMs: null,
    keep: { patterns: [], digests: [], labels: {}, namespaces: [], unpullable: true, lastVersions: 0 },
    commandLifetimeMs: 60_000,
  });
});

test('writing every default out gives the same policy as leaving it out', () => {
  expect(accepted(POLICY_DEFAULTS)).toEqual(accepted({}));
});

test.each<{ name: string; settings: object; policy: object }>([
  {
    name: 'durations in Go form',
    settings: { imageMinimumGCAge: '1h30m' },
    policy: { imageMinimumGCAgeMs: 5_400_000 },
  },
  {
    name: '[B11] a negative minimum age of images',
    settings: { imageMinimumGCAge: '-1s' },
    policy: { imageMinimumGCAgeMs: -1_000 },
  },
  {
    name: '[B3] zero as the minimum age of images, which means the default',
    settings: { imageMinimumGCAge: '0s' },
    policy: { imageMinimumGCAgeMs: 120_000 },
  },
  {
    name: '[B5] a high threshold of 100',
    settings: { imageGCHighThresholdPercent: 100 },
    policy: { imageGCHighThresholdPercent: 100 },
  },
  {
    name: '[B6, B7] a low threshold of 0, one below the high one',
    settings: { imageGCLowThresholdPercent: 0, imageGCHighThresholdPercent: 1 },
    policy: { imageGCLowThresholdPercent: 0, imageGCHighThresholdPercent: 1 },
  },
  {
    name: 'negative limits of containers',
    settings: { maximumDeadContainersPerContainer: -1, maximumDeadContainers: -2_147_483_648 },
    policy: { maximumDeadContainersPerContainer: -1, maximumDeadContainers: -2_147_483_648 },
  },
  {
    name: 'the shortest command lifetime',
    settings: { commandLifetime: '1s' },
    policy: { commandLifetimeMs: 1_000 },
  },
  {
    name: 'the longest command lifetime',
    settings: { commandLifetime: '10m' },
    policy: { commandLifetimeMs: 600_000 },
  },
  {
    name: 'conditions on nodes',
    settings: {
      selector: { clusters: ['prod'], nodeNames: ['web-*'], pools: ['gpu'], nodeLabels: { pool: 'web' } },
    },
    policy: {
      selector: { clusters: ['prod'], nodeNames: ['web-*'], pools: ['gpu'], nodeLabels: { pool: 'web' } },
    },
  },
  {
    name: 'some conditions on nodes only',
    settings: { selector: { nodeLabels: { pool: '' } } },
    policy: { selector: { clusters: [], nodeNames: [], pools: [], nodeLabels: { pool: '' } } },
  },
  {
    name: 'images to keep',
    settings: {
      keep: {
        images: ['registry.example/**'],
        digests: [`sha256:${'a'.repeat(64)}`],
        labels: { keep: 'yes' },
      },
    },
    policy: {
      keep: {
        patterns: ['registry.example/**'],
        digests: [`sha256:${'a'.repeat(64)}`],
        labels: { keep: 'yes' },
      },
    },
  },
  {
    name: 'what else to keep',
    settings: { keep: { namespaces: ['kube-system'], unpullable: false, lastVersions: 3 } },
    policy: { keep: { namespaces: ['kube-system'], unpullable: false, lastVersions: 3 } },
  },
  {
    name: 'the profile of the kubelet, which keeps by no list of its own',
    settings: { profile: 'kubelet' },
    policy: { profile: 'kubelet', keep: { unpullable: false } },
  },
  {
    name: 'a keep list in the profile of the kubelet, when it is written',
    settings: { profile: 'kubelet', keep: { unpullable: true, images: ['x/**'] } },
    policy: { keep: { unpullable: true, patterns: ['x/**'] } },
  },
  {
    name: '[B4] zero as the maximum age of images, which is off',
    settings: { imageMaximumGCAge: '0s', profile: 'kubelet' },
    policy: { imageMaximumGCAgeMs: 0 },
  },
  {
    name: '[B10] in the profile of the kubelet a maximum age just above the minimum age',
    settings: { profile: 'kubelet', imageMinimumGCAge: '10m', imageMaximumGCAge: '10m1ms' },
    policy: { imageMaximumGCAgeMs: 600_001 },
  },
  {
    name: '[M4] a maximum age below the minimum age, for they measure different things',
    settings: { imageMinimumGCAge: '10m', imageMaximumGCAge: '1m' },
    policy: { imageMaximumGCAgeMs: 60_000 },
  },
  {
    name: '[M16] that eviction signals force nothing',
    settings: { forcedGC: false },
    policy: { forcedGC: false, evictionThresholds: DEFAULT_THRESHOLDS },
  },
  {
    name: '[M39] absolute sizes',
    settings: { imageGCStartBelowAvailable: '50Gi', imageGCUntilAvailable: '80Gi' },
    policy: { imageGCAvailable: { startBelowBytes: '53687091200', untilBytes: '85899345920' } },
  },
  {
    name: '[M39] sizes one byte apart, of any number of digits',
    settings: { imageGCStartBelowAvailable: '9', imageGCUntilAvailable: '10' },
    policy: { imageGCAvailable: { startBelowBytes: '9', untilBytes: '10' } },
  },
  {
    name: '[M13] thresholds of inodes',
    settings: { imageGCInodesHighThresholdPercent: 80, imageGCInodesLowThresholdPercent: 79 },
    policy: { imageGCInodes: { highThresholdPercent: 80, lowThresholdPercent: 79 } },
  },
  {
    name: '[M27] a maximum age of dead containers',
    settings: { maximumDeadContainerAge: '720h' },
    policy: { maximumDeadContainerAgeMs: 2_592_000_000 },
  },
])('accepts $name', ({ settings, policy }) => {
  const parsed = accepted(settings);

  expect(parsed).toMatchObject(policy);
  expect(Policy.parse(parsed)).toEqual(parsed);
});

const BELOW_MINIMUM_AGE =
  'imageMaximumGCAge must be longer than imageMinimumGCAge, as the kubelet demands; 0s switches it off';
const THRESHOLD = 'must be a whole number from 0 to 100, without a percent sign';
test.each<{ name: string; settings: object; says: string[] }>([
  {
    name: 'no name',
    settings: { name: undefined },
    says: ['name is missing: give the policy a name of its own'],
  },
  {
    name: 'a name in capitals',
    settings: { name: 'Web' },
    says: [
      'name must be 1 to 63 lower-case letters, digits, dots or dashes, starting and ending with a letter or digit',
    ],
  },
  {
    name: 'no mode, for which there is no default',
    settings: { mode: undefined },
    says: ['mode is missing: write dry-run (decide and record, remove nothing) or enforce'],
  },
  {
    name: '[B5] a high threshold of 101',
    settings: { imageGCHighThresholdPercent: 101 },
    says: ['imageGCHighThresholdPercent must be at most 100'],
  },
  {
    name: '[B5] a high threshold of -1',
    settings: { imageGCHighThresholdPercent: -1 },
    says: ['imageGCHighThresholdPercent must be at least 0'],
  },
  {
    name: '[B6] a low threshold of -1',
    settings: { imageGCLowThresholdPercent: -1 },
    says: ['imageGCLowThresholdPercent must be at least 0'],
  },
  {
    name: '[B6] a low threshold of 101',
    settings: { imageGCLowThresholdPercent: 101 },
    says: ['imageGCLowThresholdPercent must be at most 100'],
  },
  {
    name: '[B7] equal thresholds',
    settings: { imageGCLowThresholdPercent: 70, imageGCHighThresholdPercent: 70 },
    says: ['imageGCLowThresholdPercent must be below imageGCHighThresholdPercent, which is 70'],
  },
  {
    name: '[B7] a low threshold at the default of the high one',
    settings: { imageGCLowThresholdPercent: 85 },
    says: ['imageGCLowThresholdPercent must be below imageGCHighThresholdPercent, which is 85 by default'],
  },
  {
    name: '[B7] a high threshold at the default of the low one',
    settings: { imageGCHighThresholdPercent: 80 },
    says: ['imageGCHighThresholdPercent must be above imageGCLowThresholdPercent, which is 80 by default'],
  },
  {
    name: '[B12] thresholds in the wrong order, whatever else is wrong',
    settings: { mode: 'on', imageGCHighThresholdPercent: 10, commandLifetime: 60 },
    says: [
      'mode must be dry-run (decide and record, remove nothing) or enforce',
      'commandLifetime must be a duration with a unit, such as 90s, 1m30s or 24h',
      'imageGCHighThresholdPercent must be above imageGCLowThresholdPercent, which is 80 by default',
    ],
  },
  ...[
    { settings: { priority: 1.5 }, says: 'priority must be a whole number' },
    {
      settings: { maximumDeadContainers: 1.5 },
      says: 'maximumDeadContainers must be a whole number; a negative one means no limit',
    },
    {
      settings: { keep: { lastVersions: 0.5 } },
      says: 'keep.lastVersions must be a whole number; 0 is off',
    },
  ].map(({ settings, says }) => ({
    name: `[B12] thresholds in the wrong order beside a fraction: ${says}`,
    settings: { imageGCHighThresholdPercent: 50, imageGCLowThresholdPercent: 60, ...settings },
    says: [says, 'imageGCLowThresholdPercent must be below imageGCHighThresholdPercent, which is 50'],
  })),
  {
    name: 'a priority beyond what a number tells exactly',
    settings: { priority: 2 ** 53 },
    says: ['priority must be a whole number'],
  },
  {
    name: 'a percent sign and half a percent',
    settings: { imageGCHighThresholdPercent: '85%', imageGCLowThresholdPercent: 79.5 },
    says: [`imageGCHighThresholdPercent ${THRESHOLD}`, `imageGCLowThresholdPercent ${THRESHOLD}`],
  },
  {
    name: 'a percentage in quotes, which are the fault',
    settings: { imageGCHighThresholdPercent: '85', imageGCLowThresholdPercent: ' 79 ' },
    says: [
      'imageGCHighThresholdPercent must be a whole number from 0 to 100, without quotes: 85',
      'imageGCLowThresholdPercent must be a whole number from 0 to 100, without quotes: 79',
    ],
  },
  {
    name: '[B13] a negative minimum age of containers',
    settings: { minimumContainerTTLDuration: '-1s', minimumCreatedContainerAge: '-1ms' },
    says: [
      'minimumContainerTTLDuration must not be negative',
      'minimumCreatedContainerAge must not be negative',
    ],
  },
  {
    name: 'a command lifetime just outside its range',
    settings: { commandLifetime: '10m1ms' },
    says: ['commandLifetime must be from 1s to 10m'],
  },
  {
    name: 'a command lifetime under a second',
    settings: { commandLifetime: '999ms' },
    says: ['commandLifetime must be from 1s to 10m'],
  },
  {
    name: 'emptied conditions, which would select every node',
    settings: { selector: { clusters: [], nodeNames: [], pools: [], nodeLabels: {} } },
    says: ['clusters', 'nodeNames', 'pools', 'nodeLabels'].map(
      (key) => `selector.${key} must not be empty; leave it out for no such condition`,
    ),
  },
  {
    name: 'half a character, which no hash can be made of',
    settings: { selector: { pools: ['\ud800'] }, keep: { labels: { '\udc00': 'x', ok: 'a\ud800' } } },
    says: [
      'selector.pools.0 must have no half characters (lone surrogates, \\ud800 to \\udfff)',
      'keep.labels must have no half characters (lone surrogates, \\ud800 to \\udfff)',
      'keep.labels.ok must have no half characters (lone surrogates, \\ud800 to \\udfff)',
    ],
  },
  {
    name: 'a selector without anything in it',
    settings: { selector: null },
    says: ['selector must be a map of settings; leave the key out if there is none'],
  },
  {
    name: 'exceptions in lists, since any other pattern of the list would undo them',
    settings: { selector: { nodeNames: ['!db-*'] }, keep: { images: ['!x'] } },
    says: [
      'selector.nodeNames.0 must not start with an exclamation mark: a list has no exceptions',
      'keep.images.0 must not start with an exclamation mark: a list has no exceptions',
    ],
  },
  {
    name: 'wildcards that have no meaning here, since as letters they would protect and select nothing that was meant',
    settings: { selector: { nodeNames: ['db-[12]'] }, keep: { images: ['registry/{a,b}', 'a\\*'] } },
    says: [
      'selector.nodeNames.0 must have no wildcards but *, ** and ?; in place of brackets write a pattern for each case',
      'keep.images.0 must have no wildcards but *, ** and ?; in place of brackets write a pattern for each case',
      'keep.images.1 must have no wildcards but *, ** and ?; in place of brackets write a pattern for each case',
    ],
  },
  {
    name: 'patterns that are longer than a name can be, or mostly wildcards',
    settings: { selector: { nodeNames: ['a'.repeat(513)] }, keep: { images: ['*-'.repeat(17)] } },
    says: [
      'selector.nodeNames.0 must have at most 512 characters',
      'keep.images.0 must have at most 16 wildcards',
    ],
  },
  {
    name: 'more patterns than a node should hold each name against',
    settings: {
      selector: { nodeNames: Array(1_001).fill('a') },
      keep: { images: Array(1_001).fill('r.example/a') },
    },
    says: [
      'selector.nodeNames must have at most 1000 patterns',
      'keep.images must have at most 1000 patterns',
    ],
  },
  {
    name: 'a truth value as a label',
    settings: { selector: { nodeLabels: { gpu: true } } },
    says: ['selector.nodeLabels.gpu must be text; put it in quotes, as in "true" or "1"'],
  },
  {
    name: 'half a digest',
    settings: { keep: { digests: ['sha256:abc'] } },
    says: ['keep.digests.0 must be 64 hexadecimal digits, with or without sha256:'],
  },
  {
    name: 'a profile that nobody knows',
    settings: { profile: 'docker' },
    says: ['profile must be fleetgc or kubelet'],
  },
  {
    name: '[B9] a negative maximum age of images',
    settings: { imageMaximumGCAge: '-1ms' },
    says: ['imageMaximumGCAge must not be negative'],
  },
  {
    name: '[B10] in the profile of the kubelet a maximum age that equals the minimum age',
    settings: { profile: 'kubelet', imageMinimumGCAge: '10m', imageMaximumGCAge: '10m' },
    says: [BELOW_MINIMUM_AGE],
  },
  {
    name: '[B3, B10] in the profile of the kubelet a maximum age below what zero stands for',
    settings: { profile: 'kubelet', imageMinimumGCAge: '0s', imageMaximumGCAge: '119s' },
    says: [BELOW_MINIMUM_AGE],
  },
  {
    name: '[M39] one size without the other',
    settings: { imageGCStartBelowAvailable: '50Gi' },
    says: ['imageGCStartBelowAvailable means nothing without imageGCUntilAvailable'],
  },
  {
    name: '[M39] equal sizes',
    settings: { imageGCStartBelowAvailable: '1Gi', imageGCUntilAvailable: '1024Mi' },
    says: ['imageGCUntilAvailable must be above imageGCStartBelowAvailable'],
  },
  {
    name: '[M39] a size of nothing and one that is a number',
    settings: { imageGCStartBelowAvailable: '0', imageGCUntilAvailable: 80 },
    says: ['imageGCStartBelowAvailable', 'imageGCUntilAvailable'].map(
      (key) => `${key} must be a size above 0, such as 500Mi, 50Gi or 1.5T`,
    ),
  },
  {
    name: '[M13] thresholds of inodes that are equal, and one alone',
    settings: { imageGCInodesHighThresholdPercent: 80, imageGCInodesLowThresholdPercent: 80 },
    says: ['imageGCInodesLowThresholdPercent must be below imageGCInodesHighThresholdPercent, which is 80'],
  },
  {
    name: '[M13] a threshold of inodes alone',
    settings: { imageGCInodesLowThresholdPercent: 80 },
    says: ['imageGCInodesLowThresholdPercent means nothing without imageGCInodesHighThresholdPercent'],
  },
  {
    name: '[M27] a maximum age of dead containers of nothing',
    settings: { maximumDeadContainerAge: '0s' },
    says: ['maximumDeadContainerAge must be above 0s; leave the key out for no maximum'],
  },
  {
    name: '[M13, M27, M32, M39] in the profile of the kubelet what a kubelet has not',
    settings: {
      profile: 'kubelet',
      imageGCStartBelowAvailable: '1Gi',
      imageGCUntilAvailable: '2Gi',
      imageGCInodesHighThresholdPercent: 80,
      imageGCInodesLowThresholdPercent: 70,
      maximumDeadContainerAge: '1h',
      minimumCreatedContainerAge: '1h',
    },
    says: [
      'imageGCStartBelowAvailable',
      'imageGCUntilAvailable',
      'imageGCInodesHighThresholdPercent',
      'imageGCInodesLowThresholdPercent',
      'maximumDeadContainerAge',
      'minimumCreatedContainerAge',
    ].map((key) => `${key} is no part of profile: kubelet; leave it out, or write profile: fleetgc`),
  },
  {
    name: 'a pattern where a namespace belongs, and fewer than no versions',
    settings: { keep: { namespaces: ['team-*'], lastVersions: -1 } },
    says: [
      'keep.namespaces.0 must be the whole name of a namespace: lower-case letters, digits and dashes; patterns have no meaning here',
      'keep.lastVersions must be at least 0',
    ],
  },
])('refuses $name', ({ settings, says }) => {
  expect(problems(settings)).toEqual(says);
});

test('unknown keys are refused on every level', () => {
  const { error } = given({ nmae: 'x', selector: { cluster: ['a'] }, keep: { image: [] } });

  expect(error?.issues.map(({ code, path }) => `${code} ${path}`)).toEqual([
    'unrecognized_keys selector',
    'unrecognized_keys keep',
    'unrecognized_keys ',
  ]);
});

test('the names of all settings are known, for suggestions', () => {
  expect(POLICY_SETTINGS['']).toContain('imageMinimumGCAge');
  expect(POLICY_SETTINGS.selector).toEqual(['clusters', 'nodeNames', 'pools', 'nodeLabels']);
  expect(POLICY_SETTINGS.keep).toEqual([
    'images',
    'digests',
    'labels',
    'namespaces',
    'unpullable',
    'lastVersions',
  ]);
});
