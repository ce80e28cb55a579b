import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApiServer } from '../support/nodes/api-server.ts';
import { emptyDisk, fillDisk } from '../support/nodes/disk-filler.ts';
import type { PushedImage } from '../support/nodes/registry.ts';
import { boundPodManifest, type WantedPod } from '../support/nodes/wanted-pod.ts';
import { type Fleet, startFleet } from './support/fleet/fleet.ts';
import { policyFor } from './support/fleet/policies.ts';
import { namesOf, pushImages } from './support/images.ts';
import type { FleetKubeletNode } from './support/kubelet/fleet-kubelet-node.ts';
import {
  containersOf,
  copiesOf,
  endStaticPod,
  type PodRemains,
  remainsOf,
  runPods,
} from './support/kubelet/static-pods.ts';
import {
  containerDecisionsSince,
  containersSeen,
  imageDecisionsSinceStart,
  imageRules,
  objectResults,
  removedIds,
  verdictsOnEnded,
} from './support/outcomes.ts';
import { endForgotten } from './support/stuck-logs.ts';

const NODE = 'kubelet-pods';
const COLLECTED_MS = 60_000;
const DEADLINE_SECONDS = 5;
const WATCHED_MS = 60_000;
/** Two good answers of the kubelet that lack a pod lie at least 60 s apart, and detections come every 10 s. */
const GONE_MS = 110_000;
/** Without pressure an inventory follows a change within a minute, and without a change after five. */
const AGED_MS = 150_000;
/** No image goes by age before the agent has run so long. */
const GRACE_MS = 20_000;

/** It evicts sooner than the policy forces anything. */
const EVICTS = {
  evictionHard: { 'nodefs.available': '35%', 'imagefs.available': '35%' },
  evictionPressureTransitionPeriod: '1s',
};

let fleet: Fleet;
let node: FleetKubeletNode;
let image: PushedImage;
beforeAll(async () => {
  fleet = await startFleet();
  [node, image] = await Promise.all([
    fleet.startKubeletNode({ name: NODE }),
    fleet.registry.push('kubelet/app', '1', 0),
    fleet.apply(policyFor(NODE, { imageMinimumGCAge: '1s', imageMaximumGCAge: '20s' })),
  ]);
  // While the kubelet tells of no pod at all, it may not have read its files yet.
  await runPods(node, [{ name: 'anchor', containers: [{ name: 'main', image: image.reference }] }]);
  await node.kubelet.put(restless());
  await node.startFleetgc();
});
afterAll(() => fleet?.[Symbol.asyncDispose]());

/** A pod with so many containers, each of which fails so often before it stays. */
const restarting = (name: string, containers: number, failures: number): WantedPod => ({
  name,
  containers: Array.from({ length: containers }, (_, index) => ({
    name: `c${index}`,
    image: image.reference,
    does: { failures },
  })),
});

/** Each of its failures brings an inventory, without which a change may wait for a minute. */
const restless = (): WantedPod => restarting('restless', 1, 1000);

const gone = (uid: string): Promise<boolean> =>
  fleet.log.until(`all of the deleted pod ${uid} to go`, GONE_MS, async () => {
    const { containers, sandboxIds, logs } = await remainsOf(node, uid);
    return containers.length + sandboxIds.length + logs.length === 0;
  });

describe.concurrent('beside a real kubelet', () => {
  test('what restarting, failed and prepared pods need stays; a deleted pod goes whole [G6, G7, G16, G17, G20, G22, H2]', async () => {
    const live = restarting('live', 1, 4);
    const deleted = restarting('deleted', 1, 2);
    const main = { name: 'main', image: image.reference };
    const prepared: WantedPod = {
      name: 'prepared',
      initContainers: [{ ...main, name: 'init', does: { exitCode: 0 } }],
      containers: [main],
    };
    const failed: WantedPod = {
      name: 'failed',
      restartPolicy: 'Never',
      containers: [{ ...main, does: { exitCode: 1 } }],
    };
    const ended: WantedPod = { name: 'ended', deadlineSeconds: DEADLINE_SECONDS, containers: [main] };
    const staying = [live, prepared, failed, ended];
    const stays = async () => (await Promise.all(staying.map((pod) => containersOf(node, pod)))).flat();
    const uidsOf = async (pods: readonly WantedPod[], restarted: WantedPod) => {
      const uids = await runPods(node, pods);
      await fleet.log.until(`one dead container of ${restarted.name} to be left`, COLLECTED_MS, async () => {
        return (await containersOf(node, restarted)).length === 2;
      });
      return uids;
    };
    const end = async (): Promise<PodRemains> => {
      const uid = (await uidsOf([deleted], deleted)).get('deleted') ?? '';
      const remains = await remainsOf(node, uid);
      await endForgotten(fleet.log, node, uid, () => node.kubelet.remove('deleted'));
      return remains;
    };
    const settle = async () => {
      const uids = await uidsOf(staying, live);
      return { stayingUids: new Set(uids.values()), kept: await stays() };
    };
    const [remains, { stayingUids, kept }] = await Promise.all([end(), settle()]);
    const phaseOf = async (name: string) => (await node.kubelet.pod(name))?.status.phase;
    await gone(remains.uid);

    expect(await stays()).toEqual(kept);
    expect(kept.map(({ name, attempt, state }) => `${name} ${attempt} ${state}`)).toEqual([
      'c0 3 exited',
      'c0 4 running',
      'init 0 exited',
      'main 0 running',
      'main 0 exited',
      'main 0 exited',
    ]);
    expect(await node.kubelet.previousLog('live', 'c0')).toBe('failure 3\n');
    expect(removedIds(fleet.log, NODE)).toEqual(
      expect.arrayContaining(remains.containers.map(({ id }) => id)),
    );
    const told = (await node.kubelet.pods()).filter(({ metadata }) => stayingUids.has(metadata.uid));
    const restarts = told.flatMap(({ status }) => status.containerStatuses.map((one) => one.restartCount));
    expect(restarts.toSorted()).toEqual([0, 0, 0, 4]);
    expect(await Promise.all(['failed', 'ended'].map(phaseOf))).toEqual(['Failed', 'Failed']);
  });

  test('two copies of each container at most, and never fewer where it restarted [O1, G7]', async () => {
    const pods = [
      restarting('calm', 1, 0),
      restarting('many', 4, 4),
      restarting('some-3', 2, 3),
      restarting('some-2', 3, 2),
    ];
    const copies = async () => Promise.all(pods.map((pod) => copiesOf(node, pod)));
    const wanted = [[1], [2, 2, 2, 2], [2, 2], [2, 2, 2]];
    const uids = await runPods(node, pods);
    await fleet.log.until('two copies of each container to be left', COLLECTED_MS, async () => {
      return JSON.stringify(await copies()) === JSON.stringify(wanted);
    });

    const seen = new Set<string>();
    const sinceMs = Date.now();
    await fleet.log.until('two decisions on what is there now', WATCHED_MS, async () => {
      seen.add(JSON.stringify(await copies()));
      await node.kubelet.nudge(restless());
      return containerDecisionsSince(fleet.log, NODE, sinceMs).length > 1;
    });
    expect([...seen]).toEqual([JSON.stringify(wanted)]);

    await Promise.all(pods.map(({ name }) => node.kubelet.remove(name)));
    await Promise.all([...uids.values()].map(gone));
    const ours = containersSeen(fleet.log, NODE, new Set(uids.values()));
    const results = objectResults(fleet.log, NODE).filter(({ object }) => ours.has(object.id));
    expect(results.length).toBeGreaterThan(0);
    expect(results.filter(({ result }) => result.outcome === 'failed')).toEqual([]);
  });

  test('an image that a deleted pod leaves goes by its age, and the images of the others stay [O2, E3, C8]', async () => {
    const left = await fleet.registry.push('kubelet/left', '1', 0);
    await runPods(node, [{ name: 'aging', containers: [{ name: 'main', image: left.reference }] }]);
    expect(await node.imageIds()).toContain(left.id);

    await endStaticPod(node, 'aging');
    await fleet.log.until('the image of the deleted pod to go', AGED_MS, () =>
      removedIds(fleet.log, NODE).includes(left.id),
    );

    expect(await node.imageIds()).not.toContain(left.id);
    const images = objectResults(fleet.log, NODE).filter(({ object }) => object.kind === 'image');
    expect(images.map(({ object, rule, result }) => [object.id, rule, result.outcome])).toEqual([
      [left.id, 'E3', 'removed'],
    ]);
  });

  test('images that a deleted pod left stay for the whole age after a restart of kubelet and agent, and then they go [O2, C15, E2, E3, E4]', async () => {
    const name = 'kubelet-restarted';
    const [restarted, images] = await Promise.all([
      fleet.startKubeletNode({ name }),
      pushImages(fleet.registry, name, { left: 0, 'never-used': 0 }),
      fleet.apply(
        policyFor(name, {
          profile: 'kubelet',
          imageMinimumGCAge: '1s',
          imageMaximumGCAge: `${GRACE_MS}ms`,
        }),
      ),
    ]);
    await restarted.kubelet.put(restless());
    await runPods(restarted, [
      { name: 'aging', containers: [{ name: 'main', image: images.left.reference }] },
    ]);
    await restarted.startFleetgc();
    await endStaticPod(restarted, 'aging');
    await restarted.stopFleetgc();
    await restarted.kubelet.restart();
    await restarted.pull(images['never-used']);
    await restarted.startFleetgc();
    const goneImages = () => namesOf(images, removedIds(fleet.log, name));
    await fleet.log.until('the images that nobody uses to go', AGED_MS, async () => {
      await restarted.kubelet.nudge(restless());
      return goneImages().length === 2;
    });

    const [first, ...later] = imageDecisionsSinceStart(fleet.log, name);
    const nobodyUses = Object.values(images).map(({ id }) => id);
    const rules = first && imageRules(fleet.log, first.decision);
    expect(nobodyUses.map((id) => rules?.[id])).toEqual(['E2', 'E2']);
    const commanded = later.find(({ decision }) => decision.outcome === 'commanded');
    expect(commanded?.agentRanMs).toBeGreaterThan(GRACE_MS);
    expect(goneImages().toSorted()).toEqual(['left', 'never-used']);
  });

  test('an evicted pod keeps its container until an eviction signal asks for it, and what its neighbour needs stays [G2, G6, G7, J5, J20]', async () => {
    const name = 'kubelet-evicted';
    await using apiServer = await startApiServer(fleet.network);
    const [pressed] = await Promise.all([
      fleet.startKubeletNode({ name, kubelet: { kubeconfig: apiServer.kubeconfig, configuration: EVICTS } }),
      fleet.apply(policyFor(name, { evictionHard: { 'nodefs.available': '20%' } })),
    ]);
    const live = restarting('live', 1, 3);
    await runPods(pressed, [live]);
    const evicted = { name: 'evicted', containers: [{ name: 'main', image: image.reference }] };
    const uid = await apiServer.createPod(boundPodManifest(evicted, name));
    await fleet.log.until('the pod of the API server to run', COLLECTED_MS, async () => {
      return (await apiServer.podStatus('evicted'))?.phase === 'Running';
    });
    await pressed.startFleetgc();
    await fleet.log.until('one dead container to be left', COLLECTED_MS, async () => {
      return (await containersOf(pressed, live)).length === 2;
    });
    const kept = await containersOf(pressed, live);

    // The kubelet evicts no pod that comes from a file. What the other has written goes with it.
    const evict = async (): Promise<void> => {
      const written = `/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~empty-dir/state/filler`;
      await fillDisk(pressed, 70, written);
      await fleet.log.until('the kubelet to evict the pod', COLLECTED_MS, async () => {
        return (await apiServer.podStatus('evicted'))?.reason === 'Evicted';
      });
    };
    // The kubelet may try again when the sandbox ends too, so the logs stay stuck until we have seen what we decide.
    await endForgotten(fleet.log, pressed, uid, evict, async () => {
      const verdicts = await fleet.log.until('the evicted pod to be decided about', COLLECTED_MS, () =>
        verdictsOnEnded(fleet.log, name, uid),
      );
      expect(verdicts).toEqual(['keep']);
    });
    const left = await remainsOf(pressed, uid);
    expect(left.containers.map(({ name, state }) => `${name} ${state}`)).toEqual(['main exited']);

    // Past our threshold and not past the kubelet's, which would take all dead containers itself.
    await fleet.apply(policyFor(name, { evictionHard: { 'nodefs.available': '60%' } }));
    await fillDisk(pressed, 50);
    const [container] = left.containers;
    await fleet.log.until('the container of the evicted pod to go', COLLECTED_MS, () =>
      removedIds(fleet.log, name).includes(container?.id ?? ''),
    );
    await emptyDisk(pressed);

    expect(await apiServer.podStatus('evicted')).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
    expect(await containersOf(pressed, live)).toEqual(kept);
    expect(kept.map(({ attempt, state }) => `${attempt} ${state}`)).toEqual(['2 exited', '3 running']);
    expect(await pressed.kubelet.previousLog('live', 'c0')).toBe('failure 2\n');
    expect((await pressed.kubelet.pod('live'))?.status.containerStatuses[0]?.restartCount).toBe(3);
  });
});
