import type { Logger } from 'pino';
import type { TopicName } from '../../schemas/events/topics.ts';

/** Headers are text on both adapters. */
export type Headers = Readonly<Record<string, string>>;

/** A record to append. Its partition follows from the key and the table in `schemas/events/topics.ts`. */
export interface OutgoingRecord {
  readonly topic: TopicName;
  readonly key: string;
  /** `null` is a tombstone: on a compacted topic it deletes the key. */
  readonly value: Buffer | null;
  readonly headers: Headers;
}

/** A record as it lies on the log. */
export interface LogRecord {
  readonly topic: TopicName;
  readonly partition: number;
  readonly offset: bigint;
  readonly key: string | null;
  readonly value: Buffer | null;
  readonly headers: Headers;
  /** Epoch milliseconds, by the log's own clock (LogAppendTime). */
  readonly timestampMs: number;
  /** The log did not date it, so that its time is what its writer says: the topic has another `message.timestamp.type`. */
  readonly isDatedByWriter?: true;
  /**
   * Why records up to this offset could not be read at all; then there is no key, and the value is empty. Only subscriptions
   * get such a record: a reading ends with `LOG_CORRUPT` there.
   */
  readonly unreadable?: string;
}

/** Where a record lies that the log has acknowledged. */
export interface LogPosition {
  readonly partition: number;
  readonly offset: bigint;
  /** Epoch milliseconds, by the log's own clock; `null` where the log does not date records: see `LogRecord.isDatedByWriter`. */
  readonly timestampMs: number | null;
}

/** Where a group without a committed offset begins. */
export type StartPosition = 'earliest' | 'latest';

export interface Subscription {
  /** Who reads. Members of a `shared` assignment join the group of this name; for a `key` it is only a name. */
  readonly group: string;
  readonly topics: readonly TopicName[];
  readonly start: StartPosition;
  /**
   * `shared`: the log spreads partitions over the members of the group.
   * `key`: reads only the partition of that key, beginning `lookBackMs` before now by the log's clock, or earlier. It
   * joins no group and commits nothing, so that ten thousand nodes cost the brokers nothing but their reading. Any number
   * of such readers get the same records: who has to be alone sees to it himself (`packages/files/file-lock.ts`).
   */
  readonly assignment:
    | { readonly kind: 'shared' }
    | { readonly kind: 'key'; readonly key: string; readonly lookBackMs: number };
  /** Records of one call to the handler; at most 500. */
  readonly maxSliceRecords?: number;
}

/**
 * Gets consecutive records of one partition, in order. When it resolves, their offsets are committed (where there is a
 * group), and they do not come again to this reader; when it rejects,
 * the same records come again after a backoff. It is never called again for a partition before it settled.
 * `signal` aborts when the partition was lost or the process stops: return early, and nothing is committed.
 */
export type SliceHandler = (
  records: readonly LogRecord[],
  signal: AbortSignal,
  deathCount: DeathCount,
) => Promise<void>;

export interface SubscriptionState {
  /** Joined the group (also as a stand-by without partitions), or found the partitions of its key. */
  readonly joined: boolean;
  /** `topic/partition` to records not yet processed, as last seen. */
  readonly lag: ReadonlyMap<string, number>;
  readonly assigned: readonly string[];
  /** The last failure, while it lasts; a sentence for people. */
  readonly problem: string | null;
}

export interface ActiveSubscription extends AsyncDisposable {
  state(): SubscriptionState;
  /**
   * Takes no further slice; the one in hand may end and is committed. After 3 s its `signal` aborts, and a handler that
   * does not return within another second is left behind. Then the group is left. Never rejects.
   */
  stop(): Promise<void>;
  /** Settles when the subscription ends; rejects on a failure that no retry mends. */
  readonly finished: Promise<void>;
}

/** First record to read: the oldest kept, an offset, or the first at or after a time of the log's clock. */
export type ReadFrom = 'earliest' | { readonly offset: bigint } | { readonly timestampMs: number };
/** Where reading ends: at the end as it was when reading began, before an offset if that is sooner, or never (wait for more). */
export type ReadTo = 'end' | 'forever' | { readonly before: bigint };

export interface ReadRequest {
  readonly topic: TopicName;
  /** All partitions when not given. */
  readonly partition?: number;
  readonly from: ReadFrom;
  readonly to: ReadTo;
}

/** A point of a reading without a group: a record, or the mark that everything seen at the start was delivered. */
export type ReadEvent =
  | { readonly kind: 'record'; readonly record: LogRecord }
  | { readonly kind: 'caught-up' }
  /**
   * Of a reading for ever, after `caught-up`: the log has just told where it ends, and everything before that was delivered. It
   * comes again and again, also where nothing is new, and stays away when the log answers no more.
   */
  | { readonly kind: 'still-caught-up' };

/** A difference between the log and the table of topics. */
export interface TopicDifference {
  readonly topic: TopicName;
  /** What the log itself calls it: on Kafka with the prefix in front. */
  readonly name: string;
  /**
   * `keeps-less`: a setting by which the broker deletes from a topic that is kept for ever. `only-copy`: the topic has one copy of each
   * record, since Kafka has one broker.
   */
  readonly kind: 'missing' | 'partitions' | 'config' | 'keeps-less' | 'only-copy';
  readonly expected: string;
  readonly found: string;
  readonly message: string;
}

/** How far a group is with what it reads. */
export interface GroupProgress {
  readonly group: string;
  /** Members that are there now. On the embedded log those that stand by are not counted. */
  readonly members: number;
  /**
   * `topic/partition` to records that are there and not committed; of topics of which the group committed anything.
   */
  readonly lag: ReadonlyMap<string, number>;
  /** The first of the records that are left, of each partition where some are. */
  readonly waiting: readonly WaitingRecord[];
}

export interface WaitingRecord {
  readonly topic: TopicName;
  readonly partition: number;
  readonly offset: bigint;
  /** Records that are left there. */
  readonly left: number;
}

export interface EventLogHealth {
  readonly connected: boolean;
  /** Why not, in one clear line. */
  readonly problem: string | null;
}

/** Publishes to an event log. */
export interface LogPublisher {
  /**
   * Resolves when every record is acknowledged, to the position of each, in their order. Keeps the order of records that share a key.
   * When it rejects, some may lie on the log all the same, and some twice (never so on the embedded log). What was tried again may lie
   * there twice too; the position is that of one of the two.
   */
  publish(records: readonly OutgoingRecord[]): Promise<readonly LogPosition[]>;
}

/** Reads an event log, or an archive of one. */
export interface LogReader {
  /**
   * Reads without a group and without committing. In order per partition. A reading that is to end does so after `caught-up`
   * alone; it throws `INTERRUPTED` when `signal` aborts or the log is closed before, so that a part never passes for the whole.
   * `forever` ends then, and only then. It outlasts outages, but throws `TOPICS_RECREATED` when the topic is deleted, recreated
   * or cut off: what comes after that does not follow what came before.
   */
  read(request: ReadRequest, signal?: AbortSignal): AsyncIterable<ReadEvent>;
}

/** The event log. Two adapters: `kafka.ts` for fleets, `embedded.ts` for one machine; one contract suite for both. */
export interface EventLog extends LogPublisher, LogReader, AsyncDisposable {
  /**
   * Joins in the background and for ever: a broker that is away or a topic that is missing shows in `state` and is tried
   * again. What no retry mends (`TOPICS_DIFFER`, `LOG_UNAUTHORIZED`, `LOG_CORRUPT`) rejects `finished`.
   */
  subscribe(subscription: Subscription, handle: SliceHandler): Promise<ActiveSubscription>;
  /** Creates missing topics; never changes an existing one. Returns the names it created. */
  createTopics(): Promise<readonly TopicName[]>;
  checkTopics(): Promise<readonly TopicDifference[]>;
  /** Who keeps the log, for people: the addresses of the brokers that are there, or the path of the file. */
  servers(): Promise<readonly string[]>;
  /** In the order of the names. A group that never was has no members and no lag. */
  groups(names: readonly string[]): Promise<readonly GroupProgress[]>;
  /** Of all that this process does on the log, or of its reading for ever of one topic. */
  health(follows?: TopicName): EventLogHealth;
}

/** What an adapter needs from outside. */
export interface EventLogContext {
  readonly logger: Logger;
  /** Epoch milliseconds. On the embedded log this is the clock of LogAppendTime and of leases. */
  readonly now: () => number;
  /** 0 <= number < 1, for jitter. */
  readonly random: () => number;
  /** A new unique id, such as a UUID: members and passing groups are named by it. */
  readonly newId: () => string;
}

/** Whether processes ended over records, and that one of them has these in hand now. */
export interface DeathCount {
  /** Processes that ended while they had the first of these records in hand. After one that did, records come one by one. */
  readonly deaths: number;
  /** Writes down that these records are in hand, as far as that can still be needed. What may end the process comes after it. */
  begin(): Promise<void>;
  /**
   * The process has lived through it, whatever came of the records. Resolves when that is written down too, or after a while in which
   * the brokers did not answer: what ends the process, or its place in the group, after that is not blamed on these records.
   */
  end(): Promise<void>;
}

/** Where nobody counts. */
export const UNCOUNTED: DeathCount = { deaths: 0, begin: async () => undefined, end: async () => undefined };
