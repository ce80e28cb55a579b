import type { PlantedBug } from '../chaos/planted/planted.ts';
import type { SubjectName } from './subjects.ts';

const RULES = 'packages/deciders/graph-gc/rules';
const POD_RULES = 'packages/deciders/pod-gc/rules';
const DUE = 'packages/deciders/expiry-gc/rules/due.ts';

interface ComparedBug extends PlantedBug {
  /** Whose histories have to find it. */
  readonly subject: SubjectName;
}

const inOwnership = (bug: PlantedBug): ComparedBug => ({ ...bug, subject: 'ownership' });

/** Slips in what decides about owners. */
const OF_OWNERS: readonly PlantedBug[] = [
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
        file: `${RULES}/conclude.ts`,
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

const bug = (subject: SubjectName, name: string, file: string, old: string, now: string): ComparedBug => ({
  name,
  subject,
  edits: [{ file, old, now }],
});

/** Slips, each of which the comparison has to find. */
export const PLANTED: readonly ComparedBug[] = [
  ...OF_OWNERS.map(inOwnership),
  bug(
    'pods',
    'nodes-that-are-ready-lose-pods',
    `${POD_RULES}/conclude.ts`,
    '!pod.node.isReady && pod.node.isOutOfService',
    'pod.node.isOutOfService',
  ),
  bug(
    'pods',
    'nobody-is-told-of-a-disruption',
    'services/cluster/executor/judge-pod.ts',
    "disruption: because === 'node-gone' ? { ...DISRUPTION, atMs } : null,",
    'disruption: null,',
  ),
  bug(
    'pods',
    'pods-are-not-marked',
    'services/cluster/executor/judge-pod.ts',
    'const mark = isFinal(candidate) ? null :',
    'const mark = isFinal(candidate) || true ? null :',
  ),
  bug(
    'ended-pods',
    'evicted-pods-do-not-come-first',
    `${POD_RULES}/conclude.ts`,
    'if (one.isEvicted !== other.isEvicted) return one.isEvicted ? -1 : 1;',
    '',
  ),
  bug(
    'ended-pods',
    'young-pods-come-first',
    `${POD_RULES}/conclude.ts`,
    'return one.createdAtMs - other.createdAtMs;',
    'return other.createdAtMs - one.createdAtMs;',
  ),
  bug(
    'ended-pods',
    'names-are-compared-backwards',
    `${POD_RULES}/conclude.ts`,
    'return compareText(nameOf(one), nameOf(other));',
    'return compareText(nameOf(other), nameOf(one));',
  ),
  bug(
    'ended-pods',
    'one-more-may-stay',
    `${POD_RULES}/conclude.ts`,
    'Math.max(0, terminated - terminatedPodGcThreshold)',
    'Math.max(0, terminated - terminatedPodGcThreshold - 1)',
  ),
  bug(
    'jobs',
    'failed-jobs-stay',
    'packages/kube-api/expiring.ts',
    "z.enum(['Complete', 'Failed'])",
    "z.enum(['Complete'])",
  ),
  bug(
    'jobs',
    'a-ttl-of-zero-is-none',
    DUE,
    'if (ttlSecondsAfterFinished === null ||',
    'if (!ttlSecondsAfterFinished ||',
  ),
  bug(
    'jobs',
    'jobs-go-in-the-background',
    DUE,
    "stays: 'K1',\n    propagation: 'Foreground',",
    "stays: 'K1',\n    propagation: 'Background',",
  ),
  bug(
    'requests',
    'what-is-approved-is-issued',
    DUE,
    "if (certificate.is !== 'missing') yield",
    'if (certificate.is !== undefined) yield',
  ),
  bug(
    'requests',
    'ended-certificates-stay',
    DUE,
    "if (certificate.is === 'there') yield after('L6', certificate.notAfterMs, 0);",
    '',
  ),
  bug(
    'requests',
    'requests-lose-their-finalizers',
    'services/cluster/executor/object.ts',
    "ownRule === undefined && propagation === 'Background' ? ownPropagation(object) : propagation;",
    'propagation;',
  ),
];
