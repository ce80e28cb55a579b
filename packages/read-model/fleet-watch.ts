import type { Logger } from 'pino';
import type { DiskStats } from '../../schemas/events/disk-stats.ts';
import { nodeKey } from '../../schemas/events/identity.ts';
import { type FleetEvent, TOPICS } from '../../schemas/events/topics.ts';
import type { PolicySet } from '../../schemas/policy/policy.ts';
import type { ActiveSubscription, LogRecord } from '../log/port.ts';
import { DAY_MS, MINUTE_MS } from '../process/durations.ts';
import type { Metrics } from '../process/metrics.ts';
import { isLasting, PRESSURE_WARNINGS, pressureOf, pressureWarning } from './node-pressure.ts';
import {
  anomaliesOf,
  anomalyText,
  clustersNamedBy,
  NODE_WARNINGS,
  type NodeTrack,
  SILENT_AFTER_MS,
  type StrayCluster,
  strayClusters,
  strayText,
  track,
} from './node-track.ts';

/** What is warned of: the names are those of the metric and of `fleetgc nodes`. */
const WARNINGS = [...NODE_WARNINGS, ...PRESSURE_WARNINGS] as const;
type WarningKind = (typeof WARNINGS)[number];

interface NodeWatchParts {
  /** May throw while they cannot be read. */
  readonly policies: () => PolicySet;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** What is known of one node, and in which partition it is heard. */
interface Known {
  readonly track: NodeTrack;
  /** Of its newest readings; `null` where they are no reason to warn. */
  readonly pressure: Pressed | null;
  readonly partition: number;
}

type Pressed = ReturnType<typeof pressureWarning>;

const LOOK_EVERY_MS = 60_000;
/** Of who was not heard for so long nobody is warned. */
const LATELY_MS = 60 * 60_000;
/**
 * Who was not heard for so long is forgotten: disk statistics are kept for as long.
 * @limit Age of its last report after which a node or cluster is forgotten.
 */
const FORGET_AFTER_MS = DAY_MS;
const REMIND_AFTER_MS = 60 * 60_000;
/**
 * Anybody who may write facts can make up names: what comes beyond so many is not watched until others fell silent.
 * @limit Nodes that one replica of `pressure` tracks.
 */
const MOST_NODES = 50_000;

/** So many of one kind are named at once. */
const MOST_LINES = 5;

interface Warning {
  readonly name: string;
  readonly subject: string;
  readonly kind: WarningKind;
  readonly text: string;
}

const warningOf = (subject: string, kind: WarningKind, text: string): Warning => ({
  name: `${kind} ${subject}`,
  subject,
  kind,
  text,
});

/** A warning that is told. */
interface Reported {
  readonly kind: WarningKind;
  readonly atMs: number;
}

/**
 * Sees what no decision shows, since each looks at one message alone: clocks that are wrong, two machines with one name,
 * clusters that are misspelt, and disks that stay above a threshold or come back to it. It only warns; nothing is decided by it. All times are the log's.
 */
export class NodeWatch {
  readonly #parts: NodeWatchParts;
  readonly #nodes = new Map<string, Known>();
  readonly #clocks: PartitionClocks;
  #reported: ReadonlyMap<string, Reported> = new Map();
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: NodeWatchParts) {
    this.#parts = parts;
    this.#clocks = new PartitionClocks(TOPICS.diskStats.name, parts.now);
    parts.metrics.gauge(
      'nodes_heard',
      'Nodes that were heard in the last five minutes, in the partitions of this replica.',
      [],
      () => [[{}, this.#heard().heard]],
    );
    parts.metrics.gauge(
      'nodes_silent',
      'Nodes that were heard in the last day, since this replica began, and not in the last five minutes.',
      [],
      () => [[{}, this.#heard().silent]],
    );
    parts.metrics.gauge(
      'nodes_with_warnings',
      'Nodes, or clusters, of which something is wrong that no decision shows; fleetgc nodes names them.',
      ['kind'],
      () => WARNINGS.map((kind) => [{ kind }, this.#count(kind)]),
    );
  }

  /** How far this replica has read, and what: nodes of other partitions are for other replicas to tell of. */
  follow(progress: Pick<ActiveSubscription, 'state'>): void {
    this.#clocks.follow(progress);
  }

  received(event: FleetEvent, { partition, offset, timestampMs }: LogRecord): void {
    if (event.type !== 'fleetgc.node.disk-stats') return;
    if (!this.#clocks.isNew(partition, { offset, timestampMs })) return;
    const { nodeInstance, takenAt } = event;
    const key = nodeKey(event);
    if (this.#nodes.size >= MOST_NODES && !this.#nodes.has(key)) return;
    const sighting = { nodeInstance, takenAt, loggedAtMs: timestampMs };
    const heard = track(this.#nodes.get(key)?.track ?? null, sighting);
    this.#nodes.set(key, { track: heard, pressure: this.#pressed(event), partition });
    if (Math.abs(timestampMs - this.#lookedAtMs) >= LOOK_EVERY_MS) this.#look(timestampMs);
  }

  /** While policies cannot be read, deciders say so themselves. */
  #pressed(stats: DiskStats): Pressed | null {
    const policies = this.#policies();
    const pressure = policies && pressureOf(stats, policies);
    return pressure !== null && isLasting(pressure) ? pressureWarning(pressure, stats, false) : null;
  }

  #policies(): PolicySet | null {
    try {
      return this.#parts.policies();
    } catch {
      return null;
    }
  }

  #look(nowMs: number): void {
    this.#lookedAtMs = nowMs;
    for (const [key, { track }] of this.#nodes)
      if (nowMs - track.last.loggedAtMs > FORGET_AFTER_MS) this.#nodes.delete(key);
    const found = this.#found(nowMs);
    const isDue = ({ name }: Warning): boolean =>
      nowMs - (this.#reported.get(name)?.atMs ?? Number.NEGATIVE_INFINITY) >= REMIND_AFTER_MS;
    const due = new Set(found.filter(isDue));
    for (const kind of WARNINGS) this.#report([...due].filter((warning) => warning.kind === kind));
    const names = new Set(found.map(({ name }) => name));
    const ended = [...this.#reported.keys()].filter((name) => !names.has(name));
    for (const name of ended.slice(0, MOST_LINES)) this.#parts.logger.info(`no longer so: ${name}`);
    const atMsOf = (warning: Warning): number =>
      due.has(warning) ? nowMs : (this.#reported.get(warning.name)?.atMs ?? nowMs);
    this.#reported = new Map(
      found.map((warning) => [warning.name, { kind: warning.kind, atMs: atMsOf(warning) }]),
    );
  }

  #found(nowMs: number): readonly Warning[] {
    const lately = [...this.#nodes].filter(([, { track }]) => nowMs - track.last.loggedAtMs <= LATELY_MS);
    const ofNodes = lately.flatMap(([key, { track }]) =>
      anomaliesOf(track, nowMs).map((anomaly) => warningOf(key, anomaly.kind, anomalyText(anomaly))),
    );
    const pressed = lately.flatMap(([key, { track, pressure }]) =>
      pressure === null || nowMs - track.last.loggedAtMs > SILENT_AFTER_MS
        ? []
        : [warningOf(key, pressure.kind, pressure.message)],
    );
    return [
      ...ofNodes,
      ...pressed,
      ...this.#strays(lately.map(([key]) => key)).map((stray) =>
        warningOf(stray.cluster, 'stray-cluster', strayText(stray)),
      ),
    ];
  }

  /** Of what is wrong with a whole fleet, such as the clock of the brokers, a few nodes are enough. */
  #report(warnings: readonly Warning[]): void {
    const { logger } = this.#parts;
    for (const { subject, kind, text } of warnings.slice(0, MOST_LINES))
      logger.warn({ subject, warning: kind }, `${subject}: ${text}`);
    const more = warnings.length - MOST_LINES;
    if (more > 0) logger.warn({ more }, `and ${more} more like it; fleetgc nodes names them all`);
  }

  #strays(keys: readonly string[]): readonly StrayCluster[] {
    const clusters = keys.map((key) => key.slice(0, key.indexOf('/')));
    const nodesOf = new Map(
      [...Map.groupBy(clusters, (name) => name)].map(([name, { length }]) => [name, length]),
    );
    return strayClusters(nodesOf, this.#named());
  }

  #named(): ReadonlySet<string> {
    const policies = this.#policies();
    return policies === null ? new Set() : clustersNamedBy(policies);
  }

  #count(kind: WarningKind): number {
    return [...this.#reported.values()].filter((reported) => reported.kind === kind).length;
  }

  #heard(): Counted {
    const heard = this.#nodes
      .values()
      .map(({ track, partition }) => ({ atMs: track.last.loggedAtMs, partition }));
    return this.#clocks.count(heard, SILENT_AFTER_MS);
  }
}

/**
 * Agents tell how their cluster stands at least every ten minutes.
 * @limit Age of its last census after which a cluster is not reporting.
 */
export const CLUSTER_SILENT_AFTER_MS = 20 * MINUTE_MS;
/**
 * Anybody who may write facts can make up names.
 * @limit Clusters that one replica of `graph-gc` tracks.
 */
const MOST_CLUSTERS = 10_000;

interface ClusterWatchParts {
  readonly metrics: Metrics;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Hears which clusters tell of themselves, and counts those that do not any more. Nothing is decided by it. */
export class ClusterWatch {
  readonly #clusters = new Map<string, Heard>();
  readonly #clocks: PartitionClocks;

  constructor({ metrics, now }: ClusterWatchParts) {
    this.#clocks = new PartitionClocks(TOPICS.clusterCensus.name, now);
    metrics.gauge(
      'clusters_heard',
      'Clusters that were heard in the last 20 minutes, in the partitions of this replica.',
      [],
      () => [[{}, this.#count().heard]],
    );
    metrics.gauge(
      'clusters_silent',
      'Clusters that were heard in the last day, since this replica began, and not in the last 20 minutes.',
      [],
      () => [[{}, this.#count().silent]],
    );
  }

  follow(progress: Pick<ActiveSubscription, 'state'>): void {
    this.#clocks.follow(progress);
  }

  received(event: FleetEvent, { partition, offset, timestampMs }: LogRecord): void {
    if (event.type !== 'fleetgc.cluster.census') return;
    if (!this.#clocks.isNew(partition, { offset, timestampMs })) return;
    this.#forget(timestampMs);
    const { cluster } = event;
    if (this.#clusters.size >= MOST_CLUSTERS && !this.#clusters.has(cluster)) return;
    this.#clusters.set(cluster, { atMs: timestampMs, partition });
  }

  #forget(nowMs: number): void {
    for (const [cluster, { atMs }] of this.#clusters)
      if (nowMs - atMs > FORGET_AFTER_MS) this.#clusters.delete(cluster);
  }

  #count(): Counted {
    return this.#clocks.count(this.#clusters.values(), CLUSTER_SILENT_AFTER_MS);
  }
}

/** When somebody was heard last, by the log, and in which partition. */
interface Heard {
  readonly atMs: number;
  readonly partition: number;
}

interface Counted {
  readonly heard: number;
  readonly silent: number;
}

type Moment = Pick<LogRecord, 'offset' | 'timestampMs'>;

/**
 * Silence shows by what is not read. So a partition of a topic is judged by our clock only where all of it was read; where messages
 * wait, or the log does not answer, by the newest of its messages.
 */
class PartitionClocks {
  readonly #topic: string;
  /** Epoch milliseconds. */
  readonly #now: () => number;
  /** By partition, the newest record that was seen: what comes again tells nothing new. */
  readonly #newest = new Map<number, Moment>();
  #progress: Pick<ActiveSubscription, 'state'> | null = null;

  constructor(topic: string, now: () => number) {
    this.#topic = topic;
    this.#now = now;
  }

  /** How far this replica has read, and what: other partitions are for other replicas to tell of. */
  follow(progress: Pick<ActiveSubscription, 'state'>): void {
    this.#progress = progress;
  }

  /** Whether the record is newer than all of its partition that were seen before. */
  isNew(partition: number, now: Moment): boolean {
    const before = this.#newest.get(partition);
    if (before !== undefined && now.offset <= before.offset && now.timestampMs <= before.timestampMs)
      return false;
    this.#newest.set(partition, now);
    return true;
  }

  /** Who was heard within that time, and who before, of those that are ours and were heard in the last day. */
  count(heard: Iterable<Heard>, silentAfterMs: number): Counted {
    const times = this.#times();
    const agesMs = [...heard].flatMap(({ atMs, partition }) => {
      const nowMs = times.get(partition);
      return nowMs === undefined ? [] : [nowMs - atMs];
    });
    const lately = agesMs.filter((ageMs) => ageMs <= silentAfterMs).length;
    const known = agesMs.filter((ageMs) => ageMs <= FORGET_AFTER_MS).length;
    return { heard: lately, silent: known - lately };
  }

  /** What time it is, by partition; of those that are not ours nothing is said. */
  #times(): ReadonlyMap<number, number> {
    const { lag, assigned, joined, problem } = this.#progress?.state() ?? NOTHING_READ;
    const isWell = joined && problem === null;
    return new Map(
      [...this.#newest].flatMap(([partition, { timestampMs }]) => {
        const place = `${this.#topic}/${partition}`;
        if (!assigned.includes(place)) return [];
        return [[partition, isWell && lag.get(place) === 0 ? this.#now() : timestampMs] as const];
      }),
    );
  }
}

const NOTHING_READ = { lag: new Map<string, number>(), assigned: [], joined: false, problem: null };
