import { FleetGcError, toFleetGcError } from '../../process/errors.ts';
import type { ActiveSubscription, SliceHandler, Subscription } from '../port.ts';
import { type MemberState, supervise } from '../subscription.ts';
import { acquireLease } from './lease.ts';
import type { EmbeddedCore, Tenure } from './membership.ts';
import { type Position, positionName, startPositions, writtenPositions } from './positions.ts';
import { serveGroup } from './tenure.ts';

/** A stand-by sees a released lease at once, and an expired one after this. */
const STAND_BY_LOOK_MS = 500;

/** Who wants the group, and what for. */
interface Member {
  readonly core: EmbeddedCore;
  readonly subscription: Subscription;
  readonly handle: SliceHandler;
  readonly name: string;
}

/**
 * Takes the group and its positions in one transaction; null when another member has it. Who reads for a key has no
 * group, and begins where it begins.
 */
function takePositions({ core, subscription, name }: Member): Promise<readonly Position[] | null> {
  const nowMs = core.context.now();
  const { group, assignment } = subscription;
  if (assignment.kind === 'key')
    return core.database.read((statements) => startPositions(statements, subscription, nowMs));
  return core.database.write((statements) =>
    acquireLease(statements, { group, member: name, nowMs })
      ? writtenPositions(statements, subscription, nowMs)
      : null,
  );
}

/** What ends a tenure, whichever partition met it first. */
const isFinal = (error: unknown): boolean => {
  const { code } = toFleetGcError(error);
  return code === 'GROUP_LOST' || code === 'LOG_CORRUPT';
};

async function own(
  member: Member,
  positions: readonly Position[],
  state: MemberState,
  stopping: AbortSignal,
) {
  const { core, subscription, handle, name } = member;
  const over = new AbortController();
  let failure: FleetGcError | null = null;
  const tenure: Tenure = {
    core,
    subscription,
    member: name,
    positions,
    serving: {
      handle,
      over: over.signal,
      ending: AbortSignal.any([over.signal, stopping]),
      problems: state.problems,
      context: core.context,
      isFinal,
    },
    fail: (error) => {
      failure ??= toFleetGcError(error);
      over.abort();
    },
  };
  await serveGroup(tenure, stopping, () => over.abort());
  if (failure !== null) throw failure;
}

async function standBy({ core }: Member, seen: number, stopping: AbortSignal): Promise<void> {
  await core.changes.after(seen, stopping, STAND_BY_LOOK_MS);
}

/** Serves the group while it is ours. A group that was lost to another member is no failure: the member stands by. */
async function serve(member: Member, state: MemberState, stopping: AbortSignal): Promise<void> {
  const seen = member.core.changes.version();
  const positions = await takePositions(member);
  state.joined = true;
  state.problems.clear();
  if (positions === null) return standBy(member, seen, stopping);
  state.served = positions.map((position) => ({
    name: positionName(position),
    lag: () => position.end - position.next,
  }));
  await own(member, positions, state, stopping).catch((error) => {
    if (!(error instanceof FleetGcError) || error.code !== 'GROUP_LOST') throw error;
    member.core.context.logger.info({ group: member.subscription.group }, error.message);
  });
}

async function leave({ core, subscription, name }: Member): Promise<void> {
  const { group, assignment } = subscription;
  if (assignment.kind === 'key') return;
  try {
    await core.database.write((statements) => statements.dropLease(group, name));
    core.changes.notify();
  } catch (error) {
    core.context.logger.warn({ err: error, group }, 'the group was not released; it is free after its lease');
  }
}

/** Joins the group and serves it in the background until it is stopped. */
export function startMember(
  core: EmbeddedCore,
  subscription: Subscription,
  handle: SliceHandler,
): ActiveSubscription {
  const member: Member = { core, subscription, handle, name: core.context.newId() };
  return supervise(core.context, {
    group: subscription.group,
    serve: (state, stopping) => serve(member, state, stopping),
    leave: () => leave(member),
  });
}
