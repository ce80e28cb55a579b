import type { PlantedBug } from '../chaos/planted/planted.ts';

const RULES = 'services/graph-gc/rules';

/** Slips in what decides about owners, each of which the comparison has to find. */
export const PLANTED: readonly PlantedBug[] = [
  {
    name: 'background-for-foreground',
    edits: [
      {
        file: `${RULES}/conclude.ts`,
        old: 'if (owners.waiting.length > 0 && dependents.count > 0) {',
        now: 'if (owners.waiting.length > 0 && dependents.count > 1_000) {',
      },
    ],
  },
  {
    name: 'one-solid-owner-is-not-enough',
    edits: [
      {
        file: `${RULES}/conclude.ts`,
        old: "if (owners.solid.length > 0) return drop('D11', owners, doubtful);",
        now: "if (owners.solid.length > 1) return drop('D11', owners, doubtful);",
      },
    ],
  },
  {
    name: 'waiting-reference-stays',
    edits: [
      {
        file: `${RULES}/conclude.ts`,
        old: 'uidsOf([...owners.dangling, ...owners.waiting])',
        now: 'uidsOf(owners.dangling.length > 0 ? owners.dangling : owners.waiting)',
      },
    ],
  },
  {
    name: 'orphan-finalizer-is-forgotten',
    edits: [
      {
        file: `${RULES}/conclude.ts`,
        old: "if (finalizers.includes(ORPHAN)) return 'Orphan';",
        now: '',
      },
    ],
  },
  {
    name: 'elsewhere-holds',
    edits: [
      {
        file: `${RULES}/owners.ts`,
        old: "const isFleetgc = profile === 'fleetgc';",
        now: "const isFleetgc = profile === 'fleetgc' || profile === 'kubernetes';",
      },
    ],
  },
  {
    name: 'scope-does-not-matter',
    edits: [
      {
        file: 'packages/owner-graph/reference-states.ts',
        old: "if (!object.kind.namespaced && kind.served.namespaced) return 'scope';",
        now: '',
      },
    ],
  },
  {
    name: 'every-dependent-blocks',
    edits: [
      {
        file: 'packages/owner-graph/graph-object.ts',
        old: 'uid === ownerUid && blockOwnerDeletion === true',
        now: 'uid === ownerUid',
      },
    ],
  },
  {
    name: 'rings-are-not-unblocked',
    edits: [
      {
        file: `${RULES}/conclude.ts`,
        old: 'const unblock = dependents.oneWaits;',
        now: 'const unblock = false && dependents.oneWaits;',
      },
    ],
  },
  {
    name: 'names-of-owners-do-not-matter',
    edits: [
      {
        file: 'packages/owner-graph/reference-states.ts',
        old: '  owner.name === name &&\n',
        now: '',
      },
    ],
  },
];
