import { LinkedController } from '../../process/linked-controller.ts';
import { MAX_SLICE_BYTES, recordBytes, sliceRecords } from '../limits.ts';
import { partitionName } from '../partition.ts';
import type { LogRecord, SliceHandler, Subscription } from '../port.ts';
import {
  type MemberState,
  PartitionDeaths,
  type Serving,
  type SliceSource,
  serveSlices,
} from '../subscription.ts';
import type { Consumer, FormerMember } from './client/consumer.ts';
import { undecodable } from './client/errors.ts';
import type { KafkaConnection } from './client/kafka-connection.ts';
import { physicalName } from './client/names.ts';
import type { Cursor } from './fetcher.ts';
import type { StartOffset } from './offsets.ts';

/** Records fetched ahead, per partition; more is fetched while there are fewer. A single larger record is taken all the same. */
const ROOM_BYTES = 1024 * 1024;
const ROOM_RECORDS = 2000;

/** One stay in the group, from joining to leaving, or one reading for a key. */
export interface Session {
  readonly consumer: Consumer;
  readonly subscription: Subscription;
  readonly handle: SliceHandler;
  readonly connection: KafkaConnection;
  readonly state: MemberState;
  readonly stopping: AbortSignal;
  /** Outlives the session. */
  readonly former: FormerMember;
  /** By partition: handlers that had not returned when their partition was lost. */
  readonly stragglers: Map<string, Promise<void>>;
}

interface PartitionQueueOptions {
  readonly session: Session;
  readonly start: StartOffset;
  /** Aborts the handler: the partition was lost, or the session is over. */
  readonly over: AbortSignal;
  /** The next offset of the group, and the deaths there; committed soon, together with others. */
  readonly commit: (next: bigint, deaths: number) => void;
  /** Resolves when what was to be committed is, or after a while in which the brokers did not answer. */
  readonly committed: () => Promise<void>;
  readonly onRoom: () => void;
}

/**
 * One partition that this member serves: what was fetched and not yet handled. It is ours and not a library's queue, since records
 * stay in it until they were handled, and go to the handler in slices.
 */
export class PartitionQueue {
  readonly name: string;
  /** The fetcher delivers here. */
  readonly cursor: Cursor;
  readonly #options: PartitionQueueOptions;
  readonly #serving: Serving;
  readonly #source: SliceSource;
  readonly #deaths: PartitionDeaths;
  #queue: readonly LogRecord[] = [];
  #queuedBytes = 0;
  /** The first offset that is not. */
  #handled: bigint;
  #work: Promise<void> | null = null;

  constructor(options: PartitionQueueOptions) {
    this.#options = options;
    const { session, start } = options;
    this.name = partitionName(start);
    this.#handled = start.from;
    this.#deaths = new PartitionDeaths(start.deaths, async (deaths) => {
      options.commit(this.#handled, deaths);
      await options.committed();
    });
    this.#serving = servingOf(options);
    const maxRecords = sliceRecords(session.subscription);
    this.#source = {
      name: this.name,
      peek: async () => sliceOf(this.#queue, this.#deaths.atMost(maxRecords)),
      deathCount: () => this.#deaths.forSlice(),
      done: async (records) => this.#done(records),
    };
    this.cursor = this.#openCursor(start);
  }

  /** Records not yet handled, as far as the end is known. */
  lag(): number {
    return Math.max(0, Number(this.cursor.end - this.#handled));
  }

  isWorking(): boolean {
    return this.#work !== null;
  }

  /** Settles when no handler runs. */
  working(): Promise<void> {
    return this.#work ?? Promise.resolve();
  }

  #openCursor({ topic, partition, from }: StartOffset): Cursor {
    const { state, connection } = this.#options.session;
    return {
      topic,
      partition,
      next: from,
      end: from,
      isEndTold: false,
      trust: 'full',
      isTolerant: true,
      hasRoom: () => this.#hasRoom(),
      deliver: (records) => this.#deliver(records),
      onRewound: () => undefined,
      report: (error) =>
        state.problems.set(
          this.name,
          error === null
            ? null
            : undecodable({ topic: physicalName(connection.options, topic), partition }, error).message,
        ),
    };
  }

  #hasRoom(): boolean {
    return this.#queuedBytes < ROOM_BYTES && this.#queue.length < ROOM_RECORDS;
  }

  #deliver(records: readonly LogRecord[]): void {
    this.#queue = [...this.#queue, ...records];
    this.#queuedBytes += weigh(records);
    this.#serve();
  }

  #serve(): void {
    this.#work ??= serveSlices(this.#source, this.#serving).finally(() => {
      this.#work = null;
      if (this.#queue.length > 0 && !this.#serving.ending.aborted) this.#serve();
    });
  }

  #done(records: readonly LogRecord[]): void {
    const wasFull = !this.#hasRoom();
    this.#queue = this.#queue.slice(records.length);
    this.#queuedBytes -= weigh(records);
    this.#handled = (records.at(-1)?.offset ?? this.#handled - 1n) + 1n;
    this.#deaths.passed(records.length);
    this.#options.commit(this.#handled, 0);
    if (wasFull && this.#hasRoom()) this.#options.onRoom();
  }
}

const servingOf = ({ session, over }: PartitionQueueOptions): Serving => ({
  handle: session.handle,
  over,
  ending: new LinkedController(over, session.stopping).signal,
  problems: session.state.problems,
  context: session.connection.context,
  isFinal: () => false,
});

function sliceOf(queue: readonly LogRecord[], maxRecords: number): readonly LogRecord[] {
  let bytes = 0;
  const tooMany = queue.findIndex((record, index) => {
    if (index > 0 && (index >= maxRecords || bytes >= MAX_SLICE_BYTES)) return true;
    bytes += recordBytes(record);
    return false;
  });
  return tooMany === -1 ? queue.slice() : queue.slice(0, tooMany);
}

const weigh = (records: readonly LogRecord[]): number =>
  records.reduce((sum, record) => sum + recordBytes(record), 0);
