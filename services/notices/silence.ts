import type { LogRecord, SubscriptionState } from '../../packages/log/port.ts';
import { DAY_MS, MINUTE_MS } from '../../packages/process/durations.ts';
import { CLUSTER_SILENT_AFTER_MS } from '../../packages/read-model/fleet-watch.ts';
import { SILENT_AFTER_MS } from '../../packages/read-model/node-track.ts';
import { deciderOf } from '../../packages/records/node-decisions.ts';
import { timeText } from '../../packages/text/time-text.ts';
import { DeciderName } from '../../schemas/events/object-kinds.ts';
import { type FleetEvent, TOPICS, type TopicId } from '../../schemas/events/topics.ts';
import type { NoticeKind } from '../../schemas/notices/notice.ts';
import { ABOUT_NOBODY, type Notice, notice, subjectOf } from './notices.ts';

/** What differs by who can fall silent. */
interface SilenceRow {
  readonly silent: NoticeKind;
  readonly again: NoticeKind;
  readonly afterMs: number;
  /** Anybody who may write facts can make up names. */
  readonly mostNames: number;
  readonly look: string;
}

/** By the topic on which they tell of themselves, again and again. */
const SILENCES = {
  diskStats: {
    silent: 'silent',
    again: 'heard-again',
    afterMs: SILENT_AFTER_MS,
    mostNames: 50_000,
    look: 'Nothing is removed there; does the agent run, and reach the log?',
  },
  clusterCensus: {
    silent: 'cluster-silent',
    again: 'cluster-heard-again',
    afterMs: CLUSTER_SILENT_AFTER_MS,
    mostNames: 10_000,
    look: 'Nothing new is known of its objects; does fleetgc cluster agent run, and reach the log?',
  },
} as const satisfies Partial<Readonly<Record<TopicId, SilenceRow>>>;

export type SilenceTopic = keyof typeof SILENCES;

interface Heard {
  readonly cluster: string;
  /** `null`: it is the cluster that tells. */
  readonly node: string | null;
  readonly partition: number;
  /** Epoch milliseconds, by the log's clock. */
  readonly atMs: number;
  readonly isToldSilent: boolean;
}

/** A node or a cluster was heard. */
type Sighting = Omit<Heard, 'isToldSilent'>;

/** Who is silent that was heard, in the partitions of this replica. */
export class Silence {
  readonly #row: SilenceRow;
  readonly #topic: SilenceTopic;
  readonly #known = new Map<string, Heard>();
  #unwatched = 0;

  constructor(topic: SilenceTopic) {
    this.#topic = topic;
    this.#row = SILENCES[topic];
  }

  /** Of one that was told as silent it is told that it is back. */
  heard(sighting: Sighting): readonly Notice[] {
    const { cluster, node, atMs } = sighting;
    const key = subjectOf({ cluster, node }) ?? '';
    const before = this.#known.get(key);
    if (before === undefined && this.#known.size >= this.#row.mostNames) {
      this.#unwatched += 1;
      return [];
    }
    if (before !== undefined && before.atMs >= atMs) return [];
    this.#known.set(key, { ...sighting, isToldSilent: false });
    if (before?.isToldSilent !== true) return [];
    const minutes = Math.round((atMs - before.atMs) / MINUTE_MS);
    return [
      notice(
        this.#row.again,
        { id: `${key} ${before.atMs}`, atMs },
        {
          about: { cluster, node },
          text: `it is heard again, after ${minutes} minutes`,
          facts: { lastHeard: timeText(before.atMs) },
        },
      ),
    ];
  }

  /** Reports since this was asked last of those for whom there is no room: no notice is sent when they fall silent. */
  takeUnwatched(): number {
    const unwatched = this.#unwatched;
    this.#unwatched = 0;
    return unwatched;
  }

  /**
   * Who fell silent. Silence shows by what is not read: so a partition counts only while all of it was read, and the log answers.
   * `nowMs` is in epoch milliseconds.
   */
  look({ joined, problem, assigned, lag }: SubscriptionState, nowMs: number): readonly Notice[] {
    const places = new Set(assigned);
    const found: Notice[] = [];
    for (const [key, heard] of this.#known) {
      const place = `${TOPICS[this.#topic].name}/${heard.partition}`;
      const silentMs = nowMs - heard.atMs;
      if (!places.has(place) || silentMs > DAY_MS) this.#known.delete(key);
      else if (
        joined &&
        problem === null &&
        lag.get(place) === 0 &&
        !heard.isToldSilent &&
        silentMs > this.#row.afterMs
      ) {
        this.#known.set(key, { ...heard, isToldSilent: true });
        found.push(this.#silentNotice(key, heard, nowMs));
      }
    }
    return found;
  }

  /** Its id follows from when it was heard last, so that all replicas tell the same. */
  #silentNotice(key: string, { cluster, node, atMs }: Heard, nowMs: number): Notice {
    const { silent, look } = this.#row;
    return notice(
      silent,
      { id: `${key} ${atMs}`, atMs: nowMs },
      {
        about: { cluster, node },
        text: `it was heard last at ${timeText(atMs)}. ${look}`,
        facts: { lastHeard: timeText(atMs) },
      },
    );
  }
}

/** Topics of which the last minutes are read at the start, so that it is known who was there before. */
export const HEARD_ON: readonly SilenceTopic[] = ['diskStats', 'clusterCensus'];

/** What shows by nothing that is read: nodes, clusters, decision services and a log that fell silent. */
export class Watches {
  readonly #nodes = new Silence('diskStats');
  readonly #clusters = new Silence('clusterCensus');
  readonly #undecided = new Undecided();
  readonly #log = new StandingLog();

  /** Who is back is told. */
  heard(event: FleetEvent, { partition, timestampMs: atMs }: LogRecord): readonly Notice[] {
    switch (event.type) {
      case 'fleetgc.node.disk-stats':
        this.#undecided.heard(partition, atMs);
        this.#log.heard(atMs);
        return this.#nodes.heard({ cluster: event.cluster, node: event.node, partition, atMs });
      case 'fleetgc.cluster.census':
        return this.#clusters.heard({ cluster: event.cluster, node: null, partition, atMs });
      default:
        return [];
    }
  }

  /** Before anybody looks into it. */
  read(topic: TopicId, record: LogRecord): void {
    if (topic === 'decisions') this.#undecided.decided(record);
  }

  /** Reports since this was asked last of nodes and clusters that are too many to watch. */
  takeUnwatched(): number {
    return this.#nodes.takeUnwatched() + this.#clusters.takeUnwatched();
  }

  /** `nowMs` is in epoch milliseconds. */
  async look(state: SubscriptionState, nowMs: number, hasSince: HasSince): Promise<readonly Notice[]> {
    const seen = [
      ...this.#nodes.look(state, nowMs),
      ...this.#clusters.look(state, nowMs),
      ...this.#undecided.look(state, nowMs),
    ];
    return [...seen, ...(await this.#log.look(state, nowMs, hasSince))];
  }
}

/**
 * Each node has each service decide at least every five minutes.
 * @limit Time without decisions after which a notice reports a decision service.
 */
export const UNDECIDED_AFTER_MS = 20 * MINUTE_MS;

const DECIDERS = DeciderName.options;

/** Of one partition, in which lies all that is about the same nodes. Times are those of the log, in epoch milliseconds. */
interface Partition {
  readonly heardMs: number;
  /** Whether all of it was read when it was looked at. */
  readonly isRead: boolean;
  /** When all of it was read here for the first time. */
  readonly sinceMs: number | null;
  readonly decidedMs: Partial<Readonly<Record<DeciderName, number>>>;
}

const UNKNOWN: Partition = { heardMs: 0, isRead: false, sinceMs: null, decidedMs: {} };

/** Which decision services of nodes answer nobody, by what is not read where nodes are heard. */
export class Undecided {
  readonly #partitions = new Map<number, Partition>();
  /** When it decided last, of those that are told. */
  readonly #told = new Map<DeciderName, number>();

  /** A node of the partition was heard. */
  heard(partition: number, atMs: number): void {
    const known = this.#of(partition);
    this.#partitions.set(partition, { ...known, heardMs: Math.max(known.heardMs, atMs) });
  }

  /** No more than the header of a decision is looked at: it says whose it is. */
  decided({
    headers,
    partition,
    timestampMs,
  }: Pick<LogRecord, 'headers' | 'partition' | 'timestampMs'>): void {
    const decider = deciderOf({ headers });
    if (decider === undefined) return;
    const known = this.#of(partition);
    this.#partitions.set(partition, {
      ...known,
      decidedMs: { ...known.decidedMs, [decider]: Math.max(known.decidedMs[decider] ?? 0, timestampMs) },
    });
  }

  /** `nowMs` is in epoch milliseconds. */
  look(state: SubscriptionState, nowMs: number): readonly Notice[] {
    for (const [partition, known] of this.#partitions) {
      const places = placesOf(partition);
      const isRead = isAllRead(state, places);
      const sinceMs = known.sinceMs ?? (isRead ? nowMs : null);
      if (places.every((place) => state.assigned.includes(place)))
        this.#partitions.set(partition, { ...known, isRead, sinceMs });
      else this.#partitions.delete(partition);
    }
    return DECIDERS.flatMap((decider) => this.#lookAt(decider, nowMs));
  }

  #lookAt(decider: DeciderName, nowMs: number): readonly Notice[] {
    const lastMs = this.#unansweredSince(decider, nowMs);
    const toldMs = this.#told.get(decider);
    if (lastMs !== null && toldMs === undefined) {
      this.#told.set(decider, lastMs);
      return [undecidedNotice(decider, lastMs, nowMs)];
    }
    if (lastMs !== null || toldMs === undefined) return [];
    this.#told.delete(decider);
    return this.#isRead() ? [againNotice(decider, toldMs, nowMs)] : [];
  }

  /** Since when it decides nothing about nodes that are heard, where that is too long; else `null`. */
  #unansweredSince(decider: DeciderName, nowMs: number): number | null {
    const since = [...this.#partitions.values()].flatMap(({ heardMs, isRead, sinceMs, decidedMs }) => {
      if (!isRead || sinceMs === null || nowMs - heardMs > SILENT_AFTER_MS) return [];
      const lastMs = Math.max(sinceMs, decidedMs[decider] ?? 0);
      return nowMs - lastMs > UNDECIDED_AFTER_MS ? [lastMs] : [];
    });
    return since.length === 0 ? null : Math.min(...since);
  }

  #isRead(): boolean {
    return [...this.#partitions.values()].some(({ isRead }) => isRead);
  }

  #of(partition: number): Partition {
    return this.#partitions.get(partition) ?? UNKNOWN;
  }
}

const isAllRead = ({ joined, problem, lag }: SubscriptionState, places: readonly string[]): boolean =>
  joined && problem === null && places.every((place) => lag.get(place) === 0);

const placesOf = (partition: number): readonly string[] =>
  [TOPICS.diskStats.name, TOPICS.decisions.name].map((topic) => `${topic}/${partition}`);

const undecidedNotice = (decider: DeciderName, lastMs: number, nowMs: number): Notice =>
  notice(
    'undecided',
    { id: `${decider} ${lastMs}`, atMs: nowMs },
    {
      about: ABOUT_NOBODY,
      text: `${decider} answers nobody: nodes are heard, and it has decided nothing about them since ${timeText(lastMs)}. Nothing is removed by it; fleetgc status says whether it runs, and its /readyz why it waits`,
      facts: { decider, since: timeText(lastMs) },
    },
  );

const againNotice = (decider: DeciderName, lastMs: number, nowMs: number): Notice =>
  notice(
    'decided-again',
    { id: `${decider} ${lastMs}`, atMs: nowMs },
    {
      about: ABOUT_NOBODY,
      text: `${decider} decides again; it had answered nobody since ${timeText(lastMs)}`,
      facts: { decider, since: timeText(lastMs) },
    },
  );

/**
 * Each node tells of itself every minute.
 * @limit Time without reports after which a notice reports the event log.
 */
export const LOG_STILL_AFTER_MS = 10 * MINUTE_MS;

/** Whether anything from a node came onto the log since then, in whatever partition; `null` where the log does not tell. */
export type HasSince = (sinceMs: number) => Promise<boolean | null>;

/** Whether the log moves. Only the replica that reads the first partition tells of a log without news; each tells that it cannot read. */
export class StandingLog {
  #newestMs = Number.NEGATIVE_INFINITY;
  #unreadableSinceMs: number | null = null;
  /** Since when it stands still, where that was told. */
  #toldMs: number | null = null;

  /** Something from a node was read; when the log took it. */
  heard(atMs: number): void {
    this.#newestMs = Math.max(this.#newestMs, atMs);
  }

  /** `nowMs` is in epoch milliseconds. */
  async look(state: SubscriptionState, nowMs: number, hasSince: HasSince): Promise<readonly Notice[]> {
    const problem = state.problem ?? (state.joined ? null : 'the group of this receiver is not joined');
    if (problem !== null) return this.#unreadable(problem, nowMs);
    this.#unreadableSinceMs = null;
    const isStill = await this.#isStill(state, nowMs, hasSince);
    if (isStill && this.#toldMs === null) return [this.#still(nowMs)];
    return isStill || this.#toldMs === null ? [] : [this.#movesAgain(this.#toldMs, nowMs)];
  }

  #unreadable(problem: string, nowMs: number): readonly Notice[] {
    this.#unreadableSinceMs ??= nowMs;
    const sinceMs = this.#unreadableSinceMs;
    if (nowMs - sinceMs < LOG_STILL_AFTER_MS || this.#toldMs !== null) return [];
    this.#toldMs = sinceMs;
    const text = `the event log cannot be read since ${timeText(sinceMs)}: ${problem}. Until it can, nobody is told what happens`;
    return [standing('log-silent', sinceMs, nowMs, text)];
  }

  async #isStill({ assigned }: SubscriptionState, nowMs: number, hasSince: HasSince): Promise<boolean> {
    if (nowMs - this.#newestMs < LOG_STILL_AFTER_MS) return false;
    if (!assigned.includes(`${TOPICS.diskStats.name}/0`)) return false;
    const isTold = this.#toldMs !== null;
    const hasNews = await hasSince(nowMs - LOG_STILL_AFTER_MS);
    // Where the log does not tell, it is for nobody to say that it stands still, nor that it moves again.
    if (hasNews === null) return isTold;
    if (hasNews) {
      // In partitions of others; it is asked again as late as the next silence could be told.
      this.#newestMs = nowMs;
      return false;
    }
    return isTold || (await hasSince(nowMs - DAY_MS)) === true;
  }

  #still(nowMs: number): Notice {
    const sinceMs = Number.isFinite(this.#newestMs) ? this.#newestMs : nowMs - LOG_STILL_AFTER_MS;
    this.#toldMs = sinceMs;
    const text = `nothing came onto the event log from any node since ${timeText(sinceMs)}. Do the agents run, and do the brokers take what they write?`;
    return standing('log-silent', sinceMs, nowMs, text);
  }

  #movesAgain(sinceMs: number, nowMs: number): Notice {
    this.#toldMs = null;
    return standing(
      'log-heard-again',
      sinceMs,
      nowMs,
      `the event log moves again; it stood still since ${timeText(sinceMs)}`,
    );
  }
}

const standing = (
  kind: 'log-silent' | 'log-heard-again',
  sinceMs: number,
  nowMs: number,
  text: string,
): Notice =>
  notice(
    kind,
    { id: `log ${sinceMs}`, atMs: nowMs },
    { about: ABOUT_NOBODY, text, facts: { since: timeText(sinceMs) } },
  );
