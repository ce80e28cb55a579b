import { describe, expect, test } from 'vitest';
import { connectReader } from '../../../../packages/cri/client.ts';
import type { RuntimeReader } from '../../../../packages/cri/port.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import {
  type CompleteScan,
  createNodeScanner,
  fingerprintOf,
  type NodeScan,
  podsOfRuntime,
} from '../../../../services/node/agent/scan.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { completeListing, listedContainer, listedSandbox, runtimeImage } from '../../../fixtures/listing.ts';
import { completeScan } from '../../../fixtures/node-scan.ts';
import { instant } from '../../../fixtures/time.ts';
import { manualClock } from '../../../support/manual-clock.ts';
import { simulatedNode } from '../../../support/simulated-node.ts';

const UID = 'io.kubernetes.pod.uid';

test('[A5, A12] the pods of a runtime: by label for containers, by metadata and label for sandboxes', () => {
  const listing = completeListing({
    containers: [
      listedContainer('c1', { labels: { [UID]: 'runs' }, state: 'running' }),
      listedContainer('c2', { labels: { [UID]: 'exited' }, state: 'exited' }),
      listedContainer('c3', { labels: { [UID]: 'created' }, state: 'created' }),
      listedContainer('c4', { labels: {}, state: 'exited' }),
    ],
    sandboxes: [
      listedSandbox('s1', { podUid: 'ready', labels: {}, state: 'ready' }),
      listedSandbox('s2', { podUid: 'metadata', labels: { [UID]: 'label' }, state: 'ready' }),
      listedSandbox('s3', { podUid: 'not-ready', labels: {}, state: 'notReady' }),
    ],
  });
  const { uids, active } = podsOfRuntime(listing);
  expect([...active].filter(Boolean).toSorted()).toEqual(['label', 'metadata', 'ready', 'runs']);
  expect([...uids].filter(Boolean).toSorted()).toEqual([
    'created',
    'exited',
    'label',
    'metadata',
    'not-ready',
    'ready',
    'runs',
  ]);
});

const NO_LOGS = { podLogDirectories: [], danglingSymlinks: [] };

describe('the fingerprint', () => {
  const image = runtimeImage('app');
  const scan = (over: Partial<CompleteScan> = {}): CompleteScan =>
    completeScan({
      listing: completeListing({ images: [image], containers: [listedContainer('c')] }),
      pods: [
        { uid: 'u', state: 'known', contentRemovable: false, runtimeRemovable: false, initContainers: [] },
      ],
      ...over,
    });

  test('is equal for the same objects in another order, with other times and readings', () => {
    const images = [image, runtimeImage('other')];
    const one = scan({ listing: completeListing({ images }) });
    const other = scan({
      listing: completeListing({ images: images.toReversed() }),
      takenAt: instant({ sinceBootMs: 1 }),
      readings: filesystems({ availableBytes: '1' }),
    });
    expect(fingerprintOf(other)).toBe(fingerprintOf(one));
  });

  test.each<[string, Partial<CompleteScan>]>([
    ['an image is gone', { listing: completeListing({ containers: [listedContainer('c')] }) }],
    [
      'an image has another name',
      {
        listing: completeListing({
          images: [{ ...image, repoTags: ['x:1'] }],
          containers: [listedContainer('c')],
        }),
      },
    ],
    [
      'an image was pinned',
      {
        listing: completeListing({
          images: [{ ...image, pinned: true }],
          containers: [listedContainer('c')],
        }),
      },
    ],
    [
      'a container died',
      {
        listing: completeListing({
          images: [image],
          containers: [listedContainer('c', { state: 'exited' })],
        }),
      },
    ],
    [
      'a sandbox came',
      {
        listing: completeListing({
          images: [image],
          containers: [listedContainer('c')],
          sandboxes: [listedSandbox('s')],
        }),
      },
    ],
    [
      'a pod is gone',
      {
        pods: [
          { uid: 'u', state: 'gone', contentRemovable: true, runtimeRemovable: true, initContainers: null },
        ],
      },
    ],
  ])('differs when %s', (_name, over) => {
    expect(fingerprintOf(scan(over))).not.toBe(fingerprintOf(scan()));
  });
});

describe('a scan', () => {
  async function scanning(disturb: (reader: RuntimeReader) => Partial<RuntimeReader> = () => ({})) {
    const clock = manualClock();
    const node = await simulatedNode({ clock });
    await node.kubelet.startPod({ name: 'web', namespace: 'default', containers: { app: 'nginx:1' } });
    using reader = connectReader(node.endpoint);
    const order: string[] = [];
    const seen: number[] = [];
    const scan = createNodeScanner(
      {
        runtime: { ...reader, ...disturb(reader) },
        filesystems: node.filesystems,
        podLogs: async () => NO_LOGS,
        clock,
      },
      {
        ask: async () => {
          order.push('pods');
          clock.advance(7);
          return { pods: [], allSourcesReady: false, wanted: [] };
        },
        problem: () => null,
      },
      {
        detect: (_images, _inUse, now) => {
          order.push('detect');
          seen.push(now.sinceBootMs);
          return { records: new Map(), watchedSinceMs: now.sinceBootMs };
        },
        clockSteadySinceMs: ({ wallTimeMs }) => wallTimeMs,
      },
    );
    const startMs = clock.now().sinceBootMs;
    const found: NodeScan = await scan();
    return {
      found,
      order,
      detectedAfterMs: seen.map((ms) => ms - startMs),
      takenAfterMs: found.takenAt.sinceBootMs - startMs,
    };
  }

  test('begins after the one before has ended, however that ended', async () => {
    const clock = manualClock();
    const node = await simulatedNode({ clock });
    using reader = connectReader(node.endpoint);
    const order: string[] = [];
    const scan = createNodeScanner(
      {
        runtime: reader,
        filesystems: {
          ...node.filesystems,
          read: async () => {
            order.push('begins');
            await Promise.resolve();
            order.push('ends');
            throw new Error('unreadable');
          },
        },
        podLogs: async () => NO_LOGS,
        clock,
      },
      {
        ask: async () => ({ pods: [], allSourcesReady: false, wanted: [] }),
        problem: () => null,
      },
      {
        detect: () => ({ records: new Map(), watchedSinceMs: 0 }),
        clockSteadySinceMs: ({ wallTimeMs }) => wallTimeMs,
      },
    );
    const ended = await Promise.allSettled([scan(), scan()]);
    expect(ended.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(order).toEqual(['begins', 'ends', 'begins', 'ends']);
  });

  test('succeeds after one that failed, and after one of a runtime that failed', async () => {
    const clock = manualClock();
    const node = await simulatedNode({ clock });
    using reader = connectReader(node.endpoint);
    const broken = new FleetGcError('RUNTIME_FAILED', 'broken');
    const toFail = new Set<'filesystems' | 'runtime'>();
    const failOnce = (what: 'filesystems' | 'runtime'): void => {
      if (toFail.delete(what)) throw broken;
    };
    const scan = createNodeScanner(
      {
        runtime: {
          ...reader,
          listContainers: async () => {
            failOnce('runtime');
            return await reader.listContainers();
          },
        },
        filesystems: {
          ...node.filesystems,
          read: async () => {
            failOnce('filesystems');
            return await node.filesystems.read();
          },
        },
        podLogs: async () => NO_LOGS,
        clock,
      },
      { ask: async () => ({ pods: [], allSourcesReady: false, wanted: [] }), problem: () => null },
      {
        detect: () => ({ records: new Map(), watchedSinceMs: 0 }),
        clockSteadySinceMs: ({ wallTimeMs }) => wallTimeMs,
      },
    );
    toFail.add('filesystems');
    await expect(scan()).rejects.toBe(broken);
    expect((await scan()).status).toBe('complete');
    toFail.add('runtime');
    expect((await scan()).status).toBe('incomplete');
    expect((await scan()).status).toBe('complete');
  });

  test('[C3, A8] takes its time before the first fact, asks the kubelet after the runtime, and detects last', async () => {
    const { found, order, detectedAfterMs, takenAfterMs } = await scanning();
    expect(found.status).toBe('complete');
    expect(order).toEqual(['pods', 'detect']);
    expect([takenAfterMs, detectedAfterMs]).toEqual([0, [7]]);
  });

  test('[C6] of a runtime that fails neither asks the kubelet nor detects', async () => {
    const fails = () => Promise.reject(new FleetGcError('RUNTIME_FAILED', 'broken'));
    const { found, order } = await scanning(() => ({ listContainers: fails }));
    expect(found).toMatchObject({ status: 'incomplete', problems: [{ code: 'runtime-partial' }] });
    expect(order).toEqual([]);
  });

  test('[P3] of a containerd that does not tell what is in use beside CRI is incomplete, and says why', async () => {
    const fails = () => Promise.reject(new FleetGcError('RUNTIME_FAILED', 'no containers'));
    const { found } = await scanning(() => ({ otherUses: fails }));
    expect(found).toMatchObject({
      status: 'incomplete',
      problems: [{ code: 'runtime-partial', message: expect.stringContaining('no containers') }],
    });
  });

  test('of a busy runtime is taken again, three times at most', async () => {
    const flicker = (times: number) => {
      let lists = 0;
      return (reader: RuntimeReader): Partial<RuntimeReader> => ({
        listContainers: async () => {
          const containers = await reader.listContainers();
          const isChanged = lists++ % 2 === 1 && lists <= 2 * times;
          return isChanged ? [] : containers;
        },
      });
    };
    expect((await scanning(flicker(2))).found.status).toBe('complete');
    expect((await scanning(flicker(3))).found).toMatchObject({
      status: 'incomplete',
      problems: [{ code: 'runtime-changed-meanwhile' }],
    });
  });
});
