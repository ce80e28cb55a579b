import fc from 'fast-check';
import type { OwnershipCandidate } from '../../../../../schemas/events/ownership.ts';
import { ReferenceState } from '../../../../../schemas/events/ownership.ts';
import { candidate, owner } from '../../../../fixtures/ownership.ts';

const NAMESPACE = { kind: 'Namespace', resource: 'namespaces', namespaced: false, namespace: '' };

/** Everything on which a rule about owners depends. */
export const AnyCandidate: fc.Arbitrary<OwnershipCandidate> = fc
  .record({
    states: fc.array(fc.constantFrom(...ReferenceState.options), { maxLength: 4 }),
    deleting: fc.boolean(),
    finalizers: fc.subarray(['orphan', 'foregroundDeletion', 'other']),
    count: fc.nat(2),
    oneWaits: fc.boolean(),
    how: fc.constantFrom('watched', 'watched', 'watched', 'mass-relisted', 'kind-going'),
    kind: fc.constantFrom({}, {}, {}, NAMESPACE),
    orphaned: fc.boolean(),
    wide: fc.boolean(),
    keptBy: fc.constantFrom(null, 'object' as const),
  })
  .map(({ states, deleting, finalizers, count, oneWaits, how, kind, orphaned, wide, keptBy }) =>
    candidate({
      object: { ...kind, deletionTimestamp: deleting ? '2026-11-01T00:00:00Z' : null, finalizers, keptBy },
      references: states.map((state, index) =>
        owner(`${state}-${index}`, {
          state,
          gone: state === 'gone' ? { how, orphaned } : null,
        }),
      ),
      dependents: { count, blocking: count, oneWaits },
      cascades: states.map((state, index) => ({
        ownerUid: `${state}-${index}`,
        ownerKind: 'ConfigMap',
        objects: wide ? 2_000 : 1,
        ofKind: 1,
        within: null,
      })),
    }),
  );
