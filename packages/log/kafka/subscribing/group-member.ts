import type { ActiveSubscription, SliceHandler, Subscription } from '../../port.ts';
import { supervise } from '../../subscription.ts';
import { Consumer, type FormerMember } from '../client/consumer.ts';
import type { KafkaConnection } from '../client/kafka-connection.ts';
import { runGroupSession } from './group-session.ts';
import { runKeySession } from './key-session.ts';

/** Serves its share of the group, or the partition of its key, in the background until it is stopped; a session that fails is followed by another. */
export function startGroupMember(
  connection: KafkaConnection,
  subscription: Subscription,
  handle: SliceHandler,
): ActiveSubscription {
  const { options, context, clients } = connection;
  const { assignment } = subscription;
  const own = connection.forClient(`reader ${subscription.group}`);
  const stragglers = new Map<string, Promise<void>>();
  const former: FormerMember = { memberId: null };
  return supervise(context, {
    group: subscription.group,
    serve: (state, stopping) => {
      const consumer = new Consumer(options, context, subscription);
      const session = {
        consumer,
        subscription,
        handle,
        connection: own,
        state,
        stopping,
        former,
        stragglers,
      };
      clients.add(consumer);
      const running =
        assignment.kind === 'key' ? runKeySession(session, assignment) : runGroupSession(session);
      return running.finally(() => clients.delete(consumer));
    },
    leave: async () => own[Symbol.dispose](),
  });
}
