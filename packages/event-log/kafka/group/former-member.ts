import type { Cluster } from 'kafkajs';
import type { Logger } from 'pino';
import { waitAtMost } from '../../stopping.ts';
import { protocolType } from '../client/errors.ts';

/** A coordinator that does not answer is not waited for: the member can join all the same. */
const LEAVE_MS = 2_000;

/** As what a subscription was in its group before; `null` before it ever was. */
export interface FormerMember {
  memberId: string | null;
}

/**
 * kafkajs joins again under another name, and the group would wait for the old one until its session has timed out. Where
 * the old one left in order, or is forgotten, there is nothing to do.
 */
export async function leaveAsFormerMember(
  cluster: Cluster,
  {
    groupId,
    former,
    logger,
  }: { readonly groupId: string; readonly former: FormerMember; readonly logger: Logger },
): Promise<void> {
  const { memberId } = former;
  if (memberId === null) return;
  const leaving = leave(cluster, { groupId, memberId }).then(
    () => {
      // An answer that comes late finds the next member there.
      if (former.memberId === memberId) former.memberId = null;
    },
    (error) => logger.debug({ err: error, group: groupId, memberId }, 'the former member could not leave'),
  );
  await waitAtMost(leaving, LEAVE_MS);
}

async function leave(cluster: Cluster, member: Member): Promise<void> {
  try {
    const coordinator = await cluster.findGroupCoordinator({ groupId: member.groupId });
    if (letsLeave(coordinator)) await coordinator.leaveGroup(member);
  } catch (error) {
    if (protocolType(error) !== 'UNKNOWN_MEMBER_ID') throw error;
  }
}

interface Member {
  readonly groupId: string;
  readonly memberId: string;
}

/** kafkajs's types do not tell of it. */
interface LetsLeave {
  leaveGroup(member: Member): Promise<unknown>;
}

const letsLeave = (broker: object): broker is LetsLeave =>
  'leaveGroup' in broker && typeof broker.leaveGroup === 'function';
