import { expect, test } from 'vitest';
import { readAnyPolicyFiles, readPolicyFiles } from '../../../packages/policy/file/read-policy-file.ts';
import { problemText } from '../../../packages/policy/file/yaml-document.ts';

/** Every problem or note of a file named `p.yaml`, as a user reads it. */
function problemsOf(text: string): readonly string[] {
  const files = readPolicyFiles([{ file: 'p.yaml', text }]);
  return files.valid ? [] : files.problems.map(problemText);
}
function warningsOf(text: string): readonly string[] {
  const files = readPolicyFiles([{ file: 'p.yaml', text }]);
  return files.valid ? files.warnings.map(problemText) : ['refused'];
}

test.each([
  { what: 'in a document', text: `name: a\n${[1, 2, 3, 4, 5].map((each) => `k${each}: 1\n`).join('')}` },
  { what: 'in many', text: '---\nmode: 1\n'.repeat(5) },
  { what: 'of names', text: '---\nname: a\nmode: enforce\n'.repeat(5) },
  { what: 'of keys that would be lost', text: `name: a\n${'__proto__: 1\n'.repeat(5)}` },
])('no more problems are looked for than somebody wants, $what', ({ text }) => {
  const files = readAnyPolicyFiles([{ file: 'p.yaml', text }], { mostProblems: 3 });
  expect(files.valid || files.problems.map(({ message }) => typeof message)).toEqual(Array(3).fill('string'));
});

test('several policies in one file, each with the text it was written in', () => {
  const files = readPolicyFiles([
    {
      file: 'p.yaml',
      text: '# web nodes\nname: a\nmode: enforce\n---\nname: b\nmode: dry-run # for now\n---\n',
    },
  ]);

  expect(files.valid && files.policies.map(({ policy, source }) => [policy.name, source])).toEqual([
    ['a', '# web nodes\nname: a\nmode: enforce\n'],
    ['b', '---\nname: b\nmode: dry-run # for now\n'],
  ]);
});

test('anchors and aliases work within a policy', () => {
  const files = readPolicyFiles([
    { file: 'p.yaml', text: 'name: a\nmode: enforce\nselector: {clusters: &c [x]}\nkeep: {images: *c}\n' },
  ]);
  expect(files.valid && files.policies[0]?.policy.keep.patterns).toEqual(['x']);
});

test.each<{ name: string; text: string; says: string[] }>([
  { name: 'an empty file', text: '', says: ['p.yaml:1:1: there is no policy in this file'] },
  {
    name: 'a file of comments',
    text: '# nothing\n---\n',
    says: ['p.yaml:1:1: there is no policy in this file'],
  },
  {
    name: 'a list of policies',
    text: '- name: a\n',
    says: ['p.yaml:1:1: must be a map of settings, beginning with name: and mode:'],
  },
  {
    name: 'more levels than the parser has stack for',
    text: `${'- '.repeat(9_999)}a\nname: a\n`,
    says: [
      'p.yaml:1:1: one of its lines has more than the 500 leading spaces, hyphens, colons and question marks that are read, each of which may open a level; shorten it, or divide it into several files',
    ],
  },
  {
    name: 'a missing setting, at the policy that lacks it',
    text: 'name: a\nmode: enforce\n---\nname: b\n',
    says: ['p.yaml:4:1: mode: is missing: write dry-run (decide and record, remove nothing) or enforce'],
  },
  {
    name: '[B12] two errors at once',
    text: 'name: a\nmode: on\nimageMinimumGCAge: 2 minutes\n',
    says: [
      'p.yaml:2:7: mode: must be dry-run (decide and record, remove nothing) or enforce',
      'p.yaml:3:20: imageMinimumGCAge: must be a duration with a unit, such as 300ms, 90s, 1m30s or 24h',
    ],
  },
  {
    name: 'a setting of policies for clusters, and an age in days',
    text: 'name: a\nmode: dry-run\ncollectors: []\nimageMinimumGCAge: 7d\n',
    says: [
      'p.yaml:3:1: collectors: is a setting of policies for clusters, which begin with kind: ClusterPolicy',
      'p.yaml:4:20: imageMinimumGCAge: must be written in hours, since there is no unit of days: 168h',
    ],
  },
  {
    name: '[B12] errors of all documents, in the order of the lines',
    text: 'name: a\nmode: enforce\nimageGCHighThresholdPercent: 120\n---\nname: b\nmode: enforce\nkeep: {digests: [x]}\n',
    says: [
      'p.yaml:3:30: imageGCHighThresholdPercent: must be at most 100',
      'p.yaml:7:18: keep.digests[0]: must be 64 hexadecimal digits, with or without sha256:',
    ],
  },
  {
    name: '[B7] thresholds in the wrong order, at the low one',
    text: 'name: a\nmode: enforce\nimageGCLowThresholdPercent: 90\n',
    says: [
      'p.yaml:3:29: imageGCLowThresholdPercent: must be below imageGCHighThresholdPercent, which is 85 by default',
    ],
  },
  {
    name: '[B7] a high threshold below the default of the low one, at the key that is written',
    text: 'name: a\nmode: enforce\nimageGCHighThresholdPercent: 50\n',
    says: [
      'p.yaml:3:30: imageGCHighThresholdPercent: must be above imageGCLowThresholdPercent, which is 80 by default',
    ],
  },
  {
    name: 'a misspelt key, with the one that was meant',
    text: 'name: a\nmode: enforce\nimageGcHighTresholdPercent: 90\n',
    says: [
      'p.yaml:3:1: imageGcHighTresholdPercent: there is no such setting; did you mean imageGCHighThresholdPercent?',
    ],
  },
  {
    name: 'a misspelt key in a section',
    text: 'name: a\nmode: enforce\nkeep:\n  image: [x]\n',
    says: ['p.yaml:4:3: keep.image: there is no such setting; did you mean keep.images?'],
  },
  {
    name: 'a key in the wrong section',
    text: 'name: a\nmode: enforce\nnodeNames: [x]\nselector: {priority: 3}\n',
    says: [
      'p.yaml:3:1: nodeNames: there is no such setting; did you mean selector.nodeNames?',
      'p.yaml:4:12: selector.priority: there is no such setting; did you mean priority of the policy itself, one level up?',
    ],
  },
  {
    name: 'a key like no other',
    text: 'name: a\nmode: enforce\nreplicas: 3\n',
    says: ['p.yaml:3:1: replicas: there is no such setting'],
  },
  {
    name: 'settings of the kubelet that a policy has not',
    text: 'name: a\nmode: enforce\nevictionPressureTransitionPeriod: 5m\npodLogsDir: /x\n',
    says: [
      'p.yaml:3:1: evictionPressureTransitionPeriod: is about conditions that the kubelet reports; remove it',
      'p.yaml:4:1: podLogsDir: is said where the node is started, with --pod-logs-dir; remove it',
    ],
  },
  {
    name: '[B12, B15] wrong thresholds of every kind at once, each at its place',
    text: 'name: a\nmode: enforce\nevictionHard:\n  nodefs.availabel: 10%\n  memory.available: 5\nevictionSoft: {nodefs.available: 15%}\n',
    says: [
      'p.yaml:4:3: evictionHard.nodefs.availabel: there is no such signal; did you mean nodefs.available?',
      'p.yaml:5:21: evictionHard.memory.available: must be a percentage or a quantity above 0 as text, such as 10% or "1Gi"',
      'p.yaml:6:34: evictionSoft.nodefs.available: needs a grace period: write it to evictionSoftGracePeriod',
    ],
  },
  {
    name: 'a key that stands there twice, along with other problems',
    text: 'name: a\nmode: enforce\nmode: dry-run\npriority: high\n',
    says: [
      'p.yaml:3:1: the same key stands here a second time',
      'p.yaml:4:11: priority: must be a whole number',
    ],
  },
  {
    name: 'broken YAML',
    text: "name: a\nmode: 'enforce\n",
    says: [
      "p.yaml:3:1: this cannot be read as YAML; look at quotes, brackets and indentation here and just above (Missing closing 'quote)",
    ],
  },
  {
    name: 'a tag',
    text: 'name: a\nmode: !env MODE\n',
    says: [
      'p.yaml:2:7: a tag such as !name has no meaning here',
      'p.yaml:2:12: mode: must be dry-run (decide and record, remove nothing) or enforce',
    ],
  },
  {
    name: 'a label that would be lost, and with it the condition',
    text: 'name: a\nmode: enforce\nselector:\n  nodeLabels:\n    pool: web\n    __proto__: x\n',
    says: ['p.yaml:6:5: __proto__ is no name'],
  },
  {
    name: 'an alias without an anchor',
    text: 'name: a\nmode: *mode\n',
    says: ['p.yaml:1:1: an alias has no anchor, or there are too many; write the values out'],
  },
  {
    name: 'aliases that would fill memory',
    text: `a: &a [${'x,'.repeat(20)}]\nb: &b [${'*a,'.repeat(20)}]\nc: [${'*b,'.repeat(20)}]\n`,
    says: ['p.yaml:1:1: an alias has no anchor, or there are too many; write the values out'],
  },
  {
    name: 'two policies of one name, even where the second is wrong otherwise',
    text: 'name: a\nmode: enforce\n---\nname: a\n',
    says: [
      'p.yaml:4:1: mode: is missing: write dry-run (decide and record, remove nothing) or enforce',
      'p.yaml:4:7: name: there is another policy named a above',
    ],
  },
])('refuses $name', ({ text, says }) => {
  expect(problemsOf(text)).toEqual(says);
});

test('problems of several files are told together, file by file', () => {
  const files = readPolicyFiles([
    { file: 'z.yaml', text: 'name: a\n' },
    { file: 'b.yaml', text: '' },
    { file: 'a.yaml', text: 'name: a\nmode: enforce\n' },
  ]);

  expect(!files.valid && files.problems.map(problemText)).toEqual([
    'z.yaml:1:1: mode: is missing: write dry-run (decide and record, remove nothing) or enforce',
    'b.yaml:1:1: there is no policy in this file',
    'a.yaml:1:7: name: there is another policy named a in z.yaml',
  ]);
});

test('[B3] a note says what zero means as the minimum age of images', () => {
  expect(warningsOf('name: a\nmode: enforce\nimageMinimumGCAge: 0s\n')).toEqual([
    'p.yaml:3:20: imageMinimumGCAge: zero means the default, 2m, as it does to the kubelet; -1s means no minimum age',
  ]);
});

test.each<{ pattern: string; noted: boolean }>([
  { pattern: 'nginx', noted: true },
  { pattern: 'nginx:*', noted: true },
  { pattern: 'library/nginx', noted: true },
  { pattern: 'team*', noted: true },
  { pattern: 'team/**', noted: true },
  { pattern: '**/app', noted: false },
  { pattern: 'docker.io/library/nginx', noted: false },
  { pattern: 'registry:5000/app', noted: false },
  { pattern: 'localhost/app', noted: false },
  { pattern: '*/app', noted: false },
  { pattern: '**', noted: false },
])('a note on the pattern $pattern, which no image may match: $noted', ({ pattern, noted }) => {
  const warnings = warningsOf(`name: a\nmode: enforce\nkeep:\n  images: ["${pattern}"]\n`);

  expect(warnings).toEqual(
    noted
      ? [
          `p.yaml:4:12: keep.images[0]: ${pattern} names no registry, but runtimes list images in full, as in docker.io/library/nginx:1.27`,
        ]
      : [],
  );
});

test.each([
  {
    pattern: 'registry.example/team/',
    why: 'no image name ends with a slash; write registry.example/team/** for all below it',
  },
  {
    pattern: 'registry.example/**/',
    why: 'no image name ends with a slash; write registry.example/** for all below it',
  },
  {
    pattern: '/registry.example/**',
    why: 'image names do not begin with a slash and have no two in a row',
  },
  { pattern: 'registry.example//app', why: 'image names do not begin with a slash and have no two in a row' },
  { pattern: 'docker://registry.example/app', why: 'image names have no scheme; leave it out' },
  { pattern: 'registry.example/app:', why: 'no image name ends with ":"' },
  { pattern: 'registry.example/my app', why: 'image names hold no " "' },
  { pattern: 'registry.example/Team/*', why: 'repositories are written in small letters' },
  { pattern: '**/App:*', why: 'repositories are written in small letters' },
])('a note on the pattern $pattern, which no image name can match', ({ pattern, why }) => {
  expect(warningsOf(`name: a\nmode: enforce\nkeep:\n  images: ["${pattern}"]\n`)).toEqual([
    `p.yaml:4:12: keep.images[0]: ${pattern} keeps nothing: ${why}`,
  ]);
});

test.each([
  'REGISTRY.example:5000/app',
  'registry.example/app:RC-1',
  'registry.example/app*RC',
  'registry.example/**RC',
  '??2001:db8::1?:5000/app',
  'registry.example/my__app.x-1/**',
  'registry.example/app@sha256:*',
])('no note on the pattern %s, which an image name can match', (pattern) => {
  expect(warningsOf(`name: a\nmode: enforce\nkeep:\n  images: ["${pattern}"]\n`)).toEqual([]);
});

const keys = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `k${index}`);

test.each([
  {
    name: 'lines',
    text: keys(10_001)
      .map((key) => `${key}: 1`)
      .join('\n'),
  },
  {
    name: 'lines without a value',
    text: keys(10_001)
      .map((key) => `${key}:`)
      .join('\n'),
  },
  { name: 'braces', text: `{${keys(10_002).join(',')}}` },
  {
    name: 'quotes',
    text: `{${keys(5_001)
      .map((key) => `"${key}" :1`)
      .join(',')}}`,
  },
  {
    name: 'question marks',
    text: keys(10_001)
      .map((key) => `? ${key}`)
      .join('\n'),
  },
  {
    name: 'several documents',
    text: keys(10_001)
      .map((key) => `---\n${key}: 1`)
      .join('\n'),
  },
])('more keys than the parser takes in a second are not parsed: in $name', ({ text }) => {
  expect(problemsOf(text)).toEqual([
    expect.stringMatching(/^p\.yaml:1:1: it has more than the 10000 colons/),
  ]);
});

test('more bytes than the parser takes are not parsed', () => {
  expect(problemsOf(`name: a # ${'x'.repeat(1_048_576)}`)).toEqual([
    expect.stringMatching(/^p\.yaml:1:1: it has more than the 1048576 bytes/),
  ]);
  expect(problemsOf(`name: a # ${'ß'.repeat(600_000)}`)).toEqual([expect.stringContaining('1048576 bytes')]);
});

test('as many patterns with a port and a tag as a policy may have are no keys', () => {
  const patterns = Array.from({ length: 1_000 }, (_, index) => `    - r:5000/a${index}:1`).join('\n');
  expect(problemsOf(`name: a\nmode: enforce\nkeep:\n  images:\n${patterns}`)).toEqual([]);
});
