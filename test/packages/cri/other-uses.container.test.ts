import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectReader, connectRemover } from '../../../packages/cri/client.ts';
import { connect } from '../../../packages/cri/connection.ts';
import { CONTAINERD_METHODS, CRI_NAMESPACE } from '../../../packages/cri/containerd/methods.ts';
import { withOtherUses } from '../../../packages/cri/containerd/other-uses.ts';
import { connectContainerd } from '../../../packages/cri/containerd/reader.ts';
import { readListing } from '../../../packages/cri/listing.ts';
import { imageUsage } from '../../../packages/cri/usage.ts';
import { Plan } from '../../../schemas/reports/plan.ts';
import { createNetwork } from '../../support/network.ts';
import { type ContainerdNode, startContainerdNode } from '../../support/nodes/containerd-node.ts';
import { connectWorkload } from '../../support/nodes/cri-workload.ts';
import { type PushedImage, type Registry, startRegistry } from '../../support/nodes/registry.ts';
import { runPod } from '../../support/pods.ts';
import type { ContainerdRuntime } from '../../support/toolchain/versions.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { SETTLE_MS } from './contract/node.ts';

const START_MS = 600_000;
const MEBIBYTE = 1024 * 1024;
const RUNTIMES: readonly ContainerdRuntime[] = ['containerd-2.4.2', 'containerd-1.6'];

describe.each(RUNTIMES)('what %s has in use beside CRI', (runtime) => {
  const stack = new AsyncDisposableStack();
  let node: ContainerdNode;
  let registry: Registry;

  beforeAll(async () => {
    const network = stack.use(await createNetwork());
    registry = stack.use(await startRegistry(network));
    node = stack.use(await startContainerdNode({ runtime, network }));
  }, START_MS);
  afterAll(() => stack.disposeAsync());

  const ctr = (...args: readonly string[]): Promise<string> => node.exec(['ctr', '-n', 'k8s.io', ...args]);

  const pulled = async (name: string): Promise<PushedImage> => {
    const image = await registry.push(`beside/${name}`, '1', 10_000);
    using workload = connectWorkload(node.endpoint);
    await workload.pullImage(image.reference);
    return image;
  };

  /** As agent and executor see it. */
  const usersOf = async ({ id }: PushedImage): Promise<readonly string[]> => {
    using reader = connectReader(node.endpoint);
    using containerd = connectContainerd(node.endpoint);
    const runtimeReader = withOtherUses(reader, containerd, { monotonicNow: () => performance.now() });
    const listing = await waitUntil('a complete listing', SETTLE_MS, async () => {
      const read = await readListing(runtimeReader);
      return read.status === 'complete' && read.images.some((image) => image.id === id) && read;
    });
    return (imageUsage(listing, []).users.get(id) ?? []).map((user) => `${user.kind} ${user.id}`);
  };

  const removed = async ({ id }: PushedImage): Promise<void> => {
    using remover = connectRemover(node.endpoint);
    await remover.removeImage(id);
  };

  test('[K2] a container that ctr made keeps its image, and after its deletion the image may go', async () => {
    const image = await pulled('made');
    expect(await usersOf(image)).toEqual([]);
    await ctr('containers', 'create', image.reference, 'made-by-hand');
    expect(await usersOf(image)).toEqual(['container made-by-hand']);
    await ctr('containers', 'delete', 'made-by-hand');
    expect(await usersOf(image)).toEqual([]);
    await removed(image);
  });

  test('[K2] a container that ctr runs keeps its image when the name it was made by has gone', async () => {
    const image = await pulled('run');
    await ctr('images', 'tag', image.reference, 'registry.example/team/second-name:1');
    await ctr('run', '-d', image.reference, 'run-by-hand', '/bin/busybox', 'sleep', '1000000');
    await ctr('images', 'rm', image.reference);
    expect(await usersOf(image)).toEqual(['container run-by-hand']);
    await ctr('task', 'kill', '-s', 'KILL', 'run-by-hand');
    await waitUntil('the container to be deleted', SETTLE_MS, async () => {
      const { exitCode } = await node.tryExec(['ctr', '-n', 'k8s.io', 'containers', 'delete', 'run-by-hand']);
      return exitCode === 0;
    });
    expect(await usersOf(image)).toEqual([]);
  });

  test('a snapshot that somebody made on top of an image keeps it', async () => {
    const image = await pulled('mounted');
    await ctr('images', 'mount', image.reference, '/mnt');
    expect(await usersOf(image)).toEqual([expect.stringMatching(/^snapshot /)]);
    await ctr('images', 'unmount', '--rm', '/mnt');
    expect(await usersOf(image)).toEqual([]);
  });

  test('a lease on its manifest keeps an image, for as long as the lease lasts', async () => {
    const image = await pulled('leased');
    await ctr('leases', 'create', '--id', 'by-hand');
    await addToLease(node.endpoint, 'by-hand', { type: 'content', id: image.digest });
    expect(await usersOf(image)).toEqual(['lease by-hand']);
    await ctr('leases', 'delete', 'by-hand');
    expect(await usersOf(image)).toEqual([]);
  });

  test('what is being fetched of an image keeps it', async () => {
    const image = await pulled('fetched');
    const ref = `manifest-${image.digest}`;
    // An ingest that its client left, as a pull that was cut off does.
    await node.exec([
      'sh',
      '-c',
      `(echo begun; sleep 2) | timeout 1 ctr -n k8s.io content ingest ${ref} || true`,
    ]);
    const { output } = await node.tryExec(['ctr', '-n', 'k8s.io', 'content', 'active']);
    expect(output).toContain(ref);
    expect(await usersOf(image)).toEqual([`ingest ${ref}`]);
  });

  test('what CRI itself runs is told by CRI alone', async () => {
    const image = await pulled('of-cri');
    using workload = connectWorkload(node.endpoint);
    const identity = { name: 'p', uid: 'uid-of-p', namespace: 'default' };
    await node.exec(['mkdir', '-p', '/var/log/pods/p/main']);
    const pod = { ...identity, attempt: 0, logDirectory: '/var/log/pods/p', labels: {} };
    const sandboxId = await workload.runSandbox(pod);
    const spec = {
      name: 'main',
      attempt: 0,
      image: image.id,
      command: [],
      logPath: 'main/0.log',
      labels: {},
    };
    const id = await workload.createContainer(sandboxId, pod, { ...spec, imageMounts: [] });
    expect(await usersOf(image)).toEqual([`container ${id}`]);
  });

  test('can be planned for from inside, which removes nothing and leaves nothing behind', async () => {
    using reader = connectReader(node.endpoint);
    using workload = connectWorkload(node.endpoint);
    const pushed = await registry.push('team/planned', '1', MEBIBYTE);
    await workload.pullImage(pushed.reference);
    const imported = await node.importImage({ name: 'docker.io/local/planned:1' });
    const { containerId } = await runPod(node, { name: 'planned', image: 'docker.io/local/planned:1' });
    const unused = await node.importImage({ name: 'docker.io/local/unused:1', ballastBytes: MEBIBYTE });
    const named = await node.importImage({ name: 'docker.io/local/named:1', withDigest: true });
    const policy =
      'name: all\nmode: enforce\nimageGCHighThresholdPercent: 1\nimageGCLowThresholdPercent: 0\nimageMinimumGCAge: -1s\n';

    const output = await node.exec([
      ...['sh', '-c', 'printf "$0" | /opt/fleetgc/bin/fleetgc plan --policy - -o json 2>/dev/null'],
      policy.replaceAll('\n', '\\n'),
    ]);
    const { remove, keep, status } = Plan.parse(JSON.parse(output));

    expect(status).toBe('planned');
    expect(remove.map(({ id, rule }) => [id, rule])).toContainEqual([pushed.id, 'D11']);
    const keptBy = new Map(keep.map(({ id, rule }) => [id, rule]));
    const rules = [imported, unused, named, containerId].map((id) => keptBy.get(id));
    expect(rules).toEqual(['C8', 'M11', 'M12', 'G3']);
    expect((await reader.listImages()).map(({ id }) => id)).toEqual(
      expect.arrayContaining(remove.map(({ id }) => id)),
    );
    expect(await node.exec(['ls', '-A', '/var/lib/fleetgc'])).toBe('');
  });
});

/** `ctr` has no command for it; the two messages are written by hand. */
async function addToLease(
  endpoint: string,
  lease: string,
  { type, id }: { readonly type: string; readonly id: string },
): Promise<void> {
  const text = (field: number, value: string | Buffer): Buffer =>
    Buffer.concat([Buffer.from([field * 8 + 2, Buffer.byteLength(value)]), Buffer.from(value)]);
  const request = Buffer.concat([text(1, lease), text(2, Buffer.concat([text(1, id), text(2, type)]))]);
  const { listLeaseResources } = CONTAINERD_METHODS;
  const path = '/containerd.services.leases.v1.Leases/AddResource';
  const definition = { ...listLeaseResources.definition, path, requestSerialize: () => request };
  using connection = connect(endpoint, CRI_NAMESPACE);
  await connection.call({ ...listLeaseResources, definition }, { id: lease }, SETTLE_MS);
}
