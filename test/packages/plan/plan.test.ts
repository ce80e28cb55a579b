import { describe, expect, test } from 'vitest';
import { planTable } from '../../../packages/documents/plan.ts';
import { planFor } from '../../../packages/plan/plan.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import { Plan, type PlanTrigger } from '../../../schemas/reports/plan.ts';
import { filesystem, filesystems } from '../../fixtures/filesystems.ts';
import {
  container,
  gonePod,
  image,
  incompleteInventory,
  inventory,
  logSymlink,
  pod,
  podLogDirectory,
  sandbox,
  tooLargeInventory,
} from '../../fixtures/inventory.ts';
import { keepList, NO_POLICY, pauseRecord, policySet } from '../../fixtures/policy.ts';
import { reclaim } from '../../fixtures/reclaim.ts';
import { HOUR, NOW, nsAgo } from '../../fixtures/time.ts';
import { threshold } from '../deciders/pressure/node-disks.ts';
import { kept, plan, removed } from './support.ts';

const UID = '0f4d1b1e-0000-4000-8000-000000000001';

/** A full disk, a pod that is gone with all that it left behind, and two images. */
const full = inventory({
  pods: [gonePod(UID), pod('pod-1')],
  containers: [
    container('dead', { pod: { uid: UID, name: 'old', namespace: 'default' }, sandboxId: 'box' }),
    container('live', { state: 'running', imageId: 'used' }),
  ],
  sandboxes: [sandbox('box', { podUid: UID })],
  podLogDirectories: [podLogDirectory(`default_old_${UID}`)],
  logSymlinks: [logSymlink('x_default_main-0123456789.log')],
  images: [
    image('young', { firstDetectedMs: NOW }),
    image('used', { usedBy: [{ kind: 'container', id: 'live' }] }),
    image('large', { sizeBytes: 150 }),
  ],
});

test('everything that goes, in its order, and everything that stays, each with its rule in words', () => {
  const made = plan(full);

  expect(removed(made)).toEqual([
    'container dead G6',
    'sandbox box H2',
    `pod-log-directory default_old_${UID} I3`,
    'log-symlink x_default_main-0123456789.log M35',
    'image large D11',
  ]);
  expect(kept(made)).toEqual(['container live G3', 'image young D10', 'image used C8']);
  expect(made).toMatchObject({
    status: 'planned',
    policy: { name: 'default', mode: 'enforce', profile: 'fleetgc' },
    actions: ['containers', 'images'],
    target: { filesystem: 'imagefs', resource: 'availableBytes', atLeast: '200', available: '100' },
    reason: '100 bytes are missing to the target',
    estimatedBytes: '150',
  });
  expect(made.remove.at(-1)).toEqual({
    kind: 'image',
    id: 'large',
    name: 'registry.example/large:1',
    sizeBytes: 150,
    freedBytes: '150',
    rule: 'D11',
    because: 'unused, and least recently used',
    facts: expect.objectContaining({ place: 1, lastUsedMs: NOW - 5 * HOUR }),
  });
  expect(Plan.parse(made)).toEqual(made);
});

test('no two rows are equal: an image without a name has its id, and what has one name its id beside it', () => {
  const UNNAMED = { repoTags: ['<none>:<none>'], repoDigests: ['<none>@<none>'] };
  const twin = (id: string, uid: string) =>
    container(id, { pod: { uid, name: 'web', namespace: 'default' }, name: 'main', state: 'running' });
  const made = plan(
    inventory({
      images: [image('sha256:aa', UNNAMED), image('sha256:bb', UNNAMED), image('sha256:cc')],
      containers: [twin('first', 'pod-1'), twin('second', 'pod-2')],
      pods: [pod('pod-1'), pod('pod-2')],
    }),
  );
  const names = [...made.remove, ...made.keep].map(({ kind, name }) => `${kind} ${name}`);

  expect(names.toSorted()).toEqual([
    'container default/web/main#0 (first)',
    'container default/web/main#0 (second)',
    'image registry.example/sha256:cc:1',
    'image sha256:aa',
    'image sha256:bb',
  ]);
});

test.each(['periodic', 'forced', 'eviction:imagefs.available'] as const)(
  '%s is what is asked, not what the inventory was taken for',
  (trigger) => {
    const target = { ...reclaim().target, atLeast: '900' };
    expect(plan({ ...full, reclaim: reclaim({ step: 'images', target }) }, { trigger })).toEqual(
      plan(full, { trigger }),
    );
  },
);

test('[P4, P5] the limits of a command are not applied', () => {
  const images = Array.from({ length: 120 }, (_, index) => image(`image-${index}`, { sizeBytes: 1 }));
  expect(plan(inventory({ images })).remove).toHaveLength(100);
});

test('[D14] listed sizes are added exactly', () => {
  const images = [Number.MAX_SAFE_INTEGER, 2].map((sizeBytes, index) => image(`i${index}`, { sizeBytes }));
  expect(plan(inventory({ images }), { profile: 'kubelet', trigger: 'forced' }).estimatedBytes).toBe(
    '9007199254740993',
  );
});

test('[M7, J21] what images free is counted by layers, also of those that a removed container used', () => {
  const layers = [60, 50, 7].map((sizeBytes) => ({ kind: 'snapshot' as const, digest: '', sizeBytes }));
  const dead = container('dead', { pod: { uid: 'gone', name: 'web', namespace: 'default' }, imageId: 'a' });
  const node = inventory({
    pods: [gonePod('gone')],
    containers: [dead],
    layers,
    images: [
      image('a', { layers: [0, 1], usedBy: [{ kind: 'container', id: 'dead' }], lastUsedMs: NOW - HOUR }),
      image('b', { layers: [1, 2], lastUsedMs: NOW - 2 * HOUR }),
    ],
  });
  const estimates = ({ remove, estimatedBytes }: Plan) => [
    ...remove.flatMap(({ kind, id, facts }) => (kind === 'image' ? [`${id} ${facts.estimatedBytes}`] : [])),
    `all ${estimatedBytes}`,
  ];
  expect(estimates(plan(node))).toEqual(['b 7', 'a 110', 'all 117']);
  expect(estimates(plan(node, { profile: 'kubelet' }))).toEqual(['b 10', 'a 10', 'all 20']);
});

describe('[J21] images are decided on what containers leave', () => {
  const freed = (lastUsedMs: number, more = {}) =>
    inventory({
      pods: [gonePod('gone')],
      containers: [
        container('dead', { pod: { uid: 'gone', name: 'web', namespace: 'default' }, imageId: 'i' }),
      ],
      images: [image('i', { usedBy: [{ kind: 'container', id: 'dead' }], lastUsedMs, ...more })],
    });

  test.each([
    { what: 'in use until now', inventory: freed(NOW), removes: ['container dead G6', 'image i D11'] },
    { what: 'last used before', inventory: freed(NOW - HOUR), removes: ['container dead G6', 'image i D11'] },
    {
      what: 'used at a time that is not believed',
      inventory: freed(NOW + 1),
      removes: ['container dead G6'],
    },
    { what: 'too young', inventory: freed(NOW, { firstDetectedMs: NOW }), removes: ['container dead G6'] },
    {
      what: 'also wanted by a pod, whatever it is called',
      inventory: freed(NOW, {
        usedBy: [
          { kind: 'container', id: 'dead' },
          { kind: 'pod', id: 'dead' },
        ],
      }),
      removes: ['container dead G6'],
    },
    {
      what: 'named by a container that stays',
      inventory: {
        ...freed(NOW),
        containers: [...freed(NOW).containers, container('live', { state: 'running', imageId: 'i' })],
      },
      removes: ['container dead G6'],
    },
  ])('$what', ({ inventory: node, removes }) => {
    expect(removed(plan(node))).toEqual(removes);
  });

  test('also where the container that goes was the one without a known image', () => {
    const node = { ...freed(NOW), containersWithoutImage: ['dead'] };
    expect(removed(plan(node))).toContain('image i D11');
    expect(removed(plan({ ...node, containersWithoutImage: ['dead', 'other'] }))).not.toContain(
      'image i D11',
    );
  });
});

test('[C8, K1] what too little is known of stays, and that is said', () => {
  const made = plan({ ...full, containersWithoutImage: ['live'] });
  expect(removed(made)).not.toContain('image large D11');
  expect(made.keep.at(-1)).toMatchObject({ id: 'large', because: 'not enough is known to remove any image' });
  expect(made.notBelieved).toMatchObject([{ rule: 'C8' }]);
});

describe('triggers', () => {
  /** A pod that has only ended, and images of 30 of 1000 bytes each on a disk that is not full. */
  const ended = inventory({
    filesystems: filesystems({ availableBytes: '600' }),
    pods: [pod('pod-1', { runtimeRemovable: true })],
    containers: [container('last')],
    images: ['a', 'b'].map((id) => image(id, { sizeBytes: 30 })),
  });
  const near = { ...ended, filesystems: filesystems({ availableBytes: '130' }) };

  test.each<{ trigger: PlanTrigger; node: typeof ended; fleetgc: string[]; kubelet: string[] }>([
    { trigger: 'periodic', node: ended, fleetgc: [], kubelet: [] },
    { trigger: 'forced', node: ended, fleetgc: ['last'], kubelet: ['last', 'a', 'b'] },
    { trigger: 'eviction:imagefs.available', node: ended, fleetgc: ['last'], kubelet: ['last', 'a', 'b'] },
    {
      trigger: 'eviction:imagefs.available',
      node: near,
      fleetgc: ['last', 'a'],
      kubelet: ['last', 'a', 'b'],
    },
    { trigger: 'eviction:nodefs.inodesFree', node: ended, fleetgc: ['last'], kubelet: ['last', 'a', 'b'] },
  ])('[G2, J20, J22, M14] $trigger', ({ trigger, node, fleetgc, kubelet }) => {
    const ids = (profile: 'fleetgc' | 'kubelet') =>
      plan(node, { trigger, profile }).remove.map(({ id }) => id);
    expect({ fleetgc: ids('fleetgc'), kubelet: ids('kubelet') }).toEqual({ fleetgc, kubelet });
  });

  test('[J5] a signal goes through the actions of the layout, and the rest stays for that reason', () => {
    const split = { ...near.filesystems, imagefs: filesystem({ device: '8:2', availableBytes: '130' }) };
    const node = { ...near, filesystems: split };
    const images = plan(node, { trigger: 'eviction:imagefs.available' });
    const containers = plan(node, { trigger: 'eviction:nodefs.available' });

    expect(images.actions).toEqual(['images']);
    expect(kept(images)).toContain('container last J5');
    expect(removed(images)).toEqual(['image a D11']);
    expect(containers.actions).toEqual(['containers']);
    expect(removed(containers)).toEqual(['container last G6']);
    expect(kept(containers)).toEqual(['image a J5', 'image b J5']);
  });

  test.each<{ why: string; trigger: PlanTrigger; policy: Parameters<typeof plan>[1]; rule: string }>([
    { why: 'forced GC is off', trigger: 'forced', policy: { forcedGC: false }, rule: 'M16' },
    {
      why: 'forced GC is off',
      trigger: 'eviction:nodefs.available',
      policy: { forcedGC: false },
      rule: 'M16',
    },
    {
      why: 'the policy has no such threshold',
      trigger: 'eviction:imagefs.available',
      policy: { evictionThresholds: [threshold('nodefs.available')] },
      rule: 'J9',
    },
  ])('[$rule] nothing goes by $trigger when $why', ({ trigger, policy, rule }) => {
    const made = plan(near, { ...policy, trigger });
    expect(made.remove).toEqual([]);
    expect(made.keep.map((object) => object.rule)).toEqual([rule, rule, rule]);
    expect(made.reason).not.toBe('');
  });

  test('[A1] a disk that cannot be read is not guessed', () => {
    const node = { ...near, filesystems: { ...near.filesystems, nodefs: null } };
    const made = plan(node, { trigger: 'eviction:imagefs.available' });
    expect(made.remove).toEqual([]);
    expect(made.notBelieved).toMatchObject([{ rule: 'J3' }]);
  });
});

test('[D3, E3] a periodic pass takes images by age, and by usage of what is left', () => {
  const node = inventory({
    images: [image('old', { sizeBytes: 60 }), image('new', { sizeBytes: 110, lastUsedMs: NOW - 1 })],
  });
  const made = plan(node, { imageMaximumGCAgeMs: HOUR });
  expect(removed(made)).toEqual(['image old E3', 'image new D11']);
  expect(made.reason).toBe(
    '1 image(s) were unused for longer than the maximum age; 100 bytes are missing to the target',
  );
});

test('[P3] an inventory that is not complete plans nothing, and says what was missing', () => {
  expect(plan(incompleteInventory)).toMatchObject({
    status: 'not-planned',
    remove: [],
    keep: [],
    notBelieved: [{ message: expect.stringContaining('a container vanished') }],
  });
  expect(plan(tooLargeInventory)).toMatchObject({ status: 'not-planned', policy: { name: 'default' } });
});

test('[P1, P2] without a policy, or in a pause, everything stays', () => {
  const unselected = planFor({ inventory: full, policies: NO_POLICY, trigger: 'forced' });
  expect(unselected).toMatchObject({ status: 'planned', policy: null, remove: [] });
  expect(new Set(unselected.keep.map(({ rule }) => rule))).toEqual(new Set(['P1']));
  expect(unselected.keep).toHaveLength(8);

  const paused = planFor({ inventory: full, policies: policySet({}, [pauseRecord()]), trigger: 'periodic' });
  expect(paused.keep[0]?.rule).toBe('P2');
});

test('a name tells attempts of one container, and pods of two namespaces, apart', () => {
  const pod = { uid: 'pod-1', name: 'web', namespace: 'shop' };
  const made = plan(
    inventory({
      containers: [
        container('a', { name: 'app', pod, attempt: 2 }),
        container('b', { name: 'app', pod, attempt: 3 }),
        container('c', { name: 'app', pod: { ...pod, uid: 'pod-2', namespace: 'test' } }),
        container('d', { pod: null }),
      ],
      sandboxes: [sandbox('s', { pod, attempt: 1 })],
    }),
  );
  const names = [...made.remove, ...made.keep].map(({ id, name }) => `${id} ${name}`).toSorted();
  expect(names).toEqual(['a shop/web/app#2', 'b shop/web/app#3', 'c test/web/app#0', 'd d', 's shop/web#1']);
});

test('the policy that holds is chosen as for a real decision', () => {
  const [web, spare] = [
    policySet({ name: 'web', priority: 1 }),
    policySet({ name: 'spare', mode: 'dry-run' }),
  ];
  const both = { ...web, policies: [...spare.policies, ...web.policies] };
  expect(planFor({ inventory: full, policies: both, trigger: 'periodic' }).policy?.name).toBe('web');
});

test('[M11, M30] keep rules that match nothing are noted once, beside what the asker knows', () => {
  const notes = [{ rule: 'C14', message: 'ages are not known' }];
  const policies = policySet({ keep: keepList({ patterns: ['nothing/**'], namespaces: ['nowhere'] }) });
  const made = planFor({ inventory: full, policies, trigger: 'periodic', notes });
  expect(made.notes).toEqual([
    ...notes,
    expect.objectContaining({ rule: 'M11', message: expect.stringContaining('nowhere') }),
    { rule: 'M11', message: 'keep rule nothing/** matches no image of this node' },
  ]);
});

test('[M11, M12] images that could not be pulled again are noted once, with why and what to set', () => {
  const node = inventory({
    images: [
      image('by-ctr', { origin: 'not-pulled' }),
      image('also', { origin: 'not-pulled' }),
      image('built', { repoDigests: [] }),
      image('pulled'),
    ],
  });
  const notesOf = (unpullable: boolean) =>
    planFor({ inventory: node, policies: policySet({ keep: keepList({ unpullable }) }), trigger: 'forced' })
      .notes;
  expect(notesOf(true)).toEqual([
    {
      rule: 'M12',
      message: expect.stringMatching(
        /^2 images that stay are not pulled through CRI.* ctr .*unpullable: false/,
      ),
    },
    {
      rule: 'M11',
      message: expect.stringMatching(
        /^1 image that stays is without a place to be pulled from .*unpullable: false/,
      ),
    },
  ]);
  expect(notesOf(false)).toEqual([]);
});

test('[M12] the plan of a node of K3s keeps what may have been imported, and says so whatever the policy says', () => {
  const node = inventory({
    images: [image('coredns'), image('known', { origin: 'not-pulled' })],
    runtime: { name: 'containerd', version: 'v2.1.5-k3s1' },
  });
  const planned = (unpullable: boolean) =>
    planFor({ inventory: node, policies: policySet({ keep: keepList({ unpullable }) }), trigger: 'forced' });
  const said = { rule: 'M12', message: expect.stringMatching(/K3s or RKE2.*agent\/images.*keep\.images/) };
  const kept = planned(true);
  expect(kept.remove).toEqual([]);
  expect(kept.keep).toContainEqual(
    expect.objectContaining({
      rule: 'M12',
      facts: { origin: 'unknown', runtimeVersion: 'v2.1.5-k3s1' },
    }),
  );
  expect(kept.notes).toEqual([said, { rule: 'M12', message: expect.stringContaining('1 image that stays') }]);
  expect(planned(false).remove).toHaveLength(2);
  expect(planned(false).notes).toEqual([said]);
});

test('[G23] right after a container died, what its death takes is in the plan', () => {
  const node = inventory({
    trigger: 'container-died',
    diedContainerIds: ['second'],
    containers: [
      container('first', { createdAtNs: nsAgo(2 * HOUR) }),
      container('second', { createdAtNs: nsAgo(HOUR) }),
    ],
  });
  expect(removed(plan(node))).toEqual(['container first G23']);
});

describe('all triggers', () => {
  const some = (): CompleteInventory =>
    inventory({
      filesystems: filesystems({ availableBytes: '300' }),
      images: [
        image('old', { sizeBytes: 40 }),
        image('older', { sizeBytes: 60, lastUsedMs: NOW - 9 * HOUR }),
      ],
    });
  const policy = {
    evictionThresholds: [threshold('imagefs.available', { value: { percent: 90 } })],
  };

  test('what an eviction threshold of the policy removes is in the plan, and what none does is not', () => {
    const periodic = plan(some(), { trigger: 'periodic', ...policy });
    const all = plan(some(), { trigger: 'all', ...policy });
    expect(removed(periodic)).toEqual([]);
    expect(all.remove.map(({ id }) => id)).toEqual(['older', 'old']);
    expect(all.triggers.map(({ trigger }) => trigger)).toEqual(['periodic', 'eviction:imagefs.available']);
    expect(Plan.parse(all)).toEqual(all);
  });

  test('a target that cannot be reached is told, for people and for programs', () => {
    const all = plan(some(), { trigger: 'all', ...policy });
    expect(all.triggers[1]).toMatchObject({ isReached: false, estimatedBytes: '100', removals: 2 });
    expect(planTable(all).join('\n')).toMatch(
      /eviction:imagefs\.available: .*The target cannot be reached: once all of this is removed, 499 B are still missing/,
    );
  });

  test('every object is in the plan once, and the column adds up to the sum', () => {
    for (const trigger of ['all', 'periodic', 'forced'] as const) {
      const made = plan(some(), { trigger, ...policy });
      const sum = made.remove.reduce((bytes, { freedBytes }) => bytes + BigInt(freedBytes ?? '0'), 0n);
      expect(String(sum)).toBe(made.estimatedBytes);
      const ids = [...made.remove, ...made.keep].map(({ kind, id }) => `${kind} ${id}`);
      expect(new Set(ids).size).toBe(ids.length);
    }
  });
});
