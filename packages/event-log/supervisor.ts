import { backOffMs, pause } from '../process/back-off.ts';
import { type FleetGcError, toFleetGcError } from '../process/errors.ts';
import type { EventLogContext } from './context.ts';
import { type LastingTrouble, lastingTrouble } from './lasting-trouble.ts';
import type { ActiveSubscription } from './port.ts';
import { type Problems, trackProblems } from './problems.ts';

const BACK_OFF = { firstMs: 200, mostMs: 5000 };

/** A partition a member serves, and how many of its records are still to be processed. */
export interface ServedPartition {
  readonly name: string;
  lag(): number;
}

/** What a member knows of itself. */
export interface Standing {
  joined: boolean;
  served: readonly ServedPartition[];
  readonly problems: Problems;
}

export interface Supervised {
  readonly group: string;
  /** Serves until `stopping` aborts (then resolves), or something failed (then rejects), or once in a while. */
  readonly serve: (standing: Standing, stopping: AbortSignal) => Promise<void>;
  /** Leaves the group in the end, however it ended. */
  readonly leave: () => Promise<void>;
}

const MEMBER = 'member';

/** Notes a failure, and says it however often it repeats as a trouble that lasts; throws it when no retry mends it. */
function endure(trouble: LastingTrouble, group: string, standing: Standing, failure: FleetGcError): void {
  if (!failure.retry) throw failure;
  standing.joined = false;
  standing.problems.set(MEMBER, failure.message);
  trouble.met(failure.code, { group, code: failure.code }, failure.message);
}

async function live(
  context: EventLogContext,
  supervised: Supervised,
  standing: Standing,
  stopping: AbortSignal,
): Promise<void> {
  const trouble = lastingTrouble(context);
  for (let failures = 0; !stopping.aborted; ) {
    const begunAtMs = context.now();
    try {
      await supervised.serve(standing, stopping);
      failures = 0;
    } catch (error) {
      if (standing.joined) trouble.well(begunAtMs);
      endure(trouble, supervised.group, standing, toFleetGcError(error));
      await pause(backOffMs(BACK_OFF, failures, context.random), stopping);
      failures += 1;
    } finally {
      standing.served = [];
    }
  }
}

/**
 * Keeps a member serving in the background: what fails is tried again with back-off and jitter, for ever. Only a
 * failure that no retry mends ends it, and a stop.
 */
export function supervise(context: EventLogContext, supervised: Supervised): ActiveSubscription {
  const { group } = supervised;
  const stopping = new AbortController();
  const standing: Standing = { joined: false, served: [], problems: trackProblems() };
  const finished = live(context, supervised, standing, stopping.signal).finally(async () => {
    standing.joined = false;
    await supervised.leave();
  });
  // Who does not wait for the end is not to be killed by it: state and log tell of it.
  finished.catch((error) => {
    standing.problems.set(MEMBER, toFleetGcError(error).message);
    context.logger.error({ group, err: error }, 'the subscription ended');
  });
  const stop = async (): Promise<void> => {
    stopping.abort();
    await finished.catch(() => undefined);
  };
  return {
    state: () => ({
      joined: standing.joined,
      problem: standing.problems.latest(),
      assigned: standing.served.map(({ name }) => name),
      lag: new Map(standing.served.map(({ name, lag }) => [name, lag()])),
    }),
    stop,
    finished,
    [Symbol.asyncDispose]: stop,
  };
}
