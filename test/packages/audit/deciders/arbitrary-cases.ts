import fc from 'fast-check';
import { DiskStats } from '../../../../schemas/events/disk-stats.ts';
import { type CompleteInventory, Inventory } from '../../../../schemas/events/inventory.ts';
import { type ClusterPolicy, Collector } from '../../../../schemas/policy/cluster-policy.ts';
import type { OwnRule } from '../../../../schemas/policy/own-rule.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { appliedPolicy } from '../../../fixtures/applied-policy.ts';
import {
  approval,
  approvedObjects,
  approvedOwner,
  approvedOwners,
  approvedPods,
  approvedRule,
} from '../../../fixtures/approval.ts';
import { arbitraryPolicy } from '../../../fixtures/arbitrary-node.ts';
import { clusterPolicyRecord } from '../../../fixtures/cluster.ts';
import { expiry } from '../../../fixtures/expiry.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { ownership } from '../../../fixtures/ownership.ts';
import { pods } from '../../../fixtures/pods.ts';
import { EVERY_NODE, pauseRecord } from '../../../fixtures/policy.ts';
import { HOUR } from '../../../fixtures/time.ts';
import { arbitraryContainerNode, arbitraryContainerPolicy } from '../../deciders/container-gc/arbitrary.ts';
import { AnyExpiring } from '../../deciders/expiry-gc/support/any-expiring.ts';
import { AnyCandidate } from '../../deciders/graph-gc/support/any-candidate.ts';
import { arbitraryCase } from '../../deciders/image-gc/support/arbitrary-case.ts';
import { nodeWithLayers } from '../../deciders/image-gc/support/arbitrary-layers.ts';
import { AnyPods } from '../../deciders/pod-gc/support/any-pod.ts';
import { someNode, somePolicy } from '../../deciders/pressure/arbitrary.ts';
import type { CorpusCase } from './corpus.ts';

const ELSEWHERE = { ...EVERY_NODE, clusters: ['elsewhere'] };

/** A case before it is recorded. */
export type Unnamed = Omit<CorpusCase, 'name'>;

/** The policy under test among others, so that each case selects one too. */
export const surrounded = (settings: Policy): Pick<CorpusCase, 'policies' | 'pauses'> => ({
  policies: [
    appliedPolicy({ name: 'batch', priority: 5, selector: { ...EVERY_NODE, nodeNames: ['batch-*'] } }),
    appliedPolicy({ name: 'pools', priority: 9, selector: { ...EVERY_NODE, pools: ['gpu', 'spot'] } }),
    appliedPolicy(settings),
  ],
  pauses: [pauseRecord({ selector: ELSEWHERE })],
});

const mode = fc.constantFrom<Policy['mode']>('enforce', 'enforce', 'enforce', 'dry-run');

const DIED = Array.from({ length: 16 }, (_, index) => `container${index}`);
const PLAIN = fc.constant({});
/** What an inventory may say beside its lists: mostly nothing more. */
const ofInventory = fc.oneof(
  { arbitrary: PLAIN, weight: 10 },
  fc.constantFrom<Partial<CompleteInventory>>(
    { commandVersions: [7] },
    { filesystems: { ...filesystems(), imagefs: null } },
    { filesystems: filesystems({ capacityBytes: '0', availableBytes: '0' }) },
    { filesystems: filesystems({ availableBytes: '1001' }) },
    { filesystems: filesystems({ availableBytes: '900' }) },
    { sandboxImageKnown: false },
    { podImagesKnown: false },
    { containersWithoutImage: ['container-1'] },
    { trigger: 'container-died', diedContainerIds: DIED },
    { trigger: 'container-died', diedContainerIds: DIED },
    { imagesWatchedSinceMs: null },
    { images: [] },
  ),
);
const ofDiskStats = fc.oneof(
  { arbitrary: PLAIN, weight: 10 },
  fc.constantFrom<Partial<DiskStats>>(
    { filesystems: { ...filesystems(), imagefs: null } },
    { filesystems: { ...filesystems(), containerfs: null } },
    { filesystems: filesystems({ inodes: '0', inodesFree: '0' }) },
    { filesystems: filesystems({ availableBytes: '1001' }) },
    { nodeLabels: { 'fleetgc.io/pool': 'gpu' } },
  ),
);
const ofPolicy = fc.oneof(
  { arbitrary: PLAIN, weight: 10 },
  fc.constantFrom<Partial<Policy>>(
    { forcedGC: false },
    { evictionThresholds: [] },
    { maximumDeadContainerAgeMs: 1 },
    { imageMaximumGCAgeMs: 25 * HOUR },
    { imageGCHighThresholdPercent: 100 },
  ),
);

type NodeTopic = Extract<CorpusCase['topic'], 'inventory' | 'diskStats'>;

const isValid = ({ topic, event }: Unnamed): boolean =>
  (topic === 'inventory' ? Inventory : DiskStats).safeParse(JSON.parse(JSON.stringify(event))).success;

const cases = (
  topic: NodeTopic,
  given: fc.Arbitrary<{ readonly event: object; readonly settings: Policy }>,
): fc.Arbitrary<Unnamed> =>
  fc
    .tuple(given, topic === 'inventory' ? ofInventory : ofDiskStats, ofPolicy, mode)
    .map(([{ event, settings }, more, otherwise, mode]) => ({
      topic,
      event: { ...event, ...more },
      ...surrounded({ ...settings, ...otherwise, mode }),
    }))
    .filter(isValid);

const PAUSES = fc.constantFrom([], [], [], [pauseRecord()], [pauseRecord({ selector: ELSEWHERE })]);

const TAKEN_AT_MS = ownership().takenAt.serverMs;

/** Those that let an object go. */
const OWNERS = ['gone', 'unseen', 'unlisted', 'waiting'].flatMap((state) =>
  [0, 1, 2, 3].map((index) => `${state}-${index}`),
);

const ownershipCases: fc.Arbitrary<Unnamed> = fc
  .record({
    candidates: fc.array(AnyCandidate, { maxLength: 8 }),
    wentBack: fc.constantFrom(false, false, false, true),
    over: fc.record({
      mode: fc.constantFrom('enforce', 'enforce', 'rehearse', 'dry-run'),
      profile: fc.constantFrom('fleetgc', 'kubernetes'),
    }),
    otherwise: fc.constantFrom<Partial<ClusterPolicy>>(
      {},
      {},
      {},
      { collectors: [] },
      { heldKinds: ['ConfigMap'] },
      { keep: { namespaces: ['ns'], kinds: [] } },
      { selector: { clusters: ['another'] } },
    ),
    pauses: PAUSES,
    approvals: fc.subarray([
      approval(approvedOwner('gone-0', 2_000), { id: 'approval-owner' }),
      approval(approvedOwners('ConfigMap', 5_000, OWNERS), { id: 'approval-kind' }),
      approval(approvedObjects('Namespace', { uid: 'x', namespace: '', name: 'x' }), {
        id: 'approval-objects',
        untilMs: TAKEN_AT_MS + 10_000,
      }),
      approval(approvedOwner('unseen-0', 2_000), { id: 'approval-elsewhere', cluster: 'another' }),
    ]),
  })
  .map(({ candidates, wentBack, over, otherwise, pauses, approvals }) => ({
    topic: 'clusterOwnership',
    event: ownership({ candidates, wentBack }),
    policies: [
      clusterPolicyRecord({ ...over, ...otherwise }),
      clusterPolicyRecord({ name: 'others', priority: 5, selector: { clusters: ['others'] } }),
    ],
    pauses: [...pauses],
    approvals,
  }));

const podCases: fc.Arbitrary<Unnamed> = fc
  .record({
    candidates: AnyPods,
    terminated: fc.constantFrom(0, 1, 3, 8),
    onMissingNodes: fc.constantFrom(1, 1, 1, 9),
    wentBack: fc.constantFrom(false, false, false, true),
    over: fc.record({
      mode: fc.constantFrom('enforce', 'enforce', 'rehearse', 'dry-run'),
      profile: fc.constantFrom('fleetgc', 'fleetgc', 'kubernetes'),
      terminatedPodGCThreshold: fc.constantFrom(1, 1, 2, 0),
    }),
    otherwise: fc.constantFrom<Partial<ClusterPolicy>>(
      {},
      {},
      {},
      { collectors: [] },
      { heldKinds: ['Pod'] },
      { limits: { cascade: 1, cascadeOfKind: 5, removalsPerHour: 1 } },
      { keep: { namespaces: ['ns'], kinds: [] } },
      { keep: { namespaces: [], kinds: ['Pod'] } },
      { selector: { clusters: ['another'] } },
    ),
    pauses: PAUSES,
    approvals: fc.subarray([
      approval(approvedPods(9, ['n1', 'n2']), { id: 'approval-pods' }),
      approval(
        approvedObjects(
          'Pod',
          { uid: 'uid-0', namespace: 'ns', name: 'a-0' },
          { uid: 'uid-1', namespace: 'ns', name: 'b-1' },
        ),
        { id: 'approval-objects' },
      ),
      approval(approvedOwners('Node', 9_999), { id: 'approval-kind' }),
    ]),
  })
  .map(({ candidates, terminated, onMissingNodes, wentBack, over, otherwise, pauses, approvals }) => ({
    topic: 'clusterPods',
    event: pods({ candidates: [...candidates], totals: { terminated, onMissingNodes }, wentBack }),
    policies: [
      clusterPolicyRecord({ collectors: ['pod-garbage-collector-controller'], ...over, ...otherwise }),
      clusterPolicyRecord({ name: 'others', priority: 5, selector: { clusters: ['others'] } }),
    ],
    pauses: [...pauses],
    approvals,
  }));

const HELD = ['batch/Job', 'certificates.k8s.io/CertificateSigningRequest'];

const OLD: OwnRule = {
  name: 'old',
  kinds: ['apps/Deployment', ...HELD],
  namespaces: [],
  propagation: 'Background',
  removalsPerHour: 100,
};
const OWN_RULES = [OLD];

const ENDED: OwnRule = {
  name: 'ended',
  kinds: ['Pod', 'batch/Job'],
  namespaces: [],
  states: ['Failed'],
  afterMs: 3_600_000,
  propagation: 'Background',
  removalsPerHour: 100,
};
const CI: OwnRule = {
  name: 'ci',
  kinds: ['Pod', 'batch/Job', 'apps/Deployment', 'Secret'],
  namespaces: [],
  labels: { app: 'ci' },
  afterMs: 3_600_000,
  propagation: 'Foreground',
  removalsPerHour: 100,
};
const BY_AGE = [ENDED, CI];

const expiryCases: fc.Arbitrary<Unnamed> = fc
  .record({
    candidates: fc.array(AnyExpiring, { minLength: 1, maxLength: 8 }),
    many: fc.boolean(),
    over: fc.record({
      mode: fc.constantFrom('enforce', 'enforce', 'rehearse', 'dry-run'),
      profile: fc.constantFrom('fleetgc', 'kubernetes'),
      collectors: fc.subarray([...Collector.options]),
    }),
    otherwise: fc.constantFrom<Partial<ClusterPolicy>>(
      {},
      {},
      {},
      { heldKinds: HELD },
      { heldKinds: HELD },
      { rules: OWN_RULES },
      { rules: OWN_RULES },
      { rules: OWN_RULES },
      { rules: BY_AGE },
      { rules: BY_AGE },
      { rules: BY_AGE },
      { keep: { namespaces: ['ns'], kinds: [] } },
      { keep: { namespaces: [], kinds: ['certificates.k8s.io/CertificateSigningRequest'] } },
      { selector: { clusters: ['another'] } },
    ),
    pauses: fc.constantFrom([], [], [], [pauseRecord()]),
    approvals: fc.subarray([
      approval(approvedRule(OLD, 'apps/Deployment', 10), { id: 'approval-rule' }),
      approval(approvedRule(ENDED, 'Pod', 9), { id: 'approval-narrow' }),
      approval(approvedRule(CI, 'batch/Job', 10, TAKEN_AT_MS - 24 * HOUR), { id: 'approval-earlier' }),
      approval(approvedObjects('batch/Job', 'x'), { id: 'approval-objects' }),
    ]),
  })
  .map(({ candidates, many, over, otherwise, pauses, approvals }) => ({
    topic: 'clusterExpiry',
    event: expiry({
      candidates,
      shares: ['apps/Deployment', 'Pod', 'batch/Job'].map((kind) => ({
        kind,
        over: many ? 10 : 1,
        objects: 100,
      })),
    }),
    policies: [clusterPolicyRecord({ ...over, ...otherwise })],
    pauses: [...pauses],
    approvals,
  }));

/** Messages of each topic with policies, by what they are rich in. */
export const ARBITRARY_CASES: Readonly<Record<CorpusCase['topic'], readonly fc.Arbitrary<Unnamed>[]>> = {
  inventory: [
    cases(
      'inventory',
      arbitraryCase.map(({ given, settings }) => ({ event: given, settings })),
    ),
    cases('inventory', fc.record({ event: nodeWithLayers, settings: arbitraryPolicy })),
    cases('inventory', fc.record({ event: arbitraryContainerNode, settings: arbitraryContainerPolicy })),
  ],
  diskStats: [cases('diskStats', fc.record({ event: someNode, settings: somePolicy }))],
  clusterOwnership: [ownershipCases],
  clusterPods: [podCases],
  clusterExpiry: [expiryCases],
};
