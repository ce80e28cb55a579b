import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectRemover } from '../../packages/cri/client.ts';
import { DoctorReport } from '../../schemas/reports/doctor.ts';
import { fleetgc } from '../cli/fleetgc.ts';
import { connectWorkload, kubeletLabels, type PodSpec } from '../support/nodes/cri-workload.ts';
import { killContainer, type Pod, restartContainer, runPod } from '../support/pods.ts';
import { waitUntil } from '../support/wait-until.ts';
import { expectVerified, explained } from './support/audit.ts';
import { type Fleet, startFleet } from './support/fleet/fleet.ts';
import type { FleetNode } from './support/fleet/fleet-node.ts';
import { policyFor } from './support/fleet/policies.ts';
import { pauseImage, pushImages } from './support/images.ts';
import { commandedRules, objectResults, removedIds } from './support/outcomes.ts';

const NODE = 'crio';
const RELIEVED_MS = 60_000;
const EXITED_MS = 10_000;

let fleet: Fleet;
let node: FleetNode;
beforeAll(async () => {
  fleet = await startFleet();
  node = await fleet.startNode({ name: NODE, runtime: 'crio-1.34', diskMebibytes: 300, kubelet: true });
});
afterAll(() => fleet?.[Symbol.asyncDispose]());

async function newPod(name: string, uid = randomUUID()): Promise<PodSpec> {
  const identity = { name, namespace: 'default', uid };
  const logDirectory = `/var/log/pods/default_${name}_${uid}`;
  await node.exec(['mkdir', '-p', `${logDirectory}/main`]);
  return { ...identity, attempt: 0, logDirectory, labels: kubeletLabels(identity) };
}

/** A pod that runs in its second sandbox, as after a restart of its node, and the id of its first one. */
async function movedPod(
  name: string,
  image: string,
): Promise<{ readonly pod: Pod; readonly former: string }> {
  using workload = connectWorkload(node.endpoint);
  using remover = connectRemover(node.endpoint);
  const spec = await newPod(name);
  const former = await workload.runSandbox(spec);
  await remover.stopSandbox(former);
  return { pod: await runPod(node, { name, image, uid: spec.uid, attempt: 1 }), former };
}

/** A pod whose one container was created and has not been started, and may mount an image. */
async function createdPod(name: string, image: string, mounted?: string): Promise<PodSpec> {
  using workload = connectWorkload(node.endpoint);
  const pod = await newPod(name);
  await workload.createContainer(await workload.runSandbox(pod), pod, {
    name: 'main',
    attempt: 0,
    image,
    command: [],
    logPath: 'main/0.log',
    labels: { ...pod.labels, 'io.kubernetes.container.name': 'main' },
    imageMounts: mounted === undefined ? [] : [{ containerPath: '/mounted', image: mounted }],
  });
  return pod;
}

async function died({ containerId }: Pod): Promise<void> {
  await killContainer(node, containerId);
  await waitUntil(`${containerId} to be listed as exited`, EXITED_MS, async () =>
    (await node.runtime.listContainers()).some(({ id, state }) => id === containerId && state === 'exited'),
  );
}

/** A pod whose container crashed twice: its containers, oldest first; the last one runs. */
async function crashedPod(options: {
  readonly name: string;
  readonly image: string;
}): Promise<readonly [Pod, Pod, Pod]> {
  const first = await runPod(node, options);
  await died(first);
  const second = await restartContainer(node, first, options, 1);
  await died(second);
  return [first, second, await restartContainer(node, second, options, 2)];
}

const isThere = async (path: string): Promise<boolean> =>
  (await node.tryExec(['test', '-e', path, '-o', '-L', path])).exitCode === 0;

/** Images that are in use, by what their users call them. */
const USED = ['by-tag', 'by-digest', 'by-id', 'created', 'mounting', 'mounted', 'moved'] as const;
const UNUSED = ['unused-1', 'unused-2', 'unused-3'] as const;

test('a disk that fills on CRI-O loses dead containers, a former sandbox and every unused image, and none in use by whatever name, though the policy asks for all of the disk [C8, C10, G7, H2, K2, M5, M9, M11, M19]', async () => {
  const images = await pushImages(fleet.registry, NODE, {
    // The last one alone keeps the disk above a half: where a reclaim begins while it is pulled, another one follows.
    ...{ 'by-tag': 4, 'by-digest': 4, 'by-id': 4, created: 4, mounting: 4, mounted: 4, moved: 4 },
    ...{ wanted: 4, 'podman-only': 4, kept: 4, 'unused-1': 8, 'unused-2': 8, 'unused-3': 110 },
  });
  const idOf = (name: keyof typeof images): string => node.imageIdOf(images[name].id);
  const nameOf = (name: keyof typeof images): string => images[name].reference;
  const { 'unused-3': last, ...others } = images;
  for (const image of Object.values(others)) await node.pull(image);
  const built = await node.importImage({ name: 'localhost/built:1' });

  const [oldest, older, crashed] = await crashedPod({ name: 'by-tag', image: nameOf('by-tag') });
  const byDigest = nameOf('by-digest').replace(/:1$/, `@${images['by-digest'].digest}`);
  const { pod: second, former } = await movedPod('by-digest', byDigest);
  const running = [
    second,
    await runPod(node, { name: 'by-id', image: idOf('by-id') }),
    await runPod(node, { name: 'moved', image: nameOf('moved') }),
  ];
  const created = [
    await createdPod('created', nameOf('created')),
    await createdPod('mounting', nameOf('mounting'), nameOf('mounted')),
  ];
  await node.exec(['podman', 'create', nameOf('podman-only')]);
  // The tag is another image's now: the one that runs has only its repository's name left.
  await node.pull(await fleet.registry.push(`${NODE}/moved`, '1', 0));
  await node.kubelet?.tell([
    ...[crashed, ...running].map((pod) => ({ pod, image: nameOf('by-tag') })),
    ...created.map((spec) => ({ pod: { spec }, image: nameOf('by-tag') })),
    {
      pod: { spec: { uid: randomUUID(), name: 'wanted', namespace: 'default' } },
      image: nameOf('wanted'),
      phase: 'Pending',
    },
  ]);
  await fleet.apply(
    policyFor(NODE, {
      imageGCHighThresholdPercent: 50,
      imageGCLowThresholdPercent: 1,
      imageMinimumGCAge: '-1s',
      minimumContainerTTLDuration: '0s',
      keep: { images: [`registry:5000/${NODE}/kept`] },
    }),
  );
  await node.startFleetgc();
  expect((await node.imageIds()).length).toBeGreaterThan(UNUSED.length + USED.length);
  await node.pull(last);

  await fleet.log.until('all that is unused to go, and what podman uses to be refused', RELIEVED_MS, () => {
    const removed = removedIds(fleet.log, NODE);
    const tried = objectResults(fleet.log, NODE).some(({ object }) => object.id === idOf('podman-only'));
    return tried && [oldest.containerId, former, ...UNUSED.map(idOf)].every((id) => removed.includes(id));
  });
  for (const { object, result } of objectResults(fleet.log, NODE))
    if (result.outcome !== 'removed')
      expect({ id: object.id, ...result }).toMatchObject({
        id: idOf('podman-only'),
        outcome: 'refused',
        reason: 'in-use-outside-cri',
      });
  const pause = await pauseImage(node);
  const stays = [...USED, ...(['wanted', 'podman-only', 'kept'] as const)].map(idOf);
  expect(await node.imageIds()).toEqual(expect.arrayContaining([...stays, built, pause.id]));
  expect(commandedRules(fleet.log, NODE)).toMatchObject({
    ...Object.fromEntries(USED.map((name) => [idOf(name), 'C8'])),
    [idOf('wanted')]: 'M5',
    [idOf('kept')]: 'M11',
    [built]: 'M11',
    [pause.id]: 'M9',
  });
  const listed = (await node.runtime.listContainers()).map(({ id }) => id);
  const alive = [older, crashed, ...running].map(({ containerId }) => containerId);
  expect(listed).toEqual(expect.arrayContaining(alive));
  expect(listed).not.toContain(oldest.containerId);
  const sandboxes = (await node.runtime.listSandboxes()).map(({ id }) => id);
  expect(sandboxes).toEqual(expect.arrayContaining([crashed, ...running].map(({ sandboxId }) => sandboxId)));
  expect(sandboxes).not.toContain(former);
  expect(await isThere(oldest.logFile)).toBe(false);
  expect(await isThere(older.logFile)).toBe(true);

  await expectVerified(fleet);
  for (const name of [nameOf('unused-1'), idOf('unused-1')])
    expect(await explained(fleet, name)).toMatch(/Removed by FleetGC .* \(D11\)/);
});

test('doctor finds all well there, and says what CRI-O does not tell', async () => {
  const args = ['--cluster', 'e2e', '--kafka-brokers', fleet.broker.address, '--trust', 'off'];
  const { stdout } = await fleetgc([
    ...['doctor', 'node', '-o', 'json', '--kafka-replication-factor', '1'],
    ...['--node-name', NODE, '--runtime-endpoint', node.endpoint, ...args],
  ]);

  const { checks } = DoctorReport.parse(JSON.parse(stdout));
  const of = (id: string) => checks.find((check) => check.id === id);
  expect(of('runtime')).toMatchObject({
    outcome: 'ok',
    seen: expect.stringMatching(/^cri-o 1\.34\.0, CRI v1/),
  });
  expect(of('image-layers')).toMatchObject({
    outcome: 'warning',
    seen: 'the runtime has no API of containerd beside CRI',
  });
  expect(of('policy')).toMatchObject({ outcome: 'ok', seen: `${NODE}, mode enforce` });
});
