import { expect, test } from 'vitest';
import {
  endContainers,
  endSandboxes,
  type FleetNode,
  type FleetPod,
  logDirectoryName,
} from '../../../../lab/sim/fleet/node.ts';
import type { RemovedKind } from '../../../../lab/sim/fleet/node-runtime.ts';
import { wrongsOf } from '../../../../lab/sim/fleet/wrong-removals.ts';
import { policy } from '../../../fixtures/policy.ts';
import { fleetInNoTime, nodesOf } from './support.ts';

const NOW_MS = 60_000;
const STAMP = { fleetMs: 0, wallNs: 0n };

/** A node whose first pod is the only one of its image, beside images that nobody uses. */
function setUp() {
  const [node] = nodesOf(fleetInNoTime(7, NOW_MS), 1);
  if (node === undefined) throw new Error('there is no node');
  const [pod, ...others] = node.pods.values();
  if (pod === undefined) throw new Error('there is no pod');
  for (const other of others) if (other.image === pod.image) node.pods.delete(other.uid);
  const used = new Set([...node.pods.values()].map(({ image }) => image.id));
  const unused = [...node.disk.images.values()].find(
    ({ image }) => !used.has(image.id) && !image.listed.pinned,
  );
  if (unused === undefined) throw new Error('every image is used');
  return { node, pod, unused };
}

type Scene = ReturnType<typeof setUp>;

const end = ({ pod }: Scene): void => {
  endContainers(pod, STAMP);
  endSandboxes(pod);
};
const forget = (scene: Scene): void => {
  end(scene);
  scene.pod.listed = null;
};
const finish = ({ pod }: Scene): void => {
  if (pod.listed !== null) pod.listed = { ...pod.listed, finished: true };
};
const withoutContainers = ({ pod }: Scene): void => {
  pod.containers.length = 0;
};

const containerOf = (pod: FleetPod): string => pod.containers[0]?.id ?? '';
const sandboxOf = (pod: FleetPod): string => pod.sandboxes[0]?.id ?? '';
const pinnedOf = (node: FleetNode): string =>
  [...node.disk.images.values()].find(({ image }) => image.listed.pinned)?.image.id ?? '';

test.each<{
  name: string;
  kind: RemovedKind | 'stopped-sandbox' | 'stopped-container';
  given?: (scene: Scene) => void;
  id: (scene: Scene) => string;
  over?: Parameters<typeof policy>[0] | null;
  wrongs: readonly string[];
}>([
  { name: 'an unused image', kind: 'image', id: ({ unused }) => unused.image.id, wrongs: [] },
  {
    name: 'an image that a container has and a pod wants',
    kind: 'image',
    id: ({ pod }) => pod.image.id,
    wrongs: ['in-use', 'wanted-by-pod'],
  },
  {
    name: 'an image that a dead container has',
    kind: 'image',
    given: forget,
    id: ({ pod }) => pod.image.id,
    wrongs: ['in-use'],
  },
  {
    name: 'an image that a pod wants and nothing runs of',
    kind: 'image',
    given: withoutContainers,
    id: ({ pod }) => pod.image.id,
    wrongs: ['wanted-by-pod'],
  },
  {
    name: 'an image of a pod that is done and gone from the runtime',
    kind: 'image',
    given: (scene) => {
      finish(scene);
      withoutContainers(scene);
    },
    id: ({ pod }) => pod.image.id,
    wrongs: [],
  },
  { name: 'the sandbox image', kind: 'image', id: ({ node }) => pinnedOf(node), wrongs: ['pinned'] },
  {
    name: 'an image that the policy keeps',
    kind: 'image',
    id: ({ unused }) => unused.image.id,
    over: { keep: { ...policy().keep, patterns: ['registry.example/**'] } },
    wrongs: ['kept-by-policy'],
  },
  {
    name: 'an image a millisecond younger than the minimum age',
    kind: 'image',
    id: ({ unused }) => unused.image.id,
    over: { imageMinimumGCAgeMs: 1_000_000_000_000 },
    wrongs: ['younger-than-minimum-age'],
  },
  {
    name: 'anything where no policy is in earnest',
    kind: 'image',
    id: ({ unused }) => unused.image.id,
    over: null,
    wrongs: ['nothing-may-go'],
  },
  { name: 'a running container', kind: 'container', id: ({ pod }) => containerOf(pod), wrongs: ['running'] },
  { name: 'a dead container', kind: 'container', given: end, id: ({ pod }) => containerOf(pod), wrongs: [] },
  {
    name: 'a dead container younger than the policy allows',
    kind: 'container',
    given: end,
    id: ({ pod }) => containerOf(pod),
    over: { minimumContainerTTLMs: NOW_MS + 1 },
    wrongs: ['younger-than-minimum-age'],
  },
  {
    name: 'a dead container as old as the policy asks',
    kind: 'container',
    given: end,
    id: ({ pod }) => containerOf(pod),
    over: { minimumContainerTTLMs: NOW_MS },
    wrongs: [],
  },
  {
    name: 'a ready sandbox with its container',
    kind: 'sandbox',
    id: ({ pod }) => sandboxOf(pod),
    wrongs: ['ready', 'has-containers'],
  },
  {
    name: 'a sandbox that is left alone',
    kind: 'sandbox',
    given: (scene) => {
      forget(scene);
      withoutContainers(scene);
    },
    id: ({ pod }) => sandboxOf(pod),
    wrongs: [],
  },
  {
    name: 'stopping what is ready',
    kind: 'stopped-sandbox',
    id: ({ pod }) => sandboxOf(pod),
    wrongs: ['ready'],
  },
  {
    name: 'stopping what runs',
    kind: 'stopped-container',
    id: ({ pod }) => containerOf(pod),
    wrongs: ['running'],
  },
  {
    name: 'logs of a pod that lives',
    kind: 'pod-log-directory',
    id: ({ pod }) => logDirectoryName(pod),
    wrongs: ['pod-is-known'],
  },
  {
    name: 'logs of a pod that is gone',
    kind: 'pod-log-directory',
    given: forget,
    id: ({ pod }) => logDirectoryName(pod),
    wrongs: [],
  },
])('of $name: $wrongs', ({ kind, given = () => {}, id, over = {}, wrongs }) => {
  const scene = setUp();
  const removal = { kind, id: id(scene) };
  given(scene);
  const rules = over === null ? null : policy({ imageMinimumGCAgeMs: 0, ...over });
  expect(wrongsOf(removal, { node: scene.node, nowMs: NOW_MS, policy: rules })).toEqual(wrongs);
});
