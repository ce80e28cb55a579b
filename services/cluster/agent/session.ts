import pLimit from 'p-limit';
import type { Logger } from 'pino';
import type { Share } from '../../../packages/deciders/expiry-gc/rules/own-rules.ts';
import { splitUnread } from '../../../packages/decision/left-out-kinds.ts';
import { type Discovery, discover } from '../../../packages/kube-api/discovery.ts';
import { isUnverified } from '../../../packages/kube-api/send.ts';
import type { GraphObject } from '../../../packages/owner-graph/graph-object.ts';
import type { ResourceKind } from '../../../packages/owner-graph/kinds.ts';
import { type FleetGcError, toFleetGcError } from '../../../packages/process/errors.ts';
import { LinkedController } from '../../../packages/process/linked-controller.ts';
import { createWakeSignal, runTogether } from '../../../packages/process/loops.ts';
import { type ClusterInstant, kindName } from '../../../schemas/events/cluster-objects.ts';
import type { ClusterIdentity } from '../../../schemas/events/identity.ts';
import type { Ownership, OwnershipCandidate } from '../../../schemas/events/ownership.ts';
import { type Batch, BETWEEN_COUNTS_MS } from './candidates.ts';
import { keepCensus } from './census.ts';
import type { EarlierFacts } from './earlier-facts.ts';
import { ExpiryWatch, publishExpiry } from './expiry.ts';
import { ClusterGraph } from './graph.ts';
import { type PodTotals, PodWatch, publishPods } from './pods.ts';
import type { AgentFact, AgentParts } from './ports.ts';
import { HoldsWatch, publishUntilDone } from './publish.ts';
import { everySink, Reflectors } from './reflector.ts';

export interface SessionStart extends ClusterIdentity {
  readonly session: string;
  /** Until when the cluster counts as restored, by `nowMs`; `null` for one that was not. */
  readonly wentBackUntilMs: number | null;
  readonly earlierFacts: EarlierFacts;
}

/** How often what is served is asked for; changes of definitions ask at once (cluster I2). */
const DISCOVER_EVERY_MS = 30_000;
/** Definitions change in bursts. */
const DISCOVER_GAP_MS = 1_000;
/** Time alone makes candidates: owners that stay unseen, kinds that stay unlisted. */
const LOOK_EVERY_MS = 1_000;
const LOOK_AT_ALL_EVERY_MS = 30_000;
const LISTS_AT_ONCE = 4;

/** Follows one cluster until the signal aborts, or until it went back to an older state. */
export class Session {
  readonly #parts: AgentParts;
  readonly #start: SessionStart;
  readonly #graph: ClusterGraph;
  readonly #expiry: ExpiryWatch;
  readonly #pods: PodWatch;
  readonly #reflectors: Reflectors;
  readonly #work: ReturnType<typeof createWakeSignal>;
  readonly #definitions: ReturnType<typeof createWakeSignal>;
  readonly #over = new AbortController();
  readonly #holds = new HoldsWatch();
  readonly #toldFailures: ToldFailures;
  readonly #unpublished: UnpublishedFacts;
  #failure: unknown = null;
  #wentBack = false;
  #discovery: Discovery | null = null;
  #seq = 0;

  constructor(parts: AgentParts, start: SessionStart) {
    this.#unpublished = new UnpublishedFacts(parts.nowMs);
    this.#parts = { ...parts, publish: this.#unpublished.noting(parts.publish) };
    this.#start = start;
    this.#toldFailures = new ToldFailures(parts.logger);
    this.#work = createWakeSignal(parts.sleep);
    this.#definitions = createWakeSignal(parts.sleep);
    this.#graph = new ClusterGraph({
      clusterInstance: start.clusterInstance,
      nowMs: parts.nowMs,
      onWork: () => this.#work.wake(),
      onDefinition: () => this.#definitions.wake(),
      onUnreadable: (kind, reason) =>
        parts.logger.error(`nothing is concluded of ${kindName(kind)}, which cannot be read: ${reason}`),
      onWentBack: () => {
        this.#wentBack = true;
        this.#over.abort();
      },
    });
    this.#graph.missing.remember(start.earlierFacts);
    const isKeptNamespace = (name: string): boolean => this.#graph.isKeptNamespace(name);
    this.#expiry = new ExpiryWatch(this.#graph, parts.policy);
    this.#pods = new PodWatch({ isKeptNamespace, nowMs: parts.nowMs });
    const { connection, sleep, random, onWatchEnded } = parts;
    const inTurn = pLimit(LISTS_AT_ONCE);
    const sink = everySink([this.#graph, ...this.#expiry.sinks, this.#pods.pods, this.#pods.nodes]);
    const labelsAsked = (kind: ResourceKind) => this.#expiry.labelsAsked(kind);
    const newestBefore = (kind: ResourceKind) => start.earlierFacts.newest.get(kindName(kind)) ?? '';
    const tellsOfRestore = (kind: ResourceKind) => this.#graph.tellsOfRestore(kind);
    const asking = { connection, sleep, random, inTurn };
    const reading = { ...asking, sink, labelsAsked, newestBefore, tellsOfRestore, onWatchEnded };
    this.#reflectors = new Reflectors(reading, (error) => {
      this.#failure = error;
      this.#over.abort();
    });
  }

  /** Whether anything may be published. */
  get isReady(): boolean {
    return this.#discovery !== null && this.#graph.isReady;
  }

  known(): KnownGraph | null {
    if (!this.isReady) return null;
    return {
      object: (uid) => this.#graph.index.toldByOneKind(uid),
      candidate: (uid) => this.#graph.candidate(uid),
      isGoneWithItsKind: (uid) => this.#graph.isGoneWithItsKind(uid),
      wentBack: this.#wentBackLately,
      pods: this.#pods,
      expiry: this.#expiry.book,
    };
  }

  get figures(): AgentFigures {
    const { index, kinds, publishedCandidates } = this.#graph;
    return {
      objects: index.size,
      kinds: kinds.watched.length,
      unsyncedKinds: splitUnread(
        kinds.unsynced.map(({ kind: { group, kind }, reason }) => ({ group, kind, reason })),
      ).expected.length,
      candidates: publishedCandidates,
      pods: this.#pods.totals(),
      unpublishedForMs: this.#unpublished.oldestMs,
    };
  }

  /** Resolves to why it ended. Rejects with what nobody foresaw. */
  async run(signal: AbortSignal): Promise<'stopped' | 'went-back'> {
    using either = new LinkedController(signal, this.#over.signal);
    try {
      const loops = [
        this.#discoverOn,
        this.#publishOn,
        this.#publishExpiry,
        this.#followRules,
        this.#publishPods,
        this.#keepCensus,
      ].map((loop) => (each: AbortSignal) => loop.call(this, each));
      await runTogether(loops, either.signal);
    } finally {
      await this.#reflectors.stopAll();
    }
    if (this.#failure !== null) throw this.#failure;
    return this.#wentBack ? 'went-back' : 'stopped';
  }

  async #discoverOn(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#discover();
      await this.#parts.sleep(DISCOVER_GAP_MS, signal);
      await this.#definitions.wait(DISCOVER_EVERY_MS - DISCOVER_GAP_MS, signal);
    }
  }

  /** What cannot be asked for changes nothing. */
  async #discover(): Promise<void> {
    try {
      const found = await discover(this.#parts.connection, this.#discovery);
      this.#toldFailures.answered();
      if (found !== null) this.#discovery = found;
    } catch (error) {
      this.#toldFailures.failed(error, 'the API server did not tell what it serves; what was known stays');
      return;
    }
    // Also when nothing is new: what is defined may have changed since.
    if (this.#discovery !== null) this.#takeOver(this.#discovery);
  }

  #takeOver(discovery: Discovery): void {
    const { added, withdrawn, moved } = this.#graph.kinds.update(discovery);
    for (const kind of [...withdrawn, ...moved]) this.#reflectors.stop(kind);
    for (const kind of withdrawn) {
      this.#graph.withdraw(kind);
      this.#expiry.book.withdraw(kind);
    }
    for (const kind of [...added, ...moved]) this.#reflectors.start(kind);
    if (added.length + withdrawn.length + moved.length > 0) this.#graph.lookAtAll();
  }

  async #publishOn(signal: AbortSignal): Promise<void> {
    let lookedAtAllMs = this.#parts.nowMs();
    while (!signal.aborted) {
      const nowMs = this.#parts.nowMs();
      if (nowMs - lookedAtAllMs >= LOOK_AT_ALL_EVERY_MS) {
        lookedAtAllMs = nowMs;
        this.#graph.lookAtAll();
      }
      if (!(await this.#publishOnce(signal))) await this.#work.wait(LOOK_EVERY_MS, signal);
    }
  }

  /** Whether there was anything to publish. */
  async #publishOnce(signal: AbortSignal): Promise<boolean> {
    const instant = this.#parts.connection.clock.instantAt(this.#parts.nowMs());
    if (instant === null || !this.isReady) return false;
    if (this.#hasNews(instant)) this.#graph.tellAgain();
    const batch = this.#graph.take();
    if (batch.isCounting) return await this.#parts.sleep(BETWEEN_COUNTS_MS, signal).then(() => true);
    if (batch.candidates.length + batch.settled.length === 0) return false;
    await publishUntilDone(this.#parts, this.#fact(batch, instant), signal);
    return true;
  }

  #publishExpiry(signal: AbortSignal): Promise<void> {
    const publishing = { parts: this.#parts, identity: this.#start, book: this.#expiry.book };
    return publishExpiry({ ...publishing, isReady: () => this.isReady }, signal);
  }

  #followRules(signal: AbortSignal): Promise<void> {
    return this.#expiry.followRules((kind) => this.#reflectors.restart(kind), this.#parts.sleep, signal);
  }

  #publishPods(signal: AbortSignal): Promise<void> {
    const publishing = { parts: this.#parts, identity: this.#start, watch: this.#pods };
    const now = { isReady: () => this.isReady, wentBack: () => this.#wentBackLately };
    return publishPods({ ...publishing, ...now }, signal);
  }

  #hasNews({ serverMs, spreadMs }: ClusterInstant): boolean {
    return this.#holds.isChanged(this.#parts.holds(this.#start, serverMs + spreadMs), this.#parts.nowMs());
  }

  #keepCensus(signal: AbortSignal): Promise<void> {
    const keeping = { parts: this.#parts, identity: this.#start, graph: this.#graph };
    return keepCensus({ ...keeping, isReady: () => this.isReady }, signal);
  }

  get #wentBackLately(): boolean {
    return this.#parts.nowMs() < (this.#start.wentBackUntilMs ?? Number.NEGATIVE_INFINITY);
  }

  #fact(batch: Batch, takenAt: ClusterInstant): Ownership {
    const { cluster, clusterInstance, session } = this.#start;
    const id = this.#parts.newId();
    const head = { id, cluster, clusterInstance, session, seq: this.#seq++, wentBack: this.#wentBackLately };
    return ownershipFact(head, this.#graph, { ...batch, takenAt });
  }
}

const MAX_REASON_LENGTH = 500;

type Head = Pick<Ownership, 'id' | 'cluster' | 'clusterInstance' | 'session' | 'seq' | 'wentBack'>;

/** What a batch of candidates is published as. */
function ownershipFact(
  head: Head,
  { kinds, index }: Pick<ClusterGraph, 'kinds' | 'index'>,
  { candidates, settled, takenAt }: Batch & { readonly takenAt: ClusterInstant },
): Ownership {
  return {
    type: 'fleetgc.cluster.ownership',
    version: 1,
    ...head,
    takenAt,
    unsyncedKinds: kinds.unsynced.map(({ kind: { group, kind }, reason }) => ({
      group,
      kind,
      reason: reason.slice(0, MAX_REASON_LENGTH).toWellFormed(),
    })),
    failedGroups: [...kinds.failedGroups],
    totals: { kinds: kinds.watched.length, objects: index.size },
    settled: [...settled],
    candidates: [...candidates],
  };
}

/** These pass by no waiting: the API server does not know us. */
const LASTING: readonly FleetGcError['code'][] = ['API_REFUSED', 'API_NO_CREDENTIALS'];
/** A single one passes as a rule, as where the API server is started again. */
const PASSING_FAILURES = 1;

/** What lasts until somebody sees to it is told once as an error, and as a warning each time besides. */
export class ToldFailures {
  readonly #logger: Pick<Logger, 'error' | 'warn'>;
  #failures = 0;
  /** A wrong certificate is told also where an API server that was away comes back with it. */
  #told: 'certificate' | 'other' | null = null;

  constructor(logger: Pick<Logger, 'error' | 'warn'>) {
    this.#logger = logger;
  }

  /** Throws what no retry mends. */
  failed(thrown: unknown, text: string): void {
    const error = toFleetGcError(thrown);
    if (!error.retry) throw error;
    this.#failures++;
    const why = isUnverified(error) ? 'certificate' : 'other';
    const lasts = why === 'certificate' || LASTING.includes(error.code) || this.#failures > PASSING_FAILURES;
    if (lasts && this.#told !== why) {
      this.#told = why;
      this.#logger.error({ err: error }, text);
    } else this.#logger.warn({ err: error }, text);
  }

  answered(): void {
    this.#failures = 0;
    this.#told = null;
  }
}

/** Facts that the event log has not taken yet, and since when they wait. */
class UnpublishedFacts {
  readonly #nowMs: () => number;
  readonly #sinceMs = new Map<string, number>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** How long the oldest of them waits; 0 where none does. */
  get oldestMs(): number {
    return this.#sinceMs.size === 0 ? 0 : this.#nowMs() - Math.min(...this.#sinceMs.values());
  }

  /** Publishes as before; a fact that is refused for now counts until it is taken. */
  noting(publish: AgentParts['publish']): AgentParts['publish'] {
    return async (fact) => {
      if (!this.#sinceMs.has(fact.id)) this.#sinceMs.set(fact.id, this.#nowMs());
      try {
        await publish(fact);
        this.#sinceMs.delete(fact.id);
      } catch (error) {
        this.#noteFailure(fact, error);
        throw error;
      }
    };
  }

  #noteFailure({ id }: AgentFact, error: unknown): void {
    const { code, retry } = toFleetGcError(error);
    if (!retry || code === 'LOG_RECORD_TOO_LARGE') this.#sinceMs.delete(id);
  }
}

/** For who judges beside the agent, in the same process. */
export interface KnownGraph {
  /** `undefined` where it is not known, and where two kinds told of it: who serves the second one could have said what is not so. */
  object(uid: string): GraphObject | undefined;
  /** As it would be published now; `null` for an object that is no candidate. */
  candidate(uid: string): OwnershipCandidate | null;
  /** Whether an owner was seen to be deleted whose kind was withdrawn since; false for all that is not sure (cluster S17). */
  isGoneWithItsKind(uid: string): boolean;
  /** The cluster was restored to an older state a short time ago (cluster S3). */
  readonly wentBack: boolean;
  readonly pods: KnownPods;
  readonly expiry: KnownExpiry;
}

interface KnownPods {
  /** `null` while nothing may be concluded from pods and nodes. */
  totals(): PodTotals | null;
  /** For how long pods have named a node of that name while there is none; 0 for one that is there. */
  missingForMs(nodeName: string): number;
}

interface KnownExpiry {
  /** How much of a kind would go by annotations or rules, at this time by the API server's clock; `null` while it is not counted (cluster S11). */
  shareOf(kind: string, serverMs: number): Share | null;
}

/** How much there is to follow. */
export interface AgentFigures {
  readonly objects: number;
  readonly kinds: number;
  /** Without those that the printed role leaves out. */
  readonly unsyncedKinds: number;
  readonly candidates: number;
  /** `null` while nothing may be concluded from pods and nodes. */
  readonly pods: PodTotals | null;
  /** For how long the oldest fact waits that the event log has not taken; 0 where none does. */
  readonly unpublishedForMs: number;
}
