import { z } from 'zod';
import { backoffMs, pause } from '../process/backoff.ts';
import { type FleetGcError, toFleetGcError } from '../process/errors.ts';
import { MAX_SLICE_RECORDS, RETRY_BACKOFFS } from './limits.ts';
import type { ActiveSubscription, DeathCount, EventLogContext, LogRecord, SliceHandler } from './port.ts';
import { type OngoingProblem, ongoingProblem, type Problems, trackProblems } from './problems.ts';

/** One partition as a member serves it. */
export interface SliceSource {
  /** `topic/partition`. */
  readonly name: string;
  /** The next records, without taking them away; empty when there are none now. */
  peek(): Promise<readonly LogRecord[]>;
  /** Of what `peek` gave. */
  deathCount(): DeathCount;
  /** The handler is done with these: they do not come again, and their offsets are committed. */
  done(records: readonly LogRecord[]): Promise<void>;
}

/** How slices are served. */
export interface Serving {
  readonly handle: SliceHandler;
  /** Aborts the handlers: the partition was lost, or a stop took too long. */
  readonly over: AbortSignal;
  /** Aborts with `over`, and before it when no further slice is to begin. */
  readonly ending: AbortSignal;
  readonly problems: Problems;
  readonly context: EventLogContext;
  /** Failures after which nothing more is tried; they end the loop. */
  readonly isFinal: (error: unknown) => boolean;
}

/** `empty`: nothing is left. `over`: the handlers were aborted, and nothing is committed. */
type Outcome = 'done' | 'empty' | 'over' | { readonly failed: unknown };

async function serveSlice(source: SliceSource, { handle, over, isFinal }: Serving): Promise<Outcome> {
  try {
    const records = await source.peek();
    if (records.length === 0) return 'empty';
    await handle(records, over, source.deathCount());
    if (over.aborted) return 'over';
    await source.done(records);
    return 'done';
  } catch (error) {
    if (over.aborted) return 'over';
    if (isFinal(error)) throw error;
    return { failed: error };
  }
}

/** Whatever a handler throws, a TypeError too, is a slice that comes again. */
async function backoff(
  source: SliceSource,
  serving: Serving,
  { error, failures, ongoing }: { error: unknown; failures: number; ongoing: OngoingProblem },
) {
  const { context, problems, ending } = serving;
  const { code, message } = toFleetGcError(error);
  const problem = `${source.name} stands still, try ${failures}: ${message}`;
  ongoing.occurred(code, { err: error, failures }, problem);
  problems.set(source.name, problem);
  await pause(backoffMs(RETRY_BACKOFFS.partition, failures - 1, context.random), ending);
}

/**
 * Serves a partition until nothing is left. A slice that fails comes again after a backoff and holds up its own
 * partition only. Rejects with a final failure.
 */
export async function serveSlices(source: SliceSource, serving: Serving): Promise<void> {
  const ongoing = ongoingProblem(serving.context);
  let failures = 0;
  while (!serving.ending.aborted) {
    const outcome = await serveSlice(source, serving);
    if (outcome === 'empty' || outcome === 'over') return;
    if (outcome === 'done') {
      if (failures > 0) serving.problems.set(source.name, null);
      ongoing.resolved();
      failures = 0;
      continue;
    }
    failures += 1;
    await backoff(source, serving, { error: outcome.failed, failures, ongoing });
  }
}

/** A partition a member serves, and how many of its records are still to be processed. */
interface ServedPartition {
  readonly name: string;
  lag(): number;
}

/** What a member knows of itself. */
export interface MemberState {
  joined: boolean;
  served: readonly ServedPartition[];
  readonly problems: Problems;
}

interface Supervised {
  readonly group: string;
  /** Serves until `stopping` aborts (then resolves), or something failed (then rejects), or once in a while. */
  readonly serve: (state: MemberState, stopping: AbortSignal) => Promise<void>;
  /** Leaves the group in the end, however it ended. */
  readonly leave: () => Promise<void>;
}

const MEMBER = 'member';

/** Notes a failure, and says it however often it repeats as a problem that lasts; throws it when no retry helps. */
function noteFailure(
  ongoing: OngoingProblem,
  group: string,
  state: MemberState,
  failure: FleetGcError,
): void {
  if (!failure.retry) throw failure;
  state.joined = false;
  state.problems.set(MEMBER, failure.message);
  ongoing.occurred(failure.code, { group, code: failure.code }, failure.message);
}

async function keepServing(
  context: EventLogContext,
  supervised: Supervised,
  state: MemberState,
  stopping: AbortSignal,
): Promise<void> {
  const ongoing = ongoingProblem(context);
  for (let failures = 0; !stopping.aborted; ) {
    const begunAtMs = context.now();
    try {
      await supervised.serve(state, stopping);
      failures = 0;
    } catch (error) {
      if (state.joined) ongoing.resolved(begunAtMs);
      noteFailure(ongoing, supervised.group, state, toFleetGcError(error));
      await pause(backoffMs(RETRY_BACKOFFS.member, failures, context.random), stopping);
      failures += 1;
    } finally {
      state.served = [];
    }
  }
}

/**
 * Keeps a member serving in the background: what fails is tried again with backoff and jitter, for ever. Only a
 * failure that no retry mends ends it, and a stop.
 */
export function supervise(context: EventLogContext, supervised: Supervised): ActiveSubscription {
  const { group } = supervised;
  const stopping = new AbortController();
  const state: MemberState = { joined: false, served: [], problems: trackProblems() };
  const finished = keepServing(context, supervised, state, stopping.signal).finally(async () => {
    state.joined = false;
    await supervised.leave();
  });
  // Who does not wait for the end is not to be killed by it: state and log tell of it.
  finished.catch((error) => {
    state.problems.set(MEMBER, toFleetGcError(error).message);
    context.logger.error({ group, err: error }, 'the subscription ended');
  });
  const stop = async (): Promise<void> => {
    stopping.abort();
    await finished.catch(() => undefined);
  };
  return {
    state: () => ({
      joined: state.joined,
      problem: state.problems.latest(),
      assigned: state.served.map(({ name }) => name),
      lag: new Map(state.served.map((served) => [served.name, served.lag()])),
    }),
    stop,
    finished,
    [Symbol.asyncDispose]: stop,
  };
}

/**
 * How many processes ended, or lost their place in the group, while they had the next records of one partition in hand. The first slice after a partition was
 * gained is counted before it is handled, and no longer once its process has lived through it. A process that dies over a
 * later slice is found out by the next one, whose first slice begins with the same record. After a death records are taken
 * and counted one by one, so that the one that is to blame is known.
 */
export class PartitionDeaths {
  #deaths: number;
  /** Records still to be taken one by one. */
  #oneByOne: number;
  #isProven = false;
  readonly #keep: (deaths: number) => Promise<void>;

  /** `keep` commits a number beside the place where the group is, and resolves when the log has it, or does not answer. */
  constructor(deaths: number, keep: (deaths: number) => Promise<void>) {
    this.#deaths = deaths;
    this.#oneByOne = deaths > 0 ? MAX_SLICE_RECORDS : 0;
    this.#keep = keep;
  }

  /** Records that the next slice may have. */
  atMost(records: number): number {
    return this.#oneByOne > 0 ? 1 : records;
  }

  forSlice(): DeathCount {
    const deaths = this.#deaths;
    const isCounted = !this.#isProven || this.#oneByOne > 0;
    if (!isCounted) return { deaths, begin: async () => undefined, end: async () => undefined };
    return {
      deaths,
      begin: () => this.#keep(deaths + 1),
      end: () => this.#keep(deaths),
    };
  }

  passed(records: number): void {
    this.#isProven = true;
    this.#deaths = 0;
    this.#oneByOne = Math.max(0, this.#oneByOne - records);
  }
}

/** What a group commits beside an offset: how many processes ended while they had the record there in hand. */
const CommitNote = z.object({ deaths: z.int().positive() });

/** `null` where there is nothing to tell. */
export const noteOf = (deaths: number): string | null => (deaths === 0 ? null : JSON.stringify({ deaths }));

/** None where nothing is told, or by another tool. */
export function deathsIn(metadata: string | null | undefined): number {
  try {
    return CommitNote.parse(JSON.parse(metadata ?? '')).deaths;
  } catch {
    return 0;
  }
}
