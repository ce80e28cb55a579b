import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import type { LayerTable } from '../../../../packages/cri/containerd/image-layers.ts';
import { brokenTexts } from '../../../../schemas/events/broken-texts.ts';
import type { FilesystemReadings } from '../../../../schemas/events/filesystem.ts';
import {
  type CompleteInventory,
  Inventory,
  MAX_INVENTORY_COMPRESSED_BYTES,
} from '../../../../schemas/events/inventory.ts';
import type { ImageOrigin } from '../../../../services/node/agent/contents.ts';
import { agentEvents, type InventoryParts, inventoryOf } from '../../../../services/node/agent/event.ts';
import type { CompleteScan, IncompleteScan } from '../../../../services/node/agent/scan.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import {
  completeListing,
  digestOf,
  imageSpec,
  listedContainer,
  listedSandbox,
  runtimeImage,
} from '../../../fixtures/listing.ts';
import { completeScan, inventoryHeader, NO_PARTS } from '../../../fixtures/node-scan.ts';
import { HOUR, instant, MINUTE, NOW, SECOND } from '../../../fixtures/time.ts';

const takenAt = instant();
const APP = digestOf('app');
const LABELS = {
  'io.kubernetes.pod.uid': 'uid-1',
  'io.kubernetes.pod.name': 'web',
  'io.kubernetes.pod.namespace': 'default',
};

/** Parsed as a consumer parses it. */
function publish(given: CompleteScan | IncompleteScan, parts: Partial<InventoryParts> = {}): Inventory {
  const header = { ...inventoryHeader, filesystems: given.readings };
  return Inventory.parse(inventoryOf({ ...header, commandVersions: [1] }, given, { ...NO_PARTS, ...parts }));
}

function complete(given: CompleteScan, parts: Partial<InventoryParts> = {}): CompleteInventory {
  const inventory = publish(given, parts);
  if (inventory.status !== 'complete') throw new Error(`inventory is ${inventory.status}`);
  return inventory;
}

test('[A11] an inventory says when it was taken and since when its agent looks', () => {
  const startedAt = instant({ sinceBootMs: 1 });
  const identity = { cluster: 'c', node: 'n', nodeInstance: 'i' };
  const why = { trigger: 'interval', reclaim: null, diedContainerIds: [] } as const;
  const runtime = { name: 'containerd', version: '2' };
  const events = agentEvents({ identity, nodeLabels: {}, startedAt });
  const inventory = events.inventory({ scan: completeScan(), ...why, runtime }, NO_PARTS);
  expect(inventory).toMatchObject({ takenAt, agentStartedAt: startedAt });
});

test('[A3, A4, A5] what the runtime holds, in the words of the inventory', () => {
  const listing = completeListing({
    images: [runtimeImage('app', { sizeBytes: 5n, pinned: true, runtimeHandler: 'runc' })],
    containers: [
      listedContainer('c1', {
        imageId: APP,
        labels: LABELS,
        state: 'exited',
        attempt: 3,
        createdAtNs: 1_700_000_000_123_456_789n,
        finishedAtNs: 1_700_000_000_123_456_799n,
        logPath: '/var/log/pods/default_web_uid-1/app/3.log',
      }),
    ],
    sandboxes: [listedSandbox('s1', { podUid: 'uid-1', labels: LABELS, state: 'notReady', attempt: 1 })],
  });
  const inventory = complete(completeScan({ listing }));

  expect(inventory.images).toEqual([
    {
      id: APP,
      repoTags: ['registry.example/team/app:1'],
      repoDigests: [`registry.example/team/app@${digestOf('app manifest')}`],
      sizeBytes: 5,
      pinned: true,
      runtimeHandler: 'runc',
      labels: {},
      firstDetectedMs: NOW,
      lastUsedMs: null,
      usedBy: [{ kind: 'container', id: 'c1' }],
      backoff: null,
      layers: null,
    },
  ]);
  expect(inventory.containers).toEqual([
    {
      id: 'c1',
      name: 'app',
      attempt: 3,
      pod: { uid: 'uid-1', name: 'web', namespace: 'default' },
      sandboxId: 'sandbox',
      state: 'exited',
      createdAtNs: '1700000000123456789',
      finishedAtNs: '1700000000123456799',
      imageId: APP,
      logPath: '/var/log/pods/default_web_uid-1/app/3.log',
      backoff: null,
    },
  ]);
  expect(inventory.sandboxes).toEqual([
    {
      id: 's1',
      attempt: 1,
      podUid: 'uid-1',
      pod: { uid: 'uid-1', name: 'web', namespace: 'default' },
      state: 'notReady',
      createdAtNs: '1',
      backoff: null,
    },
  ]);
});

test.each([[{ team: 'a' }], [{}], [null]])(
  '[M11] labels of an image that the runtime tells as %o',
  (labels) => {
    const listing = completeListing({ images: [runtimeImage('app', { labels })] });
    expect(complete(completeScan({ listing })).images[0]?.labels).toEqual(labels);
  },
);

test.each(Object.keys(LABELS))(
  '[A12, M41] an object without the label %s is not the kubelet’s',
  (missing) => {
    const labels = Object.fromEntries(Object.entries(LABELS).filter(([name]) => name !== missing));
    const listing = completeListing({
      containers: [listedContainer('c1', { imageId: APP, labels })],
      sandboxes: [listedSandbox('s1', { labels })],
    });
    const { containers, sandboxes } = complete(completeScan({ listing }));
    expect([containers[0]?.pod, sandboxes[0]?.pod]).toEqual([null, null]);
  },
);

test.each([
  ['its id', { imageId: APP, imageRef: 'ref' }, APP],
  ['its reference where an older runtime leaves out the id', { imageRef: 'ref' }, 'ref'],
  ['its name where there is nothing else', { image: imageSpec({ image: 'app:1' }) }, 'app:1'],
  ['nothing', {}, ''],
])('[C8] a container names its image by %s', (_name, over, expected) => {
  const listing = completeListing({ containers: [listedContainer('c1', { state: 'exited', ...over })] });
  const { containers, containersWithoutImage } = complete(completeScan({ listing }));
  expect(containers[0]?.imageId).toBe(expected);
  expect(containersWithoutImage).toEqual(expected === '' ? ['c1'] : []);
});

test.each<[string, number, number | null, number, number | null]>([
  ['on the wall clock', -HOUR, -MINUTE, NOW - HOUR, NOW - MINUTE],
  ['never after the inventory, whose detection is a little later', SECOND, SECOND, NOW, NOW],
  ['never used', -HOUR, null, NOW - HOUR, null],
])('[C1, C7] times of an image: %s', (_name, firstMs, usedMs, firstDetectedMs, lastUsedMs) => {
  const at = (ms: number): number => takenAt.sinceBootMs + ms;
  const records = new Map([
    [APP, { firstDetectedMs: at(firstMs), lastUsedMs: usedMs === null ? null : at(usedMs) }],
  ]);
  const { images } = complete(
    completeScan({ listing: completeListing({ images: [runtimeImage('app')] }), records }),
  );
  expect(images[0]).toMatchObject({ firstDetectedMs, lastUsedMs });
});

test('[E2, M2] since when images were watched is told on the wall clock, and never after the inventory', () => {
  const watched = (agoMs: number) =>
    complete(completeScan({ watchedSinceMs: takenAt.sinceBootMs - agoMs })).imagesWatchedSinceMs;
  expect([watched(HOUR), watched(-MINUTE)]).toEqual([NOW - HOUR, NOW]);
});

test('[M27, M32] since when nobody has set the clock is told as it was found', () => {
  expect(complete(completeScan({ clockSteadySinceMs: NOW - HOUR })).clockSteadySinceMs).toBe(NOW - HOUR);
});

test('a stepped wall clock changes no age', () => {
  const records = new Map([[APP, { firstDetectedMs: takenAt.sinceBootMs - HOUR, lastUsedMs: null }]]);
  const stepped = instant({ wallTimeMs: NOW + 25 * 365 * 24 * HOUR });
  const given = completeScan({
    listing: completeListing({ images: [runtimeImage('app')] }),
    records,
    takenAt: stepped,
  });
  expect(complete(given).images[0]?.firstDetectedMs).toBe(stepped.wallTimeMs - HOUR);
});

test('[M17, M33] failing objects carry their backoff; one of another clock has no force', () => {
  const listing = completeListing({
    images: [runtimeImage('app'), runtimeImage('other')],
    containers: [listedContainer('c1', { imageId: APP })],
    sandboxes: [listedSandbox('s1')],
  });
  const inventory = complete(completeScan({ listing }), {
    backoff: [
      { kind: 'image', id: APP, failures: 2, untilMs: NOW + HOUR },
      { kind: 'container', id: 'c1', failures: 9, untilMs: NOW + HOUR + 1 },
      { kind: 'sandbox', id: 's1', failures: 1, untilMs: NOW - HOUR },
      { kind: 'sandbox', id: 'gone', failures: 1, untilMs: NOW },
    ],
  });
  expect(inventory.images.map(({ backoff }) => backoff)).toEqual([
    { failures: 2, untilMs: NOW + HOUR },
    null,
  ]);
  expect(inventory.containers[0]?.backoff).toEqual({ failures: 9, untilMs: 0 });
  expect(inventory.sandboxes[0]?.backoff).toEqual({ failures: 1, untilMs: NOW - HOUR });
});

test('[G23] containers that died are named while the runtime has them, and not if they run again', () => {
  const listing = completeListing({
    containers: [
      listedContainer('dead', { imageId: APP, state: 'exited' }),
      listedContainer('again', { imageId: APP, state: 'running' }),
    ],
  });
  const { diedContainerIds } = complete(completeScan({ listing }), {
    diedContainerIds: ['dead', 'again', 'removed'],
  });
  expect(diedContainerIds).toEqual(['dead']);
});

const INCOMPLETE: IncompleteScan = {
  status: 'incomplete',
  takenAt,
  readings: filesystems(),
  problems: [{ code: 'runtime-unreachable', message: 'no answer' }],
};
const UNREADABLE: FilesystemReadings = { ...filesystems(), imagefs: null };

test.each([
  ['the runtime could not be listed', INCOMPLETE, {}, ['runtime-unreachable']],
  ['the history was damaged', completeScan(), { historyUnreadable: 'damaged' }, ['history-unreadable']],
  [
    'all of that',
    { ...INCOMPLETE, readings: UNREADABLE },
    { historyUnreadable: 'damaged' },
    ['runtime-unreachable', 'filesystem-unreadable', 'history-unreadable'],
  ],
])('[C6] incomplete, with nothing that could be removed: %s', (_name, given, parts, codes) => {
  const inventory = publish(given, parts);
  if (inventory.status !== 'incomplete') throw new Error(`inventory is ${inventory.status}`);
  expect(inventory.problems.map(({ code }) => code)).toEqual(codes);
  expect(inventory).not.toHaveProperty('images');
});

test('[A1] a filesystem that cannot be measured leaves the inventory complete, without its reading', () => {
  const { filesystems: told, images } = complete(completeScan({ readings: UNREADABLE }));
  expect(told.imagefs).toBeNull();
  expect(images).toEqual(complete(completeScan()).images);
});

test.each([
  ['a name', { name: 'half \ud83d' }],
  ['a label', { labels: { ...LABELS, 'io.kubernetes.pod.name': '\udc00' } }],
])('[P3] half a character in %s: incomplete, and the inventory itself has none', (_name, over) => {
  const listing = completeListing({ containers: [listedContainer('c1', { imageId: APP, ...over })] });
  const inventory = publish(completeScan({ listing }));

  expect(inventory).toMatchObject({ status: 'incomplete', problems: [{ code: 'value-out-of-range' }] });
  expect(brokenTexts(inventory)).toEqual([]);
});

test('whole characters of two halves, and the sign for what is none, are texts like others', () => {
  const listing = completeListing({
    containers: [listedContainer('c1', { imageId: APP, name: '\ud83d\ude00 \ufffd' })],
  });
  expect(publish(completeScan({ listing })).status).toBe('complete');
});

const manyContainers = (count: number) =>
  completeScan({
    listing: completeListing({
      containers: Array.from({ length: count }, (_, n) => listedContainer(`c${n}`)),
    }),
  });

test('20000 objects: complete', () => {
  expect(publish(manyContainers(20_000)).status).toBe('complete');
});

test('20001 objects: too large, and only counts are published', () => {
  expect(publish(manyContainers(20_001))).toMatchObject({
    status: 'too-large',
    counts: { images: 0, containers: 20_001, sandboxes: 0, bytes: 0 },
  });
});

test('more than 4 MiB as published, however few objects: too large', () => {
  const images = Array.from({ length: 9 }, (_, n) => ({
    ...runtimeImage(`image-${n}`),
    repoDigests: [`r/x@sha256:${randomBytes(MAX_INVENTORY_COMPRESSED_BYTES / 8).toString('hex')}`],
  }));
  const inventory = publish(completeScan({ listing: completeListing({ images }) }));
  expect(inventory).toMatchObject({ status: 'too-large', counts: { images: 9 } });
});

const layerTable = (digest: string): LayerTable => ({
  layers: [{ kind: 'blob', digest, sizeBytes: 7 }],
  ofImage: new Map([[APP, [0]]]),
});
const TWO_IMAGES = completeScan({
  listing: completeListing({ images: ['app', 'other'].map((name) => runtimeImage(name)) }),
});

test('[M7] layers stand in a table, and with each image its places there, where they are known', () => {
  const { layers, images } = complete(TWO_IMAGES, { layers: layerTable('sha256:a') });
  expect(layers).toEqual([{ kind: 'blob', digest: 'sha256:a', sizeBytes: 7 }]);
  expect(images.map((image) => image.layers)).toEqual([[0], null]);
});

test('[M7] layers with which an inventory would be too large are left out, and nothing else', () => {
  const tooMuch = randomBytes(MAX_INVENTORY_COMPRESSED_BYTES).toString('hex');
  const originOf = (): ImageOrigin => 'not-pulled';
  const inventory = complete(TWO_IMAGES, { layers: layerTable(tooMuch), originOf });
  expect(inventory).toEqual(complete(TWO_IMAGES, { originOf }));
  expect(inventory).toMatchObject({
    layers: null,
    images: [
      { layers: null, origin: 'not-pulled' },
      { layers: null, origin: 'not-pulled' },
    ],
  });
});

test.each([
  { origin: 'not-pulled', said: { origin: 'not-pulled' } },
  { origin: 'unknown', said: { origin: 'unknown' } },
  { origin: 'pulled', said: {} },
  { origin: undefined, said: {} },
] as const)('[M12] of an image whose origin is $origin it says $said', ({ origin, said }) => {
  const { images } = complete(TWO_IMAGES, { originOf: (id) => (id === APP ? origin : 'pulled') });
  expect(images.map((image) => ('origin' in image ? { origin: image.origin } : {}))).toEqual([said, {}]);
});
