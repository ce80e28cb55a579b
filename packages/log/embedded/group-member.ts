import type { TopicName } from '../../../schemas/events/topics.ts';
import { pause } from '../../process/backoff.ts';
import { FleetGcError, toFleetGcError } from '../../process/errors.ts';
import { LinkedController } from '../../process/linked-controller.ts';
import { MAX_SLICE_BYTES, sliceRecords } from '../limits.ts';
import { partitionName, partitionOf } from '../partition.ts';
import {
  type ActiveSubscription,
  type LogRecord,
  type SliceHandler,
  type Subscription,
  UNCOUNTED,
} from '../port.ts';
import { settleWork } from '../stopping.ts';
import {
  type MemberState,
  PartitionDeaths,
  type Serving,
  type SliceSource,
  serveSlices,
  supervise,
} from '../subscription.ts';
import { endFor } from './changes.ts';
import type { Tables } from './database.ts';
import { LEASE_RENEW_MS } from './groups.ts';
import type { OpenedLog } from './opened-log.ts';
import type { PartitionEnd } from './records.ts';

/** A stand-by sees a released lease at once, and an expired one after this. */
const STAND_BY_LOOK_MS = 500;

/** Who wants the group, and what for. */
interface GroupMember {
  readonly opened: OpenedLog;
  readonly subscription: Subscription;
  readonly handle: SliceHandler;
  readonly name: string;
}

/**
 * Takes the group and its positions in one transaction; null when another member has it. Who reads for a key has no
 * group, and begins where it begins.
 */
function takePositions({ opened, subscription, name }: GroupMember): Promise<readonly Position[] | null> {
  const nowMs = opened.context.now();
  const { group, assignment } = subscription;
  if (assignment.kind === 'key')
    return opened.database.read((tables) => startPositions(tables, subscription, nowMs));
  return opened.database.write((tables) =>
    tables.groups.acquireLease({ group, member: name, nowMs })
      ? writtenPositions(tables, subscription, nowMs)
      : null,
  );
}

/** Serves the group while it is ours. A group that was lost to another member is no failure: the member stands by. */
async function serve(member: GroupMember, state: MemberState, stopping: AbortSignal): Promise<void> {
  const { opened, subscription, handle, name } = member;
  const seen = opened.changes.version();
  const positions = await takePositions(member);
  state.joined = true;
  state.problems.clear();
  if (positions === null) return await opened.changes.after(seen, stopping, STAND_BY_LOOK_MS);
  state.served = positions.map((position) => ({
    name: partitionName(position),
    lag: () => position.end - position.next,
  }));
  const ownership = new Ownership({ opened, subscription, handle, member: name, positions, state, stopping });
  await ownership.serve().catch((error) => {
    if (!(error instanceof FleetGcError) || error.code !== 'GROUP_LOST') throw error;
    opened.context.logger.info({ group: subscription.group }, error.message);
  });
}

async function leave({ opened, subscription, name }: GroupMember): Promise<void> {
  const { group, assignment } = subscription;
  if (assignment.kind === 'key') return;
  try {
    await opened.database.write(({ groups }) => groups.dropLease(group, name));
    opened.changes.notify();
  } catch (error) {
    opened.context.logger.warn(
      { err: error, group },
      'the group was not released; it is free after its lease',
    );
  }
}

/** Joins the group and serves it in the background until it is stopped. */
export function startGroupMember(
  opened: OpenedLog,
  subscription: Subscription,
  handle: SliceHandler,
): ActiveSubscription {
  const member: GroupMember = { opened, subscription, handle, name: opened.context.newId() };
  return supervise(opened.context, {
    group: subscription.group,
    serve: (state, stopping) => serve(member, state, stopping),
    leave: () => leave(member),
  });
}

/** The log is looked at this often even when nothing seems to have changed. */
const LOOK_MS = 1000;
const LEASE = 'lease';

/** What ends an ownership, whichever partition met it first. */
const isFinal = (error: unknown): boolean => {
  const { code } = toFleetGcError(error);
  return code === 'GROUP_LOST' || code === 'LOG_CORRUPT';
};

interface OwnershipOptions {
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

/** A partition a member owns, and how far it is. */
interface Position {
  readonly id: number;
  readonly topic: TopicName;
  readonly partition: number;
  /** The next offset to hand out. */
  next: number;
  /** Processes that ended while the group had the next record in hand; none where there is no group. */
  readonly deaths: number;
  /** The end of the partition as last seen. */
  end: number;
}

/** A place beyond the end was committed for a partition that is no more; what holds its number now is new to the group. */
function firstOffset({ groups }: Tables, end: PartitionEnd, subscription: Subscription): number {
  const committed = groups.committed(subscription.group, end.id);
  if (committed !== null) return committed <= end.nextOffset ? committed : 0;
  return subscription.start === 'latest' ? end.nextOffset : 0;
}

function topicPositions(
  tables: Tables,
  topic: TopicName,
  subscription: Subscription,
  nowMs: number,
): Position[] {
  const { assignment } = subscription;
  const { partitions, records } = tables;
  partitions.requireDeclared(topic);
  const owned =
    assignment.kind === 'shared'
      ? partitions.ofTopic(topic)
      : [partitions.require(topic, partitionOf(topic, assignment.key))];
  return owned.map((end) => ({
    id: end.id,
    topic,
    partition: end.partition,
    next:
      assignment.kind === 'key'
        ? (records.offsetAtTime(end.id, nowMs - assignment.lookBackMs) ?? end.nextOffset)
        : firstOffset(tables, end, subscription),
    deaths: assignment.kind === 'key' ? 0 : tables.groups.deaths(subscription.group, end.id),
    end: end.nextOffset,
  }));
}

/** Where a reader begins. */
export const startPositions = (
  tables: Tables,
  subscription: Subscription,
  nowMs: number,
): readonly Position[] =>
  subscription.topics.flatMap((topic) => topicPositions(tables, topic, subscription, nowMs));

/** Where a member of a group begins: written down at once, so that `latest` means the same moment after a restart. */
export function writtenPositions(
  tables: Tables,
  subscription: Subscription,
  nowMs: number,
): readonly Position[] {
  const positions = startPositions(tables, subscription, nowMs);
  for (const { id, next, deaths } of positions) {
    tables.groups.commit(subscription.group, id, next);
    tables.groups.putDeaths(subscription.group, id, deaths);
  }
  return positions;
}
