import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ClusterCommandItem, PodRemovalCause } from '../../../../schemas/events/cluster-command.ts';
import type { Approved } from '../../../../schemas/policy/approval.ts';
import type { ClusterPolicy } from '../../../../schemas/policy/cluster-policy.ts';
import type { ClusterIndex, PodIndex } from '../../../../services/cluster/executor/ports.ts';
import { recentResults } from '../../../../services/cluster/executor/recent-results.ts';
import { approval, approvedObjects, approvedOwners, approvedPods } from '../../../fixtures/approval.ts';
import { clusterPolicy } from '../../../fixtures/cluster.ts';
import { manualTime } from '../../../support/manual-time.ts';
import { type Harness, harness, IDENTITY, itemFor } from './support/executor.ts';
import {
  DATE_MS,
  type FakeApi,
  kindNamed,
  NODE,
  POD,
  SERVED,
  type StoredObject,
} from './support/fake-api.ts';
import { NOTHING_OVER } from './support/truth.ts';

const COLLECTOR = 'pod-garbage-collector-controller';
const RULES: Readonly<Record<PodRemovalCause, string>> = {
  terminated: 'J3',
  'out-of-service': 'J5',
  'node-gone': 'J8',
  unscheduled: 'J9',
};
const DELETED_AT = '2026-11-25T00:00:00Z';

/** In force while a test runs. */
const LASTING = {
  ...IDENTITY,
  untilMs: DATE_MS + manualTime(() => 0).now().sinceBootMs + 86_400_000,
};

const policyOf = (over: Partial<ClusterPolicy> = {}): ClusterPolicy =>
  clusterPolicy({ collectors: [COLLECTOR], terminatedPodGCThreshold: 1, ...over });

const PREPARED = (api: FakeApi): void => {
  api.served = [...SERVED, POD, NODE];
  api.put({ kind: kindNamed('Namespace'), name: 'ns' });
};

function podHarness(policy: Partial<ClusterPolicy> = {}, pods?: PodIndex): Harness {
  const index = pods === undefined ? null : { current: () => indexWith(pods) };
  const h = harness({ index }, PREPARED);
  h.policy = policyOf(policy);
  return h;
}

const indexWith = (pods: PodIndex): ClusterIndex => ({
  object: () => undefined,
  candidate: () => null,
  isGoneWithItsKind: () => false,
  wentBack: false,
  pods,
  expiry: NOTHING_OVER,
});
const knownPods = (
  over: Partial<NonNullable<ReturnType<PodIndex['totals']>>>,
  missingForMs = 60_000,
): PodIndex => ({
  totals: () => ({ pods: 9, nodes: 1, terminated: 0, onMissingNodes: 1, onReplacedNodes: 0, ...over }),
  missingForMs: () => missingForMs,
});

interface Made extends Partial<Omit<StoredObject, 'kind' | 'whole'>> {
  readonly phase?: string;
  readonly nodeName?: string;
}
const put = (api: FakeApi, { phase = 'Running', nodeName = 'n', ...over }: Made = {}): StoredObject =>
  api.put({
    kind: POD,
    name: 'p',
    creationTimestamp: '2026-01-01T00:00:00Z',
    ...over,
    whole: { spec: { nodeName }, status: { phase } },
  });
const putNode = (api: FakeApi, { isReady = true, isOutOfService = false } = {}): StoredObject =>
  api.put({
    kind: NODE,
    name: 'n',
    whole: {
      spec: { taints: isOutOfService ? [{ key: 'node.kubernetes.io/out-of-service' }] : [] },
      status: { conditions: [{ type: 'Ready', status: isReady ? 'True' : 'Unknown' }] },
    },
  });
const orderOf = (pod: StoredObject, because: PodRemovalCause): ClusterCommandItem => ({
  ...itemFor(pod, { action: 'remove-pod', because }),
  rule: RULES[because],
});
const wrote = (api: FakeApi): string[] =>
  api.writes.map(({ request }) => `${request.method} ${request.path}`);

describe('[cluster J2, J8] a pod of a node that is gone', () => {
  test('is marked with the condition, and then deleted in that very state without grace', async () => {
    const { api, carryOut, results } = podHarness();
    const pod = put(api);
    expect(await carryOut([orderOf(pod, 'node-gone')])).toEqual(['removed']);
    expect(api.byUid('p')).toBeUndefined();
    const [patch, deletion] = api.writes.map(({ request }) => request);
    expect(patch).toMatchObject({
      method: 'PATCH',
      path: '/api/v1/namespaces/ns/pods/p/status',
      contentType: 'application/strategic-merge-patch+json',
    });
    expect(JSON.parse(patch?.body ?? '')).toEqual({
      metadata: { uid: 'p', resourceVersion: pod.resourceVersion },
      status: {
        phase: 'Failed',
        conditions: [
          {
            type: 'DisruptionTarget',
            status: 'True',
            reason: 'DeletionByPodGC',
            message: 'PodGC: node no longer exists',
            lastTransitionTime: expect.stringMatching(/^2027-01-1\dT\d\d:\d\d:\d\dZ$/),
          },
        ],
      },
    });
    expect(JSON.parse(deletion?.body ?? '')).toMatchObject({
      preconditions: { uid: 'p', resourceVersion: String(Number(pod.resourceVersion) + 1) },
      propagationPolicy: 'Background',
      gracePeriodSeconds: 0,
    });
    expect(results[0]).toMatchObject({
      objects: [{ action: 'remove-pod', rule: 'J8', node: { name: 'n', found: 'absent' } }],
    });
  });

  test('is not marked again when it has ended', async () => {
    const { api, carryOut } = podHarness();
    expect(await carryOut([orderOf(put(api, { phase: 'Failed' }), 'node-gone')])).toEqual(['removed']);
    expect(wrote(api)).toEqual(['DELETE /api/v1/namespaces/ns/pods/p']);
  });

  test.each([
    [403, 'failed forbidden'],
    [422, 'failed invalid'],
    [500, 'failed api-server-error'],
  ])('is not deleted when the mark fails with %i', async (status, expected) => {
    const { api, carryOut } = podHarness();
    const item = orderOf(put(api), 'node-gone');
    api.fault = ({ method }) => (method === 'PATCH' ? { status, body: '{}' } : null);
    const [outcome] = await carryOut([item]);
    expect(outcome).toBe(expected);
    expect(api.byUid('p')).toBeDefined();
    expect(api.asked.some(({ method }) => method === 'DELETE')).toBe(false);
  });

  test('is only asked about in a rehearsal', async () => {
    const { api, carryOut } = podHarness({ mode: 'rehearse' });
    expect(await carryOut([orderOf(put(api), 'node-gone')])).toEqual(['rehearsed']);
    expect(api.writes.map(({ isDryRun }) => isDryRun)).toEqual([true, true]);
    expect(api.byUid('p')?.whole).toEqual({ spec: { nodeName: 'n' }, status: { phase: 'Running' } });
  });

  test('that finalizers hold is accepted', async () => {
    const { api, carryOut } = podHarness();
    expect(await carryOut([orderOf(put(api, { finalizers: ['f'] }), 'node-gone')])).toEqual(['accepted']);
  });
});

describe('[cluster J7] whether a node is gone the API server alone says', () => {
  test('a node that is there keeps its pods', async () => {
    const { api, carryOut } = podHarness();
    putNode(api);
    expect(await carryOut([orderOf(put(api), 'node-gone')])).toEqual(['refused kept-by-own-judgement']);
    expect(api.writes).toEqual([]);
  });

  test.each([
    ['a 404 that names nothing', { status: 404, body: '404 page not found' }, 'refused owner-unknown'],
    ['a 404 that names another', { status: 404, body: statusOf('other') }, 'refused owner-unknown'],
    ['a refusal', { status: 403, body: '{}' }, 'refused owner-unknown'],
    ['something else', { status: 200, body: '{"kind":"Node"}' }, 'refused owner-unknown'],
    ['a failure', { status: 503, body: '{}' }, 'failed api-server-error'],
  ])('%s keeps its pods', async (_, answer, outcome) => {
    const { api, carryOut } = podHarness();
    api.fault = ({ path }) => (path.startsWith('/api/v1/nodes/') ? answer : null);
    expect(await carryOut([orderOf(put(api), 'node-gone')])).toEqual([outcome]);
    expect(api.writes).toEqual([]);
  });

  test('[cluster N3] the proof serves other pods of the node, for 2 s', async () => {
    const { api, carryOut, pass } = podHarness();
    const pods = Array.from({ length: 60 }, (_, index) => put(api, { name: `p${index}` }));
    await carryOut(pods.map((pod) => orderOf(pod, 'node-gone')));
    const asked = api.asked.filter(({ path }) => path === '/api/v1/nodes/n').length;
    // Those that begin side by side each ask, and those after 2 s ask again.
    expect(asked).toBeLessThan(pods.length);
    putNode(api);
    await pass(3);
    expect(await carryOut([orderOf(put(api, { name: 'e' }), 'node-gone')])).toEqual([
      'refused kept-by-own-judgement',
    ]);
  });
});

function statusOf(name: string): string {
  return JSON.stringify({ kind: 'Status', reason: 'NotFound', details: { name, kind: 'nodes' } });
}

describe('beside an agent', () => {
  test('[cluster J6] a node that was not missing for 40 s keeps its pods', async () => {
    const { api, carryOut } = podHarness({}, knownPods({}, 39_999));
    expect(await carryOut([orderOf(put(api), 'node-gone')])).toEqual(['refused kept-by-own-judgement']);
  });

  test('[cluster J3] pods that ended stay when no more are there than may stay', async () => {
    const few = podHarness({}, knownPods({ terminated: 1 }));
    const ended = { phase: 'Succeeded' };
    expect(await few.carryOut([orderOf(put(few.api, ended), 'terminated')])).toEqual([
      'refused kept-by-own-judgement',
    ]);
    const many = podHarness({}, knownPods({ terminated: 2 }));
    expect(await many.carryOut([orderOf(put(many.api, ended), 'terminated')])).toEqual(['removed']);
  });

  test('[cluster S1] too many pods on missing nodes are not removed, whoever orders it', async () => {
    const limits = { cascade: 1, cascadeOfKind: 5, removalsPerHour: 100 };
    const { api, carryOut } = podHarness({ limits }, knownPods({ onMissingNodes: 6 }));
    expect(await carryOut([orderOf(put(api), 'node-gone')])).toEqual(['refused not-approved']);
  });

  test('[cluster S7] approved they go, as many as there were, and what has grown does not', async () => {
    const limits = { cascade: 1, cascadeOfKind: 5, removalsPerHour: 100 };
    const outcome = async (onMissingNodes: number, what: Approved): Promise<readonly string[]> => {
      const h = podHarness({ limits }, knownPods({ onMissingNodes }));
      h.approvals = [approval(what, LASTING)];
      return await h.carryOut([orderOf(put(h.api), 'node-gone')]);
    };
    expect(await outcome(60, approvedPods(60))).toEqual(['removed']);
    expect(await outcome(61, approvedPods(60))).toEqual(['refused not-approved']);
    expect(await outcome(60, approvedOwners('Node', 99))).toEqual(['refused not-approved']);
  });

  test('nothing goes before pods and nodes are read', async () => {
    const { api, carryOut } = podHarness({}, { totals: () => null, missingForMs: () => 0 });
    expect(await carryOut([orderOf(put(api), 'node-gone')])).toEqual(['failed api-server-error']);
    expect(api.writes).toEqual([]);
  });
});

test('[cluster S1] without one it counts what went with nodes', async () => {
  const limits = { cascade: 1, cascadeOfKind: 2, removalsPerHour: 100 };
  const { api, carryOut } = podHarness({ limits });
  const outcomes: string[] = [];
  for (const name of ['a', 'b', 'c'])
    outcomes.push(...(await carryOut([orderOf(put(api, { name }), 'node-gone')])));
  expect(outcomes).toEqual(['removed', 'removed', 'refused not-approved']);
});

test('[cluster S1, S7] without one the width of an approval is the limit of that count', async () => {
  const limits = { cascade: 1, cascadeOfKind: 2, removalsPerHour: 100 };
  const h = podHarness({ limits });
  h.approvals = [approval(approvedPods(4), LASTING)];
  const outcomes: string[] = [];
  for (const name of ['a', 'b', 'c', 'd', 'e'])
    outcomes.push(...(await h.carryOut([orderOf(put(h.api, { name }), 'node-gone')])));
  expect(outcomes).toEqual([...Array.from({ length: 4 }, () => 'removed'), 'refused not-approved']);
});

test('[cluster S1, S7] of pods that are ordered at once no more go than the limit or an approval says', async () => {
  const limits = { cascade: 1, cascadeOfKind: 2, removalsPerHour: 100 };
  const going = async (...what: readonly Approved[]): Promise<number> => {
    const h = podHarness({ limits });
    h.approvals = what.map((each) => approval(each, LASTING));
    const pods = Array.from({ length: 12 }, (_, index) => put(h.api, { name: `p${index}` }));
    const told = await h.carryOut(pods.map((pod) => orderOf(pod, 'node-gone')));
    expect(told.filter((each) => each !== 'removed')).toEqual(
      Array.from(
        { length: h.api.objects.filter(({ kind }) => kind === POD).length },
        () => 'refused not-approved',
      ),
    );
    return told.filter((each) => each === 'removed').length;
  };
  expect(await going()).toBe(2);
  expect(await going(approvedPods(5))).toBe(5);
  expect(await going(approvedPods(12))).toBe(12);
});

test('[cluster S1, S7] that count outlives a restart, and what else goes with nodes is not in it', async () => {
  const limits = { cascade: 100, cascadeOfKind: 2, removalsPerHour: 100 };
  const collectors: ClusterPolicy['collectors'] = [COLLECTOR, 'garbage-collector-controller'];
  const first = podHarness({ limits });
  first.approvals = [approval(approvedPods(4), LASTING)];
  for (const name of ['a', 'b', 'c'])
    expect(await first.carryOut([orderOf(put(first.api, { name }), 'node-gone')])).toEqual(['removed']);
  await first.stop();
  const second = harness({ recent: recentResults(first.results) }, PREPARED);
  second.policy = policyOf({ limits, collectors });
  second.approvals = [approval(approvedPods(4), LASTING)];
  const ofNode = { apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'n' };
  const lease = second.api.put({ kind: kindNamed('ConfigMap'), name: 'l', ownerReferences: [ofNode] });
  expect(await second.carryOut([itemFor(lease)])).toEqual(['removed']);
  const outcomes: string[] = [];
  for (const name of ['d', 'e'])
    outcomes.push(...(await second.carryOut([orderOf(put(second.api, { name }), 'node-gone')])));
  expect(outcomes).toEqual(['removed', 'refused not-approved']);
});

test('[cluster S1] what was refused, or could not be deleted, takes no place of what may go', async () => {
  const h = podHarness({ limits: { cascade: 1, cascadeOfKind: 2, removalsPerHour: 100 } });
  const pods = ['a', 'b', 'c', 'd'].map((name) => orderOf(put(h.api, { name }), 'node-gone'));
  h.api.fault = ({ method }) => (method === 'PATCH' ? { status: 403, body: '{}' } : null);
  const failed = await h.carryOut(pods);
  expect(failed.toSorted().slice(0, 2)).toEqual(['failed forbidden', 'failed forbidden']);
  h.api.fault = () => null;
  expect((await h.carryOut(pods)).filter((each) => each === 'removed')).toHaveLength(2);
});

test('[cluster S7] of pods that are held by their kind the very ones go that are approved', async () => {
  const h = podHarness({ heldKinds: ['Pod'] });
  h.approvals = [approval(approvedObjects('Pod', 'a'), LASTING)];
  const pods = ['a', 'b'].map((name) => orderOf(put(h.api, { name, uid: name }), 'node-gone'));
  expect((await h.carryOut(pods)).toSorted()).toEqual(['refused not-approved', 'removed']);
});

test('[cluster J3] no more go in an hour than the policy allows', async () => {
  const limits = { cascade: 1, cascadeOfKind: 2, removalsPerHour: 1 };
  const { api, carryOut } = podHarness({ limits });
  const pods = ['a', 'b'].map((name) => put(api, { name, phase: 'Failed' }));
  const outcomes = await carryOut(pods.map((pod) => orderOf(pod, 'terminated')));
  expect(outcomes.toSorted()).toEqual(['refused rate-limited', 'removed']);
});

test('[cluster J5] the taint and the readiness of the node are read right then', async () => {
  const order = async (node: { isReady?: boolean; isOutOfService?: boolean }, pod: Made): Promise<string> => {
    const { api, carryOut } = podHarness();
    putNode(api, node);
    const [outcome = ''] = await carryOut([orderOf(put(api, pod), 'out-of-service')]);
    return outcome;
  };
  const deleted = { deletionTimestamp: DELETED_AT, deletionGracePeriodSeconds: 30 };
  const off = { isReady: false, isOutOfService: true };
  expect(await order(off, deleted)).toBe('removed');
  expect(await order({ ...off, isReady: true }, deleted)).toBe('refused kept-by-own-judgement');
  expect(await order({ ...off, isOutOfService: false }, deleted)).toBe('refused kept-by-own-judgement');
  expect(await order(off, {})).toBe('refused kept-by-own-judgement');
});

test('[cluster J9] a pod that got a node meanwhile stays', async () => {
  const deleted = { deletionTimestamp: DELETED_AT, deletionGracePeriodSeconds: 30 };
  const { api, carryOut } = podHarness();
  const pod = put(api, { ...deleted, nodeName: '' });
  api.touch('p', { whole: { spec: { nodeName: 'n' }, status: { phase: 'Pending' } } });
  expect(await carryOut([orderOf(pod, 'unscheduled')])).toEqual(['refused changed']);
  expect(api.writes).toEqual([]);
  const other = podHarness();
  expect(
    await other.carryOut([orderOf(put(other.api, { ...deleted, nodeName: '' }), 'unscheduled')]),
  ).toEqual(['removed']);
});

test('[cluster J2] only a pod of a node that is gone is told of a disruption', async () => {
  const { api, carryOut } = podHarness();
  const deleted = { deletionTimestamp: DELETED_AT, deletionGracePeriodSeconds: 30 };
  await carryOut([orderOf(put(api, { ...deleted, nodeName: '' }), 'unscheduled')]);
  const [patch] = api.writes.map(({ request }) => request);
  expect(JSON.parse(patch?.body ?? '').status).toEqual({ phase: 'Failed' });
});

test('[cluster J2, J8] the mark says of which generation of the pod it is, where the API server counts them', async () => {
  const { api, carryOut } = podHarness();
  expect(await carryOut([orderOf(put(api, { generation: 3 }), 'node-gone')])).toEqual(['removed']);
  const [patch] = api.writes.map(({ request }) => request);
  expect(JSON.parse(patch?.body ?? '').status).toMatchObject({
    phase: 'Failed',
    observedGeneration: 3,
    conditions: [{ type: 'DisruptionTarget', observedGeneration: 3 }],
  });
});

test('[cluster M12] a pod that changes between the look and the deed is looked at again', async () => {
  const { api, carryOut } = podHarness();
  const pod = put(api, { phase: 'Failed' });
  let changes = 0;
  api.beforeWrite = () => {
    if (changes++ === 0) api.touch('p', { whole: { spec: { nodeName: 'n' }, status: { phase: 'Running' } } });
  };
  expect(await carryOut([orderOf(pod, 'terminated')])).toEqual(['refused changed']);
  expect(api.byUid('p')).toBeDefined();
});

describe('what policy and order have to agree on', () => {
  test.each<[string, Partial<ClusterPolicy>]>([
    ['the collector of owners alone', { collectors: ['garbage-collector-controller'] }],
    ['no collector', { collectors: [] }],
    ['a dry run', { mode: 'dry-run' }],
  ])('under a policy with %s no pod goes', async (_, policy) => {
    const { api, carryOut } = podHarness(policy);
    expect(await carryOut([orderOf(put(api), 'node-gone')])).toEqual(['command refused policy-not-in-force']);
  });

  test('[cluster S5] what is kept stays, by whatever keeps it', async () => {
    const outcome = async (policy: Partial<ClusterPolicy>, pod: Made, keepsNamespace = false) => {
      const { api, carryOut } = podHarness(policy);
      if (keepsNamespace) api.put({ kind: kindNamed('Namespace'), name: 'ns', keep: true });
      return (await carryOut([orderOf(put(api, pod), 'node-gone')]))[0];
    };
    expect(await outcome({}, { keep: true })).toBe('refused kept-by-policy');
    expect(await outcome({}, {}, true)).toBe('refused kept-by-policy');
    expect(await outcome({ keep: { namespaces: ['ns'], kinds: [] } }, {})).toBe('refused kept-by-policy');
    expect(await outcome({ keep: { namespaces: [], kinds: ['Pod'] } }, {})).toBe('refused kept-by-policy');
    expect(await outcome({ heldKinds: ['Pod'] }, {})).toBe('refused not-approved');
  });

  test('nothing but a pod goes like this, and no pod for another rule than the order says', async () => {
    const { api, carryOut } = podHarness();
    const map = api.put({ kind: kindNamed('ConfigMap'), name: 'c' });
    expect(await carryOut([orderOf(map, 'terminated')])).toEqual(['refused kept-by-own-judgement']);
    const wrong = { ...orderOf(put(api), 'node-gone'), rule: 'J3' };
    expect(await carryOut([wrong])).toEqual(['refused kept-by-own-judgement']);
    expect(api.writes).toEqual([]);
  });

  test('[cluster J11] what finalizers alone hold is left alone', async () => {
    const { api, carryOut } = podHarness();
    const stuck = {
      phase: 'Failed',
      deletionTimestamp: DELETED_AT,
      deletionGracePeriodSeconds: 0,
      finalizers: ['f'],
    };
    expect(await carryOut([orderOf(put(api, stuck), 'node-gone')])).toEqual([
      'refused kept-by-own-judgement',
    ]);
  });
});

/** One pod with its node, as an attacker may find them. */
const AnyTruth = fc.record({
  phase: fc.constantFrom('', 'Pending', 'Running', 'Unknown', 'Succeeded', 'Failed'),
  nodeName: fc.constantFrom('', 'n'),
  node: fc.constantFrom(
    null,
    { isReady: true },
    { isReady: false },
    { isReady: false, isOutOfService: true },
  ),
  isDeleting: fc.boolean(),
  finalizers: fc.subarray(['f']),
  deletionGracePeriodSeconds: fc.constantFrom(0, 30),
  keep: fc.boolean(),
  keepsNamespace: fc.boolean(),
  policy: fc.constantFrom<Partial<ClusterPolicy>>(
    {},
    { terminatedPodGCThreshold: 0 },
    { keep: { namespaces: ['ns'], kinds: [] } },
    { heldKinds: ['Pod'] },
    { mode: 'dry-run' },
    { collectors: ['garbage-collector-controller'] },
  ),
});
type Truth = typeof AnyTruth extends fc.Arbitrary<infer Value> ? Value : never;

/** Whether anything calls for the pod, by the truth; judged apart from the product's own rules. */
const mayGo = (truth: Truth): boolean => !isKept(truth) && !isStuck(truth) && isCalledFor(truth);

function isKept({ keep, keepsNamespace, policy }: Truth): boolean {
  const isPolicyAgainst = policy.keep ?? policy.heldKinds ?? policy.mode ?? policy.collectors;
  return keep || keepsNamespace || isPolicyAgainst !== undefined;
}

const hasEnded = ({ phase }: Truth): boolean => phase === 'Succeeded' || phase === 'Failed';

const isStuck = (truth: Truth): boolean =>
  truth.isDeleting &&
  truth.deletionGracePeriodSeconds === 0 &&
  truth.finalizers.length > 0 &&
  hasEnded(truth);

function isCalledFor(truth: Truth): boolean {
  const { phase, nodeName, node, isDeleting, policy } = truth;
  if ((hasEnded(truth) || phase === '') && policy.terminatedPodGCThreshold !== 0) return true;
  if (nodeName === '') return isDeleting;
  return node === null || (isDeleting && !node.isReady && 'isOutOfService' in node);
}

test('[cluster J3, J5, J7, J8, J9] whatever an order says, no pod is touched that policy and live facts would keep', async () => {
  await fc.assert(
    fc.asyncProperty(
      AnyTruth,
      fc.constantFrom(...PodRemovalCause.options),
      fc.constantFrom('J3', 'J5', 'J8', 'J9', 'D14'),
      fc.record({ serverMs: fc.constantFrom(-1, 0, 1_000_000) }),
      async (truth, because, rule, lie) => {
        const { node, isDeleting, policy, keepsNamespace, ...pod } = truth;
        const forged = podHarness(policy);
        if (keepsNamespace) forged.api.put({ kind: kindNamed('Namespace'), name: 'ns', keep: true });
        if (node !== null) putNode(forged.api, node);
        const { deletionGracePeriodSeconds, ...rest } = pod;
        const stored = put(forged.api, {
          ...rest,
          ...(isDeleting && { deletionTimestamp: DELETED_AT, deletionGracePeriodSeconds }),
        });
        const item = { ...itemFor(stored, { action: 'remove-pod', because }), rule };
        const command = forged.order([item]);
        forged.give({
          ...command,
          takenAt: { ...command.takenAt, serverMs: command.takenAt.serverMs + lie.serverMs },
        });
        await forged.pass(5);
        await forged.stop();
        if (forged.api.writes.length > 0) expect(mayGo(truth)).toBe(true);
      },
    ),
    { numRuns: 150 },
  );
});

test('orders of another cluster are none', async () => {
  const { api, carryOut } = podHarness();
  const outcome = await carryOut([orderOf(put(api), 'node-gone')], {
    clusterInstance: `${IDENTITY.clusterInstance}-other`,
  });
  expect(outcome).toEqual(['command refused other-instance']);
});
