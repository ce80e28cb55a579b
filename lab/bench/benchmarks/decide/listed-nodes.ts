import type {
  CompleteInventory,
  InventoryContainer,
  InventoryPod,
  InventorySandbox,
} from '../../../../schemas/events/inventory.ts';
import type { InventoryPodLogDirectory } from '../../../../schemas/events/pod-log-entries.ts';
import { container, gonePod, inventory, pod, sandbox } from '../../../../test/fixtures/inventory.ts';
import { DAY, HOUR, MINUTE, NOW, nsAgo } from '../../../../test/fixtures/time.ts';
import { digestOf, fullNode } from '../../inventories.ts';

/** What all images of a node take, whatever their number: it goes on its disk. */
const IMAGES_BYTES = 80_000_000_000;
/** Two units with a running container each, one of which crashed four times and the other once. */
const ATTEMPTS = { app: 5, sidecar: 2 } as const;
export const CONTAINERS_PER_POD = 7;

/** 0 <= number < `below`, the same in every run. */
const drawn = (below: number, ...parts: readonly (string | number)[]): number =>
  Number.parseInt(digestOf(...parts).slice(0, 12), 16) % below;

/** A full disk whose images were last used and pulled at all kinds of times. */
export function nodeOfImages(count: number): CompleteInventory {
  const node = fullNode(`images-${count}`, { images: count, containers: (count * 3) / 20 });
  const images = node.images.map((image, index) => ({
    ...image,
    sizeBytes: Math.round(IMAGES_BYTES / count) + drawn(1_000_000, 'size', index),
    firstDetectedMs: NOW - 10 * DAY - drawn(10 * DAY, 'detected', index),
    lastUsedMs: NOW - HOUR - drawn(9 * DAY, 'used', index),
  }));
  return { ...node, images };
}

interface ListedPod {
  readonly pod: InventoryPod;
  readonly containers: readonly InventoryContainer[];
  readonly sandboxes: readonly InventorySandbox[];
  readonly directory: InventoryPodLogDirectory;
}

/** Pods whose containers crash; every fifth of them is gone. The runtime lists all of it in no order. */
export function nodeOfContainers(count: number): CompleteInventory {
  const pods = Array.from({ length: count / CONTAINERS_PER_POD }, (_, index) => listedPod(index));
  return inventory({
    node: `containers-${count}`,
    containers: shuffled(pods.flatMap(({ containers }) => containers)),
    sandboxes: shuffled(pods.flatMap(({ sandboxes }) => sandboxes)),
    pods: shuffled(pods.map(({ pod }) => pod)),
    podLogDirectories: shuffled(pods.map(({ directory }) => directory)),
  });
}

const shuffled = <T extends { readonly id: string } | { readonly uid: string } | { readonly name: string }>(
  listed: readonly T[],
): T[] => {
  const places = new Map(listed.map((object) => [object, digestOf(JSON.stringify(object))]));
  return listed.toSorted((a, b) => ((places.get(a) ?? '') < (places.get(b) ?? '') ? -1 : 1));
};

function listedPod(index: number): ListedPod {
  const uid = digestOf('pod', index).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
  const reference = { uid, name: `service-${index}`, namespace: `team-${index % 12}` };
  const isGone = index % 5 === 0;
  const startedMs = 2 * HOUR + drawn(9 * DAY, 'started', index);
  const [old, current] = [digestOf('sandbox', 'old', index), digestOf('sandbox', index)];
  const inSandbox = { podUid: uid, pod: reference };
  return {
    pod: isGone ? gonePod(uid) : pod(uid),
    containers: Object.entries(ATTEMPTS).flatMap(([name, attempts]) =>
      Array.from({ length: attempts }, (_, attempt) =>
        containerOf({ name, attempt, pod: reference, sandboxId: current }, startedMs, {
          runs: !isGone && attempt === attempts - 1,
        }),
      ),
    ),
    sandboxes: [
      sandbox(current, {
        ...inSandbox,
        attempt: 1,
        state: isGone ? 'notReady' : 'ready',
        createdAtNs: nsAgo(startedMs),
      }),
      ...(index % 3 === 0 ? [sandbox(old, { ...inSandbox, createdAtNs: nsAgo(startedMs + HOUR) })] : []),
    ],
    directory: { name: `${reference.namespace}_${reference.name}_${uid}`, podUid: uid, backoff: null },
  };
}

function containerOf(
  facts: Pick<InventoryContainer, 'name' | 'attempt' | 'sandboxId'> & {
    readonly pod: NonNullable<InventoryContainer['pod']>;
  },
  startedMs: number,
  { runs }: { readonly runs: boolean },
): InventoryContainer {
  const { name, attempt, pod } = facts;
  const agoMs = startedMs - attempt * 10 * MINUTE;
  return container(digestOf('container', pod.uid, name, attempt), {
    ...facts,
    state: runs ? 'running' : 'exited',
    createdAtNs: nsAgo(agoMs, BigInt(drawn(1_000_000, 'ns', pod.uid, name, attempt))),
    finishedAtNs: runs ? null : nsAgo(agoMs - MINUTE),
    imageId: `sha256:${digestOf('image', name)}`,
    logPath: `/var/log/pods/${pod.namespace}_${pod.name}_${pod.uid}/${name}/${attempt}.log`,
  });
}
