import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ClusterCommandItem } from '../../../../schemas/events/cluster-command.ts';
import type { ClusterPolicy } from '../../../../schemas/policy/cluster-policy.ts';
import type { OwnRule } from '../../../../schemas/policy/own-rule.ts';
import { clusterPolicy } from '../../../fixtures/cluster.ts';
import { manualTime } from '../../../support/manual-time.ts';
import { isQuickRun, runs } from '../../../support/property-runs.ts';
import { type Harness, harness, itemFor } from './support/executor.ts';
import { DATE_MS, type FakeApi, kindNamed, POD, SERVED, type StoredObject } from './support/fake-api.ts';

const SECRET = kindNamed('Secret');
const JOB = kindNamed('Job');
/** What the API server's clock shows when a test begins. */
const START_MS = DATE_MS + Math.floor(manualTime(() => 0).now().sinceBootMs);
const HOUR_MS = 3_600_000;
const ago = (ms: number): string => new Date(START_MS - ms).toISOString();

const RULE: OwnRule = {
  name: 'old',
  kinds: ['Secret'],
  namespaces: [],
  labels: { app: 'ci' },
  afterMs: HOUR_MS,
  propagation: 'Background',
  removalsPerHour: 100,
};
const MANY_LABELS = {
  app: 'ci',
  ...Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`l${index}`, 'x'])),
};
const { labels: _, ...WIDE }: OwnRule = { ...RULE, namespaces: ['ns'] };
const { afterMs: __, ...BY_ANNOTATION }: OwnRule = { ...WIDE, name: 'annotated' };
const LONGER: readonly OwnRule[] = [0, 20, 40, 60, 80, 100].map((first) => ({
  ...RULE,
  name: `long-${first}`,
  labels: Object.fromEntries(Object.entries(MANY_LABELS).slice(first, first + 20)),
  afterMs: 24 * HOUR_MS,
}));
const ENDED: OwnRule = {
  name: 'old',
  kinds: ['Pod', 'batch/Job'],
  namespaces: [],
  states: ['Failed'],
  afterMs: HOUR_MS,
  propagation: 'Background',
  removalsPerHour: 100,
};

const byAge = (object: StoredObject, ownRule = 'old', rule = 'S12'): ClusterCommandItem => ({
  ...itemFor(object, { action: 'expire', propagation: 'Background', ownRule }),
  rule,
});

function ruling(rules: readonly OwnRule[], over: Partial<ClusterPolicy> = {}): Harness {
  const made = harness();
  made.api.served = [...SERVED, POD];
  made.policy = clusterPolicy({ collectors: [], rules: [...rules], ...over });
  return made;
}

const putSecret = (api: FakeApi, over: Partial<StoredObject> = {}): StoredObject =>
  api.put({ kind: SECRET, name: 'x', creationTimestamp: ago(HOUR_MS), labels: { app: 'ci' }, ...over });
/** A pod that failed so long ago. */
const failedPod = (agoMs = HOUR_MS) => ({
  status: { phase: 'Failed', containerStatuses: [{ state: { terminated: { finishedAt: ago(agoMs) } } }] },
});
const putPod = (api: FakeApi, over: Partial<StoredObject> = {}): StoredObject =>
  api.put({ kind: POD, name: 'p', creationTimestamp: ago(9 * HOUR_MS), whole: failedPod(), ...over });
const putJob = (
  api: FakeApi,
  agoMs: number | null,
  over: Partial<StoredObject> = {},
  spec: object = {},
): StoredObject =>
  api.put({
    kind: JOB,
    name: 'j',
    creationTimestamp: ago(9 * HOUR_MS),
    whole: {
      spec,
      status:
        agoMs === null
          ? {}
          : { conditions: [{ type: 'Failed', status: 'True', lastTransitionTime: ago(agoMs) }] },
    },
    ...over,
  });
const OF_JOB = { apiVersion: 'batch/v1', kind: 'Job', name: 'j', uid: 'j', controller: true };

describe('[cluster S12] by a rule with an age', () => {
  test('goes what the live object says that it is for, in the state in which it was read', async () => {
    const { api, carryOut, results } = ruling([RULE]);
    const secret = putSecret(api);
    expect(await carryOut([byAge(secret)])).toEqual(['removed']);
    expect(api.writes.map(({ request }) => JSON.parse(request.body ?? '').preconditions)).toEqual([
      { uid: secret.uid, resourceVersion: secret.resourceVersion },
    ]);
    expect(results[0]).toMatchObject({ objects: [{ rule: 'S12', action: 'expire', ownRule: 'old' }] });
  });

  test.each<[string, string, Partial<StoredObject>]>([
    ['that lost its label', 'refused kept-by-own-judgement', { labels: {} }],
    ['whose label is another one', 'refused kept-by-own-judgement', { labels: { app: 'web' } }],
    ['that is young', 'refused kept-by-own-judgement', { creationTimestamp: ago(HOUR_MS - 60_000) }],
    [
      '[cluster S13] that does not say when it was made',
      'refused kept-by-own-judgement',
      { creationTimestamp: 'x' },
    ],
    ['that is kept', 'refused kept-by-policy', { keep: true }],
    ['in a namespace of the cluster', 'refused kept-by-own-judgement', { namespace: 'kube-system' }],
    [
      'that a controller owns',
      'refused kept-by-own-judgement',
      { ownerReferences: [{ ...OF_JOB, kind: 'X' }] },
    ],
    [
      'whose controller cannot be read',
      'refused kept-by-own-judgement',
      { ownerReferences: [{ ...OF_JOB, uid: 'u'.repeat(500) }] },
    ],
  ])('nothing goes %s', async (_, expected, over) => {
    const { api, carryOut } = ruling([RULE]);
    expect(await carryOut([byAge(putSecret(api, over))])).toEqual([expected]);
    expect(api.writes).toEqual([]);
  });

  test.each<[string, string, Partial<StoredObject>]>([
    ['that it is for', 'removed', {}],
    [
      'that an earlier rule keeps for longer, by more labels than a fact tells',
      'refused kept-by-own-judgement',
      { labels: MANY_LABELS },
    ],
    [
      'with an annotation that says nothing, however long that is, by which an earlier rule goes',
      'refused kept-by-own-judgement',
      { annotations: { 'janitor/ttl': `forever: ${'as long as anybody needs it, '.repeat(9)}` } },
    ],
  ])('by a wide last rule goes or stays what it is asked for: one %s', async (_, expected, over) => {
    const { api, carryOut } = ruling([BY_ANNOTATION, ...LONGER, WIDE]);
    expect(await carryOut([byAge(putSecret(api, over))])).toEqual([expected]);
  });

  test('nothing goes by a rule that the policy in force does not have, or as another rule says', async () => {
    const cases: readonly (readonly [OwnRule, string, string])[] = [
      [RULE, 'other', 'S12'],
      [RULE, 'old', 'S8'],
      [{ ...RULE, namespaces: ['other'] }, 'old', 'S12'],
      [{ ...RULE, afterMs: 2 * HOUR_MS }, 'old', 'S12'],
    ];
    for (const [inForce, ownRule, rule] of cases) {
      const { api, carryOut } = ruling([inForce]);
      expect(await carryOut([byAge(putSecret(api), ownRule, rule)])).toEqual([
        'refused kept-by-own-judgement',
      ]);
      expect(api.writes).toEqual([]);
    }
  });

  test('what changes before the deed is judged again', async () => {
    const { api, carryOut } = ruling([RULE]);
    const secret = putSecret(api);
    api.beforeWrite = () => api.touch('x', { labels: { app: 'web' } });
    expect(await carryOut([byAge(secret)])).toEqual(['refused kept-by-own-judgement']);
    expect(api.writes).toEqual([]);
  });

  test.each<[string, string, object]>([
    ['that failed long ago', 'removed', failedPod()],
    ['that failed a moment ago, though it is old', 'refused kept-by-own-judgement', failedPod(60_000)],
    ['that runs', 'refused kept-by-own-judgement', { status: { phase: 'Running' } }],
    [
      'that succeeded',
      'refused kept-by-own-judgement',
      { status: { ...failedPod().status, phase: 'Succeeded' } },
    ],
    ['that was evicted', 'removed', { status: { ...failedPod().status, reason: 'Evicted' } }],
    [
      '[cluster S13] that does not say when it ended',
      'refused kept-by-own-judgement',
      { status: { phase: 'Failed' } },
    ],
    ['that cannot be read', 'refused kept-by-own-judgement', { status: { phase: 7 } }],
  ])('a pod %s', async (_, expected, whole) => {
    const { api, carryOut } = ruling([ENDED]);
    expect(await carryOut([byAge(putPod(api, { whole: { ...whole } }))])).toEqual([expected]);
  });

  test('[cluster S14] a Job that failed long ago goes, and one that says itself how long it stays does not', async () => {
    const { api, carryOut } = ruling([ENDED]);
    expect(await carryOut([byAge(putJob(api, 2 * HOUR_MS))])).toEqual(['removed']);
    const long = putJob(api, 2 * HOUR_MS, { uid: 'long' }, { ttlSecondsAfterFinished: 86_400 });
    expect(await carryOut([byAge(long)])).toEqual(['refused kept-by-own-judgement']);
  });
});

describe('[cluster S15] a pod of a Job', () => {
  const owned = (api: FakeApi): StoredObject => putPod(api, { ownerReferences: [OF_JOB] });

  test.each<[string, string, (api: FakeApi) => void]>([
    ['goes when its Job is finished', 'removed', (api) => void putJob(api, 1)],
    ['stays while its Job goes on', 'refused kept-by-own-judgement', (api) => void putJob(api, null)],
    [
      'stays if its Job is another one by now',
      'refused kept-by-own-judgement',
      (api) => void putJob(api, 1, { uid: 'new' }),
    ],
    [
      'stays if what controls it cannot be read, since that may be its Job',
      'refused kept-by-own-judgement',
      (api) => api.touch('p', { ownerReferences: [{ ...OF_JOB, name: 'j'.repeat(500) }] }),
    ],
    ['stays if its Job is not there', 'refused kept-by-own-judgement', () => undefined],
    [
      'stays if its Job cannot be read',
      'refused kept-by-own-judgement',
      (api) => {
        api.fault = ({ path }) => (path.includes('/jobs/') ? { status: 403, body: '{}' } : null);
      },
    ],
  ])('%s', async (_, expected, prepare) => {
    const { api, carryOut } = ruling([ENDED]);
    const pod = owned(api);
    prepare(api);
    expect(await carryOut([byAge(pod)])).toEqual([expected]);
  });
});

const someAgo = fc.constantFrom(0, HOUR_MS - 60_000, HOUR_MS, HOUR_MS, 5 * HOUR_MS, 5 * HOUR_MS);
const Scene = fc.record({
  kind: fc.constantFrom(SECRET, SECRET, JOB, JOB, POD, POD, POD, kindNamed('ServiceAccount')),
  namespace: fc.constantFrom('ns', 'ns', 'ns', 'other', 'kube-system'),
  labels: fc.constantFrom({}, { app: 'ci' }, { app: 'ci' }, { app: 'ci' }, { app: 'web' }),
  annotations: fc.constantFrom({}, { 'janitor/ttl': '1h' }, { 'janitor/ttl': '3d' }),
  createdAgoMs: someAgo,
  endedAgoMs: fc.option(someAgo, { freq: 9 }),
  phase: fc.constantFrom('Running', 'Succeeded', 'Failed', 'Failed'),
  reason: fc.constantFrom(undefined, 'Evicted'),
  ttl: fc.constantFrom(undefined, undefined, 60),
  controller: fc.constantFrom(null, null, null, 'X', 'Job', 'Job'),
  job: fc.constantFrom('finished', 'finished', 'unfinished', 'gone'),
  keep: fc.constantFrom(false, false, false, false, true),
});
type Scene = typeof Scene extends fc.Arbitrary<infer Value> ? Value : never;

const AnyRule: fc.Arbitrary<OwnRule> = fc
  .record({
    name: fc.constant('old'),
    kinds: fc.subarray(['Secret', 'batch/Job', 'Pod', 'ServiceAccount'], { minLength: 3 }),
    namespaces: fc.constantFrom<string[]>([], ['ns']),
    propagation: fc.constant('Background' as const),
    removalsPerHour: fc.constant(100),
    more: fc.constantFrom<Partial<OwnRule>>(
      {},
      { labels: { app: 'ci' } },
      { labels: { app: 'ci' }, afterMs: HOUR_MS },
      { states: ['Failed'], afterMs: HOUR_MS },
      { states: ['Evicted', 'Complete'], labels: { app: 'ci' }, afterMs: HOUR_MS },
    ),
  })
  .map(({ more, ...rule }) => ({ ...rule, ...more }));

function put(api: FakeApi, scene: Scene): StoredObject {
  const { kind, namespace, labels, annotations, keep, phase, reason, ttl, endedAgoMs, controller, job } =
    scene;
  const at = endedAgoMs === null ? null : ago(endedAgoMs);
  if (job !== 'gone') putJob(api, job === 'finished' ? 1 : null, { namespace, uid: 'owner', name: 'owner' });
  const ended = {
    type: phase === 'Succeeded' ? 'Complete' : 'Failed',
    status: 'True',
    lastTransitionTime: at,
  };
  return api.put({
    kind,
    name: 'x',
    namespace,
    labels,
    annotations,
    keep,
    creationTimestamp: ago(scene.createdAgoMs),
    ownerReferences:
      controller === null ? [] : [{ ...OF_JOB, kind: controller, name: 'owner', uid: 'owner' }],
    whole: {
      spec: { ttlSecondsAfterFinished: ttl },
      status: {
        phase,
        reason,
        containerStatuses: [{ state: { terminated: { finishedAt: at } } }],
        conditions: kind === JOB && phase !== 'Running' ? [ended] : [],
      },
    },
  });
}

/** No more than a few seconds pass for one command. */
const isOver = (agoMs: number | null, afterMs: number): boolean => agoMs !== null && agoMs + 5_000 >= afterMs;
const hasEnded = ({ kind, phase }: Scene): boolean => kind === POD && phase !== 'Running';
const OF_JOBS: Readonly<Record<Scene['phase'], readonly string[]>> = {
  Running: [],
  Succeeded: ['Complete'],
  Failed: ['Failed'],
};
function statesOf({ kind, phase, reason }: Scene): readonly string[] {
  if (kind === JOB) return OF_JOBS[phase];
  if (kind !== POD) return [];
  return phase === 'Failed' && reason === 'Evicted' ? ['Failed', 'Evicted'] : [phase];
}
const saysHour = ({ annotations }: Scene): boolean => Reflect.get(annotations, 'janitor/ttl') === '1h';

/** Why the policy keeps what is there, written down apart from the product's rules. */
const KEPT_BECAUSE: Readonly<Record<string, (scene: Scene, rule: OwnRule) => boolean>> = {
  kind: ({ kind }, { kinds }) => !kinds.includes(kind === JOB ? 'batch/Job' : kind.kind),
  'no rule for it': ({ kind, namespace }) => kind.kind === 'ServiceAccount' || namespace === 'kube-system',
  namespace: ({ namespace }, { namespaces }) => namespaces.length > 0 && namespace !== 'ns',
  label: ({ labels }, rule) => rule.labels !== undefined && Reflect.get(labels, 'app') !== 'ci',
  annotation: ({ keep }) => keep,
  controller: (scene) => scene.controller !== null && !hasEnded(scene),
  'unfinished Job': ({ controller, job }) => controller === 'Job' && job !== 'finished',
  'no time': (scene, { afterMs }) =>
    afterMs === undefined && !(saysHour(scene) && isOver(scene.createdAgoMs, HOUR_MS)),
  TTL: ({ kind, ttl }, { afterMs }) => afterMs !== undefined && kind === JOB && ttl !== undefined,
  state: (scene, { states }) =>
    states !== undefined && !states.some((state) => statesOf(scene).includes(state)),
  age: ({ createdAgoMs, endedAgoMs }, { states, afterMs = 0 }) =>
    !isOver(states === undefined ? createdAgoMs : endedAgoMs, afterMs),
};
const keptBecause = (scene: Scene, rule: OwnRule): readonly string[] =>
  Object.entries(KEPT_BECAUSE).flatMap(([because, isKept]) => (isKept(scene, rule) ? [because] : []));

test('[cluster S8, S9, S12, S13, S14, S15] whatever is ordered, nothing goes that the policy in force and the live object would keep', async () => {
  let gone = 0;
  await fc.assert(
    fc.asyncProperty(
      Scene,
      AnyRule,
      fc.constantFrom(null, null, null, null, 'S8', 'S12', 'K4'),
      fc.constantFrom('old', 'old', 'old', 'old', 'old', undefined, 'other'),
      async (scene, rule, ordered, ownRule) => {
        const { api, carryOut, stop } = ruling([rule]);
        const object = put(api, scene);
        const act = { action: 'expire', propagation: 'Background', ...(ownRule && { ownRule }) } as const;
        const follows = rule.afterMs === undefined ? 'S8' : 'S12';
        await carryOut([{ ...itemFor(object, act), rule: ordered ?? follows }]);
        await stop();
        if (api.writes.length === 0) return;
        gone++;
        expect(keptBecause(scene, rule)).toEqual([]);
        expect(ownRule).toBe('old');
      },
    ),
    runs(400),
  );
  if (!isQuickRun()) expect(gone).toBeGreaterThan(0);
}, 120_000);
