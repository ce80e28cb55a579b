import { FleetGcError } from '../../process/errors.ts';
import { partitionName } from '../partition.ts';
import type { ActiveSubscription, SliceHandler, Subscription } from '../port.ts';
import { type MemberState, supervise } from '../subscription.ts';
import type { OpenedLog } from './opened-log.ts';
import { Ownership } from './ownership.ts';
import { type Position, startPositions, writtenPositions } from './positions.ts';

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
