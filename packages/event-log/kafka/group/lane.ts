import { MAX_SLICE_BYTES, recordBytes } from '../../limits.ts';
import type { LogRecord } from '../../port.ts';
import { type Serving, type SliceSource, serveSlices } from '../../subscription.ts';
import type { Cursor } from '../reading/cursor.ts';
import { PartitionDeaths } from './death-count.ts';

/** Records fetched ahead, per partition; more is fetched while there are fewer. A single larger record is taken all the same. */
const ROOM_BYTES = 1024 * 1024;
const ROOM_RECORDS = 2000;

export interface LaneOptions {
  readonly topic: Cursor['topic'];
  readonly partition: number;
  /** The first offset to read. */
  readonly from: bigint;
  /** Processes that ended while they had the record there in hand. */
  readonly deaths: number;
  readonly maxRecords: number;
  readonly serving: Serving;
  /** The next offset of the group, and the deaths there; committed soon, together with others. */
  readonly commit: (next: bigint, deaths: number) => void;
  /** Resolves when what was to be committed is, or after a while in which the brokers did not answer. */
  readonly committed: () => Promise<void>;
  readonly onRoom: () => void;
  /** What of this partition cannot be decoded; null when it was read. */
  readonly onUndecodable: (error: unknown) => void;
}

/** One partition that this member owns: what was fetched and not yet handled. */
export interface Lane {
  readonly name: string;
  readonly cursor: Cursor;
  /** Records not yet handled, as far as the end is known. */
  lag(): number;
  isWorking(): boolean;
  /** Settles when no handler runs. */
  working(): Promise<void>;
}

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

export function openLane(options: LaneOptions): Lane {
  const { topic, partition, from, maxRecords, serving, commit, onRoom } = options;
  const name = `${topic}/${partition}`;
  let queue: readonly LogRecord[] = [];
  let queuedBytes = 0;
  let handled = from;
  const count = new PartitionDeaths(options.deaths, async (deaths) => {
    commit(handled, deaths);
    await options.committed();
  });
  let work: Promise<void> | null = null;

  const hasRoom = (): boolean => queuedBytes < ROOM_BYTES && queue.length < ROOM_RECORDS;

  async function done(records: readonly LogRecord[]): Promise<void> {
    const wasFull = !hasRoom();
    queue = queue.slice(records.length);
    queuedBytes -= weigh(records);
    handled = (records.at(-1)?.offset ?? handled - 1n) + 1n;
    count.passed(records.length);
    commit(handled, 0);
    if (wasFull && hasRoom()) onRoom();
  }

  const source: SliceSource = {
    name,
    peek: async () => sliceOf(queue, count.atMost(maxRecords)),
    deathCount: () => count.forSlice(),
    done,
  };

  function start(): void {
    work ??= serveSlices(source, serving).finally(() => {
      work = null;
      if (queue.length > 0 && !serving.ending.aborted) start();
    });
  }

  const cursor: Cursor = {
    topic,
    partition,
    next: from,
    end: from,
    trust: 'full',
    isTolerant: true,
    hasRoom,
    deliver: (records) => {
      queue = [...queue, ...records];
      queuedBytes += weigh(records);
      start();
    },
    onRewound: () => undefined,
    report: options.onUndecodable,
  };
  return {
    name,
    cursor,
    lag: () => Math.max(0, Number(cursor.end - handled)),
    isWorking: () => work !== null,
    working: () => work ?? Promise.resolve(),
  };
}
