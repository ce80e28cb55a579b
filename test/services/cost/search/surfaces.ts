import { decide as decideContainers } from '../../../../packages/deciders/container-gc/decide.ts';
import { decide as decideExpiry } from '../../../../packages/deciders/expiry-gc/decide.ts';
import { decide as decideOwnership } from '../../../../packages/deciders/graph-gc/decide.ts';
import { decide as decideImages } from '../../../../packages/deciders/image-gc/decide.ts';
import { decide as decidePods } from '../../../../packages/deciders/pod-gc/decide.ts';
import { type ClusterDecider, clusterConclusion } from '../../../../packages/decision/cluster-handler.ts';
import { policySet } from '../../../../packages/decision/policy-set.ts';
import type { CandidatesFact } from '../../../../packages/read-model/held-objects.ts';
import { MAX_INVENTORY_OBJECTS } from '../../../../schemas/events/inventory.ts';
import { MAX_CANDIDATE_REFERENCES, MAX_CANDIDATES } from '../../../../schemas/events/ownership.ts';
import { MAX_APPROVED_OBJECTS } from '../../../../schemas/policy/approval.ts';
import { ClusterPolicyRecord } from '../../../../schemas/policy/cluster-policy.ts';
import { MAX_GLOB_LENGTH, MAX_GLOBS } from '../../../../schemas/policy/glob.ts';
import {
  MAX_IMAGE_NAME_LENGTH,
  MAX_IMAGE_NAMES,
  MAX_KEPT_DIGESTS,
} from '../../../../schemas/policy/image-pattern.ts';
import { MAX_RULES } from '../../../../schemas/policy/own-rule.ts';
import { PauseRecord, PolicyRecord } from '../../../../schemas/policy/policy.ts';
import { selectPolicy } from '../../../../schemas/policy/policy-selection.ts';
import { MAX_DECISION_STEPS, MAX_SELECTION_STEPS, Steps } from '../../../../schemas/policy/steps.ts';
import { parseLocalRules } from '../../../../services/node/executor/local-rules.ts';
import { ruleFor, rulesTo } from '../../../../services/notices/notices.ts';
import { rulesIn } from '../../../../services/notices/rules-file.ts';
import { approval, approvedOwners } from '../../../fixtures/approval.ts';
import { clusterPolicy, clusterPolicyRecord } from '../../../fixtures/cluster.ts';
import { expiry, expiryCandidate } from '../../../fixtures/expiry.ts';
import { container, image, inventory, NODE, pod, sandbox } from '../../../fixtures/inventory.ts';
import { candidate, owner, ownership } from '../../../fixtures/ownership.ts';
import { podCandidate, pods } from '../../../fixtures/pods.ts';
import { EVERY_NODE, keepList, pauseRecord, policy, policyRecord } from '../../../fixtures/policy.ts';
import { noticeOf } from '../../notices/support/notice-of.ts';
import type { Genome, Surface } from './climb.ts';

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const from = (genome: Genome, name: string): number => genome[name] ?? 0;
const text = (index: number, length: number): string => String(index).padEnd(length, 'ab');

/** Between a star and many question marks a name is at many places of a pattern at once. */
const patterns = (genome: Genome): string[] =>
  many(
    from(genome, 'patterns'),
    (index) => `*a${'?'.repeat(from(genome, 'width') % 15)}${text(index, from(genome, 'tail'))}`,
  );

const PATTERN_GENES = [
  { name: 'patterns', most: MAX_GLOBS },
  { name: 'width', most: 14 },
  { name: 'tail', most: MAX_GLOB_LENGTH - 20 },
] as const;

/** What was taken when it ended; everything is kept where that is more than one may take. */
function decided(
  run: (steps: Steps) => { readonly outcome: string; readonly items: readonly unknown[] },
): number {
  const steps = new Steps(MAX_DECISION_STEPS);
  const { outcome, items } = run(steps);
  if (outcome !== 'too-costly') return steps.taken;
  if (items.length > 0) throw new Error('too costly, and all the same something goes');
  return MAX_DECISION_STEPS;
}

const images: Surface = {
  name: 'gc.node.inventory and a policy: image-gc',
  bound: MAX_DECISION_STEPS,
  genes: [
    { name: 'images', most: 2_000 },
    { name: 'names', most: MAX_IMAGE_NAMES / 50 },
    { name: 'nameLength', most: MAX_IMAGE_NAME_LENGTH - 20 },
    { name: 'users', most: 50 },
    { name: 'layers', most: 50 },
    { name: 'labels', most: 50 },
    { name: 'wanted', most: 1_000 },
    { name: 'digests', most: MAX_KEPT_DIGESTS },
    { name: 'versions', most: 3 },
    ...PATTERN_GENES,
  ],
  stepsOf: (genome) => {
    const settings = policy({
      keep: keepList({
        patterns: patterns(genome),
        digests: many(from(genome, 'digests'), (index) => String(index).padStart(64, '0')),
        labels: Object.fromEntries(many(from(genome, 'wanted'), (index) => [`l${index}`, 'x'])),
        lastVersions: from(genome, 'versions'),
      }),
    });
    if (!PolicyRecord.safeParse(policyRecord(settings)).success) return null;
    const given = inventory({
      layers: [{ kind: 'blob', digest: 'a', sizeBytes: 1 }],
      images: many(from(genome, 'images'), (index) =>
        image(`i${index}`, {
          repoTags: many(
            from(genome, 'names'),
            (name) => `${text(index * 1_000 + name, from(genome, 'nameLength'))}:1`,
          ),
          usedBy: many(from(genome, 'users'), (user) => ({ kind: 'lease', id: `${user}` })),
          layers: many(from(genome, 'layers'), () => 0),
          labels: Object.fromEntries(many(from(genome, 'labels'), (label) => [`l${label}`, ''])),
        }),
      ),
    });
    return decided((steps) => decideImages(given, settings, steps));
  },
};

const containers: Surface = {
  name: 'gc.node.inventory and a policy: container-gc',
  bound: MAX_DECISION_STEPS,
  genes: [
    { name: 'containers', most: MAX_INVENTORY_OBJECTS / 2 },
    { name: 'sandboxes', most: MAX_INVENTORY_OBJECTS / 2 },
    { name: 'pods', most: 2_000 },
    { name: 'initContainers', most: 50 },
    { name: 'links', most: 5_000 },
    { name: 'pathLength', most: 1_000 },
  ],
  stepsOf: (genome) => {
    const given = inventory({
      containers: many(from(genome, 'containers'), (index) =>
        container(`aaaaaaaa${index}`, { logPath: `/${'a'.repeat(from(genome, 'pathLength'))}` }),
      ),
      sandboxes: many(from(genome, 'sandboxes'), (index) => sandbox(`s${index}`)),
      pods: many(from(genome, 'pods'), (index) =>
        pod(`u${index}`, { initContainers: many(from(genome, 'initContainers'), (name) => `c${name}`) }),
      ),
      podLogDirectories: [],
      logSymlinks: many(from(genome, 'links'), (index) => ({
        name: `p_n_c${index}-aaaaaaaa.log`,
        container: 'no-answer' as const,
        backoff: null,
      })),
    });
    return decided((steps) => decideContainers(given, policy(), steps));
  },
};

const NAMES_OF_NODES = [{ name: 'nodeLength', most: 253 }] as const;
const nodeOf = (genome: Genome) => ({
  ...NODE,
  node: 'a'.repeat(Math.max(1, from(genome, 'nodeLength'))),
  nodeLabels: {},
});

/** Steps of a choice, which is closed where it takes more than one may. */
function chosen(policies: readonly PolicyRecord[], pauses: readonly PauseRecord[], genome: Genome): number {
  const steps = new Steps(MAX_SELECTION_STEPS);
  const set = policySet('node', policies, pauses);
  return selectPolicy(set, nodeOf(genome), steps).kind === 'too-costly' ? MAX_SELECTION_STEPS : steps.taken;
}

const selection: Surface = {
  name: 'gc.policies: the choice of a policy for a node, also in dry-run',
  bound: MAX_SELECTION_STEPS,
  genes: [{ name: 'policies', most: 50 }, ...NAMES_OF_NODES, ...PATTERN_GENES],
  stepsOf: (genome) => {
    const selector = { ...EVERY_NODE, nodeNames: patterns(genome) };
    const records = many(from(genome, 'policies'), (index) =>
      policyRecord({
        name: `p${index}`,
        mode: 'dry-run',
        selector: { ...selector, nodeNames: [...selector.nodeNames] },
      }),
    );
    if (!PolicyRecord.safeParse(policyRecord({ selector })).success) return null;
    return chosen(records, [], genome);
  },
};

const pause: Surface = {
  name: 'gc.policies: pauses',
  bound: MAX_SELECTION_STEPS,
  genes: [{ name: 'pauses', most: 50 }, ...NAMES_OF_NODES, ...PATTERN_GENES],
  stepsOf: (genome) => {
    const record = pauseRecord({ selector: { ...EVERY_NODE, nodeNames: patterns(genome) } });
    if (!PauseRecord.safeParse(record).success) return null;
    const pauses = many(from(genome, 'pauses'), () => ({
      ...record,
      selector: { ...record.selector, nodeNames: [...record.selector.nodeNames] },
    }));
    return chosen([], pauses, genome);
  },
};

const notices: Surface = {
  name: 'a file of notice rules, and one notice for all its receivers',
  bound: MAX_SELECTION_STEPS,
  genes: [
    { name: 'rules', most: 100 },
    { name: 'receivers', most: 16 },
    { name: 'clusters', most: MAX_GLOBS },
    ...NAMES_OF_NODES,
    ...PATTERN_GENES,
  ],
  stepsOf: (genome) => {
    const names = many(Math.max(1, from(genome, 'receivers')), (index) => `r${index}`);
    // The name of the cluster matches at its end, so that the node is held against its patterns too.
    const clusters = [...patterns({ ...genome, patterns: from(genome, 'clusters') }), '**'];
    const file = rulesIn(
      JSON.stringify({
        receivers: names.map((name) => ({ name, type: 'webhook', url: 'https://r.example/' })),
        rules: many(Math.max(1, from(genome, 'rules')), (rule) => ({
          name: `n${rule}`,
          clusters,
          nodes: [...patterns(genome), 'z'],
          to: names,
        })),
      }),
    );
    if (!file.ok) return null;
    const { node } = nodeOf(genome);
    const steps = new Steps(MAX_SELECTION_STEPS);
    for (const name of names) ruleFor(rulesTo(file.rules, name), noticeOf(1, { cluster: node, node }), steps);
    return steps.taken;
  },
};

const localFile: Surface = {
  name: 'node.yaml, and one image that is about to go',
  bound: MAX_DECISION_STEPS,
  genes: [
    { name: 'names', most: 100 },
    { name: 'nameLength', most: MAX_IMAGE_NAME_LENGTH - 20 },
    ...PATTERN_GENES,
  ],
  stepsOf: (genome) => {
    const keepPatterns = patterns(genome);
    if (parseLocalRules('node.yaml', JSON.stringify({ keepPatterns })).kind !== 'rules') return null;
    const repoTags = many(from(genome, 'names'), (index) => `${text(index, from(genome, 'nameLength'))}:1`);
    const settings = policy({ keep: keepList({ patterns: keepPatterns }) });
    return decided((steps) =>
      decideImages(inventory({ images: [image('i', { repoTags })] }), settings, steps),
    );
  },
};

/** Steps of a decision about a cluster, by the facts of each of its services. */
function decidedCluster<Fact extends CandidatesFact>(
  fact: Fact,
  decide: ClusterDecider<Fact>['decide'],
  genome: Genome,
): number | null {
  const settings = clusterPolicy({
    mode: 'enforce',
    heldKinds: many(from(genome, 'names'), (index) => `g/Kind${index}`),
    limits: { cascade: 1, cascadeOfKind: 1, removalsPerHour: 1 },
    keep: { namespaces: many(from(genome, 'names'), (index) => `n${index}`), kinds: [] },
    ...(from(genome, 'rules') > 0 && {
      rules: many(from(genome, 'rules'), (rule) => ({
        name: `r${rule}`,
        kinds: many(Math.max(1, from(genome, 'kinds')), (index) => `g/Kind${index}`),
        namespaces: ['scratch'],
        afterMs: 3_600_000,
        propagation: 'Background' as const,
        removalsPerHour: 1,
      })),
    }),
  });
  const record = { ...clusterPolicyRecord(), policy: settings };
  const approvals = many(from(genome, 'approvals'), (index) =>
    approval(
      approvedOwners(
        `g/Kind${index}`,
        1,
        many(Math.max(1, from(genome, 'owners')), (uid) => `o${uid}`),
      ),
      {
        id: `a${index}`,
      },
    ),
  );
  if (!ClusterPolicyRecord.safeParse(record).success) return null;
  const steps = new Steps(MAX_DECISION_STEPS);
  const { outcome, items } = clusterConclusion(
    fact,
    { policy: settings, approvals },
    () => decide(fact, settings, approvals),
    steps,
  );
  if (outcome !== 'too-costly') return steps.taken;
  if (items.length > 0) throw new Error('too costly, and all the same something goes');
  return MAX_DECISION_STEPS;
}

const OF_CLUSTERS = [
  { name: 'candidates', most: MAX_CANDIDATES },
  { name: 'names', most: 1_000 },
  { name: 'rules', most: MAX_RULES },
  { name: 'kinds', most: 1_000 },
  { name: 'approvals', most: 400 },
  { name: 'owners', most: MAX_APPROVED_OBJECTS },
] as const;

const owners: Surface = {
  name: 'gc.cluster.ownership, a policy and approvals: graph-gc',
  bound: MAX_DECISION_STEPS,
  genes: [
    ...OF_CLUSTERS,
    { name: 'references', most: MAX_CANDIDATE_REFERENCES },
    { name: 'cascades', most: MAX_CANDIDATE_REFERENCES },
  ],
  stepsOf: (genome) => {
    const references = many(from(genome, 'references'), (index) =>
      owner(`o${index}`, { state: 'gone', gone: { how: 'watched', orphaned: false } }),
    );
    const cascades = many(from(genome, 'cascades'), (index) => ({
      ownerUid: `o${index}`,
      ownerKind: 'ConfigMap',
      objects: 2,
      ofKind: 2,
      within: null,
    }));
    const one = candidate({ references, cascades });
    return decidedCluster(
      ownership({ candidates: many(from(genome, 'candidates'), () => one) }),
      decideOwnership,
      genome,
    );
  },
};

const podsOfClusters: Surface = {
  name: 'gc.cluster.pods, a policy and approvals: pod-gc',
  bound: MAX_DECISION_STEPS,
  genes: OF_CLUSTERS,
  stepsOf: (genome) =>
    decidedCluster(
      pods({
        candidates: many(from(genome, 'candidates'), (index) =>
          podCandidate({ object: { uid: `u${index}` } }),
        ),
      }),
      decidePods,
      genome,
    ),
};

const expiring: Surface = {
  name: 'gc.cluster.expiry, a policy and approvals: expiry-gc',
  bound: MAX_DECISION_STEPS,
  genes: OF_CLUSTERS,
  stepsOf: (genome) =>
    decidedCluster(
      expiry({
        candidates: many(from(genome, 'candidates'), (index) =>
          expiryCandidate({ object: { uid: `u${index}` } }),
        ),
      }),
      decideExpiry,
      genome,
    ),
};

/** Each takes what others write, and counts its steps. Of policies the whole record is checked as it is at the door. */
export const SURFACES: readonly Surface[] = [
  images,
  containers,
  selection,
  pause,
  notices,
  localFile,
  owners,
  podsOfClusters,
  expiring,
];
