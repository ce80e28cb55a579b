import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { ServerClock } from '../../../../packages/kube-api/server-clock.ts';
import { Pods } from '../../../../schemas/events/pods.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import type { ClusterPolicy } from '../../../../schemas/policy/cluster-policy.ts';
import { NO_EARLIER_FACTS } from '../../../../services/cluster/agent/earlier-facts.ts';
import { formOf } from '../../../../services/cluster/agent/observed-object.ts';
import { PodWatch, publishPods, ToldPods } from '../../../../services/cluster/agent/pods.ts';
import { clusterPolicyRecord } from '../../../fixtures/cluster.ts';
import { DELETED_AT, podCandidate } from '../../../fixtures/pods.ts';
import { manualTime } from '../../../support/manual-time.ts';
import { nextLook } from '../../../support/next-look.ts';

const POD = { group: '', version: 'v1', kind: 'Pod', resource: 'pods', namespaced: true };
const NODE = { group: '', version: 'v1', kind: 'Node', resource: 'nodes', namespaced: false };
const CREATED = '2026-01-01T00:00:00Z';
const DATE_MS = 1_800_000_000_000;

interface Made {
  readonly phase?: string;
  readonly nodeName?: string;
  readonly metadata?: object;
  readonly boundAt?: string;
}

/** An object as an API server writes it, read as the agent does. */
function read(kind: typeof POD, value: object) {
  const object = formOf(kind, null).read(value);
  if (object === null) throw new Error('no object');
  return object;
}
const podOf = (name: string, { phase = 'Running', nodeName = '', metadata = {}, boundAt }: Made) =>
  read(POD, {
    metadata: {
      name,
      namespace: 'ns',
      uid: name,
      resourceVersion: '1',
      creationTimestamp: CREATED,
      ...metadata,
    },
    spec: { nodeName },
    status: {
      phase,
      conditions:
        boundAt === undefined ? [] : [{ type: 'PodScheduled', status: 'True', lastTransitionTime: boundAt }],
    },
  });
const nodeOf = (name: string, more: object = {}, creationTimestamp = CREATED) =>
  read(NODE, {
    metadata: { name, uid: `node-${name}`, resourceVersion: '1', creationTimestamp },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
    ...more,
  });
const OUT_OF_SERVICE = {
  spec: { taints: [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }] },
  status: { conditions: [{ type: 'Ready', status: 'Unknown' }] },
};
const DELETED = { deletionTimestamp: DELETED_AT, deletionGracePeriodSeconds: 30 };

const nobody = async (): Promise<never> => {
  throw new Error('nobody asks');
};

function watched(policy: Partial<ClusterPolicy> | null = { terminatedPodGCThreshold: 1 }) {
  const time = manualTime(() => 0);
  const nowMs = (): number => time.now().sinceBootMs;
  const clock = new ServerClock();
  let isAway = false;
  const hear = (): void => {
    if (!isAway)
      clock.told({
        dateMs: DATE_MS + Math.floor(nowMs() / 1_000) * 1_000,
        sentAtMs: nowMs(),
        receivedAtMs: nowMs(),
      });
  };
  hear();
  const kept = new Set<string>();
  const watch = new PodWatch({ isKeptNamespace: (name) => kept.has(name), nowMs });
  const facts: Pods[] = [];
  let record = policy && clusterPolicyRecord(policy);
  let wentBack = false;
  let approved = '';
  const parts = {
    connection: { clock, call: nobody, stream: nobody, [Symbol.dispose]: () => undefined },
    policy: () => record,
    holds: () => record && `${record.hash} ${approved}`,
    publish: async (fact: unknown) => void facts.push(Pods.parse(fact)),
    earlierFacts: async () => NO_EARLIER_FACTS,
    onWatchEnded: () => undefined,
    sleep: time.sleep,
    random: () => 0,
    newId: () => `fact-${facts.length}`,
    nowMs,
    logger: pino({ level: 'silent' }),
  };
  const identity = { cluster: 'c1', clusterInstance: 'i', session: '55555555-5555-4555-8555-555555555555' };
  const stop = new AbortController();
  const ended = publishPods(
    { parts, identity, watch, isReady: () => true, wentBack: () => wentBack },
    stop.signal,
  );
  onTestFinished(async () => {
    stop.abort();
    await ended;
  });
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second++) {
      await time.pass(1_000);
      hear();
      for (let look = 0; look < 4; look++) await nextLook(look);
    }
  };
  const list = (
    pods: readonly ReturnType<typeof podOf>[],
    nodes: readonly ReturnType<typeof nodeOf>[],
  ): void => {
    watch.pods.beginList(POD);
    watch.pods.listed(POD, pods);
    watch.pods.endList(POD, true);
    watch.nodes.beginList(NODE);
    watch.nodes.listed(NODE, nodes);
    watch.nodes.endList(NODE, true);
  };
  /** Pods of the facts since the last call. */
  const told = (): string[][] =>
    facts.splice(0).map(({ candidates }) => candidates.map(({ object }) => object.name));
  return {
    watch,
    facts,
    pass,
    list,
    told,
    kept,
    approve: (what: string) => {
      approved = what;
    },
    leave: () => {
      isAway = true;
    },
    apply: (over: Partial<ClusterPolicy>) => {
      record = clusterPolicyRecord(over);
    },
    restore: () => {
      wentBack = true;
    },
  };
}

test('[cluster J1, N10] pods are told at once when they are read, and then every 20 s, if anything changed', async () => {
  const { pass, list, told, watch } = watched();
  const unscheduled = podOf('a', { metadata: DELETED });
  await pass(5);
  expect(told()).toEqual([]);
  list([unscheduled], []);
  await pass(2);
  expect(told()).toEqual([['a']]);
  watch.pods.put(POD, podOf('b', { metadata: DELETED }));
  await pass(15);
  expect(told()).toEqual([]);
  await pass(6);
  expect(told()).toEqual([['b']]);
  await pass(60);
  expect(told()).toEqual([]);
});

test('what was told is told again after ten minutes, so that what was lost heals', async () => {
  const { pass, list, told } = watched();
  list([podOf('a', { metadata: DELETED })], []);
  await pass(2);
  expect(told()).toEqual([['a']]);
  await pass(630);
  expect(told()).toEqual([['a']]);
});

test('[cluster J3, J4] of pods that ended those are told that are too many, with how many there are', async () => {
  const { pass, list, facts } = watched({ terminatedPodGCThreshold: 2 });
  const at = (creationTimestamp: string, more: object = {}) => ({
    phase: 'Succeeded',
    nodeName: 'n',
    metadata: { creationTimestamp, ...more },
  });
  list(
    [
      podOf('young', at('2026-03-01T00:00:00Z')),
      podOf('old', at('2026-02-01T00:00:00Z', DELETED)),
      podOf('oldest', at('2026-01-01T00:00:00Z')),
      podOf('runs', { nodeName: 'n' }),
    ],
    [nodeOf('n')],
  );
  await pass(2);
  expect(facts).toMatchObject([
    {
      cluster: 'c1',
      seq: 0,
      totals: { pods: 4, nodes: 1, terminated: 3, onMissingNodes: 0 },
      candidates: [{ object: { name: 'oldest' }, phase: 'Succeeded' }],
    },
  ]);
});

test('without a policy none that ended are told, and all else', async () => {
  const { pass, list, told } = watched(null);
  list(
    [podOf('ended', { phase: 'Failed', nodeName: 'n' }), podOf('a', { metadata: DELETED })],
    [nodeOf('n')],
  );
  await pass(2);
  expect(told()).toEqual([['a']]);
});

test('[cluster J5] a deleted pod of a node that is out of service is told, with what its node is', async () => {
  const { pass, list, facts } = watched();
  list(
    [podOf('a', { nodeName: 'n', metadata: DELETED }), podOf('b', { nodeName: 'ok', metadata: DELETED })],
    [nodeOf('n', OUT_OF_SERVICE), nodeOf('ok')],
  );
  await pass(2);
  expect(facts.flatMap(({ candidates }) => candidates)).toMatchObject([
    { object: { name: 'a' }, node: { state: 'there', name: 'n', isReady: false, isOutOfService: true } },
  ]);
});

test('[cluster J6] pods of a node that is missing are told when it has been missing for 40 s', async () => {
  const { pass, list, facts, told, watch } = watched();
  list([podOf('a', { nodeName: 'n' }), podOf('b', { nodeName: 'ok' })], [nodeOf('n'), nodeOf('ok')]);
  await pass(2);
  watch.nodes.gone(NODE, nodeOf('n'));
  await pass(50);
  expect(told()).toEqual([]);
  await pass(22);
  expect(facts).toMatchObject([
    {
      totals: { onMissingNodes: 1 },
      candidates: [{ object: { name: 'a' }, node: { state: 'missing', name: 'n', missingForMs: 40_000 } }],
    },
  ]);
});

test('[cluster J6, J7] a node that comes back, or of which nobody can tell, has to be missing anew', async () => {
  const { pass, list, told, watch } = watched();
  list([podOf('a', { nodeName: 'n' })], []);
  await pass(30);
  watch.nodes.put(NODE, nodeOf('n'));
  await pass(20);
  watch.nodes.gone(NODE, nodeOf('n'));
  await pass(41);
  watch.nodes.failed(NODE);
  await pass(20);
  expect(told()).toEqual([]);
  list([podOf('a', { nodeName: 'n' })], []);
  await pass(39);
  expect(told()).toEqual([]);
  await pass(22);
  expect(told()).toEqual([['a']]);
});

test('[cluster J10, J11] a pod is told once, and one that finalizers alone hold is not', async () => {
  const { pass, list, told } = watched();
  const stuck = { ...DELETED, deletionGracePeriodSeconds: 0, finalizers: ['f'] };
  list(
    [
      podOf('both', { phase: 'Failed', metadata: DELETED }),
      podOf('stuck', { phase: 'Failed', metadata: stuck }),
      podOf('more', { phase: 'Failed', nodeName: 'n' }),
    ],
    [nodeOf('n')],
  );
  await pass(2);
  expect(told()).toEqual([['both', 'more']]);
});

test('[cluster J12] pods that were bound before their node was there are counted, and stay', async () => {
  const { pass, list, told, watch } = watched();
  list(
    [
      podOf('earlier', { nodeName: 'n', boundAt: '2026-05-01T00:00:00Z' }),
      podOf('earliest', { nodeName: 'n', boundAt: '2026-04-01T00:00:00Z' }),
      podOf('later', { nodeName: 'n', boundAt: '2026-05-03T00:00:00Z' }),
      podOf('unknown', { nodeName: 'n' }),
    ],
    [nodeOf('n', {}, '2026-05-02T00:00:00Z')],
  );
  await pass(60);
  expect(told()).toEqual([]);
  expect(watch.totals()).toMatchObject({ pods: 4, onReplacedNodes: 2 });
});

test('[cluster S5] what is kept is not told', async () => {
  const { pass, list, told, kept } = watched();
  kept.add('ns');
  list([podOf('a', { metadata: DELETED })], []);
  await pass(30);
  expect(told()).toEqual([]);
});

test("nothing is told while the API server's time is not known", async () => {
  const { pass, list, told, leave } = watched();
  leave();
  await pass(70);
  list([podOf('a', { metadata: DELETED })], []);
  await pass(60);
  expect(told()).toEqual([]);
});

test('[cluster S7] under another policy, and when an approval begins or ends, all is told again within seconds, and half a minute later', async () => {
  const { pass, list, told, apply, approve } = watched();
  list([podOf('a', { metadata: DELETED })], []);
  await pass(2);
  expect(told()).toEqual([['a']]);
  for (const change of [() => apply({ mode: 'rehearse' }), () => approve('approval'), () => approve('')]) {
    change();
    await pass(2);
    expect(told()).toEqual([['a']]);
    await pass(27);
    expect(told()).toEqual([]);
    await pass(3);
    expect(told()).toEqual([['a']]);
  }
  await pass(60);
  expect(told()).toEqual([]);
});

test('after a restore all is told again', async () => {
  const { pass, list, told, restore } = watched();
  list([podOf('a', { metadata: DELETED })], []);
  await pass(2);
  expect(told()).toEqual([['a']]);
  restore();
  await pass(20);
  expect(told()).toEqual([['a']]);
});

test('of more pods than a fact holds those that wait longest are told next, and none is forgotten', async () => {
  const { pass, list, facts } = watched();
  const names = Array.from({ length: 1_200 }, (_, index) => `p${index}`);
  list(
    names.map((name) => podOf(name, { metadata: DELETED })),
    [],
  );
  await pass(61);
  expect(facts.map(({ candidates }) => candidates.length)).toEqual([500, 500, 200]);
  const told = facts.flatMap(({ candidates }) => candidates.map(({ object }) => object.name));
  expect(told.toSorted()).toEqual(names.toSorted());
});

test('pods with as many and as long finalizers as an API server takes are told in facts that the event log takes, and none is forgotten', async () => {
  const { pass, list, facts } = watched();
  const finalizers = Array.from({ length: 100 }, (_, n) => `${n}.${'x'.repeat(250)}/${'y'.repeat(63)}`);
  const names = Array.from({ length: 170 }, (_, index) => `p${index}`);
  list(
    names.map((name) => podOf(name, { metadata: { ...DELETED, finalizers } })),
    [],
  );
  await pass(161);
  const sizes = facts.map((fact) => Buffer.byteLength(JSON.stringify(fact)));
  expect(Math.max(...sizes)).toBeLessThan(TOPICS.clusterPods.bounds.bytes);
  const told = facts.flatMap(({ candidates }) => candidates.map(({ object }) => object.name));
  expect(told.toSorted()).toEqual(names.toSorted());
});

test('of those that are told again the ones that were never told come first', () => {
  const told = new ToldPods();
  const due = Array.from({ length: 600 }, (_, index) => podCandidate({ object: { uid: `u${index}` } }));
  const first = told.take(due, 0, false).map(({ object }) => object.uid);
  const next = told.take(due, 600_000, false).map(({ object }) => object.uid);
  expect(next).toHaveLength(500);
  expect(new Set([...first, ...next]).size).toBe(600);
});
