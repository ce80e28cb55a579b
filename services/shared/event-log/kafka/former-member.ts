import type { Cluster } from 'kafkajs';
import type { Logger } from 'pino';

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
  try {
    const coordinator = await cluster.findGroupCoordinator({ groupId });
    if (letsLeave(coordinator)) await coordinator.leaveGroup({ groupId, memberId });
  } catch (error) {
    logger.debug({ err: error, group: groupId, memberId }, 'the former member is not in its group any more');
  }
  former.memberId = null;
}

/** kafkajs's types do not tell of it. */
interface LetsLeave {
  leaveGroup(request: { readonly groupId: string; readonly memberId: string }): Promise<unknown>;
}

const letsLeave = (broker: object): broker is LetsLeave =>
  'leaveGroup' in broker && typeof broker.leaveGroup === 'function';
