import { expect, test } from 'vitest';
import { newestDeciders } from '../../../../packages/audit/simulate/compare.ts';
import { isAbove } from '../../../../packages/audit/simulate/pressure.ts';
import { simulate } from '../../../../packages/audit/simulate/simulate.ts';
import { nodeOutput } from '../../../../packages/decision/handler.ts';
import type { LogReader } from '../../../../packages/log/port.ts';
import type { InventoryImage } from '../../../../schemas/events/inventory.ts';
import { POOL_LABEL } from '../../../../schemas/policy/policy-selection.ts';
import { filesystem, filesystems } from '../../../fixtures/filesystems.ts';
import { NODE } from '../../../fixtures/inventory.ts';
import { EVERY_NODE, policy } from '../../../fixtures/policy.ts';
import { reclaim, toTarget } from '../../../fixtures/reclaim.ts';
import { objectResult, pressureUnrelieved } from '../../../fixtures/results.ts';
import { HOUR, MINUTE, NOW } from '../../../fixtures/time.ts';
import { at, type Given, hundred, policies, recorded, simulated } from '../support/simulated-past.ts';

/** From 70 % used down to 60 %. */
const LOWER = policies({ imageGCHighThresholdPercent: 70, imageGCLowThresholdPercent: 60 });
const HIGHER = policies({ imageGCHighThresholdPercent: 95, imageGCLowThresholdPercent: 90 });

const IN_USE = { usedBy: [{ kind: 'container', id: 'c1' }] } as const satisfies Partial<InventoryImage>;

const used = (id: string) => hundred(id, IN_USE);

const run = (log: LogReader, given: Partial<Given> = {}) => simulated(log, { policy: LOWER, ...given });

const images = (count: number) => ({ images: count, containers: 0, sandboxes: 0, logs: 0 });
/** Of a node on which nothing happened. */
const NONE = {
  removed: images(0),
  freedBytes: '0',
  unmeasured: 0,
  guessed: 0,
  regrets: 0,
  unrelieved: 0,
  aboveMs: 0,
};

const ALL = ['a', 'b', 'c', 'd'];

test('[D6, D11] a lower threshold removes the least recently used, once, and what went stays away', async () => {
  const past = recorded({
    looks: [0, 5, 10].map((minute) => ({ minute, images: ALL, available: 250 })),
  });
  const { total, nodes } = await run(past);

  expect(total).toEqual({
    nodes: 1,
    observedMs: 10 * MINUTE,
    unknownMs: 0,
    policy: { ...NONE, removed: images(2), freedBytes: '200', peakPercent: 75 },
    against: { ...NONE, aboveMs: 10 * MINUTE, peakPercent: 75 },
  });
  expect(nodes).toMatchObject([
    { thresholdPercent: 70, inventories: 3, estimatedFromMs: { policy: NOW, against: null } },
  ]);
});

test('[D11] what went is not there to go again when the disk fills further', async () => {
  const past = recorded({
    looks: [250, 50, 50].map((available, index) => ({ minute: index * 5, images: ALL, available })),
  });
  expect((await run(past)).total.policy).toMatchObject({
    removed: images(4),
    freedBytes: '400',
    peakPercent: 75,
  });
});

test.each([
  { inodesFree: '500', removed: 0, name: 'not met' },
  { inodesFree: '1', removed: 4, name: 'met, and each of four frees an estimated 199' },
  { inodesFree: '401', removed: 2, name: 'met, and each of two frees an estimated 119' },
])('[M13] inodes: a threshold that is $name', async ({ inodesFree, removed }) => {
  const few = filesystems({ availableBytes: '500', inodesFree });
  const eight = [...ALL, 'e', 'f', 'g', 'h'];
  const past = recorded({
    looks: [{ minute: 0, images: eight, available: 0, over: { filesystems: few } }],
  });
  const byInodes = policies({ imageGCInodes: { highThresholdPercent: 51, lowThresholdPercent: 40 } });
  expect((await run(past, { policy: byInodes })).total.policy).toMatchObject({
    removed: images(removed),
    guessed: removed,
    peakPercent: 50,
  });
});

test.each([
  { name: 'in percent', over: {}, above: { availableBytes: '150' }, below: { availableBytes: '160' } },
  {
    name: 'absolute [M39]',
    over: { imageGCAvailable: { startBelowBytes: '300', untilBytes: '400' } },
    above: { availableBytes: '299' },
    below: { availableBytes: '300' },
  },
  {
    name: 'of inodes [M13]',
    over: { imageGCInodes: { highThresholdPercent: 51, lowThresholdPercent: 40 } },
    above: { availableBytes: '500', inodesFree: '490' },
    below: { availableBytes: '500', inodesFree: '500' },
  },
])('time above a threshold $name is counted', ({ over, above, below }) => {
  const thresholds = { ...policy(), ...over };
  expect(isAbove(filesystem(above), thresholds)).toBe(true);
  expect(isAbove(filesystem(below), thresholds)).toBe(false);
});

test.each([
  { available: 300, removed: 1, name: 'at the high threshold' },
  { available: 309, removed: 1, name: 'which the free share, rounded down, comes to' },
  { available: 310, removed: 0, name: 'below it' },
])('[D6] a disk $name with $available bytes: $removed go', async ({ available, removed }) => {
  const past = recorded({ looks: [{ minute: 0, images: ALL, available }] });
  expect((await run(past)).total.policy.removed.images).toBe(removed);
});

test.each<{ name: string; later: readonly (string | InventoryImage)[]; windowMs: number; regrets: string[] }>(
  [
    {
      name: 'used within the window',
      later: [used('a'), 'b', 'c', 'd'],
      windowMs: 5 * MINUTE,
      regrets: ['a'],
    },
    { name: 'used after it', later: [used('a'), 'b', 'c', 'd'], windowMs: 5 * MINUTE - 1, regrets: [] },
    {
      name: 'used in between, and by nobody now',
      later: [hundred('a', { lastUsedMs: NOW + 1 }), 'b', 'c', 'd'],
      windowMs: HOUR,
      regrets: ['a'],
    },
    {
      name: 'last used at the moment at which it went',
      later: [hundred('a', { lastUsedMs: NOW }), 'b', 'c', 'd'],
      windowMs: HOUR,
      regrets: [],
    },
    { name: 'not used', later: ALL, windowMs: HOUR, regrets: [] },
    { name: 'gone by itself', later: ['c', 'd'], windowMs: HOUR, regrets: [] },
  ],
)('an image that would have gone and is $name', async ({ later, windowMs, regrets }) => {
  const past = recorded({
    looks: [
      { minute: 0, images: ALL, available: 250 },
      { minute: 5, images: later, available: 250 },
    ],
  });
  const { regrets: found } = await run(past, { regretWindowMs: windowMs });

  expect(found.map(({ imageId }) => imageId)).toEqual(regrets);
  for (const regret of found)
    expect(regret).toMatchObject({
      side: 'policy',
      removedAtMs: NOW,
      neededAtMs: NOW + 5 * MINUTE,
      sizeBytes: 100,
    });
});

test('what really went and would have stayed keeps its space, and goes when that is short', async () => {
  const past = recorded({
    looks: [
      { minute: 0, images: ALL, available: 100 },
      { minute: 5, images: [used('c')], available: 300 },
      { minute: 10, images: [used('c')], available: 250 },
    ],
    went: [
      ['a', 1, 100, 200],
      ['b', 1, 200, 300],
    ],
  });
  const { total, nodes } = await run(past, { policy: HIGHER });

  expect(total.against).toMatchObject({ removed: images(2), freedBytes: '200', peakPercent: 90 });
  expect(total.policy).toMatchObject({ removed: images(1), freedBytes: '100', peakPercent: 95 });
  expect(nodes[0]?.estimatedFromMs.policy).toBe(NOW + MINUTE);
});

test('what was pulled again after it went both ways is regretted both ways', async () => {
  const past = recorded({
    looks: [
      { minute: 0, images: ALL, available: 300 },
      { minute: 2, images: ['b', 'c', 'd'], available: 400 },
      { minute: 4, images: ALL, available: 350 },
    ],
    went: [['a', 1, 300, 400]],
  });
  const { regrets, nodes, total } = await run(past);

  expect(regrets.map(({ side, imageId }) => `${side} ${imageId}`).toSorted()).toEqual([
    'against a',
    'policy a',
  ]);
  expect(nodes[0]?.estimatedFromMs.policy).toBeNull();
  expect(total.against.aboveMs).toBe(MINUTE);
});

test.each([
  { name: 'went both ways', policy: LOWER, went: ['a'], fromMs: null },
  { name: 'only really went', policy: HIGHER, went: ['a'], fromMs: NOW + MINUTE },
  { name: 'went in the simulation alone', policy: LOWER, went: [], fromMs: NOW },
])('a log that ends before an inventory shows what $name', async ({ policy, went, fromMs }) => {
  const past = recorded({
    looks: [{ minute: 0, images: ALL, available: 300 }],
    went: went.map((id) => [id, 1, 300, 400] as const),
  });
  expect((await run(past, { policy })).nodes[0]?.estimatedFromMs.policy).toBe(fromMs);
});

test('an inventory that was taken before a removal and comes after it changes nothing', async () => {
  const past = recorded({
    looks: [
      { minute: 0, images: ALL, available: 300 },
      { minute: 3, images: ALL, available: 300, over: { takenAt: at(0.5) } },
      { minute: 4, images: ['b', 'c', 'd'], available: 350 },
    ],
    went: [['a', 1, 300, 400]],
  });
  const { total, nodes } = await run(past, { policy: HIGHER });

  expect(total.against).toMatchObject({ removed: images(1), regrets: 0, peakPercent: 70 });
  expect(nodes[0]?.policy.peakPercent).toBe(75);
});

test.each([
  { name: 'more than there is in all', over: { availableBytes: '1001' } },
  { name: 'nothing at all', over: { availableBytes: null } },
])('a disk that says $name: nothing goes, and nobody knows how full it was', async ({ over }) => {
  const past = recorded({
    looks: [0, 5].map((minute) => ({
      minute,
      images: ALL,
      available: 0,
      over: { filesystems: filesystems(over) },
    })),
  });
  expect((await run(past)).nodes).toMatchObject([
    { unknownMs: 5 * MINUTE, policy: { removed: images(0), aboveMs: 0, peakPercent: null } },
  ]);
});

test('policies can be compared with each other, and policies that hold for no node keep everything', async () => {
  const past = recorded({ looks: [0, 5].map((minute) => ({ minute, images: ALL, available: 250 })) });
  const elsewhere = policies({ selector: { ...EVERY_NODE, clusters: ['other'] } });
  const { compared, total, nodes } = await run(past, { policy: elsewhere, against: LOWER });

  expect(compared).toMatchObject({ policy: [{ name: 'default' }], against: [{ name: 'default' }] });
  expect(total).toMatchObject({
    policy: { removed: images(0), aboveMs: 0 },
    against: { removed: images(2) },
  });
  expect(nodes).toMatchObject([{ thresholdPercent: null, policies: { policy: null, against: 'default' } }]);
});

test('nodes are told apart by pool and by installation', async () => {
  const gpu = { [POOL_LABEL]: 'gpu' };
  const other = '3d3c1f0e-7a61-4c3f-9a55-0d7a4e5a1b2d';
  const past = recorded({
    looks: [
      { minute: 0, images: ALL, available: 250 },
      {
        minute: 1,
        images: ALL,
        available: 250,
        over: { node: 'web-2', nodeInstance: other, nodeLabels: gpu },
      },
      {
        minute: 2,
        images: ALL,
        available: 250,
        over: { nodeInstance: '3d3c1f0e-7a61-4c3f-9a55-0d7a4e5a1b2e' },
      },
    ],
  });
  const { nodes, pools, total } = await run(past);

  expect(nodes.map(({ node }) => node)).toEqual(['web-1', 'web-1', 'web-2']);
  expect(pools).toMatchObject([
    { pool: null, nodes: 2, policy: { removed: images(4) } },
    { pool: 'gpu', nodes: 1, policy: { removed: images(2) } },
  ]);
  expect(total.policy).toMatchObject({ removed: images(6), freedBytes: '600', peakPercent: 75 });
});

test('a reading holds for 15 minutes: of what is longer without inventories nobody says how full the disk was', async () => {
  const looks = (apart: number) =>
    [0, apart].map((minute) => ({ minute, images: [used('a')], available: 250 }));
  const near = await run(recorded({ looks: looks(15) }));
  const far = await run(recorded({ looks: looks(16) }));

  expect(near.nodes).toMatchObject([{ unknownMs: 0, policy: { aboveMs: 15 * MINUTE } }]);
  const known = { observedMs: 16 * MINUTE, unknownMs: MINUTE, policy: { aboveMs: 15 * MINUTE } };
  expect(far).toMatchObject({ nodes: [known], pools: [known], total: known });
});

test('what lies there twice counts once, and what is short of space is counted', async () => {
  const look = { minute: 0, images: [used('a')], available: 250 };
  const went = ['z', 1, 0, 10] as const;
  const unrelieved = { minute: 1, output: nodeOutput('decisions', pressureUnrelieved()) };
  const log = recorded({ looks: [look, look], went: [went, went], others: [unrelieved] });
  const { read, total } = await run(log);

  expect(read).toEqual({ records: 5, unreadable: 0, inventories: 1, incomplete: 0, withoutDiskStats: 0 });
  expect(total).toMatchObject({ policy: { unrelieved: 1 }, against: { unrelieved: 1, removed: images(1) } });
});

test('a removal that is told again after a kill, with its members in another order, counts once', async () => {
  const event = objectResult({ id: 'r-z', at: at(1), object: { kind: 'image', id: 'z' } });
  const again = Object.assign(
    {},
    ...Object.entries(event)
      .toReversed()
      .map(([name, value]) => ({ [name]: value })),
  );
  const others = [event, again].map((each, minute) => ({ minute, output: nodeOutput('results', each) }));
  const log = recorded({ looks: [{ minute: 0, images: [used('a')], available: 500 }], others });

  expect((await run(log)).total.against.removed).toEqual(images(1));
});

test('what reclaims cannot reach counts alike both ways: once until an inventory shows it reached', async () => {
  const unrelieved = (minute: number, atLeast: string) => ({
    minute,
    output: nodeOutput(
      'results',
      pressureUnrelieved({ id: `unrelieved-${minute}`, takenAt: at(minute), reclaim: toTarget(atLeast) }),
    ),
  });
  const past = recorded({
    looks: [250, 250, 350, 250, 400, 250].map((available, index) => ({
      minute: index * 5,
      images: [used('a')],
      available,
    })),
    others: [1, 2, 6, 16, 26].map((minute) => unrelieved(minute, '400')),
  });
  expect((await run(past)).total).toMatchObject({ policy: { unrelieved: 2 }, against: { unrelieved: 2 } });
});

test('two filesystems that both are short count each', async () => {
  const target = { filesystem: 'nodefs', resource: 'inodesFree', atLeast: '10' } as const;
  const others = [toTarget('400'), reclaim({ target })].map((each, index) => ({
    minute: index + 1,
    output: nodeOutput('results', pressureUnrelieved({ id: `unrelieved-${index}`, reclaim: each })),
  }));
  const past = recorded({ looks: [{ minute: 0, images: ALL, available: 500 }], others });
  expect((await run(past)).total.against.unrelieved).toBe(2);
});

test('a node that nobody asked for is not run, and half a run tells nothing', async () => {
  const log = recorded({ looks: [{ minute: 0, images: ALL, available: 250 }] });
  const comparison = { policy: LOWER, against: null, regretWindowMs: HOUR, deciders: await newestDeciders() };
  const needs = { log, comparison, range: { fromMs: null, toMs: null }, onProgress: () => undefined };
  const isWanted = (key: string) => key !== `${NODE.cluster}/${NODE.node}`;

  const { nodes } = await simulate({ ...needs, isWanted }, new AbortController().signal);
  expect(nodes).toEqual([]);
  await expect(simulate({ ...needs, isWanted }, AbortSignal.abort())).rejects.toMatchObject({
    code: 'INTERRUPTED',
  });
});
