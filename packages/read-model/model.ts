import { setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import { TOPICS } from '../../schemas/events/topics.ts';
import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import type { PolicySet, PolicySetOf } from '../../schemas/policy/policy.ts';
import type { DashboardProgress } from '../../schemas/reports/dashboard.ts';
import type { FleetNodes } from '../../schemas/reports/fleet-nodes.ts';
import type { FleetStatus } from '../../schemas/reports/fleet-status.ts';
import type { EventLog, LogRecord } from '../log/port.ts';
import { setsOfEntries } from '../policy/policy-reading.ts';
import { readPoliciesBy, type StoredPolicies } from '../policy/stored-policies.ts';
import type { Sleep } from '../process/backoff.ts';
import { DAY_MS, MINUTE_MS } from '../process/durations.ts';
import { type FleetGcError, toFleetGcError } from '../process/errors.ts';
import { runEvery, runTogether } from '../process/loops.ts';
import type { Sources } from '../process/system-sources.ts';
import { firstRecord } from '../records/read-log.ts';
import type { FactsTrust } from '../records/trust/process-trust.ts';
import { followedFrom, followTopic, Past, type ReadingNeeds, Turns } from './follow.ts';
import { Held } from './images-on-nodes.ts';
import { Fleet, NodesTold } from './nodes.ts';
import { PROJECT, PROJECTED_TOPICS, type ProjectedTopic } from './project.ts';
import { FleetPlaces, type LogSource, type ProjectedLog, Projector, type ProjectorNeeds } from './read.ts';
import { readReportingNodes } from './reporting-nodes.ts';
import { readStatus } from './status.ts';
import { type InventoryPlace, Store } from './store.ts';
import { openTables } from './tables.ts';
import { believedName, FactTrust } from './trust.ts';

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

interface StandingNeeds {
  readonly from: ProjectedLog;
  readonly roots: TrustRoots | null;
  readonly fleet: Fleet;
  readonly nodes: () => FleetNodes;
  /** What was read of nodes has to be stored before others decide about them. */
  readonly beforeOtherPolicies: () => void;
  readonly logger: Logger;
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
    const { from, roots, fleet, beforeOtherPolicies } = this.#needs;
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
    const { from, roots, nodes } = this.#needs;
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
    try {
      await ask();
      if (this.#problem !== null) this.#needs.logger.info('the event log answers again');
      this.#problem = null;
    } catch (thrown) {
      const error = toFleetGcError(thrown);
      if (error.code === 'INTERRUPTED') return;
      if (!error.retry) throw error;
      if (this.#problem !== error.message)
        this.#needs.logger.warn(
          { problem: error.message },
          'the event log does not answer; it is asked again',
        );
      this.#problem = error.message;
    }
  }
}

/**
 * Whether a record that is known still lies where it was. Where topics were made anew while nobody looked, something else is there,
 * or nothing yet. What retention has deleted tells nothing, and neither does a projection that knows no record.
 */
async function isSameLog(
  log: Pick<EventLog, 'read'>,
  known: InventoryPlace | null,
  { nowMs, signal }: { readonly nowMs: number; readonly signal: AbortSignal },
): Promise<boolean> {
  if (known === null || nowMs - known.atMs > TOPICS.inventory.retentionMs) return true;
  const { node, atMs, offset, partition } = known;
  const found = await firstRecord(log, { topic: TOPICS.inventory.name, partition, from: { offset } }, signal);
  if (found === null) return false;
  return found.offset > offset || (found.key === node && found.timestampMs === atMs);
}

interface LeavingOut {
  readonly places: FleetPlaces;
  readonly held: Held;
  readonly projector: Projector;
}

/** How much there is no room for. */
const leftOutOf = ({ places, held, projector }: LeavingOut): DashboardProgress['leftOut'] => ({
  nodes: places.node.others,
  clusters: places.cluster.others,
  inventories: held.leftOut,
  names: projector.namesLeftOut,
});

interface RecallNeeds {
  readonly log: Pick<EventLog, 'read'>;
  readonly fleet: Fleet;
  readonly projector: Projector;
  readonly places: FleetPlaces;
  readonly trust: Pick<FactTrust, 'believes'>;
  readonly nowMs: number;
}

/** Nodes that fell silent are not heard again: they are looked for as `fleetgc nodes` does. */
async function recallNodes(
  { log, fleet, projector, places, trust, nowMs }: RecallNeeds,
  signal: AbortSignal,
): Promise<void> {
  const isKnown = (key: string): boolean => fleet.has(key);
  const isBelieved = (record: LogRecord): boolean => trust.believes('diskStats', record);
  const admits = (key: string, heardMs: number): boolean => places.node.admits(key, heardMs);
  const { nodes, unreadable } = await readReportingNodes(
    { log, nowMs, onProgress: () => undefined, isKnown, isBelieved, admits },
    signal,
  );
  fleet.unreadable += unreadable;
  for (const node of nodes.values()) {
    fleet.recalled(node);
    const { stats, track, offset } = node;
    projector.put(PROJECT.diskStats(stats, { timestampMs: track.last.loggedAtMs, offset }));
  }
}

const AGAIN_AFTER_MS = 5_000;

interface FollowingNeeds {
  readonly logger: Logger;
  readonly wait: Sleep;
}

/**
 * Follows the log until `signal` aborts. A log that does not answer is asked again; where its topics were made anew, the projection is
 * too, since it is a copy and no more. Rejects with what no retry mends.
 */
export async function keepFollowing(
  projection: Pick<Projection, 'run' | 'isOfThisLog' | 'beginAnew'>,
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
  projection: Pick<Projection, 'run' | 'isOfThisLog'>,
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
