import { sha256Hex } from '../../../packages/canonical/ids.ts';
import type { Candidacy } from '../../../packages/owner-graph/candidacy.ts';
import { type CascadeWidths, cascadeRoots } from '../../../packages/owner-graph/cascade.ts';
import { type GraphObject, toldReference } from '../../../packages/owner-graph/graph-object.ts';
import type { Namesakes } from '../../../packages/owner-graph/namesakes.ts';
import {
  DANGLING,
  type GraphView,
  type StatedReference,
} from '../../../packages/owner-graph/reference-states.ts';
import { kindName } from '../../../schemas/events/cluster-objects.ts';
import {
  LEAST_RESTORED,
  MAX_CANDIDATE_REFERENCES,
  MAX_CANDIDATES,
  type OwnershipCandidate,
  type OwnershipReference,
  type SettledCandidate,
} from '../../../schemas/events/ownership.ts';

/** What is published at once. */
export interface Batch {
  readonly candidates: readonly OwnershipCandidate[];
  readonly settled: readonly SettledCandidate[];
  /** There is more to count before anything is told. */
  readonly isCounting: boolean;
}

interface TrackerOptions {
  /** Whether the object is a candidate. It is asked of all before any of them is looked at, since one counts for the others. */
  readonly count: (uid: string) => boolean;
  /** The candidate as it is now; `null` for an object that is none, or not there. */
  readonly look: (uid: string) => OwnershipCandidate | null;
  readonly isThere: (uid: string) => boolean;
  readonly all: () => Iterable<string>;
  /** Milliseconds that only grow. */
  readonly nowMs: () => number;
}

interface Published {
  readonly fingerprint: string;
  readonly atMs: number;
  readonly who: Omit<SettledCandidate, 'how'>;
}

/**
 * Published again after so long, so that what was lost or has expired heals.
 * @limit Period in which an unchanged candidate is published again. Keep it at or above the lifetime of a command.
 */
const AGAIN_AFTER_MS = 600_000;
/** All else waits while candidates are counted: whoever may write many objects could have that take minutes. */
const COUNT_FOR_MS = 200;
/** What happens meanwhile is read, and others are answered. */
export const BETWEEN_COUNTS_MS = 10;
/** What settled waits so long for company: each fact costs a decision and its records, and nothing follows from this one. */
const SETTLED_WAITS_MS = 1_000;
/** @limit Size of an ownership fact. */
const MAX_FACT_BYTES = 512 * 1024;

/** Which candidates are to be published: those that are new or changed, and all of them now and then. */
export class CandidateTracker {
  readonly #options: TrackerOptions;
  /** To be counted, in order. */
  readonly #dirty = new Set<string>();
  /** Counted, and to be looked at, in order. */
  readonly #counted = new Set<string>();
  /** In order of time. */
  readonly #published = new Map<string, Published>();
  /** Not told yet, and since when. */
  readonly #settled = new Map<string, SettledCandidate>();
  #settledSinceMs = 0;

  constructor(options: TrackerOptions) {
    this.#options = options;
  }

  get published(): number {
    return this.#published.size;
  }

  touch(uid: string): void {
    this.#dirty.add(uid);
  }

  /** Looks at all: what is known of a kind has changed. */
  touchAll(): void {
    for (const uid of this.#options.all()) this.#dirty.add(uid);
    for (const uid of this.#published.keys()) this.#dirty.add(uid);
  }

  /** All that was published is, once more. */
  tellAgain(): void {
    for (const [uid, published] of this.#published) {
      this.#published.set(uid, { ...published, fingerprint: '' });
      this.#dirty.add(uid);
    }
  }

  /** The next batch, which counts as published; empty when there is nothing to tell, or not all is counted. */
  take(): Batch {
    const nowMs = this.#options.nowMs();
    this.#touchOld(nowMs);
    if (!this.#count(nowMs)) return { candidates: [], settled: [], isCounting: true };
    const candidates: OwnershipCandidate[] = [];
    let bytes = 0;
    for (const uid of this.#counted) {
      const isFull = candidates.length >= MAX_CANDIDATES || this.#settled.size >= MAX_CANDIDATES;
      if (isFull || bytes > MAX_FACT_BYTES) break;
      this.#counted.delete(uid);
      bytes += this.#lookAt(uid, nowMs, candidates);
    }
    return { candidates, settled: this.#takeSettled(candidates.length > 0, nowMs), isCounting: false };
  }

  /**
   * All that changed, before any of it is told: a fact that told the first of many owners alone would let its objects go (cluster S1).
   * Whether all is counted.
   */
  #count(sinceMs: number): boolean {
    for (const uid of this.#dirty) {
      if (this.#options.nowMs() - sinceMs >= COUNT_FOR_MS) return false;
      this.#dirty.delete(uid);
      if (this.#options.count(uid) || this.#published.has(uid)) this.#counted.add(uid);
    }
    return true;
  }

  #takeSettled(isInCompany: boolean, nowMs: number): readonly SettledCandidate[] {
    const hasWaited = nowMs - this.#settledSinceMs >= SETTLED_WAITS_MS;
    if (!isInCompany && !hasWaited && this.#settled.size < MAX_CANDIDATES) return [];
    const settled = [...this.#settled.values()];
    this.#settled.clear();
    return settled;
  }

  #settle(who: Published['who'], nowMs: number): void {
    if (this.#settled.size === 0) this.#settledSinceMs = nowMs;
    this.#settled.set(who.uid, { ...who, how: this.#options.isThere(who.uid) ? 'no-candidate' : 'gone' });
  }

  /** Returns the bytes that it added. */
  #lookAt(uid: string, nowMs: number, candidates: OwnershipCandidate[]): number {
    const before = this.#published.get(uid);
    const candidate = this.#options.look(uid);
    if (candidate === null) {
      this.#published.delete(uid);
      if (before !== undefined) this.#settle(before.who, nowMs);
      return 0;
    }
    const fingerprint = fingerprintOf(candidate);
    if (before?.fingerprint === fingerprint && nowMs - before.atMs < AGAIN_AFTER_MS) return 0;
    const { group, kind, namespace, name } = candidate.object;
    this.#published.delete(uid);
    this.#published.set(uid, { fingerprint, atMs: nowMs, who: { group, kind, namespace, name, uid } });
    this.#settled.delete(uid);
    candidates.push(candidate);
    return JSON.stringify(candidate).length;
  }

  #touchOld(nowMs: number): void {
    for (const [uid, { atMs }] of this.#published) {
      if (nowMs - atMs < AGAIN_AFTER_MS) return;
      this.#dirty.add(uid);
    }
  }
}

interface FactsOf {
  readonly widths: CascadeWidths;
  readonly graph: GraphView;
  readonly namesakes: Pick<Namesakes, 'of' | 'objects'>;
  readonly isKeptNamespace: (namespace: string) => boolean;
}

/** What a decision needs to know; `null` for an object with more references than a fact can hold, which is kept. */
export function candidateFacts(
  { object, references, dependents }: Candidacy,
  facts: FactsOf,
): OwnershipCandidate | null {
  if (references.length > MAX_CANDIDATE_REFERENCES) return null;
  const told = references.map((stated) => referenceFacts(stated, facts.namesakes.of(object, stated)));
  const hasNamesake = told.some(({ namesakeUid }) => namesakeUid !== undefined);
  return {
    object: {
      ...object.kind,
      namespace: object.namespace,
      name: object.name,
      uid: object.uid,
      resourceVersion: object.resourceVersion,
      deletionTimestamp: object.deletionTimestamp,
      finalizers: [...object.finalizers],
      keptBy: keptBy(object, facts.isKeptNamespace),
    },
    references: told,
    dependents,
    cascades: cascadesOf(references, facts),
    ...(hasNamesake && { withNamesakes: Math.max(1, facts.namesakes.objects) }),
  };
}

const keptBy = (
  { keep, namespace }: GraphObject,
  isKeptNamespace: FactsOf['isKeptNamespace'],
): OwnershipCandidate['object']['keptBy'] => {
  if (keep) return 'object';
  return namespace !== '' && isKeptNamespace(namespace) ? 'namespace' : null;
};

const referenceFacts = (
  { reference, state, resolved, gone }: StatedReference,
  namesakeUid: string | undefined,
): OwnershipReference => ({
  ...toldReference(reference),
  state,
  resolved,
  gone: gone && { how: gone.how, orphaned: gone.orphaned },
  ...(namesakeUid !== undefined && { namesakeUid }),
});

/** Whether the owner lets its dependents go. */
export const letsGo = ({ state }: StatedReference): boolean => state === 'waiting' || DANGLING.has(state);

/** As `kindName` of the schemas writes it, where it is known. */
export const ownerKindOf = ({ reference, resolved }: StatedReference): string =>
  resolved === null ? reference.kind : kindName(resolved);

/** One for each owner that lets the object go. */
function cascadesOf(
  references: readonly StatedReference[],
  { widths, graph }: FactsOf,
): OwnershipCandidate['cascades'] {
  const found = new Map<string, OwnershipCandidate['cascades'][number]>();
  const rootOf = cascadeRoots(graph);
  for (const stated of references) {
    const { reference } = stated;
    const { uid } = reference;
    if (found.has(uid) || !letsGo(stated)) continue;
    const ownerKind = ownerKindOf(stated);
    const root = rootOf(reference);
    const within = root === null || root.uid === uid ? null : root;
    found.set(uid, { ownerUid: uid, ownerKind, ...widths.of(uid, ownerKind), within });
  }
  return [...found.values()];
}

/** Differs when a decision may differ: a newer resourceVersion alone is no news, nor one dependent of many more. */
function fingerprintOf({
  object,
  references,
  dependents,
  cascades,
  withNamesakes = 0,
}: OwnershipCandidate): string {
  const { resourceVersion: _, ...told } = object;
  const { count, blocking, oneWaits } = dependents;
  const widths = cascades.map(({ ownerUid, objects, within }) => [ownerUid, objects, within]);
  const isRestore = withNamesakes >= LEAST_RESTORED;
  const news = [told, references, count > 0, blocking > 0, oneWaits, widths, isRestore];
  return sha256Hex(JSON.stringify(news)).slice(0, 16);
}
