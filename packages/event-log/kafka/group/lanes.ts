import type { Assignment } from 'kafkajs';
import { backOffMs, pause } from '../../../process/back-off.ts';
import { sliceRecords } from '../../limits.ts';
import { waitAtMost, waitUnless } from '../../stopping.ts';
import type { Serving } from '../../subscription.ts';
import { undecodable } from '../client/errors.ts';
import type { TopicPartition } from '../reading/offsets.ts';
import { committedStarts, type StartOffset } from '../reading/start-offsets.ts';
import type { Committer } from './committer.ts';
import { type Lane, openLane } from './lane.ts';
import type { SessionOptions } from './session-options.ts';

const BACK_OFF = { firstMs: 100, mostMs: 5000 };
/** A group whose coordinator is away goes on without counting who dies over what. */
const COMMITTED_MS = 5000;

export interface LanesOptions extends SessionOptions {
  readonly committer: Committer;
  /** Aborts every handler. */
  readonly over: AbortSignal;
  readonly onRoom: () => void;
  readonly report: (error: unknown) => void;
}

/** The partitions of a member, as the group gives and takes them. */
export interface Lanes {
  /** What the group gave this member now. What it had before and keeps goes on undisturbed. */
  assign(assignment: Assignment): void;
  all(): readonly Lane[];
  owns(partition: TopicPartition): boolean;
}

interface OwnedLane {
  readonly lane: Lane;
  readonly lost: AbortController;
}

const nameOf = ({ topic, partition }: TopicPartition): string => `${topic}/${partition}`;

/** Partitions of topics this member did not ask for are none of its business. */
const partitionsOf = (assignment: Assignment, { subscription }: LanesOptions): readonly TopicPartition[] =>
  subscription.topics.flatMap((topic) =>
    (assignment[topic] ?? []).map((partition) => ({ topic, partition })),
  );

function servingOf(options: LanesOptions, lost: AbortSignal): Serving {
  const over = AbortSignal.any([options.over, lost]);
  return {
    handle: options.handle,
    over,
    ending: AbortSignal.any([over, options.stopping]),
    problems: options.state.problems,
    context: options.core.context,
    isFinal: () => false,
  };
}

export function trackLanes(options: LanesOptions): Lanes {
  const { connections, subscription, state, stragglers, committer, core, over } = options;
  const lanes = new Map<string, OwnedLane>();
  let generation = 0;

  function show(): void {
    state.served = [...lanes.values()].map(({ lane }) => lane);
    options.onRoom();
  }

  /** The handler in hand is told to return; until it does, the partition is not served again here. */
  function lose(name: string, { lane, lost }: OwnedLane): void {
    lost.abort();
    if (lane.isWorking()) stragglers.set(name, lane.working());
    state.problems.set(name, null);
    lanes.delete(name);
  }

  function tell(at: TopicPartition, error: unknown): void {
    state.problems.set(nameOf(at), error === null ? null : undecodable(at, error).message);
  }

  function open({ topic, partition, from, deaths, isNew }: StartOffset): void {
    const lost = new AbortController();
    const lane = openLane({
      topic,
      partition,
      from,
      maxRecords: sliceRecords(subscription),
      serving: servingOf(options, lost.signal),
      deaths,
      commit: (next, found) => committer.add({ topic, partition, next, deaths: found }),
      committed: () => waitUnless(waitAtMost(committer.flushed(), COMMITTED_MS), lost.signal),
      onRoom: options.onRoom,
      onUndecodable: (error) => tell({ topic, partition }, error),
    });
    lanes.set(lane.name, { lane, lost });
    // Written down at once, so that `latest` means the same moment after a restart.
    if (isNew && subscription.start === 'latest') committer.add({ topic, partition, next: from, deaths });
  }

  async function openLater(start: StartOffset, straggler: Promise<void>, isCurrent: () => boolean) {
    await straggler;
    stragglers.delete(nameOf(start));
    if (!isCurrent()) return;
    open(start);
    show();
  }

  /** All at once, so that the first request asks for all of them. */
  function openAll(starts: readonly StartOffset[], isCurrent: () => boolean): void {
    for (const start of starts) {
      const straggler = stragglers.get(nameOf(start));
      if (straggler === undefined) open(start);
      else void openLater(start, straggler, isCurrent);
    }
    show();
  }

  async function gain(partitions: readonly TopicPartition[], isCurrent: () => boolean): Promise<void> {
    for (let failures = 0; isCurrent(); failures += 1) {
      try {
        const starts = await committedStarts(connections.cluster, subscription, partitions);
        options.report(null);
        if (isCurrent()) openAll(starts, isCurrent);
        return;
      } catch (error) {
        options.report(error);
        await pause(backOffMs(BACK_OFF, failures, core.context.random), over);
      }
    }
  }

  return {
    assign: (assignment) => {
      generation += 1;
      const current = generation;
      const given = partitionsOf(assignment, options);
      const names = new Set(given.map(nameOf));
      for (const [name, owned] of lanes) if (!names.has(name)) lose(name, owned);
      show();
      const gained = given.filter((partition) => !lanes.has(nameOf(partition)));
      if (gained.length > 0) void gain(gained, () => current === generation && !over.aborted);
    },
    all: () => [...lanes.values()].map(({ lane }) => lane),
    owns: (partition) => lanes.has(nameOf(partition)),
  };
}
