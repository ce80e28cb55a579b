import { z } from 'zod';
import { EventId } from './event-id.ts';
import { ClusterIdentity, NodeIdentity, SUBJECTS, type Subject, type SubjectKind } from './identity.ts';
import { OffsetText } from './offset-text.ts';

/** The facts of which the log knows where the latest one lies, and whom they are about. */
export const LOCATED_FACTS = {
  diskStats: 'node',
  clusterCensus: 'cluster',
} as const satisfies Readonly<Record<string, SubjectKind>>;
export type LocatedFact = keyof typeof LOCATED_FACTS;

/** Where it lies, and nothing of what it says. */
const place = <Kind extends SubjectKind>(subject: Kind) => ({
  partition: z
    .int()
    .nonnegative()
    .max(SUBJECTS[subject].partitions - 1),
  offset: OffsetText,
  /** When the log took it, by the log's own clock: epoch milliseconds. */
  loggedAtMs: z.int().nonnegative(),
  /** Of the bytes of its value. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

/** State: where the latest fact of a node lies. */
export const LatestNodeFact = z.strictObject({
  type: z.literal('fleetgc.node.latest-fact'),
  version: z.literal(1),
  id: EventId,
  ...NodeIdentity.shape,
  fact: z.literal('diskStats'),
  ...place('node'),
});

/** State: where the latest fact of a cluster lies. */
export const LatestClusterFact = z.strictObject({
  type: z.literal('fleetgc.cluster.latest-fact'),
  version: z.literal(1),
  id: EventId,
  ...ClusterIdentity.shape,
  fact: z.literal('clusterCensus'),
  ...place('cluster'),
});

export type LatestFact = z.infer<typeof LatestNodeFact> | z.infer<typeof LatestClusterFact>;

const BETWEEN = ' ';

/** The record key of the latest fact of a subject: `<topic id> <subject key>`. */
export const latestFactKey = (fact: LocatedFact, subjectKey: string): string =>
  `${fact}${BETWEEN}${subjectKey}`;

export const keyOfLatestFact = (event: LatestFact): string =>
  latestFactKey(
    event.fact,
    event.fact === 'diskStats' ? SUBJECTS.node.keyOf(event) : SUBJECTS.cluster.keyOf(event),
  );

/** The part of a record key that its partition follows from: position and fact lie in partitions of one number. */
export const placingPart = (key: string): string => key.slice(key.indexOf(BETWEEN) + 1);

export interface LocatedSubject extends Subject {
  readonly fact: LocatedFact;
}

/** Which fact of whom a record key names; `null` where it names none. */
export function locatedSubject(key: string): LocatedSubject | null {
  const fact = key.slice(0, Math.max(0, key.indexOf(BETWEEN)));
  if (fact !== 'diskStats' && fact !== 'clusterCensus') return null;
  const subject = { kind: LOCATED_FACTS[fact], key: placingPart(key) };
  return SUBJECTS[subject.kind].isKey(subject.key) ? { fact, ...subject } : null;
}
