import { expect, test } from 'vitest';
import { nodeOutput } from '../../../../packages/decision/handler.ts';
import type { InventoryContainer, InventoryImage } from '../../../../schemas/events/inventory.ts';
import {
  container,
  gonePod,
  logSymlink,
  pod,
  podLogDirectory,
  sandbox,
  uid,
} from '../../../fixtures/inventory.ts';
import { objectResult } from '../../../fixtures/results.ts';
import { HOUR, MINUTE, NOW, nsAgo } from '../../../fixtures/time.ts';
import { hundred, type Look, policies, recorded, simulated, type Went } from '../support/simulated-past.ts';

/** No image goes by usage; of the dead containers of a unit the newest stays. */
const ONE = policies({ imageGCHighThresholdPercent: 100, imageGCLowThresholdPercent: 99 });
const MANY = policies({
  imageGCHighThresholdPercent: 100,
  imageGCLowThresholdPercent: 99,
  maximumDeadContainersPerContainer: 9,
});
/** Images from 70 % used down to 60 %, and dead containers as `ONE`. */
const LOWER = policies({ imageGCHighThresholdPercent: 70, imageGCLowThresholdPercent: 60 });

/** Of one unit, `c1` the oldest. */
const dead = (id: string, over: Partial<InventoryContainer> = {}): InventoryContainer =>
  container(id, { createdAtNs: nsAgo(HOUR - Number(id.slice(1)) * MINUTE), ...over });

const heldBy = (id: string, by: string, over: Partial<InventoryImage> = {}): InventoryImage =>
  hundred(id, { usedBy: [{ kind: 'container', id: by }], ...over });

const look = (
  minute: number,
  over: NonNullable<Look['over']>,
  images: Look['images'] = [],
  available = 500,
): Look => ({
  minute,
  images,
  available,
  over,
});

const goneAt = (id: string, minute: number, freed: number): Went => [
  { kind: 'container', id },
  minute,
  500,
  500 + freed,
];

const counts = (containers: number, over: object = {}) => ({
  images: 0,
  containers,
  sandboxes: 0,
  logs: 0,
  ...over,
});

test('[G7] what another policy keeps less of goes once, and nobody knows what that frees', async () => {
  const containers = ['c1', 'c2', 'c3'].map((id) => dead(id));
  const log = recorded({ looks: [0, 5, 10].map((minute) => look(minute, { containers })) });
  const { total, nodes } = await simulated(log, { policy: ONE, against: MANY });

  expect(total.policy).toMatchObject({ removed: counts(2), freedBytes: '0', unmeasured: 2 });
  expect(total.against).toMatchObject({ removed: counts(0), unmeasured: 0 });
  expect(nodes).toMatchObject([{ estimatedFromMs: { policy: NOW, against: null } }]);
});

test('[G6, H2, I3, I6] of a pod that is gone containers, sandboxes and logs go, each counted by its kind', async () => {
  const over = {
    containers: [dead('c1', { pod: { uid: uid(1), name: 'web', namespace: 'default' } })],
    sandboxes: [sandbox('s1', { podUid: uid(1) })],
    pods: [gonePod(uid(1))],
    podLogDirectories: [podLogDirectory(`default_web_${uid(1)}`)],
    logSymlinks: [logSymlink('web-1_default_main-123456.log')],
  };
  const { total } = await simulated(recorded({ looks: [look(0, over)] }), { policy: ONE });
  expect(total.policy.removed).toEqual(counts(1, { sandboxes: 1, logs: 2 }));
});

test('what the real node removed too frees what that measured, from when it goes in the simulation', async () => {
  const containers = [dead('c1'), dead('c2')];
  const log = recorded({
    looks: [
      look(0, { containers }),
      look(5, { containers }),
      look(10, { containers: [dead('c2')] }, [], 520),
    ],
    went: [goneAt('c1', 8, 20)],
  });
  const { total, nodes } = await simulated(log, { policy: ONE });

  expect(total.policy).toMatchObject({
    removed: counts(1),
    freedBytes: '20',
    unmeasured: 0,
    peakPercent: 50,
  });
  expect(total.against).toMatchObject({ removed: counts(1), freedBytes: '20', peakPercent: 50 });
  expect(nodes[0]?.estimatedFromMs.policy).toBeNull();
});

test('what really went and would have stayed is there still, takes up its space, and may go later', async () => {
  const log = recorded({
    looks: [
      look(0, { containers: [dead('c1'), dead('c2')] }),
      look(2, { containers: [dead('c2')] }, [], 530),
      look(4, { containers: [dead('c2')], pods: [gonePod('pod-1')] }, [], 530),
    ],
    went: [goneAt('c1', 1, 30)],
  });
  const { total, nodes } = await simulated(log, { policy: MANY });

  expect(total.policy).toMatchObject({
    removed: counts(2),
    freedBytes: '30',
    unmeasured: 1,
    peakPercent: 50,
  });
  expect(nodes[0]?.estimatedFromMs.policy).toBe(NOW + MINUTE);
});

const ENDED = { contentRemovable: true, runtimeRemovable: true };

test.each([
  { name: 'gone when it was listed last', first: gonePod('pod-1'), last: [], removed: 1 },
  { name: 'gone later, when it was listed last', first: pod('pod-1'), last: [gonePod('pod-1')], removed: 1 },
  { name: 'known when it was listed last', first: pod('pod-1', ENDED), last: [], removed: 0 },
])(
  'a pod that is not listed any more and was $name: $removed of its containers go',
  async ({ first, last, removed }) => {
    const log = recorded({
      looks: [
        look(0, { containers: [dead('c1')], pods: [first] }),
        look(2, { pods: last }),
        look(65, { pods: [] }),
      ],
      went: [goneAt('c1', 1, 30)],
    });
    const policy = policies({
      imageGCHighThresholdPercent: 100,
      imageGCLowThresholdPercent: 99,
      profile: 'kubelet',
      // Until the last look it is too young.
      minimumContainerTTLMs: 2 * HOUR,
    });
    expect((await simulated(log, { policy })).total.policy.removed).toEqual(counts(removed));
  },
);

test.each([
  { name: 'a container that runs after all', state: 'running' as const, back: 1 },
  { name: 'a container that does not', state: 'created' as const, back: 0 },
])('$name is back: $back', async ({ state, back }) => {
  const log = recorded({
    looks: (['created', state, 'exited'] as const).map((now, index) =>
      look(index * 5, { containers: [dead('c1', { state: now }), dead('c2')] }),
    ),
  });
  const { total } = await simulated(log, { policy: ONE });
  expect(total.policy.removed).toEqual(counts(1 + back));
});

test.each([
  { name: 'a sandbox that is ready after all', state: 'ready' as const, back: 1 },
  { name: 'a sandbox that is not', state: 'notReady' as const, back: 0 },
])('$name is back: $back', async ({ state, back }) => {
  const newest = sandbox('s2', { createdAtNs: nsAgo(0) });
  const log = recorded({
    looks: (['notReady', state, 'notReady'] as const).map((now, index) =>
      look(index * 5, { sandboxes: [sandbox('s1', { state: now }), newest] }),
    ),
  });
  const { total } = await simulated(log, { policy: ONE });
  expect(total.policy.removed).toEqual(counts(0, { sandboxes: 1 + back }));
});

test('[C8] an image is free to go when the dead container that used it went, and its real use by that is no regret', async () => {
  const containers = [dead('c1'), dead('c2')];
  const b = heldBy('b', 'c2', { lastUsedMs: NOW });
  const a = (minute: number) => heldBy('a', 'c1', { lastUsedMs: NOW + minute * MINUTE });
  const log = recorded({
    looks: [
      look(0, { containers }, [a(0), b], 250),
      look(5, { containers }, [a(5), b], 250),
      look(10, { containers: [dead('c2')] }, [{ ...a(8), usedBy: [] }, b], 250),
    ],
  });
  const { total, regrets } = await simulated(log, { policy: LOWER });

  expect(total.policy.removed).toEqual(counts(1, { images: 1 }));
  expect(regrets).toEqual([]);
});

test('an image that somebody else uses afterwards is regretted, whatever held it before', async () => {
  const containers = [dead('c1'), dead('c2')];
  const log = recorded({
    looks: [
      look(0, { containers }, [heldBy('a', 'c1')], 250),
      look(5, { containers }, [heldBy('a', 'c1')], 250),
      look(10, { containers: [dead('c2'), dead('c3', { state: 'running' })] }, [heldBy('a', 'c3')], 250),
    ],
  });
  expect((await simulated(log, { policy: LOWER })).regrets).toMatchObject([
    { imageId: 'a', removedAtMs: NOW, neededAtMs: NOW + 10 * MINUTE },
  ]);
});

test.each([
  { minute: 10, images: 0 },
  { minute: 11, images: 1 },
])(
  '[E3] an image was last used when its last container went: $images go $minute minutes later',
  async ({ minute, images }) => {
    const containers = [dead('c1'), dead('c2')];
    const held = (lastUsedMs: number) => [heldBy('a', 'c1', { lastUsedMs })];
    const log = recorded({
      looks: [look(0, { containers }, held(NOW)), look(minute, { containers }, held(NOW + minute * MINUTE))],
    });
    const policy = policies({
      imageGCHighThresholdPercent: 100,
      imageGCLowThresholdPercent: 99,
      imageMaximumGCAgeMs: 10 * MINUTE,
    });
    expect((await simulated(log, { policy })).total.policy.removed).toEqual(counts(1, { images }));
  },
);

test('an image stays while a container uses it that only the real node removed', async () => {
  const log = recorded({
    looks: [
      look(0, { containers: [dead('c1')] }, [heldBy('a', 'c1'), 'b'], 500),
      look(2, {}, ['a', 'b'], 500),
      look(4, {}, ['a', 'b'], 100),
      look(6, {}, [], 300),
    ],
    went: [goneAt('c1', 1, 0), ['a', 5, 100, 200]],
  });
  const { total } = await simulated(log, {
    policy: policies({
      imageGCHighThresholdPercent: 70,
      imageGCLowThresholdPercent: 60,
      maximumDeadContainersPerContainer: 9,
    }),
  });
  expect(total.policy.removed).toEqual(counts(0, { images: 1 }));
});

test('[J21, M20] in a reclaim containers go first, and no image when that was enough', async () => {
  const past = (freed: number) => ({
    looks: [
      look(0, { containers: [dead('c1'), dead('c2')] }, ['a', 'b'], 250),
      look(5, { containers: [dead('c2')] }, ['a', 'b'], 250 + freed),
    ],
    went: [goneAt('c1', 1, freed)],
  });
  const removedWith = async (freed: number) =>
    (await simulated(recorded(past(freed)), { policy: LOWER })).total.policy.removed;

  expect(await removedWith(150)).toEqual(counts(1));
  expect(await removedWith(149)).toEqual(counts(1, { images: 1 }));
});

test('a container that names no image keeps all of them only while it is there', async () => {
  const over = { containers: [dead('c1'), dead('c2')], containersWithoutImage: ['c1'] };
  const log = recorded({ looks: [look(0, over, ['a', 'b', 'd', 'e'], 250)] });
  expect((await simulated(log, { policy: LOWER })).total.policy.removed).toEqual(counts(1, { images: 2 }));
});

test('a reclaim that ends short of its target with known effects is unrelieved', async () => {
  const many = Array.from({ length: 64 }, (_, index) => hundred(`i${index}`, { sizeBytes: 1 }));
  const unrelievedWith = async (containers: readonly InventoryContainer[]) => {
    const log = recorded({ looks: [look(0, { containers: [...containers] }, many, 250)] });
    return (await simulated(log, { policy: LOWER })).total.policy;
  };
  expect(await unrelievedWith([])).toMatchObject({ removed: counts(0, { images: 62 }), unrelieved: 1 });
  expect(await unrelievedWith([dead('c1'), dead('c2')])).toMatchObject({ unmeasured: 1, unrelieved: 0 });
});

test('a real removal of containers on the disk of the images ends the time above the threshold', async () => {
  const gone = objectResult({
    object: { kind: 'container', id: 'c1' },
    result: {
      outcome: 'removed',
      measured: { filesystem: 'containerfs', beforeBytes: '250', afterBytes: '350' },
      estimatedBytes: null,
      durationMs: 5,
    },
  });
  const log = recorded({
    looks: [look(0, { containers: [dead('c1')] }, [], 250), look(5, {}, [], 350)],
    others: [{ minute: 1, output: nodeOutput('results', gone) }],
  });
  expect((await simulated(log, { policy: LOWER })).total.against.aboveMs).toBe(MINUTE);
});
