import type { ActiveSubscription, SliceHandler, Subscription } from '../../port.ts';
import { supervise } from '../../subscription.ts';
import { prepareConnections } from '../client/connections.ts';
import type { KafkaCore } from '../client/core.ts';
import { runKeySession } from '../reading/key-session.ts';
import type { FormerMember } from './former-member.ts';
import { runSession } from './session.ts';

/** Serves its share of the group, or the partition of its key, in the background until it is stopped; a session that fails is followed by another. */
export function startMember(
  core: KafkaCore,
  subscription: Subscription,
  handle: SliceHandler,
): ActiveSubscription {
  const { options, context, clients } = core;
  const { assignment } = subscription;
  const own = core.forClient(`reader ${subscription.group}`);
  const stragglers = new Map<string, Promise<void>>();
  const former: FormerMember = { memberId: null };
  return supervise(context, {
    group: subscription.group,
    serve: (state, stopping) => {
      const connections = prepareConnections(options, context, subscription);
      const { client } = connections;
      const session = {
        connections,
        subscription,
        handle,
        core: own,
        state,
        stopping,
        former,
        stragglers,
      };
      clients.add(client);
      const running = assignment.kind === 'key' ? runKeySession(session, assignment) : runSession(session);
      return running.finally(() => clients.delete(client));
    },
    leave: async () => own[Symbol.dispose](),
  });
}
