import { sha256Hex } from '../../../packages/canonical/ids.ts';
import { blocks, type GraphObject, isDeletingWith } from '../../../packages/owner-graph/graph-object.ts';
import { DANGLING, type StatedReference } from '../../../packages/owner-graph/reference-states.ts';
import {
  type Census,
  type CensusFindings,
  type CensusKind,
  type CensusObject,
  MAX_CENSUS_BLOCKERS,
  MAX_CENSUS_ENTRIES,
  MAX_CENSUS_KINDS,
} from '../../../schemas/events/census.ts';
import {
  type ClusterInstant,
  FOREGROUND,
  kindName,
  ORPHAN,
} from '../../../schemas/events/cluster-objects.ts';
import type { ClusterIdentity } from '../../../schemas/events/identity.ts';
import type { ReferenceState } from '../../../schemas/events/ownership.ts';
import { compareText } from '../../../schemas/events/text-order.ts';
import type { ClusterGraph } from './graph.ts';
import type { AgentParts } from './ports.ts';
import { publishUntilDone } from './publish.ts';

interface KeepingCensus {
  readonly parts: AgentParts;
  readonly identity: CensusOptions['identity'];
  readonly graph: ClusterGraph;
  /** Whether anything may be concluded from the graph. */
  readonly isReady: () => boolean;
}

/**
 * It goes through all objects.
 * @limit Period of the census.
 */
const CENSUS_EVERY_MS = 60_000;
const LOOK_EVERY_MS = 1_000;
/** What was read just now says little of owners that may be behind. */
const FIRST_AFTER_MS = 5_000;

/** Takes a census now and then, and publishes those that are news, until the signal aborts. */
export async function keepCensus(
  { parts, identity, graph, isReady }: KeepingCensus,
  signal: AbortSignal,
): Promise<void> {
  const { sleep, newId, nowMs } = parts;
  const taker = new CensusTaker({ identity, newId, nowMs });
  while (!isReady() && !signal.aborted) await sleep(LOOK_EVERY_MS, signal);
  await sleep(FIRST_AFTER_MS, signal);
  while (!signal.aborted) {
    const instant = isReady() ? parts.connection.clock.instantAt(parts.nowMs()) : null;
    const census = instant && taker.take(graph, instant);
    if (census !== null) await publishUntilDone(parts, census, signal);
    await sleep(CENSUS_EVERY_MS, signal);
  }
}

/** Told again after so long, though nothing changed. */
const AGAIN_AFTER_MS = 600_000;

interface CensusOptions {
  readonly identity: ClusterIdentity & { readonly session: string };
  readonly newId: () => string;
  /** Milliseconds that only grow. */
  readonly nowMs: () => number;
}

/** Which census is worth telling: one that found something else, and any now and then. */
class CensusTaker {
  readonly #options: CensusOptions;
  #told: { readonly fingerprint: string; readonly atMs: number } | null = null;

  constructor(options: CensusOptions) {
    this.#options = options;
  }

  /** `null` where there is no news. */
  take(graph: ClusterGraph, takenAt: ClusterInstant): Census | null {
    const { identity, newId, nowMs } = this.#options;
    const { findings, kinds } = takeCensus(graph, takenAt.serverMs);
    const fingerprint = fingerprintOf(findings);
    const told = this.#told;
    if (told !== null && told.fingerprint === fingerprint && nowMs() - told.atMs < AGAIN_AFTER_MS)
      return null;
    this.#told = { fingerprint, atMs: nowMs() };
    return {
      type: 'fleetgc.cluster.census',
      version: 1,
      id: newId(),
      cluster: identity.cluster,
      clusterInstance: identity.clusterInstance,
      session: identity.session,
      takenAt,
      totals: { kinds: graph.kinds.watched.length, objects: graph.index.size },
      kinds,
      findings,
    };
  }
}

const fingerprintOf = (findings: CensusFindings): string => sha256Hex(JSON.stringify(findings));

/**
 * What is being deleted for so long is not about to go.
 * @limit Age of a deletion after which its finalizers count as stuck.
 */
const STUCK_AFTER_MS = 600_000;
const MAX_REASON_LENGTH = 500;

/** References that call for a look, whoever decides what follows from them. */
const BAD: ReadonlySet<ReferenceState> = new Set([...DANGLING, 'scope', 'unresolved']);

/** What was found, and the kinds of which there are most objects. */
interface TakenCensus {
  readonly findings: CensusFindings;
  readonly kinds: CensusKind[];
}

/** Goes through all that is known of a cluster once. `serverMs`: what the clock of the API server shows at least. */
function takeCensus(graph: ClusterGraph, serverMs: number): TakenCensus {
  const census = new FindingsOf(graph, serverMs);
  const counts = new Map<string, CensusKind>();
  for (const object of graph.index.objects()) {
    census.look(object);
    count(counts, object.kind);
  }
  return { findings: census.findings(), kinds: mostOf(counts) };
}

function count(counts: Map<string, CensusKind>, { group, kind }: GraphObject['kind']): void {
  const name = kindName({ group, kind });
  counts.set(name, { group, kind, objects: (counts.get(name)?.objects ?? 0) + 1 });
}

/** Of two with as many objects the one that comes first by name. */
const mostOf = (counts: ReadonlyMap<string, CensusKind>): CensusKind[] =>
  [...counts]
    .toSorted(([a, { objects: ofA }], [b, { objects: ofB }]) => ofB - ofA || compareText(a, b))
    .slice(0, MAX_CENSUS_KINDS)
    .map(([, counted]) => counted);

class FindingsOf {
  readonly #graph: ClusterGraph;
  readonly #serverMs: number;
  readonly #stuck = new Found<CensusFindings['stuckFinalizers']['first'][number]>();
  readonly #waiting = new Found<CensusFindings['waitingOwners']['first'][number]>();
  readonly #bad = new Found<CensusFindings['badReferences']['first'][number]>();
  readonly #missing = new Map<string, StatedReference>();

  constructor(graph: ClusterGraph, serverMs: number) {
    this.#graph = graph;
    this.#serverMs = serverMs;
  }

  look(object: GraphObject): void {
    if (object.deletionTimestamp !== null) this.#lookAtDeleted(object, object.deletionTimestamp);
    for (const stated of this.#graph.references(object)) {
      const { reference, state } = stated;
      if (DANGLING.has(state) && state !== 'elsewhere') this.#missing.set(reference.uid, stated);
      const { apiVersion, kind, name, uid } = reference;
      if (BAD.has(state))
        this.#bad.add(() => ({ object: named(object), owner: { apiVersion, kind, name, uid }, state }));
    }
  }

  findings(): CensusFindings {
    const { kinds } = this.#graph;
    const missing = [...this.#missing.values()].map((stated) => this.#missingOwner(stated));
    const widest = missing.toSorted((a, b) => b.objects - a.objects).slice(0, MAX_CENSUS_ENTRIES);
    return {
      stuckFinalizers: this.#stuck.told(),
      waitingOwners: this.#waiting.told(),
      badReferences: this.#bad.told(),
      missingOwners: { count: missing.length, first: widest },
      unsyncedKinds: kinds.unsynced.map(({ kind: { group, kind }, reason }) => ({
        group,
        kind,
        reason: reason.slice(0, MAX_REASON_LENGTH).toWellFormed(),
      })),
      failedGroups: [...kinds.failedGroups],
    };
  }

  #lookAtDeleted(object: GraphObject, deletionTimestamp: string): void {
    const others = object.finalizers.filter((each) => each !== FOREGROUND && each !== ORPHAN);
    if (others.length > 0 && this.#isOld(deletionTimestamp))
      this.#stuck.add(() => ({ object: named(object), deletionTimestamp, finalizers: others }));
    if (!isDeletingWith(object, FOREGROUND)) return;
    const blockers = [...this.#graph.index.dependents(object.uid)].filter((each) => blocks(each, object.uid));
    if (blockers.length === 0) return;
    this.#waiting.add(() => ({
      object: named(object),
      deletionTimestamp,
      blocking: blockers.length,
      blockers: blockers.slice(0, MAX_CENSUS_BLOCKERS).map(named),
    }));
  }

  /** A time that cannot be read is none. */
  #isOld(deletionTimestamp: string): boolean {
    return this.#serverMs - Date.parse(deletionTimestamp) >= STUCK_AFTER_MS;
  }

  #missingOwner({ reference: { uid, kind, name }, resolved }: StatedReference) {
    const ownerKind = resolved === null ? kind : kindName(resolved);
    return { ownerUid: uid, ownerKind, ownerName: name, ...this.#graph.widthOf(uid, ownerKind) };
  }
}

/** All are counted, and the first ones told. */
class Found<Entry> {
  #count = 0;
  readonly #first: Entry[] = [];

  add(entry: () => Entry): void {
    this.#count++;
    if (this.#first.length < MAX_CENSUS_ENTRIES) this.#first.push(entry());
  }

  told(): { count: number; first: Entry[] } {
    return { count: this.#count, first: this.#first };
  }
}

const named = ({ kind: { group, kind }, namespace, name, uid }: GraphObject): CensusObject => ({
  group,
  kind,
  namespace,
  name,
  uid,
});
