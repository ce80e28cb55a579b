import { partitionOf } from '../../../packages/log/partition.ts';
import type { LogReader } from '../../../packages/log/port.ts';
import type { ToldWidth } from '../../../packages/owner-graph/cascade.ts';
import { type GoneObject, goneObject } from '../../../packages/owner-graph/gone-objects.ts';
import { isDeletingWith } from '../../../packages/owner-graph/graph-object.ts';
import { parseBelieved } from '../../../packages/records/parse/parse-believed.ts';
import { readPartition } from '../../../packages/records/read-log.ts';
import type { Trust } from '../../../packages/records/trust/trust.ts';
import { kindName, ORPHAN, type ServedKind } from '../../../schemas/events/cluster-objects.ts';
import { type ClusterIdentity, SUBJECTS } from '../../../schemas/events/identity.ts';
import type { Ownership, OwnershipCandidate, OwnershipReference } from '../../../schemas/events/ownership.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { isOlder } from './observed-object.ts';

/** What earlier agents told of a cluster, as far as a later one has to know it. */
export interface EarlierFacts {
  /** By uid: owners that went in a way that keeps or holds what they left behind. */
  readonly gone: ReadonlyMap<string, GoneObject>;
  /** By uid: how much went, or is to go, with an owner that is not there (cluster S1). */
  readonly widths: ReadonlyMap<string, ToldWidth>;
  /** By kind, as `kindName` writes it: the newest resourceVersion of an object since the cluster was restored last (cluster S3). */
  readonly newest: ReadonlyMap<string, string>;
  /** Since when its facts have said that it was restored, by the API server's clock; `null` where the last one does not. */
  readonly restoredAtMs: number | null;
}

export const NO_EARLIER_FACTS: EarlierFacts = {
  gone: new Map(),
  widths: new Map(),
  newest: new Map(),
  restoredAtMs: null,
};

interface ReadingFacts {
  readonly identity: ClusterIdentity;
  readonly log: LogReader;
  readonly trust: Trust;
}

/** As many as the owner graph keeps in mind of those that nobody lists yet; what was told longest ago is forgotten. */
const MAX_REMEMBERED = 100_000;

/**
 * No API server knows how an object went, what was there before, or that it was restored: without this a restart would let go what
 * is held (cluster S1, S3, S6).
 */
export async function readEarlierFacts(
  { identity, log, trust }: ReadingFacts,
  signal: AbortSignal,
): Promise<EarlierFacts> {
  const key = SUBJECTS.cluster.keyOf(identity);
  const reading = {
    topics: ['clusterOwnership'],
    partition: partitionOf(TOPICS.clusterOwnership.name, key),
    range: { fromMs: null, toMs: null },
  } as const;
  const parse = parseBelieved(trust);
  const told = new ToldFacts();
  for await (const { record } of readPartition(log, reading, signal)) {
    if (record.key !== key) continue;
    const parsed = parse('clusterOwnership', record);
    if (parsed.ok && parsed.event.clusterInstance === identity.clusterInstance) told.take(parsed.event);
  }
  return told;
}

/** What is told last of an owner counts; of how much goes with it, the most since it was there. */
class ToldFacts implements EarlierFacts {
  readonly gone = new Map<string, GoneObject>();
  readonly widths = new Map<string, ToldWidth>();
  readonly newest = new Map<string, string>();
  /** By session: the last fact that was taken of it. */
  readonly #seqs = new Map<string, number>();
  #restoredAtMs: number | null = null;

  get restoredAtMs(): number | null {
    return this.#restoredAtMs;
  }

  take({ session, seq, candidates, wentBack, takenAt }: Ownership): void {
    if (this.#isOld(session, seq)) return;
    if (wentBack && this.#restoredAtMs === null) this.newest.clear();
    this.#restoredAtMs = wentBack ? (this.#restoredAtMs ?? takenAt.serverMs) : null;
    for (const candidate of candidates) this.#takeCandidate(candidate);
    forgetOldest(this.gone);
    forgetOldest(this.widths);
    forgetOldest(this.newest);
  }

  /** A fact that was put back onto the log lies after newer ones, and would have what they told forgotten. */
  #isOld(session: string, seq: number): boolean {
    const last = this.#seqs.get(session);
    if (last !== undefined && seq <= last) return true;
    this.#seqs.set(session, seq);
    forgetOldest(this.#seqs);
    return false;
  }

  #takeCandidate(candidate: OwnershipCandidate): void {
    for (const reference of candidate.references)
      this.#takeOwner(reference.uid, goneOwner(candidate, reference));
    const { object } = candidate;
    const kind = kindName(object);
    if (isOlder(this.newest.get(kind) ?? '0', object.resourceVersion))
      this.newest.set(kind, object.resourceVersion);
    if (isDeletingWith(object, ORPHAN)) this.#takeOwner(object.uid, orphaning(object, object));
    for (const { ownerUid, ownerKind, objects } of candidate.cascades)
      this.#takeWidth(ownerUid, { kind: ownerKind, objects });
  }

  #takeOwner(uid: string, owner: GoneObject | 'is-back' | 'keeps-nothing' | 'not-told'): void {
    if (owner === 'not-told') return;
    this.gone.delete(uid);
    if (owner === 'is-back') this.widths.delete(uid);
    if (typeof owner === 'object') this.gone.set(uid, owner);
  }

  #takeWidth(uid: string, width: ToldWidth): void {
    const before = this.widths.get(uid);
    this.widths.delete(uid);
    this.widths.set(uid, before === undefined || width.objects > before.objects ? width : before);
  }
}

function forgetOldest(remembered: Map<string, unknown>): void {
  for (const oldest of remembered.keys()) {
    if (remembered.size <= MAX_REMEMBERED) return;
    remembered.delete(oldest);
  }
}

const KEEPING: readonly unknown[] = ['mass-relisted', 'kind-going'];

function goneOwner(
  { object }: OwnershipCandidate,
  { state, resolved, name, gone }: OwnershipReference,
): GoneObject | 'is-back' | 'keeps-nothing' | 'not-told' {
  // What describes the owner wrongly does not say where it was.
  if (state === 'elsewhere') return 'not-told';
  if (state === 'held') return 'is-back';
  if (resolved === null) return 'not-told';
  const at = { name, namespace: resolved.namespaced ? object.namespace : '' };
  // Once its last dependent lost it, it goes, and nobody may be there to see it.
  if (state === 'orphaning') return orphaning(resolved, at);
  if (gone === null) return 'not-told';
  if (!KEEPING.includes(gone.how) && !gone.orphaned) return 'keeps-nothing';
  return goneObject({ kind: resolved, ...at }, gone.how, {
    orphaned: gone.orphaned,
    within: null,
    isDeletionSeen: false,
  });
}

const orphaning = (
  { group, version, kind, resource, namespaced }: ServedKind,
  { namespace, name }: Pick<GoneObject, 'namespace' | 'name'>,
): GoneObject => ({
  kind: { group, version, kind, resource, namespaced },
  namespace,
  name,
  how: 'watched',
  orphaned: true,
  within: null,
  isDeletionSeen: false,
});
