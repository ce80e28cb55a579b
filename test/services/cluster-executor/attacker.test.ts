import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ClusterAction, ClusterCommandItem } from '../../../schemas/events/cluster-command.ts';
import type { OwnershipCandidate } from '../../../schemas/events/ownership.ts';
import { conclude } from '../../../services/graph-gc/rules/conclude.ts';
import type { Outcome } from '../../../services/graph-gc/rules/outcome.ts';
import { settingsOf } from '../../../services/graph-gc/rules/settings.ts';
import { clusterPolicy } from '../../fixtures/cluster.ts';
import { runs } from '../../support/property-runs.ts';
import { harness } from './support/executor.ts';
import {
  type FakeApi,
  type FakeReference,
  kindNamed,
  SERVED,
  type StoredObject,
  type Write,
} from './support/fake-api.ts';
import { type Ghost, readTruthOf, truthOf } from './support/truth.ts';

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];
const UIDS = Array.from({ length: 8 }, (_, number) => `u${number}`);
const FINALIZERS = ['orphan', 'foregroundDeletion', 'other'];
const DELETED_AT = '2026-11-25T00:00:00Z';

const Kind = fc.constantFrom(...SERVED);
/** True so many times of ten. */
const often = (times: number): fc.Arbitrary<boolean> =>
  fc.integer({ min: 0, max: 9 }).map((number) => number < times);
const Uid = fc.constantFrom(...UIDS);
const Name = fc.constantFrom(...NAMES);
const Reference = fc.record({
  /** Mostly as the owner is, if there is one. */
  isRight: often(9),
  uid: Uid,
  kind: fc.oneof(
    Kind.map(({ kind }) => kind),
    fc.constant('Unserved'),
  ),
  name: fc.oneof(Name, fc.constant('..')),
  blockOwnerDeletion: fc.boolean(),
});
const Made = fc.record({
  uid: Uid,
  kind: Kind,
  namespace: fc.oneof(
    { weight: 5, arbitrary: fc.constant('ns') },
    { weight: 1, arbitrary: fc.constant('other') },
  ),
  name: Name,
  isDeleting: often(3),
  finalizers: fc.subarray(FINALIZERS),
  references: fc.array(Reference, { maxLength: 3 }),
  keep: often(1),
  /** Of one that is gone. */
  gone: fc.option(
    fc.record({
      how: fc.oneof(
        { weight: 4, arbitrary: fc.constantFrom('watched' as const, 'relisted' as const) },
        { weight: 1, arbitrary: fc.constantFrom('mass-relisted' as const, 'kind-going' as const) },
      ),
      orphaned: often(2),
    }),
    { freq: 2 },
  ),
});
type Made = typeof Made extends fc.Arbitrary<infer Value> ? Value : never;

const Action: fc.Arbitrary<ClusterAction> = fc.oneof(
  fc.record({
    action: fc.constant('delete' as const),
    propagation: fc.constantFrom('Background', 'Foreground', 'Orphan'),
    unblock: fc.boolean(),
  }),
  fc.record({
    action: fc.constant('drop-references' as const),
    ownerUids: fc.uniqueArray(Uid, { minLength: 1, maxLength: 3 }),
  }),
  fc.record({ action: fc.constant('finish' as const), finalizer: fc.constantFrom(...FINALIZERS) }),
);

/** What an attacker says of an object: the truth, or something else. */
const Order = fc.record({
  uid: Uid,
  /** Which object it names beside, by another one's uid. */
  as: fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: Uid }),
  act: Action,
  /** Does what would be done. */
  isGuessed: often(7),
  rule: fc.string({ minLength: 1, maxLength: 10 }),
  resourceVersion: fc.oneof(
    { weight: 3, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.constantFrom('1', '101', '107') },
  ),
  lie: fc.oneof(
    { weight: 5, arbitrary: fc.constant(null) },
    fc.record(
      {
        kind: fc.constantFrom('ConfigMap', 'Harmless'),
        namespaced: fc.boolean(),
        namespace: fc.constantFrom('', '..', 'other'),
        resource: fc.constantFrom('secrets', 'namespaces', 'secrets/status', '..'),
        group: fc.constantFrom('', 'apps'),
        name: fc.constantFrom('..', 'b'),
      },
      { requiredKeys: [] },
    ),
  ),
});
type Order = typeof Order extends fc.Arbitrary<infer Value> ? Value : never;

const Scene = fc.record({
  made: fc.uniqueArray(Made, { selector: ({ uid }) => uid, minLength: 4, maxLength: UIDS.length }),
  /** One after the other: owners that change between a look at them and the deed are no attack. */
  orders: fc.array(Order, { minLength: 1, maxLength: 12 }),
  profile: fc.constantFrom('fleetgc' as const, 'kubernetes' as const),
  cascade: fc.constantFrom(1, 1_000, 1_000, 1_000),
  keptKinds: fc.subarray(['Secret', 'apps/ReplicaSet']),
  wentBack: often(1),
  isNamespaceKept: often(1),
  /** Somebody changes objects of that name right before the write. */
  changes: often(3),
  /** Decided under the policy in force, as the attacker says. */
  isRight: often(9),
});
type Scene = typeof Scene extends fc.Arbitrary<infer Value> ? Value : never;

function stored(made: Made, all: readonly Made[]): StoredObject {
  const { uid, kind, name, namespace, isDeleting, references, keep } = made;
  const finalizers = isDeleting && made.finalizers.length === 0 ? ['other'] : made.finalizers;
  return {
    uid,
    kind,
    name,
    namespace: kind.namespaced ? namespace : '',
    finalizers,
    keep,
    resourceVersion: '1',
    deletionTimestamp: isDeleting ? DELETED_AT : null,
    ownerReferences: references.map((reference) => referenceOf(reference, all)),
  };
}

function referenceOf(
  { isRight, uid, kind, name, blockOwnerDeletion }: Made['references'][number],
  all: readonly Made[],
): FakeReference {
  const owner = isRight ? all.find((each) => each.uid === uid) : undefined;
  const served = owner?.kind ?? SERVED.find((each) => each.kind === kind);
  const group = served?.group ?? 'none';
  return {
    apiVersion: group === '' ? 'v1' : `${group}/v1`,
    kind: served?.kind ?? kind,
    name: owner?.name ?? name,
    uid,
    blockOwnerDeletion,
  };
}

interface Built {
  readonly ghosts: Ghost[];
  readonly truth: () => ReturnType<typeof truthOf>;
}

function build(api: FakeApi, { made, wentBack, isNamespaceKept }: Scene): Built {
  if (isNamespaceKept) api.put({ kind: kindNamed('Namespace'), name: 'ns', uid: 'ns', keep: true });
  const ghosts: Ghost[] = [];
  for (const each of made) {
    const object = stored(each, made);
    if (each.gone !== null) ghosts.push({ object, ...each.gone });
    else if (!api.objects.some((other) => isAt(other, object))) api.put(object);
    else ghosts.push({ object, how: 'watched', orphaned: false });
  }
  return { ghosts, truth: () => truthOf(api, ghosts, wentBack) };
}

const isAt = (one: StoredObject, other: StoredObject): boolean =>
  one.kind === other.kind && one.namespace === other.namespace && one.name === other.name;

interface Concluded {
  readonly outcome: Outcome | null;
  /** Without the owner graph the way of a deletion is the order's, within what dependents could make of it. */
  readonly possible: readonly Outcome[];
}
type Conclude = (uid: string) => Concluded;

const DEPENDENTS = [
  { count: 0, blocking: 0, oneWaits: false },
  { count: 1, blocking: 1, oneWaits: false },
  { count: 1, blocking: 1, oneWaits: true },
];

function ordered(
  order: Order,
  api: FakeApi,
  ghosts: readonly Ghost[],
  concluded: Conclude,
): ClusterCommandItem {
  const known = (uid: string): StoredObject | undefined =>
    api.byUid(uid) ?? ghosts.find(({ object }) => object.uid === uid)?.object;
  const { kind, namespace, name, resourceVersion } = known(order.as ?? order.uid) ?? {
    kind: SERVED[0],
    namespace: 'ns',
    name: 'a',
    resourceVersion: '1',
  };
  if (kind === undefined) throw new Error('something is served');
  const { outcome } = order.isGuessed ? concluded(order.uid) : { outcome: null };
  const object = {
    ...kind,
    namespace,
    name,
    uid: order.uid,
    resourceVersion: order.resourceVersion ?? resourceVersion,
    ...order.lie,
  };
  return { object, rule: order.rule, act: outcome?.kind === 'act' ? outcome.act : order.act };
}

/** What a write does, as an action. */
function actionOf({ request, before }: Write): ClusterAction | 'unblock' {
  const body = JSON.parse(request.body ?? '{}');
  if (request.method === 'DELETE')
    return { action: 'delete', propagation: body.propagationPolicy, unblock: false };
  const { ownerReferences, finalizers } = body.metadata;
  if (finalizers !== undefined) {
    const [finalizer = '', ...more] = before.finalizers.filter((each) => !finalizers.includes(each));
    if (more.length > 0) throw new Error('several finalizers went');
    return { action: 'finish', finalizer };
  }
  const left = new Set(ownerReferences.map(({ uid }: FakeReference) => uid));
  const ownerUids = [...new Set(before.ownerReferences.map(({ uid }) => uid))].filter(
    (uid) => !left.has(uid),
  );
  return ownerUids.length === 0 ? 'unblock' : { action: 'drop-references', ownerUids };
}

/** Whether a write is what was concluded, or a part of it. */
function follows(does: ReturnType<typeof actionOf>, act: ClusterAction): boolean {
  switch (act.action) {
    case 'delete':
      return does === 'unblock'
        ? act.unblock
        : does.action === 'delete' && does.propagation === act.propagation;
    case 'expire':
    case 'remove-pod':
      return false;
    case 'finish':
      return does !== 'unblock' && does.action === 'finish' && does.finalizer === act.finalizer;
    case 'drop-references':
      return (
        does !== 'unblock' &&
        does.action === 'drop-references' &&
        does.ownerUids.every((uid) => act.ownerUids.includes(uid))
      );
  }
}

/** Why a write does something that does not follow from the truth; `null` where it does. */
function objection(write: Write, { outcome, possible }: Concluded): string | null {
  const does = actionOf(write);
  const isPossible = possible.some((each) => each.kind === 'act' && follows(does, each.act));
  if (outcome?.kind === 'act' && isPossible) return null;
  return `${JSON.stringify(does)} of ${write.before.uid}, by ${JSON.stringify(outcome)}`;
}

interface Played {
  readonly objections: readonly string[];
  readonly writes: number;
}

/** Attackers order, and every write is compared with what is concluded from the true state right before it. */
async function play(scene: Scene, withIndex: boolean): Promise<Played> {
  const built: { at: Built | null } = { at: null };
  const policy = clusterPolicy({
    profile: scene.profile,
    limits: { cascade: scene.cascade, cascadeOfKind: 1_000, removalsPerHour: 1_000 },
    heldKinds: ['Namespace'],
    keep: { namespaces: [], kinds: scene.keptKinds },
  });
  const h = harness(withIndex ? { index: { current: () => built.at?.truth() ?? null } } : {}, (api) => {
    built.at = build(api, scene);
  });
  h.policy = policy;
  const { api } = h;
  const { ghosts, truth } = built.at ?? build(api, scene);
  const concluded: Conclude = (uid) => {
    const { candidate, wentBack } = truth();
    const found = withIndex ? candidate(uid) : readTruthOf(api, uid);
    const of = (each: OwnershipCandidate): Outcome =>
      conclude(each, settingsOf(policy, []), { wentBack: withIndex && wentBack });
    if (found === null) return { outcome: null, possible: [] };
    const possible = withIndex ? [] : DEPENDENTS.map((dependents) => of({ ...found, dependents }));
    return { outcome: of(found), possible: [of(found), ...possible] };
  };
  const objections: string[] = [];
  api.onWrite = (write) => {
    const why = scene.isRight ? objection(write, concluded(write.before.uid)) : 'under another policy';
    if (why !== null) objections.push(why);
    ghosts.push({ object: write.before, how: 'watched', orphaned: false });
  };
  let turn = 0;
  api.beforeWrite = ({ path }) => {
    const target = api.objects.find(({ name }) => new URL(path, 'http://x').pathname.endsWith(`/${name}`));
    if (target === undefined || !scene.changes || turn++ > 5) return;
    api.touch(target.uid, turn % 2 === 0 ? {} : { ownerReferences: [] });
  };
  const wrong = { name: 'p', version: 1, hash: 'another', setHash: 'x' };
  for (const order of scene.orders)
    await h.carryOut([ordered(order, api, ghosts, concluded)], scene.isRight ? {} : { policy: wrong });
  await h.stop();
  return { objections, writes: api.writes.length };
}

test('[cluster D10, D15, H2, S1, S2, S3, S4, S5, S6] whatever is ordered, nothing is done that does not follow from the true state', async () => {
  let writes = 0;
  await fc.assert(
    fc.asyncProperty(Scene, async (scene) => {
      const played = await play(scene, true);
      writes += played.writes;
      expect(played.objections).toEqual([]);
    }),
    runs(600),
  );
  expect(writes).toBeGreaterThan(0);
}, 120_000);

test('[cluster D10, D15, H2, S2, S5] without the owner graph nothing is done that does not follow from what can be read', async () => {
  let writes = 0;
  await fc.assert(
    fc.asyncProperty(Scene, async (scene) => {
      const played = await play({ ...scene, cascade: 1_000 }, false);
      writes += played.writes;
      expect(played.objections).toEqual([]);
    }),
    runs(600),
  );
  expect(writes).toBeGreaterThan(0);
}, 120_000);
