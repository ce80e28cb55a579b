import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { contentHash } from '../../../../packages/canonical/ids.ts';
import { isTooMuch, type Share } from '../../../../packages/deciders/expiry-gc/rules/own-rules.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import type { ClusterCommandItem } from '../../../../schemas/events/cluster-command.ts';
import type { Approved } from '../../../../schemas/policy/approval.ts';
import { type ClusterPolicy, Collector } from '../../../../schemas/policy/cluster-policy.ts';
import type { OwnRule } from '../../../../schemas/policy/own-rule.ts';
import type { ClusterIndex } from '../../../../services/cluster/executor/ports.ts';
import { recentResults } from '../../../../services/cluster/executor/recent-results.ts';
import { approval, approvedObjects, approvedPods, approvedRule } from '../../../fixtures/approval.ts';
import { clusterPolicy } from '../../../fixtures/cluster.ts';
import { upstreamDeletes } from '../../../packages/deciders/expiry-gc/support/by-the-book.ts';
import { manualTime } from '../../../support/manual-time.ts';
import { type Harness, harness, IDENTITY, itemFor } from './support/executor.ts';
import { DATE_MS, type FakeApi, kindNamed, type StoredObject } from './support/fake-api.ts';
import { NO_PODS } from './support/truth.ts';

const JOB = kindNamed('Job');
const REQUEST = kindNamed('CertificateSigningRequest');
/** What the API server's clock shows when a test begins. */
const START_MS = DATE_MS + Math.floor(manualTime(() => 0).now().sinceBootMs);
const timeOf = (ms: number): string => new Date(ms).toISOString();
const ALL: Partial<ClusterPolicy> = { collectors: Collector.options };

/** What a Job says of itself that finished so long before the executor's first look. */
const finished = (agoMs: number, ttlSecondsAfterFinished: number | undefined = 60) => ({
  spec: { ttlSecondsAfterFinished },
  status: {
    conditions: [{ type: 'Complete', status: 'True', lastTransitionTime: timeOf(START_MS - agoMs) }],
  },
});

const EXPIRED = finished(3_600_000);
const putJob = (api: FakeApi, whole: object = EXPIRED, over: Partial<StoredObject> = {}): StoredObject =>
  api.put({ kind: JOB, name: 'x', whole: { ...whole }, ...over });

const expire = (
  object: StoredObject,
  {
    rule = 'K4',
    propagation = 'Foreground' as const,
  }: { rule?: string; propagation?: 'Foreground' | 'Background' } = {},
): ClusterCommandItem => ({ ...itemFor(object, { action: 'expire', propagation }), rule });

function expiring(over: Partial<ClusterPolicy> = {}): Harness {
  const made = harness();
  made.policy = clusterPolicy({ ...ALL, ...over });
  return made;
}

test('[cluster K5, K6] a Job whose TTL is over goes foreground, in the state in which it was read', async () => {
  const { api, carryOut } = expiring();
  const job = putJob(api);
  expect(await carryOut([expire(job)])).toEqual(['accepted']);
  expect(api.writes.map(({ request }) => JSON.parse(request.body ?? ''))).toEqual([
    {
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      preconditions: { uid: job.uid, resourceVersion: job.resourceVersion },
      propagationPolicy: 'Foreground',
    },
  ]);
});

describe('[cluster K5] what was ordered is judged by the object as it is read', () => {
  test.each<[string, string, (api: FakeApi) => void]>([
    [
      'whose TTL was made longer',
      'refused kept-by-own-judgement',
      (api) => api.touch('x', { whole: finished(3_600_000, 7_200) }),
    ],
    [
      'whose TTL was taken away',
      'refused kept-by-own-judgement',
      (api) => api.touch('x', { whole: { ...finished(1), spec: {} } }),
    ],
    [
      'that goes on again',
      'refused kept-by-own-judgement',
      (api) => api.touch('x', { whole: { spec: { ttlSecondsAfterFinished: 1 } } }),
    ],
    [
      'that says what nobody can read',
      'refused kept-by-own-judgement',
      (api) => api.touch('x', { whole: {} }),
    ],
    ['that is kept by its annotation', 'refused kept-by-policy', (api) => api.touch('x', { keep: true })],
    [
      'whose namespace is kept',
      'refused kept-by-policy',
      (api) => void api.put({ kind: kindNamed('Namespace'), name: 'ns', keep: true }),
    ],
    [
      'that is being deleted',
      'refused kept-by-own-judgement',
      (api) => api.touch('x', { deletionTimestamp: timeOf(START_MS) }),
    ],
    ['that is a new one of its name', 'not-found', (api) => void putJob(api, EXPIRED, { uid: 'new' })],
    [
      'that is gone',
      'not-found',
      (api) => {
        for (const each of api.objects) if (each.name === 'x') api.remove(each);
      },
    ],
  ])('a Job %s', async (_, expected, change) => {
    const { api, carryOut } = expiring();
    const job = putJob(api);
    change(api);
    expect(await carryOut([expire(job)])).toEqual([expected]);
    expect(api.writes).toEqual([]);
  });

  test('[cluster M12] and again when it changes before the deed', async () => {
    const { api, carryOut } = expiring();
    const job = putJob(api);
    api.beforeWrite = () => api.touch('x', { whole: finished(3_600_000, 7_200) });
    expect(await carryOut([expire(job)])).toEqual(['refused kept-by-own-judgement']);
    expect(api.writes).toEqual([]);
  });
});

test('[cluster L10] a certificate request is read again, and goes with its uid and resourceVersion', async () => {
  const { api, carryOut } = expiring();
  const denied = (agoMs: number) => ({
    status: { conditions: [{ type: 'Denied', lastUpdateTime: timeOf(START_MS - agoMs) }] },
  });
  const old = api.put({ kind: REQUEST, name: 'old', whole: denied(3_700_000) });
  const young = api.put({ kind: REQUEST, name: 'young', whole: denied(3_500_000) });
  const orders = [old, young].map((each) => expire(each, { rule: 'L3', propagation: 'Background' }));
  expect((await carryOut(orders)).toSorted()).toEqual(['refused kept-by-own-judgement', 'removed']);
  expect(api.writes.map(({ before }) => before.name)).toEqual(['old']);
});

test.each([
  ['Background', []],
  ['Background', ['compare.fleetgc.io/held']],
  ['Orphan', ['orphan']],
  ['Foreground', ['foregroundDeletion']],
])(
  '[cluster L10] a certificate request goes %s with the finalizers %j',
  async (propagationPolicy, finalizers) => {
    const { api, carryOut } = expiring();
    const conditions = [{ type: 'Denied', lastUpdateTime: timeOf(START_MS - 3_700_000) }];
    const request = api.put({ kind: REQUEST, name: 'x', finalizers, whole: { status: { conditions } } });
    await carryOut([expire(request, { rule: 'L3', propagation: 'Background' })]);
    expect(JSON.parse(api.writes[0]?.request.body ?? '')).toMatchObject({ propagationPolicy });
  },
);

describe('nothing goes', () => {
  test('[cluster K4] before the end of the TTL by the least that the clock of the API server may show', async () => {
    const { api, carryOut, pass } = expiring();
    const job = putJob(api, finished(0, 5));
    expect(await carryOut([expire(job)])).toEqual(['refused kept-by-own-judgement']);
    await pass(6);
    expect(await carryOut([expire(job)])).toEqual(['accepted']);
  });

  test('where the policy does not give the collector', async () => {
    const { api, carryOut } = expiring({ collectors: ['garbage-collector-controller'] });
    expect(await carryOut([expire(putJob(api))])).toEqual(['refused policy-not-in-force']);
    expect(api.writes).toEqual([]);
  });

  test('by another rule or in another way than follows', async () => {
    const { api, carryOut } = expiring();
    const job = putJob(api);
    expect(await carryOut([expire(job, { propagation: 'Background' })])).toEqual([
      'refused kept-by-own-judgement',
    ]);
    expect(await carryOut([expire(job, { rule: 'L2' })])).toEqual(['refused kept-by-own-judgement']);
  });

  test('of a kind of which no rule about time knows', async () => {
    const { api, carryOut } = expiring();
    const secret = api.put({ kind: kindNamed('Secret'), name: 'x', whole: EXPIRED });
    expect(await carryOut([expire(secret)])).toEqual(['refused kept-by-own-judgement']);
    expect(api.writes).toEqual([]);
  });

  test('[cluster S2] that is held by its kind', async () => {
    const { api, carryOut } = expiring({ heldKinds: ['batch/Job'] });
    expect(await carryOut([expire(putJob(api))])).toEqual(['refused not-approved']);
  });

  test('when it is rehearsed', async () => {
    const { api, carryOut } = expiring({ mode: 'rehearse' });
    expect(await carryOut([expire(putJob(api))])).toEqual(['rehearsed']);
    expect(api.writes.map(({ isDryRun }) => isDryRun)).toEqual([true]);
  });

  test('beyond what may go in an hour', async () => {
    const { api, carryOut } = expiring({ limits: { ...clusterPolicy().limits, removalsPerHour: 1 } });
    const jobs = ['a', 'b'].map((name) => putJob(api, EXPIRED, { name, uid: name }));
    expect((await carryOut(jobs.map((each) => expire(each)))).toSorted()).toEqual([
      'accepted',
      'refused rate-limited',
    ]);
  });
});

const someAgo = fc.constantFrom(0, 30_000, 59_000, 61_000, 3_599_000, 3_601_000, 90_000_000);
const anyStatus = fc.record({
  spec: fc.record({ ttlSecondsAfterFinished: fc.option(fc.constantFrom(0, 60, 86_400), { nil: undefined }) }),
  status: fc.record({
    conditions: fc.array(
      fc.record({
        type: fc.constantFrom('Complete', 'Failed', 'Suspended', 'Approved', 'Denied'),
        status: fc.constantFrom('True', 'True', 'False'),
        lastTransitionTime: someAgo.map((agoMs) => timeOf(START_MS - agoMs)),
        lastUpdateTime: someAgo.map((agoMs) => timeOf(START_MS - agoMs)),
      }),
      { maxLength: 2 },
    ),
  }),
});

type AnyStatus = typeof anyStatus extends fc.Arbitrary<infer Status> ? Status : never;

/** What is there, as upstream reads it. */
function truthOf(object: StoredObject, whole: AnyStatus) {
  const { conditions } = whole.status;
  const done = conditions.find(
    ({ type, status }) => ['Complete', 'Failed'].includes(type) && status === 'True',
  );
  const facts =
    object.kind === JOB
      ? ({
          of: 'Job',
          ttlSecondsAfterFinished: whole.spec.ttlSecondsAfterFinished ?? null,
          finished: done === undefined ? null : { atMs: Date.parse(done.lastTransitionTime) },
        } as const)
      : ({
          of: 'CertificateSigningRequest',
          conditions: conditions.map(({ type, lastUpdateTime }) => ({
            type,
            updatedAtMs: Date.parse(lastUpdateTime),
          })),
          certificate: { is: 'missing' },
        } as const);
  const { kind, namespace, name, uid, resourceVersion, deletionTimestamp } = object;
  return {
    object: { ...kind, namespace, name, uid, resourceVersion, deletionTimestamp, keptBy: null },
    createdAtMs: null,
    facts,
  };
}

test('[cluster K5, L10] whatever is ordered, nothing goes that the policy and the live object would keep', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(JOB, REQUEST, kindNamed('Secret')),
      anyStatus,
      fc.record({ keep: fc.boolean(), given: fc.subarray([...Collector.options]) }),
      fc.constantFrom('K4', 'L2', 'L3', 'L4', 'L5', 'L6', 'L9', 'D14'),
      fc.constantFrom<'Foreground' | 'Background'>('Foreground', 'Background'),
      async (kind, whole, { keep, given }, rule, propagation) => {
        const { api, carryOut, stop } = expiring({ collectors: given });
        const object = api.put({ kind, name: 'x', whole, keep });
        await carryOut([expire(object, { rule, propagation })]);
        await stop();
        const collector =
          kind === JOB ? 'ttl-after-finished-controller' : 'certificatesigningrequest-cleaner-controller';
        const isGone = api.writes.length > 0;
        if (!isGone) return;
        expect(keep).toBe(false);
        expect(kind.kind).not.toBe('Secret');
        expect(given).toContain(collector);
        // No more than a few seconds pass for one command.
        expect(upstreamDeletes(truthOf(object, whole), START_MS + 5_000)).toBe(propagation);
      },
    ),
    { numRuns: 60 },
  );
});

const SECRET = kindNamed('Secret');
const RULE: OwnRule = {
  name: 'old',
  kinds: ['Secret', 'Namespace', 'ServiceAccount'],
  namespaces: [],
  propagation: 'Background',
  removalsPerHour: 100,
};
const HOUR_MS = 3_600_000;
const putSecret = (api: FakeApi, name: string, over: Partial<StoredObject> = {}): StoredObject =>
  api.put({
    kind: SECRET,
    name,
    creationTimestamp: timeOf(START_MS - HOUR_MS),
    annotations: { 'janitor/ttl': '1h' },
    ...over,
  });
const byRule = (object: StoredObject, ownRule = 'old'): ClusterCommandItem => ({
  ...itemFor(object, { action: 'expire', propagation: 'Background', ownRule }),
  rule: 'S8',
});

describe('[cluster S8, S9] by a rule of the policy', () => {
  test('goes what its own annotations let go, in the state in which it was read', async () => {
    const { api, carryOut, results } = expiring({ collectors: [], rules: [RULE] });
    expect(await carryOut([byRule(putSecret(api, 'a'))])).toEqual(['removed']);
    expect(api.writes.map(({ before }) => before.name)).toEqual(['a']);
    expect(results[0]).toMatchObject({ objects: [{ rule: 'S8', action: 'expire', ownRule: 'old' }] });
  });

  test.each<[string, string, Partial<StoredObject>]>([
    ['whose time is not over', 'refused kept-by-own-judgement', { annotations: { 'janitor/ttl': '3h' } }],
    ['that has no annotation', 'refused kept-by-own-judgement', { annotations: {} }],
    ['that is kept', 'refused kept-by-policy', { keep: true }],
    ['in a namespace of the cluster', 'refused kept-by-own-judgement', { namespace: 'kube-system' }],
    [
      'of a kind that no rule deletes',
      'refused kept-by-own-judgement',
      { kind: kindNamed('ServiceAccount') },
    ],
    ['that is a namespace', 'refused kept-by-own-judgement', { kind: kindNamed('Namespace') }],
    [
      'that a controller owns',
      'refused kept-by-own-judgement',
      {
        ownerReferences: [
          { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: 'r', controller: true },
        ],
      },
    ],
  ])('nothing goes %s', async (_, expected, over) => {
    const { api, carryOut } = expiring({ rules: [RULE] });
    expect(await carryOut([byRule(putSecret(api, 'a', over))])).toEqual([expected]);
    expect(api.writes).toEqual([]);
  });

  test('nothing goes by a rule that the policy in force does not have, or that is for others', async () => {
    const { api, carryOut } = expiring({ rules: [RULE] });
    expect(await carryOut([byRule(putSecret(api, 'a'), 'other')])).toEqual(['refused kept-by-own-judgement']);
    const { api: another, carryOut: order } = expiring({ rules: [{ ...RULE, namespaces: ['other'] }] });
    expect(await order([byRule(putSecret(another, 'a'))])).toEqual(['refused kept-by-own-judgement']);
    const { api: third, carryOut: give } = expiring();
    expect(await give([byRule(putSecret(third, 'a'))])).toEqual(['refused kept-by-own-judgement']);
    expect([api, another, third].flatMap(({ writes }) => writes)).toEqual([]);
  });
});

describe('[cluster S10] no more go by a rule in an hour than it says', () => {
  const rules = [{ ...RULE, removalsPerHour: 2 }];

  test('however many are ordered at once, and the hour over more go', async () => {
    const { api, carryOut, pass } = expiring({ rules });
    const orders = ['a', 'b', 'c', 'd', 'e'].map((name) => byRule(putSecret(api, name)));
    const told = await carryOut(orders);
    expect(told.toSorted()).toEqual(
      [
        ...Array.from({ length: 2 }, () => 'removed'),
        ...Array.from({ length: 3 }, () => 'refused rate-limited'),
      ].toSorted(),
    );
    expect(api.writes).toHaveLength(2);
    await pass(61 * 60);
    const left = api.objects.filter(({ kind }) => kind === SECRET).map((each) => byRule(each));
    expect((await carryOut(left)).filter((each) => each === 'removed')).toHaveLength(2);
  });

  test('one whose removal was never answered counts, since it may have been removed', async () => {
    const { api, carryOut } = expiring({ rules: [{ ...RULE, removalsPerHour: 1 }] });
    const first = putSecret(api, 'a');
    const second = putSecret(api, 'b');
    api.fault = ({ method }) => {
      if (method !== 'DELETE') return null;
      api.fault = () => null;
      api.remove(first);
      return new FleetGcError('API_UNREACHABLE', 'the answer was lost');
    };
    expect(await carryOut([byRule(first)])).toEqual(['not-found']);
    expect(await carryOut([byRule(second)])).toEqual(['refused rate-limited']);
    expect(api.objects.map(({ name }) => name)).toContain('b');
  });

  test('and not after a restart either', async () => {
    const first = expiring({ rules });
    expect(await first.carryOut([byRule(putSecret(first.api, 'a'))])).toEqual(['removed']);
    await first.stop();
    const second = harness({ recent: recentResults(first.results) });
    second.policy = clusterPolicy({ ...ALL, rules });
    const orders = ['b', 'c'].map((name) => byRule(putSecret(second.api, name)));
    expect((await second.carryOut(orders)).toSorted()).toEqual(['refused rate-limited', 'removed']);
  });

  test('what goes with an owner that a reference names like the rule does not count for it', async () => {
    const { api, carryOut } = expiring({ rules });
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: `rule ${RULE.name}` };
    const left = ['x', 'y'].map((name) =>
      putSecret(api, name, { annotations: {}, ownerReferences: [owner] }),
    );
    expect(await carryOut(left.map((each) => itemFor(each)))).toEqual(['removed', 'removed']);
    const orders = ['a', 'b'].map((name) => byRule(putSecret(api, name)));
    expect(await carryOut(orders)).toEqual(['removed', 'removed']);
  });

  test('[cluster M12] one that changed before the deed, and is judged again, counts once', async () => {
    const { api, carryOut } = expiring({ rules: [{ ...RULE, removalsPerHour: 1 }] });
    let changes = 0;
    api.beforeWrite = () => {
      if (changes++ === 0) api.touch('a');
    };
    expect(await carryOut([byRule(putSecret(api, 'a'))])).toEqual(['removed']);
    expect(changes).toBe(2);
  });

  test('what failed for certain does not count', async () => {
    const { api, carryOut } = expiring({ rules });
    api.fault = ({ method }) => (method === 'DELETE' ? { status: 403, body: '{}' } : null);
    const orders = ['a', 'b', 'c'].map((name) => byRule(putSecret(api, name)));
    expect(new Set(await carryOut(orders.slice(0, 2)))).toEqual(new Set(['failed forbidden']));
    api.fault = () => null;
    expect(new Set(await carryOut(orders.slice(0, 2)))).toEqual(new Set(['removed']));
  });
});

describe('[cluster S11] beside an agent, which counts how much of a kind would go', () => {
  const MANY: Share = { over: 40, objects: 100 };
  const FEW: Share = { over: 9, objects: 100 };
  /** When the time of what `putSecret` makes was over. */
  const OVER_MS = START_MS;

  function beside(share: Share | null, rule: Partial<OwnRule> = {}): Harness {
    const index: ClusterIndex = {
      object: () => undefined,
      candidate: () => null,
      isGoneWithItsKind: () => false,
      wentBack: false,
      pods: NO_PODS,
      expiry: { shareOf: (kind) => (kind === 'Secret' ? share : null) },
    };
    const made = harness({ index: { current: () => index } });
    made.policy = clusterPolicy({ collectors: [], rules: [{ ...RULE, ...rule }] });
    return made;
  }
  const LASTING = { ...IDENTITY, untilMs: START_MS + 24 * HOUR_MS };

  async function outcome(share: Share | null, what: Approved | null, rule: Partial<OwnRule> = {}) {
    const made = beside(share, rule);
    if (what !== null) made.approvals = [approval(what, LASTING)];
    const told = await made.carryOut([byRule(putSecret(made.api, 'a'))]);
    expect(made.api.writes).toHaveLength(told[0] === 'removed' ? 1 : 0);
    return told[0];
  }

  test('what a rule would take too much of at once is not deleted, whoever orders it', async () => {
    expect(await outcome(FEW, null)).toBe('removed');
    expect(await outcome(MANY, null)).toBe('refused not-approved');
    expect(await outcome(MANY, null, { heldFromPercent: 50 })).toBe('removed');
    expect(await outcome(MANY, null, { heldFromPercent: 0 })).toBe('removed');
  });

  test('[cluster S7] approved it goes, as far as it was', async () => {
    expect(await outcome(MANY, approvedRule(RULE, 'Secret', 40, OVER_MS))).toBe('removed');
    expect(await outcome(MANY, approvedRule(RULE, 'Secret', 39, OVER_MS))).toBe('refused not-approved');
    expect(await outcome(MANY, approvedRule(RULE, 'Secret', 40, OVER_MS - HOUR_MS))).toBe(
      'refused not-approved',
    );
    expect(await outcome(MANY, approvedRule({ ...RULE, name: 'other' }, 'Secret', 40, OVER_MS))).toBe(
      'refused not-approved',
    );
    expect(await outcome(MANY, approvedRule(RULE, 'ConfigMap', 40, OVER_MS))).toBe('refused not-approved');
    expect(await outcome(MANY, approvedObjects('Secret', 'a'))).toBe('refused not-approved');
    expect(await outcome(MANY, approvedPods(40))).toBe('refused not-approved');
  });

  test('an approval that ends while an order waits lets it go no more', async () => {
    const h = beside(MANY);
    h.approvals = [approval(approvedRule(RULE, 'Secret', 40, OVER_MS), { ...LASTING, untilMs: START_MS })];
    expect(await h.carryOut([byRule(putSecret(h.api, 'a'))])).toEqual(['refused not-approved']);
  });

  test('what nobody has counted yet waits', async () => {
    expect(await outcome(null, null)).toBe('failed api-server-error');
    expect(await outcome(null, null, { heldFromPercent: 0 })).toBe('removed');
  });

  test('without an agent that it is not held is left to the decision, and no more go than the rule says', async () => {
    const { api, carryOut } = expiring({ rules: [{ ...RULE, removalsPerHour: 1 }] });
    const orders = ['a', 'b'].map((name) => byRule(putSecret(api, name)));
    expect((await carryOut(orders)).toSorted()).toEqual(['refused rate-limited', 'removed']);
  });

  test('[cluster S2, S7] what is held by its kind goes when it is approved itself', async () => {
    const h = beside(FEW);
    h.policy = clusterPolicy({ collectors: [], rules: [RULE], heldKinds: ['Secret'] });
    h.approvals = [approval(approvedObjects('Secret', 'a'), LASTING)];
    const orders = ['a', 'b'].map((name) => byRule(putSecret(h.api, name)));
    expect((await h.carryOut(orders)).toSorted()).toEqual(['refused not-approved', 'removed']);
  });

  test('[cluster S7] whatever is ordered and approved, nothing goes that is held and was not approved', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({ over: fc.nat(30), objects: fc.nat(200) }),
        fc.record({
          rule: fc.constantFrom('old', 'old', 'other'),
          ofKind: fc.constantFrom('Secret', 'Secret', 'ConfigMap'),
          objects: fc.integer({ min: 1, max: 30 }),
          overByMs: fc.constantFrom(OVER_MS - 1, OVER_MS),
          ruleSha256: fc.constantFrom(
            contentHash(RULE),
            contentHash(RULE),
            contentHash({ ...RULE, labels: {} }),
          ),
        }),
        async (share, given) => {
          const h = beside(share);
          h.approvals = [approval({ kind: 'rule', ...given }, LASTING)];
          const [told] = await h.carryOut([byRule(putSecret(h.api, 'a'))]);
          await h.stop();
          const isApproved =
            given.rule === 'old' &&
            given.ruleSha256 === contentHash(RULE) &&
            given.ofKind === 'Secret' &&
            given.objects >= share.over &&
            given.overByMs >= OVER_MS;
          expect(told).toBe(!isTooMuch(RULE, share) || isApproved ? 'removed' : 'refused not-approved');
        },
      ),
      { numRuns: 60 },
    );
  });
});
