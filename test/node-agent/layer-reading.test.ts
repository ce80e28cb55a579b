import { expect, onTestFinished, test } from 'vitest';
import { type LayerReading, layerReading } from '../../services/node-agent/layer-reading.ts';
import { connectContainerd } from '../../services/shared/cri/containerd/reader.ts';
import type { SimulatedNode, SimulatedNodeOptions } from '../../services/simulator/node.ts';
import { simulatedNode } from '../support/simulated-node.ts';

interface Reading {
  readonly node: SimulatedNode;
  /** Of the images that the node lists. */
  readonly read: () => ReturnType<LayerReading>;
  /** Reasons that were told. */
  readonly told: readonly string[];
}

async function reading(options: Partial<SimulatedNodeOptions> = {}): Promise<Reading> {
  const node = await simulatedNode({ hasContainerdApi: true, ...options });
  const containerd = connectContainerd(node.endpoint);
  onTestFinished(() => containerd[Symbol.dispose]());
  const told: string[] = [];
  const layersOf = layerReading({ containerd, clock: node.clock, tell: (reason) => told.push(reason) });
  await node.runtime.pullImage('nginx:1');
  return {
    node,
    read: () => layersOf([...node.runtime.images.values()]),
    told,
  };
}

const failing = { kind: 'error', message: 'the metadata database is locked' } as const;

test('[M7] the layers of every listed image are read', async () => {
  const { node, read, told } = await reading();
  const table = await read();
  expect([...(table?.ofImage.keys() ?? [])].toSorted()).toEqual([...node.runtime.images.keys()].toSorted());
  expect(table?.layers).toHaveLength(2);
  expect(told).toEqual([]);
});

test('[M7] a runtime without the API of containerd tells no layers, and that is said once', async () => {
  const { read, told } = await reading({ hasContainerdApi: false });
  expect([await read(), await read()]).toEqual([null, null]);
  expect(told).toEqual([expect.stringContaining('no containerd API')]);
});

test.each(['listStoredImages', 'listContent', 'listSnapshots', 'snapshotUsage'] as const)(
  '[M7] while %s fails there are no layers, which is said once, and again when it comes back',
  async (method) => {
    const { node, read, told } = await reading();
    node.faults.onCall(method, failing);
    expect([await read(), await read()]).toEqual([null, null]);
    expect(told).toEqual([expect.stringContaining(failing.message)]);
    node.faults.clear();
    expect(await read()).not.toBeNull();
    node.faults.onCall(method === 'snapshotUsage' ? 'listContent' : method, failing);
    expect(await read()).toBeNull();
    expect(told).toHaveLength(2);
  },
);

test('the size of a snapshot is asked for once', async () => {
  const { node, read } = await reading();
  const table = await read();
  node.faults.onCall('snapshotUsage', failing);
  expect(await read()).toEqual(table);
  await node.runtime.pullImage('redis:1');
  expect(await read()).toBeNull();
});

test('a snapshot that vanished meanwhile is no layer', async () => {
  const { node, read } = await reading();
  const listed = [...node.runtime.images.values()];
  node.faults.afterCall('listSnapshots', () => node.runtime.removeImage('nginx:1'));
  const table = await read();
  expect(table?.ofImage.get(listed.at(-1)?.id ?? '')).toEqual([]);
});

test('[M7] where nobody is to be asked there are no layers, and nothing is said', async () => {
  const told: string[] = [];
  const { node } = await reading();
  const layersOf = layerReading({
    containerd: null,
    clock: node.clock,
    tell: (reason) => told.push(reason),
  });
  expect(await layersOf([])).toBeNull();
  expect(told).toEqual([]);
});
