import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectReader, connectRemover } from '../../../packages/cri/client.ts';
import { connect } from '../../../packages/cri/connection.ts';
import { CONTAINERD_METHODS, CRI_NAMESPACE } from '../../../packages/cri/containerd/methods.ts';
import { serveReadingProxy } from '../../../packages/cri/proxy/reading-proxy.ts';
import { createNetwork } from '../../support/network.ts';
import { type ContainerdNode, startContainerdNode } from '../../support/nodes/containerd-node.ts';
import { connectWorkload } from '../../support/nodes/cri-workload.ts';
import { type PushedImage, startRegistry } from '../../support/nodes/registry.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const START_MS = 600_000;
const BOUND_MS = 10_000;
const stack = new AsyncDisposableStack();
let node: ContainerdNode;
let image: PushedImage;

beforeAll(async () => {
  const network = stack.use(await createNetwork());
  const registry = stack.use(await startRegistry(network));
  node = stack.use(await startContainerdNode({ runtime: 'containerd-2.4.2', network }));
  image = await registry.push('proxy/kept', '1', 10_000);
  using workload = connectWorkload(node.endpoint);
  await workload.pullImage(image.reference);
}, START_MS);
afterAll(() => stack.disposeAsync());

/** A method of containerd's own API that our definitions do not have, asked with a message that it would understand. */
const containerdCall = (path: string) => {
  const { listLeases } = CONTAINERD_METHODS;
  return { ...listLeases, definition: { ...listLeases.definition, path } };
};

const byId = (one: { readonly id: string }, other: { readonly id: string }): number =>
  one.id < other.id ? -1 : 1;

test('through the proxy nothing can be removed from containerd, pulled or started, and all can be read', async () => {
  const path = join(temporaryDirectory(), 'cri.sock');
  const denied: string[] = [];
  await using _proxy = await serveReadingProxy({
    socket: { path, mode: 0o600, groupId: null },
    endpoint: node.endpoint,
    onRefused: () => undefined,
    onDenied: (call) => denied.push(call),
  });
  await node.exec(['ctr', '-n', 'k8s.io', 'leases', 'create', '--id', 'kept']);
  using remover = connectRemover(path);
  using beside = connect(path, CRI_NAMESPACE);
  using workload = connectWorkload(path);
  const refusal = { code: 'RUNTIME_FAILED', message: expect.stringContaining('is for reading only') };

  await expect(remover.removeImage(image.id)).rejects.toMatchObject(refusal);
  await expect(workload.pullImage(image.reference)).rejects.toMatchObject(refusal);
  for (const call of ['images.v1.Images/Delete', 'leases.v1.Leases/Delete', 'snapshots.v1.Snapshots/Remove'])
    await expect(
      beside.call(containerdCall(`/containerd.services.${call}`), {}, BOUND_MS),
    ).rejects.toMatchObject(refusal);
  expect(denied).toHaveLength(5);

  using direct = connectReader(node.endpoint);
  const images = await remover.listImages();
  // Containerd lists images in another order each time.
  expect(images.toSorted(byId)).toEqual((await direct.listImages()).toSorted(byId));
  expect(images.map(({ id }) => id)).toContain(image.id);
  const { leases } = await beside.call(CONTAINERD_METHODS.listLeases, {}, BOUND_MS);
  expect(leases.map(({ id }) => id)).toContain('kept');
});
