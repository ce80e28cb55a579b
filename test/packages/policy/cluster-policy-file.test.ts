import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  readAnyPolicyFiles,
  readClusterPolicyFiles,
  readPolicyFiles,
} from '../../../packages/policy/file/read-policy-file.ts';
import { writtenClusterYaml } from '../../../packages/policy/file/written-form.ts';
import { problemText } from '../../../packages/policy/file/yaml-document.ts';
import { ClusterPolicy, Collector } from '../../../schemas/policy/cluster-policy.ts';
import { HELD_KINDS } from '../../../schemas/policy/cluster-policy-defaults.ts';
import type { OwnRule } from '../../../schemas/policy/own-rule.ts';
import { runs } from '../../support/property-runs.ts';

const read = (text: string) => readAnyPolicyFiles([{ file: 'p.yaml', text }]);

function problemsOf(text: string): readonly string[] {
  const files = read(text);
  return files.valid ? [] : files.problems.map(problemText);
}
function warningsOf(text: string): readonly string[] {
  const files = read(text);
  return files.valid ? files.warnings.map(problemText) : ['refused'];
}

const SMALLEST = 'kind: ClusterPolicy\nname: a\nmode: dry-run\n';

test('what is left out has a default, and FleetGC stands in for no collector', () => {
  const files = read(SMALLEST);
  expect(files.valid && files.policies).toEqual([
    {
      subject: 'cluster',
      source: SMALLEST,
      policy: {
        name: 'a',
        priority: 0,
        selector: { clusters: [] },
        mode: 'dry-run',
        profile: 'fleetgc',
        collectors: [],
        terminatedPodGCThreshold: 12_500,
        limits: { cascade: 1_000, cascadeOfKind: 5_000, removalsPerHour: 10_000 },
        heldKinds: [...HELD_KINDS],
        keep: { namespaces: [], kinds: [] },
        commandLifetimeMs: 600_000,
      },
    },
  ]);
});

test('undo: off is what a policy without it says, and has the same hash', () => {
  const policyOf = (text: string): unknown => {
    const files = read(text);
    return files.valid && files.policies[0]?.policy;
  };
  expect(policyOf(`${SMALLEST}undo: off\nundoExcept: []\n`)).toStrictEqual(policyOf(SMALLEST));
  expect(policyOf(`${SMALLEST}undo: manifest\n`)).toMatchObject({ undo: 'manifest' });
});

test('a file may hold policies of both kinds, also of one name, and each is read by its own rules', () => {
  const files = read(
    `name: a\nmode: enforce\n---\n${SMALLEST}---\nkind: NodePolicy\nname: b\nmode: dry-run\n`,
  );
  expect(files.valid && files.policies.map(({ subject, policy: { name } }) => [subject, name])).toEqual([
    ['node', 'a'],
    ['cluster', 'a'],
    ['node', 'b'],
  ]);
});

test.each<{ name: string; text: string; says: string[] }>([
  {
    name: 'a missing mode',
    text: 'kind: ClusterPolicy\nname: a\n',
    says: [
      'p.yaml:1:1: mode: is missing: write dry-run (decide and record, send nothing), rehearse (ask the API server for all of it as a dry run) or enforce',
    ],
  },
  {
    name: 'two of one kind and name',
    text: `${SMALLEST}---\n${SMALLEST}`,
    says: ['p.yaml:6:7: name: there is another policy named a above'],
  },
  {
    name: 'another kind',
    text: 'kind: PodPolicy\nname: a\nmode: dry-run\n',
    says: ['p.yaml:1:7: kind: must be NodePolicy or ClusterPolicy; without it the policy is for nodes'],
  },
  {
    name: 'a setting of nodes',
    text: `${SMALLEST}imageMinimumGCAge: 1h\n`,
    says: ['p.yaml:4:1: imageMinimumGCAge: is a setting of policies for nodes, which this one is not'],
  },
  {
    name: 'a misspelt setting of a section, and one in the wrong place',
    text: `${SMALLEST}limits: { cascades: 5 }\nnamespaces: [a]\n`,
    says: [
      'p.yaml:4:11: limits.cascades: there is no such setting; did you mean limits.cascade?',
      'p.yaml:5:1: namespaces: there is no such setting; did you mean keep.namespaces?',
    ],
  },
  {
    name: 'conditions of nodes, and conditions that were emptied',
    text: `${SMALLEST}selector: { clusters: [], nodeNames: [a] }\n`,
    says: [
      'p.yaml:4:23: selector.clusters: must not be empty; leave it out for no such condition',
      'p.yaml:4:27: selector.nodeNames: there is no such setting',
    ],
  },
  {
    name: 'kinds that are none',
    text: `${SMALLEST}heldKinds: [v1/Pod, apps/v1/Deployment, '*']\n`,
    says: [
      'p.yaml:4:13: heldKinds[0]: begins with a version: write the group, such as apps/ReplicaSet; of the core group the kind alone, such as Pod',
      'p.yaml:4:21: heldKinds[1]: must be a kind with its group before it, such as apps/ReplicaSet; of the core group the kind alone, such as Pod',
      'p.yaml:4:41: heldKinds[2]: must be a kind with its group before it, such as apps/ReplicaSet; of the core group the kind alone, such as Pod',
    ],
  },
  {
    name: 'limits that are none, and a lifetime that is too long',
    text: `${SMALLEST}limits: { cascade: 0, removalsPerHour: many }\ncommandLifetime: 11m\n`,
    says: [
      'p.yaml:4:20: limits.cascade: must be at least 1',
      'p.yaml:4:40: limits.removalsPerHour: must be a whole number above 0',
      'p.yaml:5:18: commandLifetime: must be from 1s to 10m',
    ],
  },
  {
    name: 'rules that are none',
    text: `${SMALLEST}rules: [{ name: a, kinds: [] }, { name: B, kinds: [Pod], propagation: Slow }, { kinds: [v1/Pod] }]\n`,
    says: [
      'p.yaml:4:27: rules[0].kinds: must name at least one kind',
      'p.yaml:4:41: rules[1].name: must be 1 to 63 lower-case letters, digits or dashes, starting and ending with a letter or digit',
      'p.yaml:4:71: rules[1].propagation: must be one of Background, Foreground, Orphan',
      'p.yaml:4:79: rules[2].name: is missing',
      'p.yaml:4:89: rules[2].kinds[0]: begins with a version: write the group, such as apps/ReplicaSet; of the core group the kind alone, such as Pod',
    ],
  },
  {
    name: 'a rule that would take all that is old enough',
    text: `${SMALLEST}rules: [{ name: a, kinds: [ConfigMap, apps/Deployment], after: 72h }]\n`,
    says: [
      'p.yaml:4:64: rules[0].after: would take every ConfigMap and every apps/Deployment of every namespace that is older than 72h: say labels, namespaces or states too',
    ],
  },
  {
    name: 'conditions that were emptied',
    text: `${SMALLEST}rules: [{ name: a, kinds: [Pod], after: 1h, labels: {} }, { name: b, kinds: [Pod], after: 1h, states: [] }]\n`,
    says: [
      'p.yaml:4:53: rules[0].labels: must not be empty; leave it out for no such condition',
      'p.yaml:4:103: rules[1].states: must not be empty; leave it out for no such condition',
    ],
  },
  {
    name: 'states that a kind does not have, and states without an age',
    text: `${SMALLEST}rules: [{ name: a, kinds: [Pod, batch/Job], after: 1h, states: [Failed, Succeeded] }, { name: b, kinds: [Secret], after: 1h, states: [Failed] }, { name: c, kinds: [Pod], states: [Failed] }]\n`,
    says: [
      'p.yaml:4:73: rules[0].states[1]: batch/Job has no state Succeeded: it has Complete, Failed',
      'p.yaml:4:135: rules[1].states[0]: Secret has no states: only batch/Job and Pod have, so a rule with states can be for these alone',
      'p.yaml:4:179: rules[2].states: need after: how long after its end an object goes, such as 24h',
    ],
  },
  {
    name: 'ages, labels and states that are none',
    text: `${SMALLEST}rules: [{ name: a, kinds: [Pod], after: 7d, labels: { 'a b': x, app: 'ci-*', n: 1 }, states: [Running] }, { name: b, kinds: [Pod], after: 1s, namespaces: [a] }]\n`,
    says: [
      'p.yaml:4:41: rules[0].after: must be written in hours, since there is no unit of days: 168h',
      'p.yaml:4:62: rules[0].labels.a b: is no name of a label, such as app or example.com/app',
      'p.yaml:4:70: rules[0].labels.app: must be the whole value of a label; patterns have no meaning here',
      'p.yaml:4:81: rules[0].labels.n: must be text; put it in quotes, as in "true" or "1"',
      'p.yaml:4:95: rules[0].states[0]: must be one of Complete, Succeeded, Failed, Evicted',
      'p.yaml:4:139: rules[1].after: must be from 1m to 87600h',
    ],
  },
  {
    name: 'two rules of one name',
    text: `${SMALLEST}rules: [{ name: a, kinds: [Pod] }, { name: a, kinds: [Pod] }]\n`,
    says: ['p.yaml:4:8: rules: has two rules of the name a'],
  },
  {
    name: 'a collector that nobody can give away',
    text: `${SMALLEST}collectors: [pod-gc]\n`,
    says: [`p.yaml:4:14: collectors[0]: must be the name of a collector: ${Collector.options.join(', ')}`],
  },
  {
    name: 'another way to undo',
    text: `${SMALLEST}undo: true\n`,
    says: ['p.yaml:4:7: undo: must be off or manifest'],
  },
])('refuses $name, with the place and what to write', ({ text, says }) => {
  expect(problemsOf(text)).toEqual(says);
});

test.each<{ name: string; text: string; says: string[] }>([
  { name: 'nothing', text: SMALLEST, says: [] },
  {
    name: 'a mode that does nothing',
    text: 'kind: ClusterPolicy\nname: a\nmode: enforce\n',
    says: ['p.yaml:3:7: mode: enforce does nothing here: collectors names none, and there are no rules'],
  },
  {
    name: 'a list that drops what is held by default',
    text: `${SMALLEST}heldKinds: [Namespace, Node, PersistentVolume, apiextensions.k8s.io/CustomResourceDefinition]\n`,
    says: [
      'p.yaml:4:12: heldKinds: apiregistration.k8s.io/APIService, project.openshift.io/Project are not held now: the list replaces the default as a whole',
    ],
  },
  {
    name: 'rules that delete nothing of what they name, and those that take what still runs',
    text: `${SMALLEST}rules: [{ name: a, kinds: [Node, rbac.authorization.k8s.io/Role, secrets], namespaces: [kube-system] }, { name: b, kinds: [Pod, batch/Job, Secret], labels: { app: ci }, after: 1h }]\n`,
    says: [
      'p.yaml:4:28: rules[0].kinds[0]: no rule deletes any Node',
      'p.yaml:4:34: rules[0].kinds[1]: no rule deletes any rbac.authorization.k8s.io/Role',
      'p.yaml:4:66: rules[0].kinds[2]: secrets looks like the name of a resource: kinds are written as in Pod or apps/Deployment',
      'p.yaml:4:89: rules[0].namespaces[0]: no rule deletes anything in kube-system',
      'p.yaml:4:124: rules[1].kinds[0]: takes each Pod that is older than 1h, whether it has ended or not; with states it takes those that ended',
      'p.yaml:4:129: rules[1].kinds[1]: takes each batch/Job that is older than 1h, whether it has ended or not; with states it takes those that ended',
    ],
  },
  {
    name: 'names of resources',
    text: `${SMALLEST}keep: { kinds: [pods, apps/ReplicaSet] }\n`,
    says: [
      'p.yaml:4:17: keep.kinds[0]: pods looks like the name of a resource: kinds are written as in Pod or apps/Deployment',
    ],
  },
  {
    name: 'kinds without their group',
    text: `${SMALLEST}keep: { kinds: [Deployment, ConfigMap] }\nrules: [{ name: a, kinds: [Job], labels: { app: ci }, after: 1h }]\n`,
    says: [
      'p.yaml:4:17: keep.kinds[0]: there is no Deployment in the core group: other kinds are written with their group, as in batch/Job',
      'p.yaml:5:28: rules[0].kinds[0]: there is no Job in the core group: other kinds are written with their group, as in batch/Job',
    ],
  },
  {
    name: 'kinds that undo excepts, where nothing is kept, or that nobody serves',
    text: `${SMALLEST}undo: off\nundoExcept: [Deployment]\n`,
    says: [
      'p.yaml:5:13: undoExcept: does nothing here: without undo: manifest nothing is saved',
      'p.yaml:5:14: undoExcept[0]: there is no Deployment in the core group: other kinds are written with their group, as in batch/Job',
    ],
  },
  {
    name: 'no kind that undo excepts',
    text: `${SMALLEST}undo: manifest\nundoExcept: [ConfigMap]\n`,
    says: [],
  },
])('warns of $name', ({ text, says }) => {
  expect(warningsOf(text)).toEqual(says);
});

test('where only policies for nodes are taken, another one is a problem', () => {
  const files = readPolicyFiles([{ file: 'p.yaml', text: SMALLEST }]);
  expect(!files.valid && files.problems.map(problemText)).toEqual([
    'p.yaml:1:7: kind: only policies for nodes are taken here; fleetgc cluster run takes those for clusters',
  ]);
});

test('where only policies for clusters are taken, another one is a problem', () => {
  const files = readClusterPolicyFiles([{ file: 'p.yaml', text: 'name: a\nmode: dry-run\n' }]);
  expect(!files.valid && files.problems.map(problemText)).toEqual([
    'p.yaml:1:1: kind: only policies for clusters are taken here: they say kind: ClusterPolicy',
  ]);
  expect(readClusterPolicyFiles([{ file: 'p.yaml', text: SMALLEST }]).valid).toBe(true);
});

const kinds = fc.array(fc.constantFrom('Pod', 'apps/ReplicaSet', 'batch/Job', 'example.com/Widget'));
const clusterPolicies: fc.Arbitrary<ClusterPolicy> = fc.record({
  name: fc.stringMatching(/^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/),
  priority: fc.maxSafeInteger(),
  selector: fc.record({ clusters: fc.array(fc.constantFrom('prod', 'test', '1')) }),
  mode: fc.constantFrom('dry-run', 'rehearse', 'enforce'),
  profile: fc.constantFrom('fleetgc', 'kubernetes'),
  collectors: fc.subarray([...Collector.options]),
  rules: fc.option(
    fc
      .record({
        name: fc.constantFrom('old', 'previews-2'),
        kinds: fc.subarray(['Secret', 'apps/Deployment'], { minLength: 1 }),
        namespaces: fc.subarray(['a', 'b']),
        propagation: fc.constantFrom('Background' as const, 'Orphan' as const),
        removalsPerHour: fc.integer({ min: 1, max: 1_000 }),
        heldFromPercent: fc.integer({ min: 0, max: 100 }),
        more: fc.constantFrom<Partial<OwnRule>>(
          {},
          { labels: { app: 'true', 'example.com/x': '' } },
          { labels: { app: 'ci' }, afterMs: 90_000 },
          { kinds: ['Pod', 'batch/Job'], states: ['Failed'], afterMs: 604_800_000 },
        ),
      })
      .map(({ more, ...rule }) => [{ ...rule, ...more }]),
    { nil: undefined },
  ),
  limits: fc.record({
    cascade: fc.integer({ min: 1 }),
    cascadeOfKind: fc.integer({ min: 1 }),
    removalsPerHour: fc.integer({ min: 1 }),
  }),
  terminatedPodGCThreshold: fc.nat(),
  undo: fc.constantFrom('manifest' as const, undefined),
  undoExcept: fc.constantFrom(['Pod', 'example.com/Widget'], undefined),
  heldKinds: kinds,
  keep: fc.record({ namespaces: fc.array(fc.constantFrom('kube-system', 'default', '1')), kinds }),
  commandLifetimeMs: fc.integer({ min: 1_000, max: 600_000 }),
});

test('a policy that is written out with every default is the same when it is read again', () => {
  fc.assert(
    fc.property(clusterPolicies, (policy) => {
      expect(ClusterPolicy.parse(policy)).toEqual(policy);
      const files = read(writtenClusterYaml(policy));
      expect(files.valid && files.policies.map((each) => each.policy)).toEqual([policy]);
    }),
    runs(200),
  );
});
