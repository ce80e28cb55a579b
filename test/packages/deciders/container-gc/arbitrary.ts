import fc from 'fast-check';
import type {
  CompleteInventory,
  InventoryContainer,
  InventoryPod,
} from '../../../../schemas/events/inventory.ts';
import type {
  InventoryLogSymlink,
  InventoryPodLogDirectory,
} from '../../../../schemas/events/pod-log-entries.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { arbitraryNode, arbitraryPolicy } from '../../../fixtures/arbitrary-node.ts';
import { gonePod, podLogDirectory, uid } from '../../../fixtures/inventory.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { NOW, SECOND } from '../../../fixtures/time.ts';

const DIRECTORIES = [
  `default_a_${uid(1)}`,
  `default_b_${uid(2)}`,
  `system_c_${uid(3)}`,
  `system_d_${uid(9)}`,
  'lost+found',
  'lost_and_found',
  uid(4),
  'odd_',
];
const ANSWERS = ['unreadable', 'no-answer', 'empty', 'not-exited', 'exited', 'unknown'] as const;

/** Ids without a dash, as runtimes make them: the n-th is a prefix of others. */
const runtimeId = (id: string): string => id.replace('-', '');
const inNamespace = <T extends { readonly uid: string } | null>(pod: T): T =>
  pod && { ...pod, namespace: pod.uid === uid(3) ? 'system' : 'default' };

const directories: fc.Arbitrary<InventoryPodLogDirectory[] | null> = fc.option(
  fc.subarray(DIRECTORIES).map((names) => names.map(podLogDirectory)),
  { freq: 8 },
);
const symlinks: fc.Arbitrary<InventoryLogSymlink[] | null> = fc.option(
  fc.array(
    fc.record({
      name: fc.oneof(
        fc.nat(16).map((n) => `a_default_main-container${n}.log`),
        fc.nat(16).map((n) => `a_system_main-container${n}.log`),
        fc.constantFrom('notes.log', 'a_b_c-1.log'),
      ),
      container: fc.constantFrom(...ANSWERS),
      backoff: fc.option(fc.constant({ failures: 1, untilMs: NOW + 1 }), { freq: 6 }),
    }),
    { maxLength: 8 },
  ),
  { freq: 8 },
);

const finishedAgo = fc.option(fc.integer({ min: -1, max: 9 }).map((seconds) => NOW - seconds * SECOND));
const withFinish = (container: InventoryContainer, finishedMs: number | null): InventoryContainer => ({
  ...container,
  id: runtimeId(container.id),
  pod: inNamespace(container.pod),
  finishedAtNs: finishedMs === null ? null : `${finishedMs}000000`,
});

const reclaims = fc.constantFrom(
  null,
  null,
  reclaim({ step: 'containers' }),
  reclaim({ step: 'containers', cause: { ...reclaim().cause, signal: 'nodefs.available' } }),
);

/** Nodes with containers, sandboxes and logs, outside a reclaim or at its containers. */
export const arbitraryContainerNode: fc.Arbitrary<CompleteInventory> = fc
  .record({
    base: arbitraryNode,
    finished: fc.array(finishedAgo, { minLength: 16, maxLength: 16 }),
    initContainers: fc.constantFrom<InventoryPod['initContainers']>([], [], ['side'], null),
    untold: fc.constantFrom<InventoryPod['initContainers']>(null, []),
    emptyUidIsGone: fc.boolean(),
    clockSteadySinceMs: fc.constantFrom(0, 0, 0, null, NOW - 3 * SECOND, NOW + SECOND),
    foundIsGone: fc.boolean(),
    podLogDirectories: directories,
    logSymlinks: symlinks,
    reclaim: reclaims,
  })
  .map(({ base, finished, initContainers, untold, emptyUidIsGone, foundIsGone, ...rest }) => ({
    ...base,
    ...rest,
    containers: base.containers.map((one, index) => withFinish(one, finished[index] ?? null)),
    sandboxes: base.sandboxes.map((one) => ({ ...one, pod: inNamespace(one.pod) })),
    pods: [
      ...base.pods.map((pod) => ({
        ...pod,
        initContainers: pod.state === 'known' ? initContainers : untold,
      })),
      ...(emptyUidIsGone ? [gonePod('')] : []),
      ...(foundIsGone ? [gonePod('found')] : []),
    ],
  }));

/** Both profiles; the kubelet's has no maximum age. */
export const arbitraryContainerPolicy: fc.Arbitrary<Policy> = fc
  .record({
    base: arbitraryPolicy,
    profile: fc.constantFrom<Policy['profile']>('fleetgc', 'kubelet'),
    namespaces: fc.constantFrom<string[]>([], [], ['system'], ['default', 'system']),
    maximumAgeMs: fc.option(fc.integer({ min: 1, max: 6 }).map((seconds) => seconds * SECOND)),
  })
  .map(({ base, profile, namespaces, maximumAgeMs }) => ({
    ...base,
    profile,
    keep: { ...base.keep, namespaces },
    maximumDeadContainerAgeMs: profile === 'kubelet' ? null : maximumAgeMs,
  }));
