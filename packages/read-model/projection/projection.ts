import type { Logger } from 'pino';
import { TOPICS } from '../../../schemas/events/topics.ts';
import type { TrustRoots } from '../../../schemas/keys/trust-roots.ts';
import type { PolicySet } from '../../../schemas/policy/policy.ts';
import type { DashboardProgress } from '../../../schemas/reports/dashboard.ts';
import type { FleetNodes } from '../../../schemas/reports/fleet-nodes.ts';
import type { FleetStatus } from '../../../schemas/reports/fleet-status.ts';
import { setsOfEntries } from '../../policy/policy-reading.ts';
import { DAY_MS, MINUTE_MS } from '../../process/durations.ts';
import { runEvery, runTogether } from '../../process/loops.ts';
import type { Sources } from '../../process/system-sources.ts';
import type { FactsTrust } from '../../records/trust/process-trust.ts';
import { believedName, FactTrust } from './fact-trust.ts';
import { Fleet } from './fleet.ts';
import { followedFrom, followTopic, type ReadingNeeds } from './follow-log.ts';
import { Held } from './held.ts';
import { leftOutOf } from './left-out.ts';
import { NodesTold } from './nodes-told.ts';
import { Past } from './past.ts';
import { FleetPlaces } from './places.ts';
import { PROJECTED_TOPICS, type ProjectedTopic } from './project.ts';
import { Projector, type ProjectorNeeds } from './projector.ts';
import { recallNodes } from './recall-nodes.ts';
import { isSameLog } from './same-log.ts';
import { type LogSource, type ProjectedLog, Standing } from './standing.ts';
import { Store } from './store.ts';
import { openTables } from './tables.ts';
import { Turns } from './turns.ts';

/** Somebody looks: what comes is shown within a second. */
const FLUSH_MS = 1_000;
const POLICIES_MS = 15_000;
const STATUS_MS = 30_000;
const PRUNE_MS = MINUTE_MS;

export interface ProjectionSettings {
  readonly from: ProjectedLog;
  readonly roots: TrustRoots | null;
  /** Which facts of nodes and clusters count, by the roots. */
  readonly facts: FactsTrust;
  /** The file. */
  readonly path: string;
  readonly historyMs: number;
  readonly mostBytes: number;
  readonly logger: Logger;
  readonly sources: Pick<Sources, 'now' | 'monotonicNow' | 'wait'>;
}

type News = Pick<ProjectorNeeds, 'onActivity'>;

/** Follows a log into tables of its own, the newest first, and the past behind it. */
export class Projection implements Disposable {
  readonly store: Store;
  readonly fleet: Fleet;
  readonly standing: Standing;
  readonly held = new Held();
  readonly #places = new FleetPlaces();
  readonly #settings: ProjectionSettings;
  readonly #trust: FactTrust;
  readonly #projector: Projector;
  readonly #reading: ReadingNeeds;
  readonly #past: Past;
  readonly #caughtUp = new Set<ProjectedTopic>();
  #startedMs: number;
  readonly #readers = new Set<News>();
  readonly #nodes: NodesTold;

  /** Throws `STATE_UNREADABLE` or `STATE_UNWRITABLE`. */
  constructor(settings: ProjectionSettings) {
    const { from, path, historyMs, mostBytes, sources } = settings;
    const { db } = openTables(path, believedName(from.name, settings));
    this.#settings = settings;
    this.store = new Store(db, { historyMs, mostBytes });
    this.fleet = new Fleet(db, setsOfEntries([]).node);
    this.#trust = new FactTrust({ ...settings, log: from.log, now: sources.now });
    this.#projector = new Projector({
      store: this.store,
      fleet: this.fleet,
      held: this.held,
      places: this.#places,
      trust: this.#trust,
      onActivity: (rows) => {
        for (const { onActivity } of this.#readers) onActivity(rows);
      },
    });
    const reading = { log: from.log, store: this.store, projector: this.#projector };
    this.#reading = {
      ...reading,
      trust: this.#trust,
      turns: new Turns(sources.monotonicNow),
      now: sources.now,
    };
    this.#past = new Past({
      reading: this.#reading,
      kind: from.kind,
      historyMs,
      now: () => this.#now(),
      wait: sources.wait,
    });
    this.standing = new Standing({
      ...settings,
      fleet: this.fleet,
      nodes: () => this.nodes(),
      beforeOtherPolicies: () => this.#projector.flush(),
    });
    this.#startedMs = this.#now();
    this.#nodes = new NodesTold(() => this.fleet.told(this.#now()), sources.now);
  }

  /** Follows until `signal` aborts. Rejects with what no retry mends. */
  async run(signal: AbortSignal): Promise<void> {
    const { wait: sleep } = this.#settings.sources;
    this.#startedMs = this.#now();
    this.#caughtUp.clear();
    this.store.prune(this.#startedMs);
    await this.#trust.readKeys(signal);
    await this.standing.readPolicies(signal);
    this.#places.recall(this.store.db);
    await this.held.recall(this.store.db);
    const every = (ms: number, work: () => Promise<void> | void) => (ending: AbortSignal) =>
      runEvery(ms, work, { sleep, signal: ending });
    await runTogether(
      [
        ...PROJECTED_TOPICS.map((topic) => (ending: AbortSignal) => this.#follow(topic, ending)),
        every(FLUSH_MS, () => this.#projector.flush()),
        every(POLICIES_MS, () => this.standing.readPolicies(signal)),
        every(POLICIES_MS, () => this.#trust.readKeys(signal)),
        every(PRUNE_MS, () => this.#prune()),
        async (ending) => {
          await this.#recallNodes(ending);
          await every(STATUS_MS, () => this.standing.readStatus(this.#now(), ending))(ending);
        },
        (ending) => this.#readHistory(ending),
      ],
      signal,
    ).catch((error) => {
      if (!signal.aborted) throw error;
    });
    this.#projector.flush();
  }

  /** Whether what is known lies on the log; an archive stands still. */
  async isOfThisLog(signal: AbortSignal): Promise<boolean> {
    const { kind, log } = this.#settings.from;
    if (kind === 'archive') return true;
    return await isSameLog(log, this.store.newestInventory(), { nowMs: this.#now(), signal });
  }

  /** Forgets all that was read, while nothing runs. */
  beginAnew(): void {
    this.#projector.clear();
    this.#places.clear();
    this.fleet.clear();
    this.held.clear();
    this.store.clear();
    this.#nodes.clear();
  }

  /** Every node, by the functions of `fleetgc nodes`; made at most once a second. */
  nodes(): FleetNodes {
    return this.#nodes.lately();
  }

  /** The same as it is at this moment. */
  nodesNow(): FleetNodes {
    return this.#nodes.now();
  }

  get source(): LogSource {
    return { ...this.#settings, nowMs: this.#now() };
  }

  get policies(): PolicySet {
    return this.fleet.policies;
  }

  /** As `fleetgc status` told it last; `null` before, and of an archive. */
  get status(): FleetStatus | null {
    return this.standing.status;
  }

  progress(): DashboardProgress {
    const nowMs = this.#now();
    return {
      nowMs,
      isCaughtUp: PROJECTED_TOPICS.every((topic) => this.#caughtUp.has(topic)),
      nodes: this.fleet.size,
      unreadable: this.#projector.unreadable,
      notBelieved: this.#trust.notBelieved,
      leftOut: leftOutOf({ places: this.#places, held: this.held, projector: this.#projector }),
      problem: this.standing.problem,
      topics: PROJECTED_TOPICS.map((topic) => ({
        topic: TOPICS[topic].name,
        sinceMs: this.knownSinceMs(topic),
        wantedSinceMs: this.#past.wantedSinceMs(topic, nowMs),
      })),
    };
  }

  async #untilCaughtUp(topic: ProjectedTopic, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.#caughtUp.has(topic)) await this.#settings.sources.wait(FLUSH_MS, signal);
  }

  /** Since when nothing of a topic is missing; `null` where nothing is sure yet. */
  knownSinceMs(topic: ProjectedTopic): number | null {
    return this.#caughtUp.has(topic) ? (this.store.covered(topic).at(-1)?.fromMs ?? null) : null;
  }

  subscribe(news: News): Disposable {
    this.#readers.add(news);
    return { [Symbol.dispose]: () => void this.#readers.delete(news) };
  }

  [Symbol.dispose](): void {
    this.store[Symbol.dispose]();
  }

  /** An archive stands still: its time is that of its last record. */
  #now(): number {
    const { from, sources } = this.#settings;
    return from.kind === 'archive' ? from.endMs : sources.now();
  }

  async #follow(topic: ProjectedTopic, signal: AbortSignal): Promise<void> {
    const onCaughtUp = (): void => void this.#caughtUp.add(topic);
    if (this.#settings.from.kind === 'archive') return onCaughtUp();
    const fromMs = followedFrom(topic, this.store, this.#now());
    await followTopic(topic, this.#reading, { fromMs, onCaughtUp }, signal);
  }

  /** Nodes that fell silent before this began are not heard again: they are looked for as `fleetgc nodes` does. */
  async #recallNodes(signal: AbortSignal): Promise<void> {
    await this.#untilCaughtUp('diskStats', signal);
    if (signal.aborted) return;
    const { fleet } = this;
    const needs = { log: this.#reading.log, fleet, projector: this.#projector, places: this.#places };
    await recallNodes({ ...needs, trust: this.#trust, nowMs: this.#now() }, signal);
  }

  async #readHistory(signal: AbortSignal): Promise<void> {
    for (const topic of PROJECTED_TOPICS) await this.#untilCaughtUp(topic, signal);
    if (!signal.aborted) await this.#past.read(this.#startedMs, signal);
  }

  #prune(): void {
    const nowMs = this.#now();
    this.store.prune(nowMs);
    for (const known of [this.fleet, this.held, this.#places]) known.forgetBefore(nowMs - DAY_MS);
  }
}
