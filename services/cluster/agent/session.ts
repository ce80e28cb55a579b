import pLimit from 'p-limit';
import { splitUnread } from '../../../packages/decision/left-out-kinds.ts';
import { type Discovery, discover } from '../../../packages/kube-api/discovery.ts';
import type { ResourceKind } from '../../../packages/owner-graph/kinds.ts';
import { LinkedController } from '../../../packages/process/linked-controller.ts';
import { createWakeSignal, runTogether } from '../../../packages/process/loops.ts';
import { type ClusterInstant, kindName } from '../../../schemas/events/cluster-objects.ts';
import type { ClusterIdentity } from '../../../schemas/events/identity.ts';
import type { Ownership } from '../../../schemas/events/ownership.ts';
import type { AgentParts } from './agent-parts.ts';
import { type Batch, BETWEEN_COUNTS_MS } from './candidates/candidate-tracker.ts';
import { HoldsWatch } from './candidates/what-holds.ts';
import { keepCensus } from './census/keep-census.ts';
import { ClusterGraph } from './cluster-graph.ts';
import { publishExpiry } from './expiry/expiry-publisher.ts';
import { ExpiryWatch } from './expiry/expiry-watch.ts';
import type { AgentFigures, KnownGraph } from './known-graph.ts';
import { ownershipFact } from './ownership-fact.ts';
import { PodWatch } from './pods/pod-watch.ts';
import { publishPods } from './pods/publish-pods.ts';
import { publishUntilDone, takenAt } from './publish-until-done.ts';
import type { EarlierFacts } from './read-earlier-facts.ts';
import { ToldFailures } from './told-failures.ts';
import { UnpublishedFacts } from './unpublished-facts.ts';
import { everySink } from './watching/every-sink.ts';
import { Reflectors } from './watching/reflectors.ts';

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
    const instant = takenAt(this.#parts);
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
