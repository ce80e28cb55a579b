import { setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import { TOPICS } from '../../schemas/events/topics.ts';
import type { PolicySet, PolicySetOf } from '../../schemas/policy/policy.ts';
import type { DashboardProgress } from '../../schemas/reports/dashboard.ts';
import type { FleetNodes } from '../../schemas/reports/fleet-nodes.ts';
import type { FleetStatus } from '../../schemas/reports/fleet-status.ts';
import { setsOfEntries } from '../policy/policy-reading.ts';
import { readPoliciesBy, type StoredPolicies } from '../policy/stored-policies.ts';
import type { Sleep } from '../process/backoff.ts';
import { DAY_MS, MINUTE_MS } from '../process/durations.ts';
import { type FleetGcError, toFleetGcError } from '../process/errors.ts';
import { runEvery, runTogether } from '../process/loops.ts';
import { firstRecord } from '../records/read-log.ts';
import { Follower } from './follow.ts';
import { Held } from './images-on-nodes.ts';
import { Fleet, NodesTold } from './nodes.ts';
import { PROJECT, PROJECTED_TOPICS, type ProjectedTopic } from './project.ts';
import {
  FleetPlaces,
  type LogSource,
  type News,
  type ProjectionSettings,
  Projector,
  timeOf,
} from './read.ts';
import { readReportingNodes } from './reporting-nodes.ts';
import { readStatus } from './status.ts';
import { Store } from './store.ts';
import { openTables } from './tables.ts';
import { believedName, FactTrust } from './trust.ts';

/** Somebody looks: what comes is shown within a second. */
const FLUSH_MS = 1_000;
const POLICIES_MS = 15_000;
const STATUS_MS = 30_000;
const PRUNE_MS = MINUTE_MS;

/** What is known of a log, in tables of its own: it is read the newest first, and the past behind it. */
export class Projection implements Disposable {
  readonly store: Store;
  readonly fleet: Fleet;
  readonly standing: Standing;
  readonly held = new Held();
  readonly #places = new FleetPlaces();
  readonly #settings: ProjectionSettings;
  readonly #trust: FactTrust;
  readonly #projector: Projector;
  readonly #follower: Follower;
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
    this.#follower = new Follower(settings, this.store, this.#projector, this.#trust);
    this.#nodes = new NodesTold(() => this.fleet.told(this.#now()), sources.now);
    this.standing = new Standing({
      settings,
      fleet: this.fleet,
      nodes: () => this.nodes(),
      beforeOtherPolicies: () => this.#projector.flush(),
    });
  }

  /** Follows until `signal` aborts. Rejects with what no retry mends. */
  async run(signal: AbortSignal): Promise<void> {
    const { wait: sleep } = this.#settings.sources;
    const startedMs = this.#now();
    this.#follower.begin();
    this.store.prune(startedMs);
    await this.#trust.readKeys(signal);
    await this.standing.readPolicies(signal);
    this.#places.recall(this.store.db);
    await this.held.recall(this.store.db);
    const every = (ms: number, work: () => Promise<void> | void) => (ending: AbortSignal) =>
      runEvery(ms, work, { sleep, signal: ending });
    await runTogether(
      [
        ...PROJECTED_TOPICS.map((topic) => (ending: AbortSignal) => this.#follower.follow(topic, ending)),
        every(FLUSH_MS, () => this.#projector.flush()),
        every(POLICIES_MS, () => this.standing.readPolicies(signal)),
        every(POLICIES_MS, () => this.#trust.readKeys(signal)),
        every(PRUNE_MS, () => this.#prune()),
        async (ending) => {
          await this.#recallNodes(ending);
          await every(STATUS_MS, () => this.standing.readStatus(this.#now(), ending))(ending);
        },
        (ending) => this.#follower.readPast(startedMs, ending),
      ],
      signal,
    ).catch((error) => {
      if (!signal.aborted) throw error;
    });
    this.#projector.flush();
  }

  /**
   * Whether a record that is known still lies where it was. Where topics were made anew while nobody looked, something else is there,
   * or nothing yet. What retention has deleted tells nothing, and neither does a projection that knows no record; an archive stands still.
   */
  async isOfThisLog(signal: AbortSignal): Promise<boolean> {
    const { kind, log } = this.#settings.from;
    const known = this.store.newestInventory();
    if (kind === 'archive' || known === null) return true;
    const { node, atMs, offset, partition } = known;
    const { name: topic, retentionMs } = TOPICS.inventory;
    if (this.#now() - atMs > retentionMs) return true;
    const found = await firstRecord(log, { topic, partition, from: { offset } }, signal);
    if (found === null) return false;
    return found.offset > offset || (found.key === node && found.timestampMs === atMs);
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
      isCaughtUp: PROJECTED_TOPICS.every((topic) => this.#follower.hasCaughtUp(topic)),
      nodes: this.fleet.size,
      unreadable: this.#projector.unreadable,
      notBelieved: this.#trust.notBelieved,
      leftOut: {
        nodes: this.#places.node.others,
        clusters: this.#places.cluster.others,
        inventories: this.held.leftOut,
        names: this.#projector.namesLeftOut,
      },
      problem: this.standing.problem,
      topics: PROJECTED_TOPICS.map((topic) => ({
        topic: TOPICS[topic].name,
        sinceMs: this.knownSinceMs(topic),
        wantedSinceMs: this.#follower.wantedSinceMs(topic, nowMs),
      })),
    };
  }

  /** Since when nothing of a topic is missing; `null` where nothing is sure yet. */
  knownSinceMs(topic: ProjectedTopic): number | null {
    if (!this.#follower.hasCaughtUp(topic)) return null;
    return this.store.covered(topic).at(-1)?.fromMs ?? null;
  }

  subscribe(news: News): Disposable {
    this.#readers.add(news);
    return { [Symbol.dispose]: () => void this.#readers.delete(news) };
  }

  [Symbol.dispose](): void {
    this.store[Symbol.dispose]();
  }

  #now(): number {
    return timeOf(this.#settings);
  }

  /** Nodes that fell silent before this began are not heard again: they are looked for as `fleetgc nodes` does. */
  async #recallNodes(signal: AbortSignal): Promise<void> {
    await this.#follower.untilCaughtUp('diskStats', signal);
    if (signal.aborted) return;
    const nowMs = this.#now();
    const { nodes, unreadable, unlocated } = await readReportingNodes(
      {
        log: this.#settings.from.log,
        nowMs,
        onProgress: () => undefined,
        isKnown: (key) => this.fleet.has(key),
        isBelieved: (topic, record) => this.#trust.believes(topic, record),
        admits: (key, heardMs) => this.#places.node.admits(key, heardMs),
      },
      signal,
    );
    this.fleet.unreadable += unreadable;
    this.fleet.notFound(unlocated, nowMs);
    for (const node of nodes.values()) {
      const { stats, track, offset } = node;
      this.fleet.recalled(stats, track);
      this.#projector.put(PROJECT.diskStats(stats, { timestampMs: track.last.loggedAtMs, offset }));
    }
  }

  #prune(): void {
    const nowMs = this.#now();
    this.store.prune(nowMs);
    for (const known of [this.fleet, this.held, this.#places]) known.forgetBefore(nowMs - DAY_MS);
  }
}

interface StandingNeeds {
  readonly settings: ProjectionSettings;
  readonly fleet: Fleet;
  readonly nodes: () => FleetNodes;
  /** What was read of nodes has to be stored before others decide about them. */
  readonly beforeOtherPolicies: () => void;
}

/** How things stand beside the nodes: policies, services, dead letters, clusters, by the functions of the verbs. */
class Standing {
  readonly #needs: StandingNeeds;
  #problem: string | null = null;
  #status: FleetStatus | null = null;
  #pauses: StoredPolicies['pauses'] = new Map();
  #clusterPolicies: PolicySetOf<'cluster'>['policies'] = [];

  constructor(needs: StandingNeeds) {
    this.#needs = needs;
  }

  /** Why the log does not answer, in a sentence; `null` when it does. */
  get problem(): string | null {
    return this.#problem;
  }

  /** As it was asked last; `null` before, and of an archive, which stands still. */
  get status(): FleetStatus | null {
    return this.#status;
  }

  get pauses(): StoredPolicies['pauses'] {
    return this.#pauses;
  }

  get clusterPolicies(): PolicySetOf<'cluster'>['policies'] {
    return this.#clusterPolicies;
  }

  async readPolicies(signal: AbortSignal): Promise<void> {
    const { settings, fleet, beforeOtherPolicies } = this.#needs;
    const { from, roots } = settings;
    await this.#asking(async () => {
      const { sets, pauses } = await readPoliciesBy(roots, from.log, signal);
      this.#pauses = pauses;
      this.#clusterPolicies = sets.cluster.policies;
      if (sets.node.hash === fleet.policies.hash) return;
      beforeOtherPolicies();
      await fleet.decidedBy(sets.node, () => setImmediate());
    });
  }

  async readStatus(nowMs: number, signal: AbortSignal): Promise<void> {
    const { settings, nodes } = this.#needs;
    const { from, roots } = settings;
    if (from.kind === 'archive') return;
    const { log, kind } = from;
    await this.readPolicies(signal);
    await this.#asking(async () => {
      const asked = { log, kind, roots, nowMs, nodes, onProgress: () => undefined };
      this.#status = await readStatus(asked, signal);
    });
  }

  /** What the log does not answer now is asked again, and told as a problem meanwhile: to the logger once. */
  async #asking(ask: () => Promise<void>): Promise<void> {
    const { logger } = this.#needs.settings;
    try {
      await ask();
      if (this.#problem !== null) logger.info('the event log answers again');
      this.#problem = null;
    } catch (thrown) {
      const error = toFleetGcError(thrown);
      if (error.code === 'INTERRUPTED') return;
      if (!error.retry) throw error;
      if (this.#problem !== error.message)
        logger.warn({ problem: error.message }, 'the event log does not answer; it is asked again');
      this.#problem = error.message;
    }
  }
}

const AGAIN_AFTER_MS = 5_000;

/** What is followed: a projection. */
interface Followed {
  readonly isOfThisLog: (signal: AbortSignal) => Promise<boolean>;
  readonly run: (signal: AbortSignal) => Promise<void>;
  readonly beginAnew: () => void;
}

interface FollowingNeeds {
  readonly logger: Logger;
  readonly wait: Sleep;
}

/**
 * Follows the log until `signal` aborts. A log that does not answer is asked again; where its topics were made anew, the projection is
 * too, since it is a copy and no more. Rejects with what no retry mends.
 */
export async function keepFollowing(
  projection: Followed,
  { logger, wait }: FollowingNeeds,
  signal: AbortSignal,
): Promise<void> {
  const beginAnew = (why: string): void => {
    logger.warn(`${why} The projection is made anew from what the event log holds now.`);
    projection.beginAnew();
  };
  let told: string | null = null;
  while (!signal.aborted) {
    const failure = await follow(projection, () => beginAnew(OTHER_LOG), signal);
    if (failure === null) return;
    if (!failure.retry) throw failure;
    if (failure.code === 'TOPICS_RECREATED') beginAnew(failure.message);
    else if (failure.message !== told)
      logger.warn({ problem: failure.message }, 'the event log cannot be followed; it is tried again');
    told = failure.message;
    await wait(AGAIN_AFTER_MS, signal);
  }
}

const OTHER_LOG =
  'What was read last does not lie on the event log any more: its topics were deleted and made anew.';

/** Resolves to why it ended; `null` when it was told to. */
async function follow(
  projection: Followed,
  onOtherLog: () => void,
  signal: AbortSignal,
): Promise<FleetGcError | null> {
  try {
    if (!(await projection.isOfThisLog(signal))) onOtherLog();
    await projection.run(signal);
    return null;
  } catch (thrown) {
    return signal.aborted ? null : toFleetGcError(thrown);
  }
}
