import { pause } from '../../process/backoff.ts';
import { type FleetGcError, toFleetGcError } from '../../process/errors.ts';
import { LinkedController } from '../../process/linked-controller.ts';
import { MAX_SLICE_BYTES, sliceRecords } from '../limits.ts';
import { partitionName } from '../partition.ts';
import { PartitionDeaths } from '../partition-deaths.ts';
import { type LogRecord, type SliceHandler, type Subscription, UNCOUNTED } from '../port.ts';
import { settleWork } from '../stopping.ts';
import { type MemberState, type Serving, type SliceSource, serveSlices } from '../subscription.ts';
import { endFor } from './changes.ts';
import type { Tables } from './database.ts';
import { LEASE_RENEW_MS } from './groups.ts';
import type { OpenedLog } from './opened-log.ts';
import type { Position } from './positions.ts';

/** The log is looked at this often even when nothing seems to have changed. */
const LOOK_MS = 1000;
const LEASE = 'lease';

/** What ends an ownership, whichever partition met it first. */
const isFinal = (error: unknown): boolean => {
  const { code } = toFleetGcError(error);
  return code === 'GROUP_LOST' || code === 'LOG_CORRUPT';
};

export interface OwnershipOptions {
  readonly opened: OpenedLog;
  readonly subscription: Subscription;
  readonly handle: SliceHandler;
  /** The name of the member that holds the lease. */
  readonly member: string;
  readonly positions: readonly Position[];
  readonly state: MemberState;
  readonly stopping: AbortSignal;
}

/** The time during which a member owns its group and serves its partitions. Who reads for a key has no group, and serves alike. */
export class Ownership {
  readonly #options: OwnershipOptions;
  readonly #over = new AbortController();
  readonly #serving: Serving;
  /** The partitions that are being served right now. */
  readonly #running = new Map<Position, Promise<void>>();
  #failure: FleetGcError | null = null;

  constructor(options: OwnershipOptions) {
    this.#options = options;
    const { opened, handle, state, stopping } = options;
    this.#serving = {
      handle,
      over: this.#over.signal,
      ending: new LinkedController(this.#over.signal, stopping).signal,
      problems: state.problems,
      context: opened.context,
      isFinal,
    };
  }

  /**
   * Serves until `stopping` aborts; rejects with the failure that ended it. The slices in hand are waited for: without bound when the
   * member goes on (a partition is never handed out twice at a time), for the grace of a stop otherwise.
   */
  async serve(): Promise<void> {
    const { opened, positions, stopping } = this.#options;
    const { ending } = this.#serving;
    const sources = new Map(positions.map((position) => [position, this.#sourceOf(position)]));
    const renewing = this.#keepLease();
    while (!ending.aborted) {
      const seen = opened.changes.version();
      await this.#serveGrown(sources).catch(this.#fail);
      await opened.changes.after(seen, ending, LOOK_MS);
    }
    await settleWork(() => [...this.#running.values()], { stopping, abort: () => this.#over.abort() });
    await renewing;
    if (this.#failure !== null) throw this.#failure;
  }

  readonly #fail = (error: unknown): void => {
    this.#failure ??= toFleetGcError(error);
    this.#over.abort();
  };

  async #serveGrown(sources: ReadonlyMap<Position, SliceSource>): Promise<void> {
    const ends = await this.#options.opened.ends.current();
    for (const [position, source] of sources) {
      position.end = endFor(ends, position);
      if (!this.#running.has(position) && position.next < position.end) this.#start(position, source);
    }
  }

  #start(position: Position, source: SliceSource): void {
    const work = serveSlices(source, this.#serving)
      .catch(this.#fail)
      .finally(() => this.#running.delete(position));
    this.#running.set(position, work);
  }

  #sourceOf(position: Position): SliceSource {
    const { subscription } = this.#options;
    const isGroup = subscription.assignment.kind === 'shared';
    const deaths = new PartitionDeaths(position.deaths, (count) => this.#keepDeaths(position, count));
    return {
      name: partitionName(position),
      peek: () => this.#peek(position, isGroup ? deaths.atMost(sliceRecords(subscription)) : undefined),
      // Who reads for a key counts beside its own state.
      deathCount: () => (isGroup ? deaths.forSlice() : UNCOUNTED),
      done: async (records) => {
        await this.#done(position, records);
        deaths.passed(records.length);
      },
    };
  }

  /** Who has lost the group, or finds the log locked for long, counts nothing: what comes next says so. */
  async #keepDeaths({ id }: Position, deaths: number): Promise<void> {
    const { opened, subscription, member } = this.#options;
    const { group } = subscription;
    await opened.database.write(({ groups }) => {
      groups.requireLease({ group, member });
      groups.putDeaths(group, id, deaths);
    });
  }

  /** Offsets that retention or compaction took away are passed over. */
  async #peek(
    position: Position,
    maxRecords = sliceRecords(this.#options.subscription),
  ): Promise<readonly LogRecord[]> {
    if (position.next >= position.end) return [];
    const { opened } = this.#options;
    const page = {
      ...position,
      from: position.next,
      before: position.end,
      maxRecords,
      maxBytes: MAX_SLICE_BYTES,
    };
    const found = await opened.database.read(({ records }) => records.page(page));
    if (found.length === 0) position.next = position.end;
    return found;
  }

  /** Who reads for a key has no group: its place is known to itself alone. */
  async #done(position: Position, records: readonly LogRecord[]): Promise<void> {
    const next = Number(records.at(-1)?.offset ?? position.next - 1) + 1;
    if (this.#options.subscription.assignment.kind === 'shared') await this.#commit(position, next);
    position.next = next;
  }

  async #commit(position: Position, next: number): Promise<void> {
    const { opened, subscription, member } = this.#options;
    const { group } = subscription;
    await opened.database.write(({ groups }) => {
      groups.requireLease({ group, member });
      groups.commit(group, position.id, next);
    });
  }

  async #keepLease(): Promise<void> {
    const over = this.#over.signal;
    while (!over.aborted) {
      await pause(LEASE_RENEW_MS, over);
      if (!over.aborted) await this.#renewOnce();
    }
  }

  async #renewOnce(): Promise<void> {
    const { problems } = this.#options.state;
    try {
      await this.#renew();
      problems.set(LEASE, null);
    } catch (error) {
      const { code, retry, message } = toFleetGcError(error);
      if (code === 'GROUP_LOST' || !retry) this.#fail(error);
      else problems.set(LEASE, message);
    }
  }

  /** Who reads for a key has no group to keep. */
  async #renew(): Promise<void> {
    const { opened, subscription, member } = this.#options;
    const { group, assignment } = subscription;
    if (assignment.kind === 'key')
      return await opened.database.read((tables) => this.#reportPartitions(tables));
    await opened.database.write((tables) => {
      tables.groups.renewLease({ group, member, nowMs: opened.context.now() });
      this.#reportPartitions(tables);
    });
  }

  /** Partitions that somebody added or took away behind our back. Ours stay the declared ones; somebody should know. */
  #reportPartitions({ partitions }: Tables): void {
    const { subscription, state } = this.#options;
    for (const topic of subscription.topics)
      state.problems.set(topic, partitions.difference(topic)?.message ?? null);
  }
}
