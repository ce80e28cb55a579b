import { FleetGcError, toFleetGcError } from '../../errors.ts';
import { backOffMs, pause } from '../back-off.ts';
import type { ActiveSubscription, SliceHandler, Subscription, SubscriptionState } from '../port.ts';
import { acquireLease } from './lease.ts';
import type { EmbeddedCore, Membership } from './membership.ts';
import { type Position, startPositions } from './positions.ts';
import { serveGroup } from './tenure.ts';

const BACK_OFF = { firstMs: 200, mostMs: 10_000 };
/** A stand-by sees a released lease at once, and an expired one after this. */
const STAND_BY_LOOK_MS = 500;

interface Standing {
  joined: boolean;
  problem: string | null;
  positions: readonly Position[];
}

const name = ({ topic, partition }: Position): string => `${topic}/${partition}`;

const toState = ({ joined, problem, positions }: Standing): SubscriptionState => ({
  joined,
  problem,
  assigned: positions.map(name),
  lag: new Map(positions.map((position) => [name(position), position.end - position.next])),
});

/** Takes the group and its positions in one transaction; null when another member has it. */
function takeGroup(membership: Membership, evict: boolean): Promise<readonly Position[] | null> {
  const { core, subscription, member } = membership;
  const nowMs = core.context.now();
  return core.database.write((statements) => {
    const claim = { group: subscription.group, member, nowMs };
    return acquireLease(statements, claim, evict) ? startPositions(statements, subscription, nowMs) : null;
  });
}

async function serveOrStandBy(membership: Membership, standing: Standing, evict: boolean): Promise<void> {
  const { changes } = membership.core;
  const seen = changes.version();
  const positions = await takeGroup(membership, evict);
  standing.joined = true;
  standing.problem = null;
  if (positions === null) return changes.after(seen, membership.stopping, STAND_BY_LOOK_MS);
  standing.positions = positions;
  try {
    await serveGroup(membership, positions);
  } finally {
    standing.positions = [];
  }
}

/** Notes a failure; throws it when no retry mends it. */
function endure(membership: Membership, standing: Standing, error: unknown): void {
  const failure = toFleetGcError(error);
  const { group } = membership.subscription;
  if (!failure.retry) throw failure;
  standing.joined = failure.code === 'GROUP_LOST';
  standing.problem = failure.message;
  membership.core.context.logger.warn({ group, code: failure.code }, failure.message);
}

async function leave({ core, subscription, member, stopping }: Membership): Promise<void> {
  const release = core.database.write((statements) => statements.dropLease(subscription.group, member));
  await release.catch((error) => core.context.logger.warn({ err: error }, 'the group was not released'));
  if (stopping.aborted) core.changes.notify();
}

/** The newest member of a `key` group owns it: it evicts the older one when it comes, but not when it comes back. */
async function live(membership: Membership, standing: Standing): Promise<void> {
  const { core, subscription, stopping } = membership;
  let evict = subscription.assignment.kind === 'key';
  try {
    for (let failures = 0; !stopping.aborted; ) {
      try {
        await serveOrStandBy(membership, standing, evict);
        failures = 0;
        evict = false;
      } catch (error) {
        endure(membership, standing, error);
        if (error instanceof FleetGcError && error.code === 'GROUP_LOST') evict = false;
        await pause(backOffMs(BACK_OFF, failures, core.context.random), stopping);
        failures += 1;
      }
    }
  } finally {
    standing.joined = false;
    await leave(membership);
  }
}

/** Joins the group and serves it in the background until it is stopped. */
export function startMember(
  core: EmbeddedCore,
  subscription: Subscription,
  handle: SliceHandler,
): ActiveSubscription {
  const stopping = new AbortController();
  const standing: Standing = { joined: false, problem: null, positions: [] };
  const membership: Membership = {
    core,
    subscription,
    handle,
    member: core.context.newId(),
    stopping: stopping.signal,
    report: (problem) => {
      standing.problem = problem;
    },
  };
  const finished = live(membership, standing);
  // Who does not wait for the end is not to be killed by it; `state` and the log line tell of the failure.
  finished.catch((error) => {
    standing.problem = toFleetGcError(error).message;
    core.context.logger.error({ err: error, group: subscription.group }, 'the subscription ended');
  });
  const stop = async (): Promise<void> => {
    stopping.abort();
    await finished.catch(() => undefined);
  };
  return { state: () => toState(standing), stop, finished, [Symbol.asyncDispose]: stop };
}
