import { partitionOf } from '../../packages/event-log/partition.ts';
import type { EventLog } from '../../packages/event-log/port.ts';
import type { GoneObject } from '../../packages/owner-graph/gone-objects.ts';
import { parseBelieved } from '../../packages/pipeline/parse/parse-believed.ts';
import { readPartition } from '../../packages/pipeline/read-log.ts';
import type { Trust } from '../../packages/trust/trust.ts';
import { type ClusterIdentity, SUBJECTS } from '../../schemas/events/identity.ts';
import type { Ownership, OwnershipCandidate, OwnershipReference } from '../../schemas/events/ownership.ts';
import { TOPICS } from '../../schemas/events/topics.ts';

/** By uid. */
export type GoneOwners = ReadonlyMap<string, GoneObject>;

interface ReadingFacts {
  readonly identity: ClusterIdentity;
  readonly log: Pick<EventLog, 'read'>;
  readonly trust: Trust;
}

/** As many as the owner graph keeps in mind; what was told longest ago is forgotten. */
const MAX_REMEMBERED = 10_000;

/**
 * Owners that went in a way that keeps or holds what they left behind, as earlier facts of this cluster tell it: no API server knows
 * how an object went, so without this a restart would let go what is held (cluster S3, S6).
 */
export async function readGoneOwners(
  { identity, log, trust }: ReadingFacts,
  signal: AbortSignal,
): Promise<GoneOwners> {
  const key = SUBJECTS.cluster.keyOf(identity);
  const reading = {
    topics: ['clusterOwnership'],
    partition: partitionOf(TOPICS.clusterOwnership.name, key),
    range: { fromMs: null, toMs: null },
  } as const;
  const parse = parseBelieved(trust);
  const gone = new Map<string, GoneObject>();
  for await (const { record } of readPartition(log, reading, signal)) {
    if (record.key !== key) continue;
    const parsed = parse('clusterOwnership', record);
    if (parsed.ok && parsed.event.clusterInstance === identity.clusterInstance) take(parsed.event, gone);
  }
  return gone;
}

/** What is told last of an owner counts. */
function take({ candidates }: Ownership, gone: Map<string, GoneObject>): void {
  const told = candidates.flatMap((candidate) =>
    candidate.references.map((reference) => ({ uid: reference.uid, owner: goneOwner(candidate, reference) })),
  );
  for (const { uid, owner } of told) {
    if (owner === undefined) continue;
    gone.delete(uid);
    if (owner !== null) gone.set(uid, owner);
  }
  for (const oldest of gone.keys()) {
    if (gone.size <= MAX_REMEMBERED) return;
    gone.delete(oldest);
  }
}

const KEEPING: readonly unknown[] = ['mass-relisted', 'kind-going'];

/** `null` for an owner that keeps nothing by how it went, `undefined` where that is not told. */
function goneOwner(
  { object }: OwnershipCandidate,
  { state, resolved, name, gone }: OwnershipReference,
): GoneObject | null | undefined {
  // What describes the owner wrongly does not say where it was.
  if (state === 'elsewhere') return undefined;
  if (gone === null || resolved === null) return state === 'held' ? null : undefined;
  if (!KEEPING.includes(gone.how) && !gone.orphaned) return null;
  return {
    ...gone,
    kind: resolved,
    name,
    namespace: resolved.namespaced ? object.namespace : '',
    within: null,
  };
}
