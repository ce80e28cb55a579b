import type { ListedContainer, ListedImage } from '../../../packages/cri/listing-types.ts';
import type { Command } from '../../../schemas/events/command.ts';
import type { Inventory } from '../../../schemas/events/inventory.ts';
import type { Reclaim } from '../../../schemas/events/reclaim.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import type { PolicyRecord } from '../../../schemas/policy/policy.ts';
import { containerRemoval, imageRemoval } from '../../../test/fixtures/command.ts';
import { filesystems } from '../../../test/fixtures/filesystems.ts';
import { container, gonePod, image, inventory } from '../../../test/fixtures/inventory.ts';
import { digestOf, listedContainer, runtimeImage } from '../../../test/fixtures/listing.ts';
import { keepList } from '../../../test/fixtures/policy.ts';
import { HOUR } from '../../../test/fixtures/time.ts';
import { AGREEING_POLICY } from '../../../test/services/node/executor/support/agreeing-inventory.ts';

export const A = digestOf('a');
export const B = digestOf('b');
export const C = digestOf('c');
export const DEAD = 'dead';

/** Under the first policy everything may go; the second one keeps image b. */
export const FIRST: PolicyRecord = { ...AGREEING_POLICY, hash: '1'.repeat(64) };
export const SECOND: PolicyRecord = {
  ...FIRST,
  id: 'policy-2',
  policyVersion: FIRST.policyVersion + 1,
  hash: '2'.repeat(64),
  policy: { ...FIRST.policy, keep: keepList({ patterns: ['registry.example/team/b*'] }) },
};

/** What is kept by each, by the hash of the policy. */
export const KEPT: Readonly<Record<string, readonly string[]>> = { [FIRST.hash]: [], [SECOND.hash]: [B] };

export interface Scenario {
  readonly name: string;
  /** In the order in which they lie on the log. */
  readonly commands: readonly Command[];
  readonly images: readonly string[];
  readonly containers: readonly string[];
}

const decidedUnder = (policy: PolicyRecord): Command['policy'] => ({
  name: policy.policy.name,
  version: policy.policyVersion,
  hash: policy.hash,
  setHash: 'c'.repeat(64),
});

/** So few objects that all that may happen can happen together in a minute. */
export const SMALL: Scenario = {
  name: 'one image by each of two policies',
  commands: [
    imageRemoval([B], { id: 'command-1', policy: decidedUnder(FIRST) }),
    imageRemoval([C], { id: 'command-2', policy: decidedUnder(SECOND) }),
  ],
  images: ['b', 'c'],
  containers: [],
};

/** So little that it can be searched without leaving anything out. */
export const LEAST: Scenario = {
  name: 'one image',
  commands: [imageRemoval([B], { id: 'command-1', policy: decidedUnder(FIRST) })],
  images: ['b'],
  containers: [],
};

/** Two commands for three objects each. */
export const SCENARIOS: readonly [Scenario, Scenario] = [
  {
    name: 'two images, then a container',
    commands: [
      imageRemoval([A, B], { id: 'command-1', policy: decidedUnder(FIRST) }),
      containerRemoval([DEAD], { id: 'command-2', policy: decidedUnder(FIRST) }),
    ],
    images: ['a', 'b'],
    containers: [DEAD],
  },
  {
    name: 'images of two policies',
    commands: [
      imageRemoval([A, B], { id: 'command-1', policy: decidedUnder(FIRST) }),
      imageRemoval([B, C], { id: 'command-2', policy: decidedUnder(SECOND) }),
    ],
    images: ['a', 'b', 'c'],
    containers: [],
  },
];

export const listedImage = (name: string): ListedImage => runtimeImage(name);

const POD = { uid: 'pod-1', name: 'web', namespace: 'default' };
export const PODS = '/var/log/pods';

export const deadContainer = (id: string): ListedContainer =>
  listedContainer(id, {
    state: 'exited',
    labels: {
      'io.kubernetes.pod.uid': POD.uid,
      'io.kubernetes.pod.name': POD.name,
      'io.kubernetes.pod.namespace': POD.namespace,
    },
    imageId: digestOf('some image of containers'),
    sandboxId: 'elsewhere',
    logPath: `${PODS}/default_web_pod-1/app/${id}.log`,
  });

/** In use, so that half of the listed images is no limit. */
const OTHERS = ['o', 'p', 'q', 'r'].map((id) =>
  image(id, { usedBy: [{ kind: 'container', id: 'another' }] }),
);

/** What the node sees of itself: by its ages everything may go. */
export function ownInventory(
  images: readonly ListedImage[],
  containers: readonly ListedContainer[],
  at: { readonly takenAt: Instant; readonly reclaim: Reclaim | null },
): Inventory {
  const longAgo = at.takenAt.wallTimeMs - 10 * HOUR;
  return inventory({
    ...at,
    filesystems: filesystems({ availableBytes: '0', inodesFree: '0' }),
    imagesWatchedSinceMs: longAgo,
    images: [
      ...images.map(({ id, repoTags, repoDigests, sizeBytes }) =>
        image(id, {
          repoTags: [...repoTags],
          repoDigests: [...repoDigests],
          sizeBytes: Number(sizeBytes),
          firstDetectedMs: longAgo,
          lastUsedMs: longAgo,
        }),
      ),
      ...OTHERS,
    ],
    containers: containers.map(({ id }) =>
      container(id, { name: id, logPath: null, createdAtNs: `${longAgo}000000` }),
    ),
    pods: [gonePod(POD.uid)],
  });
}
