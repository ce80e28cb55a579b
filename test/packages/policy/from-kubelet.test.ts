import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readPolicyFiles } from '../../../packages/policy/file/read-policy-file.ts';
import { problemText, yamlOfPolicy } from '../../../packages/policy/file/yaml-document.ts';
import {
  type PolicyChoices,
  policyFromKubelet,
  readKubeletFile,
  reportOf,
} from '../../../packages/policy/from-kubelet/from-kubelet.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';

const CHOICES: PolicyChoices = { name: 'kubelet', mode: 'dry-run', profile: 'kubelet' };
const HEADER = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
const read = (...lines: readonly string[]) =>
  readKubeletFile({ file: 'k.yaml', text: `${HEADER}${lines.join('\n')}\n` });

function policyOf(...lines: readonly string[]): Policy {
  const reading = read(...lines);
  if (!reading.valid) throw new Error(reading.problems.map(problemText).join('; '));
  return applied(yamlOfPolicy(policyFromKubelet(reading.configuration, CHOICES)));
}

function applied(text: string): Policy {
  const files = readPolicyFiles([{ file: 'p.yaml', text }]);
  const [written] = files.valid ? files.policies : [];
  if (!written) throw new Error(`refused: ${text}`);
  return written.policy;
}

function problemsOf(...lines: readonly string[]): readonly string[] {
  const reading = read(...lines);
  return reading.valid ? [] : reading.problems.map(problemText);
}

const valuesOf = ({ evictionThresholds }: Policy) =>
  evictionThresholds.map(({ kind, signal, value }) => [kind, signal, value]);
const DEFAULTS = [
  ['hard', 'nodefs.available', { percent: 10 }],
  ['hard', 'nodefs.inodesFree', { percent: 5 }],
  ['hard', 'imagefs.available', { percent: 15 }],
  ['hard', 'imagefs.inodesFree', { percent: 5 }],
];

test('[B3, B4, B14] a configuration that says nothing of it gives the defaults of the kubelet', () => {
  expect(policyOf('cgroupDriver: systemd')).toMatchObject({
    name: 'kubelet',
    mode: 'dry-run',
    profile: 'kubelet',
    imageGCHighThresholdPercent: 85,
    imageGCLowThresholdPercent: 80,
    imageMinimumGCAgeMs: 120_000,
    imageMaximumGCAgeMs: 0,
    maximumDeadContainersPerContainer: 1,
    maximumDeadContainers: -1,
    keep: { unpullable: false },
  });
  expect(valuesOf(policyOf())).toEqual(DEFAULTS);
});

test('[B3] a threshold of zero is one, and null is none', () => {
  expect(policyOf('imageGCLowThresholdPercent: 0', 'imageGCHighThresholdPercent: null')).toMatchObject({
    imageGCHighThresholdPercent: 85,
    imageGCLowThresholdPercent: 0,
  });
});

describe('YAML is read as a kubelet reads it, with a library that knows YAML 1.1', () => {
  test.each(['yes', 'Yes', 'on', 'ON', 'y', 'true', 'TRUE', '!!bool "yes"'])('%s is true', (text) => {
    const policy = policyOf('evictionHard: {memory.available: 1Gi}', `mergeDefaultEvictionSettings: ${text}`);
    expect(valuesOf(policy)).toEqual(DEFAULTS);
  });

  test.each(['no', 'No', 'off', 'OFF', 'n', 'false', 'null'])('%s is not', (text) => {
    const policy = policyOf('evictionHard: {memory.available: 1Gi}', `mergeDefaultEvictionSettings: ${text}`);
    expect(valuesOf(policy)).toEqual([]);
  });

  test.each(['"yes"', "'on'", 'yEs', '1'])('%s is refused', (text) => {
    expect(problemsOf(`mergeDefaultEvictionSettings: ${text}`)).toHaveLength(1);
  });

  test.each([
    { text: '0120', percent: 80 },
    { text: '080', percent: 80 },
    { text: '0x50', percent: 80 },
    { text: '0b1010000', percent: 80 },
    { text: '8_0', percent: 80 },
  ])('$text is $percent', ({ text, percent }) => {
    expect(policyOf(`imageGCLowThresholdPercent: ${text}`).imageGCLowThresholdPercent).toBe(percent);
  });

  test.each(['1:20', '1:20.0', '2001-01-01', '"80"'])('%s is text, and no percentage', (text) => {
    expect(problemsOf(`imageGCLowThresholdPercent: ${text}`)).toHaveLength(1);
  });

  test('a feature gate may be off by any word for it', () => {
    expect(problemsOf('imageMaximumGCAge: 10m', 'featureGates: {ImageMaximumGCAge: off}')).toEqual([
      'k.yaml:3:20: imageMaximumGCAge: needs the feature gate ImageMaximumGCAge, which is off here',
    ]);
  });

  test('a map takes over another, and a key that is written twice is refused', () => {
    const lines = [
      'evictionSoft: &soft {nodefs.available: 20%}',
      'evictionSoftGracePeriod: {nodefs.available: 1m}',
    ];
    expect(valuesOf(policyOf(...lines, 'evictionHard: {<<: *soft, imagefs.available: 9%}'))).toEqual([
      ['hard', 'nodefs.available', { percent: 20 }],
      ['hard', 'imagefs.available', { percent: 9 }],
      ['soft', 'nodefs.available', { percent: 20 }],
    ]);
    expect(problemsOf('podLogsDir: /a', 'podLogsDir: /a')).toEqual([
      'k.yaml:4:1: the same key stands here a second time',
    ]);
  });

  test.each(['forcedGC: yes', 'imageGCLowThresholdPercent: 0x', '<<: {forcedGC: false}'])(
    'a policy of ours is YAML 1.2: %s is refused',
    (line) => {
      const text = `name: a\nmode: enforce\n${line}\n`;
      expect(readPolicyFiles([{ file: 'p.yaml', text }]).valid).toBe(false);
    },
  );
});

test.each<{ name: string; lines: string[]; thresholds: unknown[] }>([
  { name: 'an empty map means none', lines: ['evictionHard: {}'], thresholds: [] },
  { name: 'null means the defaults', lines: ['evictionHard: null'], thresholds: DEFAULTS },
  { name: 'memory alone drops the disks', lines: ['evictionHard: {memory.available: 1Gi}'], thresholds: [] },
  {
    name: 'memory alone, merged, leaves them',
    lines: ['evictionHard: {memory.available: 1Gi}', 'mergeDefaultEvictionSettings: true'],
    thresholds: DEFAULTS,
  },
  {
    name: 'merging takes what is written first, and drops what is written as nothing',
    lines: [
      'evictionHard: {nodefs.available: 1Gi, imagefs.available: 100%}',
      'mergeDefaultEvictionSettings: true',
    ],
    thresholds: [['hard', 'nodefs.available', { quantity: '1073741824' }], DEFAULTS[1], DEFAULTS[3]],
  },
  {
    name: 'not merging, and saying so',
    lines: ['evictionHard: {nodefs.available: 3%}', 'mergeDefaultEvictionSettings: false'],
    thresholds: [['hard', 'nodefs.available', { percent: 3 }]],
  },
])('[B14] $name', ({ lines, thresholds }) => {
  expect(valuesOf(policyOf(...lines))).toEqual(thresholds);
});

test('JSON is accepted too, tabs and all', () => {
  const text =
    '{\n\t"apiVersion": "kubelet.config.k8s.io/v1beta1",\n\t"kind": "KubeletConfiguration",\n\t"imageMinimumGCAge": "5m0s"\n}';
  expect(readKubeletFile({ file: 'k.json', text })).toMatchObject({
    valid: true,
    configuration: { settings: { imageMinimumGCAge: '5m0s' } },
  });
});

test('[B1] flags of the kubelet become settings of the policy', () => {
  const reading = read();
  const policy =
    reading.valid &&
    policyFromKubelet(reading.configuration, {
      ...CHOICES,
      minimumContainerTTLDuration: '1m',
      maximumDeadContainersPerContainer: 2,
      maximumDeadContainers: -1,
    });
  expect(policy).toEqual({
    ...CHOICES,
    minimumContainerTTLDuration: '1m',
    maximumDeadContainersPerContainer: 2,
    maximumDeadContainers: -1,
  });
});

test.each<{ name: string; lines: string[]; says: string[] }>([
  {
    name: '[B5, B6, B9, B12, B15] wrong values of every kind, all at once',
    lines: [
      'imageGCHighThresholdPercent: 101',
      'imageGCLowThresholdPercent: -1',
      'imageMaximumGCAge: -1s',
      'evictionHard: {nodefs.available: 101%, disk: 1%}',
      'evictionSoft: {memory.available: 1Gi}',
      'featureGates: on',
    ],
    says: [
      'k.yaml:3:30: imageGCHighThresholdPercent: must be at most 100',
      'k.yaml:4:29: imageGCLowThresholdPercent: must be at least 0',
      'k.yaml:5:20: imageMaximumGCAge: must not be negative',
      'k.yaml:6:34: evictionHard.nodefs.available: must be at most 100%',
      'k.yaml:6:40: evictionHard.disk: there is no such signal',
      'k.yaml:7:34: evictionSoft.memory.available: needs a grace period: write it to evictionSoftGracePeriod',
      'k.yaml:8:15: featureGates: must be a map of feature gates',
    ],
  },
  {
    name: '[B7] equal thresholds',
    lines: ['imageGCLowThresholdPercent: 85'],
    says: [
      'k.yaml:3:29: imageGCLowThresholdPercent: must be below imageGCHighThresholdPercent, which is 85 by default',
    ],
  },
  {
    name: '[B8] a maximum age with its gate off',
    lines: ['imageMaximumGCAge: 1h', 'featureGates: {ImageMaximumGCAge: false}'],
    says: ['k.yaml:3:20: imageMaximumGCAge: needs the feature gate ImageMaximumGCAge, which is off here'],
  },
  {
    name: '[B8] a maximum age with all beta gates off',
    lines: ['imageMaximumGCAge: 1h', 'featureGates: {AllBeta: false}'],
    says: ['k.yaml:3:20: imageMaximumGCAge: needs the feature gate ImageMaximumGCAge, which is off here'],
  },
  {
    name: '[B10] a maximum age that equals the minimum age',
    lines: ['imageMaximumGCAge: 2m'],
    says: [
      'k.yaml:3:20: imageMaximumGCAge: must be longer than imageMinimumGCAge, as the kubelet demands; 0s switches it off',
    ],
  },
  {
    name: 'a log directory that is not absolute',
    lines: ['podLogsDir: var/log'],
    says: [
      'k.yaml:3:13: podLogsDir: must be an absolute path',
      'k.yaml:3:13: podLogsDir: must be a normal path: without . and .., double slashes, or a slash at its end',
    ],
  },
  {
    name: 'a log directory beyond ASCII',
    lines: ['podLogsDir: /var/öl'],
    says: ['k.yaml:3:13: podLogsDir: must be ASCII only'],
  },
  {
    name: 'a second document',
    lines: ['---', 'kind: ClusterConfiguration'],
    says: ['k.yaml:4:1: a kubelet reads one document; put the others elsewhere'],
  },
])('refuses $name', ({ lines, says }) => {
  expect(problemsOf(...lines)).toEqual(says);
});

test.each<{ name: string; lines: string[] }>([
  {
    name: '[B8] no maximum age, so its gate may be off',
    lines: ['featureGates: {ImageMaximumGCAge: false}'],
  },
  {
    name: '[B8] the gate on while other beta gates are off',
    lines: ['imageMaximumGCAge: 1h', 'featureGates: {AllBeta: false, ImageMaximumGCAge: true}'],
  },
  { name: '[B10] a maximum age just above the minimum age', lines: ['imageMaximumGCAge: 2m0.001s'] },
  { name: '[B11] a negative minimum age', lines: ['imageMinimumGCAge: -1s'] },
])('accepts $name', ({ lines }) => {
  expect(problemsOf(...lines)).toEqual([]);
});

test.each<{ name: string; text: string; says: string[] }>([
  { name: 'an empty file', text: '', says: ['k.yaml:1:1: this file is empty'] },
  {
    name: 'another kind of file',
    text: 'apiVersion: kubelet.config.k8s.io/v1alpha1\nkind: Pod\n',
    says: [
      'k.yaml:1:13: apiVersion: must be kubelet.config.k8s.io/v1beta1',
      'k.yaml:2:7: kind: must be KubeletConfiguration',
    ],
  },
  {
    name: 'a list',
    text: '- a\n',
    says: ['k.yaml:1:1: must be a map of settings, beginning with apiVersion: kubelet.config.k8s.io/v1beta1'],
  },
])('refuses $name', ({ text, says }) => {
  const reading = readKubeletFile({ file: 'k.yaml', text });
  expect(reading.valid ? [] : reading.problems.map(problemText)).toEqual(says);
});

test('every field is named once: taken over, ignored, or not known', () => {
  const reading = read(
    'imageGCHighThresholdPercent: 75',
    'imageGCLowThresholdPercent: 70',
    'evictionHard: {memory.available: 100Mi}',
    'evictionPressureTransitionPeriod: 5m',
    'podLogsDir: /data/pods',
    'clusterDNS: [10.0.0.1]',
    'clusterDomain: x',
    'featureGates: {Foo: true}',
    'imageMinimumGcAge: 3m',
    'zzz: 1',
  );
  if (!reading.valid) throw new Error('refused');
  const { configuration } = reading;
  expect(reportOf(configuration, policyFromKubelet(configuration, CHOICES))).toEqual({
    reported: [
      'Taken over:',
      '  imageGCHighThresholdPercent: 75',
      '  imageGCLowThresholdPercent: 70',
      '  evictionHard: (no threshold of a disk)',
      'Ignored, since removing images and containers frees none of it: evictionHard.memory.available.',
      'Not part of a policy: podLogsDir. Start the nodes of FleetGC with --pod-logs-dir /data/pods.',
      'Ignored, having no meaning for garbage collection:',
      '  evicting pods: evictionPressureTransitionPeriod',
      '  network: clusterDNS, clusterDomain',
      '  feature gates: featureGates',
    ],
    warnings: [
      'imageMinimumGcAge is no field of KubeletConfiguration that FleetGC knows, and was ignored; did you mean imageMinimumGCAge?',
      'zzz is no field of KubeletConfiguration that FleetGC knows, and was ignored',
      'evictionHard: nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree have no threshold now: what evictionHard does not name loses its default; mergeDefaultEvictionSettings: true keeps it',
    ],
  });
});

test.each([
  ['apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nspec: {}', 'spec.kubeletConfig'],
  ['apiVersion: kind.x-k8s.io/v1alpha4\nkind: Cluster', 'kubeadmConfigPatches'],
  ['kubeletconfig: {imageGCHighThresholdPercent: 80}', 'kubeletconfig, without'],
  ['apiVersion: v1\nkind: ConfigMap\ndata: {kubelet: ""}', 'data.kubelet'],
  ['version: v1alpha1\nmachine: {kubelet: {extraConfig: {}}}', 'machine.kubelet.extraConfig'],
  ['apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig', 'spec.kubelet.config'],
  ['kubelet-arg: [config=/etc/kubelet.yaml]', 'kubelet-arg'],
])('a file that holds the settings within is told where they are: %s', (text, place) => {
  const reading = readKubeletFile({ file: 'k.yaml', text: `${text}\n` });
  expect(reading.valid).toBe(false);
  if (reading.valid) return;
  expect(reading.problems).toHaveLength(1);
  expect(reading.problems[0]?.message).toContain(place);
  expect(reading.problems[0]?.message).toContain('kind: KubeletConfiguration');
});

const reported = (...lines: readonly string[]) => {
  const reading = read(...lines);
  if (!reading.valid) throw new Error(reading.problems.map(problemText).join('; '));
  const { configuration } = reading;
  const policy = policyFromKubelet(configuration, CHOICES);
  return { policy, ...reportOf(configuration, policy) };
};

/** The fields of KubeletConfiguration that are about garbage collection, with a value that differs from the default. */
const ABOUT_COLLECTION = {
  imageGCHighThresholdPercent: 84,
  imageGCLowThresholdPercent: 79,
  imageMinimumGCAge: '3m',
  imageMaximumGCAge: '4h',
  podLogsDir: '/data/pods',
  evictionHard: { 'nodefs.available': '3%' },
  evictionSoft: { 'nodefs.available': '5%' },
  evictionSoftGracePeriod: { 'nodefs.available': '1m' },
  evictionMinimumReclaim: { 'nodefs.available': '1Gi' },
  mergeDefaultEvictionSettings: true,
  evictionPressureTransitionPeriod: '1m',
};
const ELSEWHERE: readonly string[] = ['podLogsDir', 'evictionPressureTransitionPeriod'];

test('every field about garbage collection is taken over, or named as something else', () => {
  const lines = Object.entries(ABOUT_COLLECTION).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  const { policy, reported: notes, warnings } = reported(...lines);
  const expected = Object.entries(ABOUT_COLLECTION).filter(([key]) => !ELSEWHERE.includes(key));
  expect(policy).toEqual({ ...CHOICES, ...Object.fromEntries(expected) });
  for (const field of Object.keys(ABOUT_COLLECTION))
    expect(notes.filter((line) => new RegExp(`\\b${field}\\b`).test(line))).toHaveLength(1);
  expect(warnings).toEqual([]);
});

test.each<{ name: string; lines: string[]; told: string }>([
  {
    name: 'what is written and is so anyway',
    lines: [
      'mergeDefaultEvictionSettings: false',
      'evictionSoft: {}',
      'evictionMinimumReclaim: null',
      'imageGCHighThresholdPercent: null',
      'podLogsDir: ""',
    ],
    told: 'Left out, since it is so anyway: mergeDefaultEvictionSettings, evictionSoft, evictionMinimumReclaim, imageGCHighThresholdPercent, podLogsDir.',
  },
  {
    name: '[J6] thresholds of containerfs, which a kubelet replaces',
    lines: ['evictionHard: {nodefs.available: 3%, containerfs.available: 4%}'],
    told: 'Replaced by the values of nodefs or imagefs, as the kubelet does it: evictionHard.containerfs.available. containerfs has no thresholds of its own.',
  },
])('tells $name', ({ lines, told }) => {
  expect(reported(...lines).reported).toContain(told);
});

test('a map of which every signal is ignored is not told twice', () => {
  const { reported: told } = reported(
    'evictionSoft: {memory.available: 1Gi}',
    'evictionSoftGracePeriod: {memory.available: 1m}',
  );
  expect(told).toEqual([
    'Taken over: nothing; the kubelet runs with its defaults, and so does the policy.',
    'Ignored, since removing images and containers frees none of it: evictionSoft.memory.available, evictionSoftGracePeriod.memory.available.',
  ]);
});

const amount = fc.oneof(
  fc.integer({ min: 0, max: 100 }).map((percent) => `${percent}%`),
  fc.integer({ min: 1, max: 999 }).map((gigabytes) => `${gigabytes}Gi`),
);
const signal = fc.constantFrom('nodefs.available', 'imagefs.inodesFree', 'memory.available', 'pid.available');
const values = fc.dictionary(signal, amount);

test('[B14, B15] what a kubelet accepts becomes a policy that can be applied, with the same thresholds', () => {
  const anything = fc.record(
    {
      evictionHard: values,
      evictionSoft: values,
      mergeDefaultEvictionSettings: fc.boolean(),
      imageMaximumGCAge: fc.constantFrom('0s', '1h'),
      imageMinimumGCAge: fc.constantFrom('0s', '-1s', '5m0s'),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(anything, (settings) => {
      const grace = Object.fromEntries(Object.keys(settings.evictionSoft ?? {}).map((name) => [name, '1m']));
      const written = { ...settings, evictionSoftGracePeriod: grace };
      const policy = policyOf(
        ...Object.entries(written).map(([key, value]) => `${key}: ${JSON.stringify(value)}`),
      );
      const direct = applied(yamlOfPolicy({ ...CHOICES, ...written }));
      expect(policy).toEqual(direct);
    }),
  );
});
