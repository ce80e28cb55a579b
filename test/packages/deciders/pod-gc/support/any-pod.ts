import fc from 'fast-check';
import type { PodCandidate, PodNode } from '../../../../../schemas/events/pods.ts';
import { DELETED_AT, podCandidate } from '../../../../fixtures/pods.ts';

const AnyNode: fc.Arbitrary<PodNode> = fc.oneof(
  fc.constant<PodNode>({ state: 'none' }),
  fc.record({
    state: fc.constant('there' as const),
    name: fc.constantFrom('n1', 'n2'),
    isReady: fc.boolean(),
    isOutOfService: fc.boolean(),
  }),
  fc.record({
    state: fc.constant('missing' as const),
    name: fc.constantFrom('n1', 'n2'),
    missingForMs: fc.constantFrom(0, 39_999, 40_000, 100_000),
  }),
);

/** Everything on which a rule about pods depends. */
export const AnyPod: fc.Arbitrary<PodCandidate> = fc
  .record({
    name: fc.constantFrom('a', 'b', 'c'),
    phase: fc.constantFrom('', 'Pending', 'Running', 'Unknown', 'Succeeded', 'Failed', 'Other'),
    isEvicted: fc.boolean(),
    createdAtMs: fc.constantFrom(1_000, 2_000, 3_000),
    deleting: fc.boolean(),
    graceSeconds: fc.constantFrom(null, 0, 30),
    finalizers: fc.subarray(['example.com/hold']),
    keptBy: fc.constantFrom(null, null, null, 'object' as const, 'namespace' as const),
    node: AnyNode,
  })
  .map(({ name, deleting, finalizers, keptBy, ...pod }) =>
    podCandidate({
      ...pod,
      object: { name, uid: name, deletionTimestamp: deleting ? DELETED_AT : null, finalizers, keptBy },
    }),
  );

/** As a fact holds them: each once. */
export const AnyPods: fc.Arbitrary<readonly PodCandidate[]> = fc
  .array(AnyPod, { maxLength: 12 })
  .map((pods) =>
    pods.map((pod, index) => ({
      ...pod,
      object: { ...pod.object, name: `${pod.object.name}-${index}`, uid: `uid-${index}` },
    })),
  );
